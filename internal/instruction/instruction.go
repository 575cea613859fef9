// Package instruction makes the instructions of a run: the agent's own prompt,
// what plugins and skills add, the user's AGENTS.md and those of the project,
// from its root down to the folder that is worked in.
//
// A [Snapshot] is read afresh for each run and does not change during it
// (F-CLS-02, F-CLS-13). Nothing is cached, so a resumed session has today's
// files. What is left out, cut or changed is a [Loss], and the model is told.
package instruction

import (
	"bytes"
	"context"
	_ "embed" // for the prompt
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/internal/excerpt"
	"github.com/forge-agent/forge/internal/workspace"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/redact"
)

// The names of instruction files. In each folder the first one that is there
// stands in place of the other.
const (
	OverrideName = "AGENTS.override.md"
	FileName     = "AGENTS.md"
)

// Bounds, those of the seed.
const (
	// DefaultFileBytes is how much of one file is used.
	DefaultFileBytes = 32 << 10
	// DefaultTotalBytes is how much is used of all files together.
	DefaultTotalBytes = 128 << 10
	// DefaultTimeout bounds the reading of all files.
	DefaultTimeout = 2 * time.Second
)

//go:embed prompt.md
var basePrompt string

// BasePrompt returns the agent's own prompt.
func BasePrompt() string { return strings.TrimSpace(basePrompt) }

// Kind is where a part of the instructions comes from.
type Kind string

// The kinds, in the order in which they stand in a request.
const (
	KindBase     Kind = "base"
	KindAddition Kind = "addition"
	KindUser     Kind = "user"
	KindProject  Kind = "project"
	// KindNote tells the model which files are missing or cut.
	KindNote Kind = "note"
)

// An Addition is text of another origin that belongs to the instructions: the
// prompt of a plugin, the list of skills. Whoever makes it bounds it.
type Addition struct {
	// Label says what it is and where it comes from, in one line; the model
	// reads it.
	Label string
	// Path names the file for the trace; empty for none.
	Path string
	// Text is left out when it is empty.
	Text string
}

// Options say what to load.
type Options struct {
	// Base is the agent's prompt; empty means BasePrompt.
	Base string
	// Additions stand after the prompt, in order.
	Additions []Addition
	// Project is the root of the project: the nearest folder with a ".git", or
	// the workspace. Nil means no project files. It stays the caller's.
	Project *workspace.Workspace
	// Start is the folder that is worked in, relative to Project; empty means
	// the root. Files of other folders are not read.
	Start string
	// UserFolder is FORGE_HOME; empty means no user file. A link there is
	// followed: the folder is the user's own.
	UserFolder string
	// Redactor takes secrets out; nil means redact.New(nil).
	Redactor *redact.Redactor
	// FileBytes and TotalBytes bound the text of one file and of all files.
	// Zero or less means the defaults. When the total does not suffice, the
	// user's file comes first and then the innermost ones.
	FileBytes, TotalBytes int
	// Timeout bounds the reading; zero or less means DefaultTimeout. What was
	// not read by then is a loss.
	Timeout time.Duration
}

// A Source is one part of a snapshot.
type Source struct {
	Kind Kind
	// Path is relative to the project, "FORGE_HOME/AGENTS.md" for the user's
	// file, empty for the base prompt.
	Path string
	// Bytes is the length of its text in the request, OriginalBytes that of
	// the file.
	Bytes         int
	OriginalBytes int64
}

// A Loss is something about a file that the instructions do not hold as it is.
type Loss struct {
	// Path is as in Source.
	Path string
	// Reason is a clause such as "cut: about 32768 of 50000 bytes are shown".
	Reason string
}

// String returns path and reason.
func (l Loss) String() string { return l.Path + ": " + l.Reason }

// A Snapshot is the instructions of one run. It does not change, and its
// methods return copies. The zero value holds none.
type Snapshot struct {
	messages []message.Message
	hash     message.Hash
	sources  []Source
	losses   []Loss
}

// Messages returns the instructions as system messages: base prompt,
// additions, the user's file, the project's files outermost first, and a note
// on losses if there are any.
func (s *Snapshot) Messages() []message.Message {
	out := slices.Clone(s.messages)
	for i := range out {
		out[i].Blocks = slices.Clone(out[i].Blocks)
	}
	return out
}

// Hash stands for the messages, as in the fits and traces of
// contextwindow (F-CLS-13, F-SEC-11).
func (s *Snapshot) Hash() message.Hash { return s.hash }

// Sources returns one entry for each message.
func (s *Snapshot) Sources() []Source { return slices.Clone(s.sources) }

// Paths returns the files that the snapshot was made from, in order, for the
// trace.
func (s *Snapshot) Paths() []string {
	var out []string
	for _, source := range s.sources {
		if source.Path != "" {
			out = append(out, source.Path)
		}
	}
	return out
}

// Losses returns what is not there as it stands in the files.
func (s *Snapshot) Losses() []Loss { return slices.Clone(s.losses) }

// Load reads the instructions of a run. The error is that of ctx, or says that
// Start is no folder of the project; a file that cannot be read is a loss.
func Load(ctx context.Context, o Options) (*Snapshot, error) {
	return load(ctx, o, readStart)
}

// load is Load with another way to read a file, for tests of the time bound.
func load(ctx context.Context, o Options, read reader) (*Snapshot, error) {
	if o.Base == "" {
		o.Base = BasePrompt()
	}
	if o.FileBytes <= 0 {
		o.FileBytes = DefaultFileBytes
	}
	if o.TotalBytes <= 0 {
		o.TotalBytes = DefaultTotalBytes
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	folders, err := chain(o)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	l := loader{options: o, read: read}
	for _, f := range folders {
		l.folder(bounded, f)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load instructions: %w", err)
	}
	return l.snapshot(), nil
}

// A folder may hold instruction files.
type folder struct {
	kind Kind
	// dir is a path below the project, or the user's folder.
	dir string
	// about says what its instructions are about.
	about string
}

// label is the path of a file for people, models and traces.
func (f folder) label(name string) string {
	if f.kind == KindUser {
		return "FORGE_HOME/" + name
	}
	return path.Join(f.dir, name)
}

// chain returns the folders in order: the user's, then from the project's root
// down to the start. No sibling of them is looked at.
func chain(o Options) ([]folder, error) {
	var out []folder
	if o.UserFolder != "" {
		out = append(out, folder{KindUser, o.UserFolder, "They hold for all work of this user."})
	}
	if o.Project == nil {
		return out, nil
	}
	start := "."
	if o.Start != "" {
		clean, err := o.Project.Clean(o.Start)
		if err != nil {
			return nil, fmt.Errorf("load instructions: %w", err)
		}
		start = clean
	}
	out = append(out, folder{KindProject, ".", "They hold for the whole project."})
	if start == "." {
		return out, nil
	}
	at := ""
	for segment := range strings.SplitSeq(start, "/") {
		at = path.Join(at, segment)
		out = append(out, folder{KindProject, at, fmt.Sprintf("They hold for what is below the folder %q.", at)})
	}
	return out, nil
}

// A reader returns the beginning of a file.
type reader func(f folder, project *workspace.Workspace, name string, maxBytes int) ([]byte, int64, error)

// readStart reads through the project's root, and from the user's folder what
// its own links lead to. It opens nothing but regular files.
func readStart(f folder, project *workspace.Workspace, name string, maxBytes int) ([]byte, int64, error) {
	if f.kind == KindProject {
		file, total, err := project.ReadStart(path.Join(f.dir, name), maxBytes)
		return file.Data, total, err
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(f.dir, name))
	if err != nil {
		return nil, 0, err
	}
	w, err := workspace.Open(filepath.Dir(resolved))
	if err != nil {
		return nil, 0, err
	}
	defer w.Close()
	file, total, err := w.ReadStart(filepath.Base(resolved), maxBytes)
	return bytes.Clone(file.Data), total, err
}

// found is a file that was read.
type found struct {
	folder folder
	path   string
	data   []byte
	total  int64
}

type loader struct {
	options Options
	read    reader
	files   []found
	losses  []Loss
}

// folder reads the instruction file of one folder. An override that is there
// and cannot be read is a loss; the file that it stands for is not used.
func (l *loader) folder(ctx context.Context, f folder) {
	for _, name := range []string{OverrideName, FileName} {
		data, total, err := l.bounded(ctx, f, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			l.lose(f.label(name), "not read: reading the instruction files took too long")
		case err != nil:
			l.lose(f.label(name), "not read: "+excerpt.Line(err.Error(), 200))
		case total > 0:
			l.files = append(l.files, found{f, f.label(name), data, total})
		}
		return
	}
}

// bounded waits for a file no longer than ctx lasts: a file system that hangs
// keeps its goroutine, and not the run.
func (l *loader) bounded(ctx context.Context, f folder, name string) ([]byte, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	type answer struct {
		data  []byte
		total int64
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		data, total, err := l.read(f, l.options.Project, name, l.options.FileBytes+excerpt.SlackBytes)
		done <- answer{data, total, err}
	}()
	select {
	case a := <-done:
		return a.data, a.total, a.err
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

func (l *loader) lose(path, reason string) {
	l.losses = append(l.losses, Loss{path, reason})
}
