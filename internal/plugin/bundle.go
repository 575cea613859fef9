package plugin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/forge-agent/forge/internal/workspace"
)

// Bounds of a plugin of a workspace, all files together.
const (
	maxBundleBytes = 8 << 20
	maxBundleFiles = 1000
)

// A bundle is all files of a plugin's folder as they were read, once. The hash
// that is trusted is made of it, and what runs is written from it, so nothing
// can change between the two.
type bundle struct {
	files []bundleFile
	hash  string
}

type bundleFile struct {
	path       string
	executable bool
	data       []byte
}

// readBundle reads a folder. Links, devices, pipes and a folder that is too
// large are errors: their content could not be trusted by hash.
func readBundle(ctx context.Context, dir *workspace.Workspace) (bundle, error) {
	var b bundle
	left := maxBundleBytes
	for e, err := range dir.Walk(ctx, ".", &workspace.WalkOptions{Ignored: true}) {
		if err != nil {
			return bundle{}, err
		}
		switch {
		case e.Type == fs.ModeDir:
			continue
		case e.Type != 0:
			return bundle{}, fmt.Errorf("%q is a link, a device or a pipe, and a plugin can hold only files and folders", e.Path)
		case len(b.files) == maxBundleFiles:
			return bundle{}, fmt.Errorf("it has more than %d files", maxBundleFiles)
		}
		f, err := dir.Read(e.Path, left)
		if err != nil {
			return bundle{}, fmt.Errorf("all its files together can have %d bytes: %w", maxBundleBytes, err)
		}
		left -= len(f.Data)
		b.files = append(b.files, bundleFile{e.Path, f.Mode&0o111 != 0, f.Data})
	}
	slices.SortFunc(b.files, func(a, b bundleFile) int { return cmp.Compare(a.path, b.path) })
	b.hash = b.sum()
	return b, nil
}

// sum hashes paths, the right to be run, and contents, each with its length.
func (b bundle) sum() string {
	h := sha256.New()
	h.Write([]byte("forge plugin 1\n"))
	field := func(data []byte) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(data)))
		h.Write(length[:])
		h.Write(data)
	}
	for _, f := range b.files {
		field([]byte(f.path))
		if f.executable {
			field([]byte("x"))
		} else {
			field(nil)
		}
		field(f.data)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// manifest returns the content of the manifest.
func (b bundle) manifest() ([]byte, error) {
	i := slices.IndexFunc(b.files, func(f bundleFile) bool { return f.path == ManifestName })
	if i < 0 {
		return nil, fs.ErrNotExist
	}
	return b.files[i].data, nil
}

// write puts the files into a new, empty folder.
func (b bundle) write(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range b.files {
		name := filepath.FromSlash(f.path)
		if parent := path.Dir(f.path); parent != "." {
			if err := root.MkdirAll(filepath.FromSlash(parent), 0o700); err != nil {
				return err
			}
		}
		mode := fs.FileMode(0o400)
		if f.executable {
			mode = 0o500
		}
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = file.Write(f.data)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}
