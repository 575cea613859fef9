package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxDepth is how deep a walk goes; each level holds one folder open.
const maxDepth = 128

// An Entry is a file or folder that a walk comes to.
type Entry struct {
	// Path is relative to the workspace, with slashes.
	Path string
	// Type is the type part of the mode: zero for a regular file,
	// fs.ModeDir, fs.ModeSymlink and others. Links are not followed.
	Type fs.FileMode

	parent *os.Root
	name   string
}

// Read returns the content of a regular file. It works only while the walk
// stands at the entry.
func (e Entry) Read(maxBytes int) ([]byte, error) {
	if e.parent == nil {
		return nil, fmt.Errorf("read entry: %w: it comes with an error", fs.ErrInvalid)
	}
	f, info, err := openRegular(e.parent, e.name)
	if err != nil {
		return nil, explain("read", e.Path, err)
	}
	defer f.Close()
	data, err := readAll(f, info, maxBytes)
	if err != nil {
		return nil, explain("read", e.Path, err)
	}
	return data, nil
}

// WalkOptions say what a walk leaves out. Nil and the zero value leave out what
// ignore files say and ".git".
type WalkOptions struct {
	// Ignored includes what ignore files leave out.
	Ignored bool
	// Depth is how many levels are entered, zero for all: with one, only the
	// entries of the folder itself are yielded.
	Depth int
}

// Walk yields what is below a folder, sorted by name level by level, a folder
// before its content. It enters no symbolic link. Ignore files (.gitignore at
// every level, and .git/info/exclude) are respected, those above the folder
// included; a folder that is named is entered even if it is ignored itself.
// ".git" is never entered.
//
// A folder that cannot be read is yielded with an error, and the walk goes on;
// an entry without a path carries an error that ends it. When ctx is done the
// walk ends with its error.
func (w *Workspace) Walk(ctx context.Context, dir string, opts *WalkOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		dir, err := w.Clean(dir)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		root, err := w.root.OpenRoot(filepath.FromSlash(dir))
		if err != nil {
			if info, statErr := w.root.Stat(filepath.FromSlash(dir)); statErr == nil && !info.IsDir() {
				err = &Error{Text: quote(dir) + " is a file, not a folder.", Err: err}
				yield(Entry{}, err)
				return
			}
			yield(Entry{}, explain("list", dir, err))
			return
		}
		defer root.Close()
		k := walker{ctx: ctx, yield: yield}
		if opts != nil {
			k.options = *opts
		}
		k.folder(root, dir, w.ignoreAbove(dir), 1)
	}
}

// ignoreAbove reads the ignore files of the folders above dir.
func (w *Workspace) ignoreAbove(dir string) []*ignoreFile {
	var files []*ignoreFile
	if file := readIgnore(w.root, filepath.FromSlash(".git/info/exclude"), 0); file != nil {
		files = append(files, file)
	}
	if dir == "." {
		return files
	}
	above := "."
	for i, segment := range strings.Split(dir, "/") {
		if file := readIgnore(w.root, filepath.FromSlash(path.Join(above, ".gitignore")), i); file != nil {
			files = append(files, file)
		}
		above = path.Join(above, segment)
	}
	return files
}

type walker struct {
	ctx     context.Context
	yield   func(Entry, error) bool
	options WalkOptions
}

// folder walks one folder and reports whether to go on.
func (k *walker) folder(root *os.Root, dir string, files []*ignoreFile, level int) bool {
	entries, err := readDir(root)
	if err != nil {
		return k.yield(Entry{Path: dir, Type: fs.ModeDir}, explain("list", dir, err))
	}
	var above []string
	if dir != "." {
		above = strings.Split(dir, "/")
	}
	if file := readIgnore(root, ".gitignore", len(above)); file != nil {
		files = append(files[:len(files):len(files)], file)
	}
	segments := append(above, "")
	for _, d := range entries {
		if err := k.ctx.Err(); err != nil {
			k.yield(Entry{}, err)
			return false
		}
		segments[len(segments)-1] = d.Name()
		if d.Name() == ".git" || !k.options.Ignored && ignored(files, segments, d.IsDir()) {
			continue
		}
		e := Entry{Path: path.Join(dir, d.Name()), Type: d.Type(), parent: root, name: d.Name()}
		if !k.yield(e, nil) {
			return false
		}
		if d.IsDir() && (k.options.Depth == 0 || level < k.options.Depth) && !k.enter(e, files, level) {
			return false
		}
	}
	return true
}

func (k *walker) enter(e Entry, files []*ignoreFile, level int) bool {
	if level >= maxDepth {
		return k.yield(e, &Error{Text: quote(e.Path) + " lies too deep and was not entered.", Err: errors.ErrUnsupported})
	}
	sub, err := e.parent.OpenRoot(e.name)
	if err != nil {
		return k.yield(e, explain("list", e.Path, err))
	}
	defer sub.Close()
	return k.folder(sub, e.Path, files, level+1)
}

func readDir(root *os.Root) ([]fs.DirEntry, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
