package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// RunsFolder is where the traces of runs are, inside Forge's own folder; each
// is one file with the run's name and RunsSuffix.
const (
	RunsFolder = "runs"
	RunsSuffix = ".jsonl"
)

// A RunFile is the trace of one run on disk: a Sink that appends. Make one with
// CreateRun or ResumeRun, and close it. It belongs to one goroutine.
type RunFile struct {
	*Writer
	file *os.File
}

// runPath returns where the trace of a run is. A name is a file name of
// letters, digits, '-', '_' and '.', and does not begin with a '.'.
func runPath(run string) (string, error) {
	if run == "" || len(run) > 128 || run[0] == '.' || strings.ContainsFunc(run, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}) {
		return "", fmt.Errorf("name trace %.40q: use 1 to 128 letters, digits, '-', '_' and '.'", run)
	}
	return path.Join(RunsFolder, run+RunsSuffix), nil
}

// CreateRun makes the trace of a new run below root, for its owner only. An
// existing one is an error that wraps fs.ErrExist.
func CreateRun(root *os.Root, run string, clock func() time.Time) (*RunFile, error) {
	name, err := runPath(run)
	if err != nil {
		return nil, err
	}
	if err := root.Mkdir(RunsFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create trace of run %s: %w", run, err)
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create trace of run %s: %w", run, err)
	}
	return &RunFile{Writer: NewWriter(f, clock), file: f}, nil
}

// ResumeRun goes on with the trace of a run that was interrupted: numbers
// continue after the last event that can be read. Nothing that was written is
// changed. A last line that a crash has torn is ended, so that a Reader reports
// it; a file that is no trace, or one of a newer Forge, is an error.
func ResumeRun(root *os.Root, run string, clock func() time.Time) (*RunFile, error) {
	name, err := runPath(run)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("resume trace of run %s: %w", run, err)
	}
	w := NewWriter(f, clock)
	if w.seq, err = lastEvent(f); err == nil {
		err = endLine(f)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("resume trace of run %s: %w", run, err), f.Close())
	}
	return &RunFile{Writer: w, file: f}, nil
}

// lastEvent returns the highest sequence number in a trace.
func lastEvent(f io.Reader) (int64, error) {
	seq := int64(0)
	for e, err := range NewReader(f).Events() {
		if err != nil {
			return 0, err
		}
		seq = max(seq, e.Seq)
	}
	return seq, nil
}

// endLine ends a torn last line.
func endLine(f *os.File) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, size-1); err != nil {
		return err
	}
	if bytes.Equal(last, []byte("\n")) {
		return nil
	}
	_, err = f.Write([]byte("\n"))
	return err
}

// Sync makes durable what was emitted so far.
func (r *RunFile) Sync() error {
	if err := r.file.Sync(); err != nil {
		return fmt.Errorf("sync trace: %w", err)
	}
	return nil
}

// Close makes the trace durable and closes it.
func (r *RunFile) Close() error { return errors.Join(r.file.Sync(), r.file.Close()) }

// OpenRun opens the trace of a run for reading; fs.ErrNotExist.
func OpenRun(root *os.Root, run string) (*os.File, error) {
	name, err := runPath(run)
	if err != nil {
		return nil, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open trace of run %s: %w", run, err)
	}
	return f, nil
}

// Runs returns the names of the runs below root that begin with prefix, in
// alphabetical order; none when there is no such folder.
func Runs(root *os.Root, prefix string) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), RunsFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list traces: %w", err)
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), RunsSuffix); ok && e.Type().IsRegular() && strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}
