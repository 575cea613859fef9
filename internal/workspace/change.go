package workspace

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/forge-agent/forge/tool"
)

// A Change is what happens to one file. With Before and After of the same path
// its content is replaced and its mode kept; of different paths it is moved.
type Change struct {
	// Before is the file as it was read, nil for one that must not exist.
	Before *File
	// After is the file as it shall be, nil to remove it. An existing file keeps
	// its mode. A new one gets that of After, zero for 0666, less what the
	// umask takes.
	After *File
}

// Check reports what stands against a change without making it: paths in
// ".git" and in the workspace's ".forge", symbolic links on the way, a file that
// is not writable, a new file that exists already.
func (w *Workspace) Check(c Change) error {
	if c.Before != nil {
		if err := w.checkPath(c.Before.Path); err != nil {
			return err
		}
		if c.Before.Mode&0o200 == 0 {
			return tool.Argumentf("%q is not writable (mode %04o), and is left alone.", c.Before.Path, c.Before.Mode)
		}
	}
	if c.After != nil && (c.Before == nil || c.Before.Path != c.After.Path) {
		if err := w.checkPath(c.After.Path); err != nil {
			return err
		}
		if _, err := w.root.Lstat(filepath.FromSlash(c.After.Path)); err == nil {
			return explain("create", c.After.Path, fs.ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return explain("create", c.After.Path, err)
		}
	}
	return nil
}

// checkPath refuses paths that are not to be written. A link on the way is
// refused even where it stays inside, so that the path that a person was shown
// is the one that is written.
func (w *Workspace) checkPath(name string) error {
	clean, err := w.Clean(name)
	if err != nil {
		return err
	}
	if clean != name || name == "." {
		return tool.Argumentf("%q is not the path of a file; write it as %q.", name, clean)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return tool.Argumentf("The path %q holds control characters. Choose a name without them.", name)
	}
	at := ""
	for segment := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(segment, ".git") {
			return tool.Argumentf("%q lies in Git's own folder, which is not written directly. Use git through run_command.", name)
		}
		if strings.EqualFold(segment, ".forge") && at == "" {
			return tool.Argumentf("%q lies in the folder with Forge's own settings and plugins, which the user changes.", name)
		}
		at = path.Join(at, segment)
		info, err := w.root.Lstat(filepath.FromSlash(at))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return explain("write", name, err)
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := w.root.Readlink(filepath.FromSlash(at))
			return tool.Argumentf("%q is a symbolic link to %q. Links are not written through: use the path of the file itself.", at, target)
		case at != name && !info.IsDir():
			return tool.Argumentf("%q is a file, so there can be no %q.", at, name)
		case at == name && info.IsDir():
			return tool.Argumentf("%q is a folder.", name)
		}
	}
	return nil
}

// Apply makes all changes or none. Each new content is written in full next to
// its place before the first file changes; then every file is compared with
// what was read, and a difference ends it; then the contents are moved into
// place one by one. When one of these moves does not work, those before it are
// taken back. A program that writes to the same file in the instant between
// comparison and move is not noticed.
func (w *Workspace) Apply(changes []Change) (err error) {
	t := transaction{w: w}
	defer func() {
		if err != nil {
			err = t.rollback(err)
		}
	}()
	seen := map[string]bool{}
	for _, c := range changes {
		if err := w.Check(c); err != nil {
			return err
		}
		for _, f := range []*File{c.Before, c.After} {
			if f == nil || f == c.After && c.Before != nil && c.Before.Path == f.Path {
				continue
			}
			if seen[f.Path] {
				return tool.Argumentf("%q is changed twice. Put all its changes together.", f.Path)
			}
			seen[f.Path] = true
		}
	}
	temps := make([]string, len(changes))
	for i, c := range changes {
		if c.After == nil {
			continue
		}
		if temps[i], err = t.stage(c); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if err := w.unchanged(c); err != nil {
			return err
		}
	}
	for i, c := range changes {
		if err := t.commit(c, temps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workspace) unchanged(c Change) error {
	if err := w.Check(c); err != nil {
		return err
	}
	if c.Before == nil {
		return nil
	}
	now, err := w.Read(c.Before.Path, len(c.Before.Data))
	if errors.Is(err, errTooLarge) || err == nil && !bytes.Equal(now.Data, c.Before.Data) {
		return &Error{Text: quote(c.Before.Path) + " has changed since it was read, so nothing was written. Read it again and make the change anew.", Err: fs.ErrInvalid}
	}
	return err
}

// A transaction remembers how to take back what it did.
type transaction struct {
	w    *Workspace
	undo []func() error
}

func (t *transaction) rollback(cause error) error {
	var left []error
	for i := len(t.undo) - 1; i >= 0; i-- {
		if err := t.undo[i](); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left = append(left, err)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%w And taking back what was done did not work: %w", cause, errors.Join(left...))
	}
	return cause
}

// stage writes a new content to a temporary file next to its place.
func (t *transaction) stage(c Change) (string, error) {
	name := c.After.Path
	mode, exact := c.After.Mode.Perm(), false
	if c.Before != nil {
		mode, exact = c.Before.Mode.Perm(), true
	} else if mode == 0 {
		mode = 0o666
	}
	if err := t.makeFolders(path.Dir(name)); err != nil {
		return "", explain("write", name, err)
	}
	temp, err := t.write(path.Dir(name), c.After.Data, mode, exact)
	if err != nil {
		return "", explain("write", name, err)
	}
	return temp, nil
}

func (t *transaction) makeFolders(dir string) error {
	if dir == "." {
		return nil
	}
	at := ""
	for segment := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, segment)
		local := filepath.FromSlash(at)
		err := t.w.root.Mkdir(local, 0o755)
		if err == nil {
			t.undo = append(t.undo, func() error { return t.w.root.Remove(local) })
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// write makes a temporary file. Its mode is that given, or what the umask
// leaves of it where it is not exact.
func (t *transaction) write(dir string, data []byte, mode fs.FileMode, exact bool) (string, error) {
	root := t.w.root
	temp := filepath.FromSlash(path.Join(dir, ".forge-"+rand.Text()+".tmp"))
	open := mode
	if exact {
		open = 0o600
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, open)
	if err != nil {
		return "", err
	}
	t.undo = append(t.undo, func() error { return root.Remove(temp) })
	_, err = f.Write(data)
	if err == nil && exact {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return temp, errors.Join(err, f.Close())
}

// commit moves one staged content into place.
func (t *transaction) commit(c Change, temp string) error {
	root := t.w.root
	if c.After != nil {
		name := filepath.FromSlash(c.After.Path)
		if c.Before != nil && c.Before.Path == c.After.Path {
			if err := root.Rename(temp, name); err != nil {
				return explain("write", c.After.Path, err)
			}
			t.undo = append(t.undo, func() error { return t.restore(*c.Before) })
			return nil
		}
		if err := t.create(temp, name, *c.After); err != nil {
			return explain("create", c.After.Path, err)
		}
	}
	if c.Before == nil {
		return nil
	}
	if err := root.Remove(filepath.FromSlash(c.Before.Path)); err != nil {
		return explain("remove", c.Before.Path, err)
	}
	t.undo = append(t.undo, func() error { return t.restore(*c.Before) })
	return nil
}

// create gives a staged content a name that nothing has. A link does that
// whole and never over another file; where the file system has no links, the
// name is taken first.
func (t *transaction) create(temp, name string, f File) error {
	root := t.w.root
	err := root.Link(temp, name)
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if err != nil {
		taken, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if err := taken.Close(); err != nil {
			return err
		}
		t.undo = append(t.undo, func() error { return root.Remove(name) })
		return root.Rename(temp, name)
	}
	t.undo = append(t.undo, func() error { return root.Remove(name) })
	return root.Remove(temp)
}

// restore puts a file's former content back.
func (t *transaction) restore(f File) error {
	again := transaction{w: t.w}
	temp, err := again.write(path.Dir(f.Path), f.Data, f.Mode.Perm(), true)
	if err == nil {
		err = t.w.root.Rename(temp, filepath.FromSlash(f.Path))
	}
	return err
}
