package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/forge-agent/forge/internal/patch"
	"github.com/forge-agent/forge/internal/workspace"
	"github.com/forge-agent/forge/tool"
)

// maxEditBytes is the longest file that is patched.
const maxEditBytes = 8 << 20

// writeScope is what an approval for the run covers: further changes to files
// of the workspace by the same tool.
const writeScope = "files of the workspace"

type createArguments struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}

func createFile(w *workspace.Workspace) func(context.Context, createArguments) (tool.Plan, error) {
	return func(_ context.Context, a createArguments) (tool.Plan, error) {
		name, err := w.Clean(a.Path)
		if err != nil {
			return tool.Plan{}, err
		}
		if a.Content == nil {
			return tool.Plan{}, tool.Argumentf("%q is missing. Give the whole content of the file; for an empty file %q.", "content", "")
		}
		change := workspace.Change{After: &workspace.File{Path: name, Data: []byte(*a.Content)}}
		if err := w.Check(change); err != nil {
			return tool.Plan{}, existing(name, err)
		}
		return changePlan(w, []workspace.Change{change}), nil
	}
}

// existing adds what to do about a file that is there already.
func existing(name string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return tool.Argumentf("%q exists already and is not overwritten. Change it with apply_patch, or choose another path.", name)
	}
	return err
}

type patchArguments struct {
	Patch string `json:"patch"`
}

func applyPatch(w *workspace.Workspace) func(context.Context, patchArguments) (tool.Plan, error) {
	return func(ctx context.Context, a patchArguments) (tool.Plan, error) {
		files, err := patch.Parse(a.Patch)
		if err != nil {
			return tool.Plan{}, err
		}
		changes := make([]workspace.Change, 0, len(files))
		for _, f := range files {
			if err := ctx.Err(); err != nil {
				return tool.Plan{}, err
			}
			c, err := change(w, f)
			if err != nil {
				return tool.Plan{}, err
			}
			changes = append(changes, c)
		}
		return changePlan(w, changes), nil
	}
}

// change works out what a patch does to one file.
func change(w *workspace.Workspace, f patch.File) (workspace.Change, error) {
	var c workspace.Change
	name, err := w.Clean(f.Path)
	if err != nil {
		return c, err
	}
	if f.Op == patch.Add {
		data, err := f.Apply(nil)
		if err != nil {
			return c, err
		}
		c.After = &workspace.File{Path: name, Data: data}
		if f.Executable {
			c.After.Mode = fs.FileMode(0o777)
		}
		return c, existing(name, w.Check(c))
	}
	before, err := w.Read(name, maxEditBytes)
	if err != nil {
		return c, err
	}
	if isBinary(before.Data) {
		return c, tool.Argumentf("%q is a binary file, and only text can be patched.", name)
	}
	data, err := f.Apply(before.Data)
	if err != nil {
		return c, err
	}
	c.Before = &before
	if f.Op == patch.Update {
		target := name
		if f.NewPath != "" {
			if target, err = w.Clean(f.NewPath); err != nil {
				return c, err
			}
		}
		if target == name && bytes.Equal(data, before.Data) {
			return c, tool.Argumentf("The patch leaves %q as it is.", name)
		}
		c.After = &workspace.File{Path: target, Data: data, Mode: before.Mode}
	}
	return c, w.Check(c)
}

// changePlan shows the changes and makes them when it is run.
func changePlan(w *workspace.Workspace, changes []workspace.Change) tool.Plan {
	var diff strings.Builder
	var parts, done []string
	for _, c := range changes {
		text := showDiff(c)
		diff.WriteString(text)
		what := describe(c)
		parts = append(parts, what)
		added, removed := countLines(text)
		done = append(done, fmt.Sprintf("%s (+%d -%d lines)", what, added, removed))
	}
	return tool.Plan{
		Summary: strings.Join(parts, ", "),
		Diff:    diff.String(),
		Scope:   writeScope,
		Run: func(ctx context.Context) tool.Result {
			if ctx.Err() != nil {
				return failure(ctx, ctx.Err())
			}
			if err := w.Apply(changes); err != nil {
				return tool.Failure(err.Error())
			}
			return tool.Success("Done: " + strings.Join(done, ", ") + ".\n")
		},
	}
}

func describe(c workspace.Change) string {
	switch {
	case c.Before == nil:
		return "create " + c.After.Path
	case c.After == nil:
		return "delete " + c.Before.Path
	case c.Before.Path != c.After.Path:
		return "move " + c.Before.Path + " to " + c.After.Path
	}
	return "edit " + c.Before.Path
}

// showDiff returns a change as a unified diff that apply_patch would take.
func showDiff(c workspace.Change) string {
	oldName, newName := "/dev/null", "/dev/null"
	var before, after []byte
	head := ""
	if c.Before != nil {
		oldName, before = "a/"+c.Before.Path, c.Before.Data
	}
	if c.After != nil {
		newName, after = "b/"+c.After.Path, c.After.Data
	}
	switch {
	case c.Before == nil:
		head = "diff --git a/" + c.After.Path + " " + newName + "\nnew file mode 100" + newMode(c.After.Mode) + "\n"
	case c.After == nil:
		head = "diff --git " + oldName + " b/" + c.Before.Path + "\ndeleted file mode 100" + newMode(c.Before.Mode) + "\n"
	case c.Before.Path != c.After.Path:
		head = "diff --git " + oldName + " " + newName + "\nrename from " + c.Before.Path + "\nrename to " + c.After.Path + "\n"
	}
	return head + udiff.Unified(oldName, newName, string(before), string(after))
}

func newMode(mode fs.FileMode) string {
	if mode&0o111 != 0 {
		return "755"
	}
	return "644"
}

func countLines(diff string) (added, removed int) {
	for l := range strings.SplitSeq(diff, "\n") {
		switch {
		case strings.HasPrefix(l, "+++ "), strings.HasPrefix(l, "--- "):
		case strings.HasPrefix(l, "+"):
			added++
		case strings.HasPrefix(l, "-"):
			removed++
		}
	}
	return added, removed
}
