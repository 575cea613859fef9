package codex

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/sessionfile"
)

// Bounds of the search for parents.
const (
	maxParents   = 64      // files in one chain
	maxPeeked    = 4096    // files whose header is read
	maxHeadBytes = 1 << 20 // of a header
)

// readParents returns the entries that the file continues, oldest first. A
// fork or a reverted thread does not copy its past: its header names the
// thread and the first ordinal that is its own.
func (im *importer) readParents(src *sessionfile.Source, own *meta) ([]entry, error) {
	finder, release, err := newFinder(src)
	if err != nil {
		im.losePart(own.base)
		return nil, nil
	}
	defer release()
	var chain []*rollout
	child := own
	for child.base.ThreadID != "" {
		name := finder.find(child)
		if name == "" || len(chain) == maxParents {
			im.losePart(child.base)
			break
		}
		finder.used[name] = true
		ro := &rollout{im: im, file: path.Base(name)}
		if err := ro.readParent(finder, src, name, child.base); err != nil {
			return nil, err
		}
		chain = append(chain, ro)
		child = &ro.meta
	}
	var out []entry
	for _, ro := range slices.Backward(chain) {
		out = append(out, ro.entries...)
	}
	return out, nil
}

func (im *importer) losePart(base historyBase) {
	im.b.Losef(1, "the session continues thread %s, whose file is not near this one: what came before is missing",
		clip(base.ThreadID))
}

// readParent reads a parent up to where the child begins.
func (ro *rollout) readParent(f *finder, src *sessionfile.Source, name string, base historyBase) error {
	parent, err := src.Other(f.fsys, name)
	if err != nil {
		return err
	}
	defer parent.Close()
	end := noOrdinal
	if base.EndOrdinal != nil {
		end = *base.EndOrdinal
	} else {
		ro.lose(0, "the header does not say how much of this parent belongs to the session, all of it is read")
	}
	if err := ro.readAll(parent, end); err != nil {
		return err
	}
	ro.im.b.Adopt(parent)
	return nil
}

// finder looks for rollouts by what their headers say.
type finder struct {
	fsys   fs.FS
	names  []string
	used   map[string]bool
	heads  map[string]*head
	peeked int
}

// head is the first line of a rollout.
type head struct {
	id      string
	started time.Time
	ordinal int
}

// newFinder lists the files around a rollout: in its folder, and when that is
// one of the program's (sessions/YYYY/MM/DD, archived_sessions), in all of
// those.
func newFinder(src *sessionfile.Source) (*finder, func(), error) {
	for _, levels := range []int{4, 3, 1} {
		fsys, name, release, err := src.Folder(levels)
		if err != nil {
			return nil, nil, err
		}
		dir, rest, _ := strings.Cut(name, "/")
		switch {
		case levels == 4 && dir == "sessions" && isDated(rest), levels == 1 && dir == "archived_sessions":
			return list(fsys, name, "sessions/[0-9]*/[0-9]*/[0-9]*/*.jsonl", "archived_sessions/*.jsonl"), release, nil
		case levels == 3 && isDated(name):
			return list(fsys, name, "[0-9]*/[0-9]*/[0-9]*/*.jsonl"), release, nil
		}
		release()
	}
	fsys, name, release, err := src.Folder(0)
	if err != nil {
		return nil, nil, err
	}
	return list(fsys, name), release, nil
}

// list collects the files in the folder of the named one, and those that the
// patterns match.
func list(fsys fs.FS, name string, patterns ...string) *finder {
	f := &finder{fsys: fsys, used: map[string]bool{name: true}, heads: map[string]*head{}}
	known := map[string]bool{}
	for _, pattern := range append([]string{path.Join(quoteGlob(path.Dir(name)), "*")}, patterns...) {
		names, err := fs.Glob(fsys, pattern)
		if err != nil {
			continue // a bad pattern finds nothing
		}
		for _, n := range names {
			if !known[n] {
				known[n] = true
				f.names = append(f.names, n)
			}
		}
	}
	return f
}

// quoteGlob keeps the special characters of a folder's name from being
// special.
func quoteGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// isDated reports whether a name has the form YYYY/MM/DD/file.
func isDated(name string) bool {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || len(parts[0]) != 4 || len(parts[1]) != 2 || len(parts[2]) != 2 {
		return false
	}
	return strings.Trim(strings.Join(parts[:3], ""), "0123456789") == ""
}

// find returns the file that the child continues: of its base's thread, not
// begun after the base ends, and the newest that is older than the child,
// since a thread that was reverted has several files.
func (f *finder) find(child *meta) string {
	best, bestHead := "", (*head)(nil)
	consider := func(name string) {
		h := f.head(name)
		if h == nil || f.used[name] || h.id != child.base.ThreadID {
			return
		}
		if child.base.EndOrdinal != nil && h.ordinal >= *child.base.EndOrdinal {
			return
		}
		if !child.started.IsZero() && h.started.After(child.started) {
			return
		}
		if bestHead == nil || h.started.After(bestHead.started) {
			best, bestHead = name, h
		}
	}
	// The program names a file after its thread; but the content decides.
	for _, name := range f.names {
		if strings.Contains(path.Base(name), child.base.ThreadID) {
			consider(name)
		}
	}
	if best != "" {
		return best
	}
	for _, name := range f.names {
		consider(name)
	}
	return best
}

// head reads a file's header once; nil when the file is no rollout.
func (f *finder) head(name string) *head {
	if h, known := f.heads[name]; known || f.peeked == maxPeeked {
		return h
	}
	f.peeked++
	h, err := peek(f.fsys, name)
	if err != nil {
		h = nil
	}
	f.heads[name] = h
	return h
}

func peek(fsys fs.FS, name string) (*head, error) {
	if info, err := fs.Stat(fsys, name); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("peek into %s: %w", name, fs.ErrInvalid)
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("peek into %s: %w", name, err)
	}
	defer file.Close()
	var l struct {
		Type    string `json:"type"`
		Ordinal int    `json:"ordinal"`
		Payload struct {
			ID      string    `json:"id"`
			Started timestamp `json:"timestamp"`
		} `json:"payload"`
	}
	if err := json.NewDecoder(io.LimitReader(file, maxHeadBytes)).Decode(&l); err != nil {
		return nil, fmt.Errorf("peek into %s: %w", name, err)
	}
	if l.Type != "session_meta" || l.Payload.ID == "" {
		return nil, fmt.Errorf("peek into %s: %w", name, fs.ErrInvalid)
	}
	return &head{id: l.Payload.ID, started: l.Payload.Started.Time, ordinal: l.Ordinal}, nil
}
