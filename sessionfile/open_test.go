package sessionfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/formats"
)

const (
	claudeLine = `{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":"Hi."}}` + "\n"
	codexLine  = `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi."}]}}` + "\n"
)

// checkRefused proves that an error is one line that names the file, wraps
// the reason and says what to do.
func checkRefused(t *testing.T, err error, path string, want error, words ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v is no %v", err, want)
	}
	var e *sessionfile.Error
	if !errors.As(err, &e) || e.Path != path || e.Hint == "" {
		t.Errorf("error is no complete *Error: %#v", err)
	}
	text := err.Error()
	if strings.Contains(text, "\n") || !strings.Contains(text, filepath.Base(path)) || len(text) > 600 {
		t.Errorf("error is not one line that names the file: %s", text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("error does not say %q: %s", w, text)
		}
	}
}

// Bad input: a clear one-line error that names the file and what to do.
func TestBadInput(t *testing.T) {
	bomb := strings.Repeat(`{"a":`, 100_000)
	for _, c := range []struct {
		name, text string
		want       error
		words      []string
	}{
		{"empty", "", sessionfile.ErrEmpty, nil},
		{"white space", " \n\r\n\t", sessionfile.ErrEmpty, nil},
		{"only a byte order mark", "\xef\xbb\xbf", sessionfile.ErrEmpty, nil},
		{"picture", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR{}", sessionfile.ErrBinary, nil},
		{"program", "\x7fELF\x02\x01\x01\x00\x00\x00", sessionfile.ErrBinary, nil},
		{"latin-1", "caf\xe9", sessionfile.ErrBinary, nil},
		{"database", "SQLite format 3\x00", sessionfile.ErrBinary, nil},
		{"UTF-16", "\xff\xfe{\x00}\x00", sessionfile.ErrBinary, []string{"UTF-16", "UTF-8"}},
		{"UTF-16 without a mark", "{\x00\"\x00a\x00", sessionfile.ErrBinary, nil},
		{"gzip", "\x1f\x8b\x08\x00rest", sessionfile.ErrCompressed, []string{"gunzip"}},
		{"Zstandard", "\x28\xb5\x2f\xfdrest", sessionfile.ErrCompressed, []string{"zstd -d"}},
		{"xz", "\xfd7zXZ\x00", sessionfile.ErrCompressed, []string{"unxz"}},
		{"zip", "PK\x03\x04", sessionfile.ErrCompressed, []string{"unzip"}},
		{"text", "Dear reader,\nthis is no session.\n", sessionfile.ErrUnreadable, nil},
		{"YAML", "a: 1\nb:\n- 2\n", sessionfile.ErrUnreadable, nil},
		{"a brace and no more", "{", sessionfile.ErrUnreadable, nil},
		{"braces of a program", "func main() {\n\tx := 1\n}\n", sessionfile.ErrUnreadable, nil},
		{"JSON of something else", `{"name":"x","version":"1.0.0"}`, sessionfile.ErrUnknownFormat, []string{"claude-code", "codex"}},
		{"lines of something else", "{\"level\":\"info\"}\n{\"level\":\"warn\"}\n", sessionfile.ErrUnknownFormat, nil},
		{"an array of something else", `[1,2,3]`, sessionfile.ErrUnknownFormat, nil},
		{"a number", `42`, sessionfile.ErrUnreadable, nil},
		{"JSON bomb of objects", bomb, sessionfile.ErrNesting, []string{"10000"}},
		{"JSON bomb of arrays", strings.Repeat("[", 100_000), sessionfile.ErrNesting, nil},
		{"JSON bomb that is closed", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), sessionfile.ErrNesting, nil},
		{"JSON bomb in a field", claudeLine + `{"type":"user","uuid":"u2","parentUuid":"u1","message":` + bomb, sessionfile.ErrNesting, []string{"line 2"}},
		{"a line of 50 MB", claudeLine + `{"type":"user","uuid":"u2","parentUuid":"u1","message":{"role":"user","content":"` +
			strings.Repeat("x", 50<<20) + `"}}` + "\n", sessionfile.ErrTooLarge, []string{"line 2", "32 MiB"}},
		{"only one long line", strings.Replace(claudeLine, "Hi.", strings.Repeat("x", 33<<20), 1), sessionfile.ErrTooLarge,
			[]string{"line 1", "32 MiB"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in.jsonl")
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := sessionfile.Open(path, formats.All(), nil)
			checkRefused(t, err, path, c.want, c.words...)
			if len(c.text) > 1<<20 {
				return // once is enough
			}
			_, err = sessionfile.Read("in.jsonl", []byte(c.text), formats.All(), nil)
			checkRefused(t, err, "in.jsonl", c.want, c.words...)
		})
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "two-gigabytes")
	f, err := os.Create(big)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(2<<30), f.Close()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		dir:                             sessionfile.ErrNotRegular,
		pipe:                            sessionfile.ErrNotRegular,
		os.DevNull:                      sessionfile.ErrNotRegular,
		big:                             sessionfile.ErrTooLarge,
		filepath.Join(dir, "absent"):    fs.ErrNotExist,
		filepath.Join(dir, "absent/is"): fs.ErrNotExist,
	} {
		_, err := sessionfile.Open(path, formats.All(), nil)
		checkRefused(t, err, path, want)
	}
}

// faulty is a file system in which one file misbehaves.
type faulty struct {
	fstest.MapFS
	open, read error
	// size is what the file claims at first, grown what it claims later.
	size, grown int64
}

func (f faulty) Open(name string) (fs.File, error) {
	if f.open != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.open}
	}
	file, err := f.MapFS.Open(name)
	return &faultyFile{File: file, fs: f}, err
}

func (f faulty) Stat(name string) (fs.FileInfo, error) {
	info, err := f.MapFS.Stat(name)
	return sized{info, f.size}, err
}

type faultyFile struct {
	fs.File
	fs    faulty
	stats int
}

func (f *faultyFile) Read(p []byte) (int, error) {
	if f.fs.read != nil {
		return 0, f.fs.read
	}
	return f.File.Read(p)
}

func (f *faultyFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	if f.stats++; f.stats > 1 {
		return sized{info, f.fs.grown}, err
	}
	return sized{info, f.fs.size}, err
}

type sized struct {
	fs.FileInfo
	size int64
}

func (s sized) Size() int64 { return s.size }

// No permission, and a disk that fails.
func TestUnreadableFiles(t *testing.T) {
	files := fstest.MapFS{"in": {Data: []byte(claudeLine)}}
	_, err := sessionfile.OpenFS(faulty{MapFS: files, size: 10, open: fs.ErrPermission}, "in", formats.All(), nil)
	checkRefused(t, err, "in", fs.ErrPermission, "readable")
	_, err = sessionfile.OpenFS(faulty{MapFS: files, size: 10, read: syscall.EIO}, "in", formats.All(), nil)
	checkRefused(t, err, "in", syscall.EIO, "disk")
}

// A file that grows while it is read is read as it was when it was opened,
// and the growth is named; so is a file that shrinks.
func TestFileThatChanges(t *testing.T) {
	text := claudeLine + strings.Replace(strings.Replace(claudeLine, "u1", "u2", 1), "null", `"u1"`, 1)
	files := fstest.MapFS{"in": {Data: []byte(text)}}
	first := int64(len(claudeLine))
	s, err := sessionfile.OpenFS(faulty{MapFS: files, size: first, grown: int64(len(text))}, "in", formats.All(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Transcript.Len() != 1 || len(s.Losses) != 1 || !strings.Contains(s.Losses[0].What, "the file grew") {
		t.Errorf("%d messages, losses %v", s.Transcript.Len(), s.Losses)
	}
	// The new part begins in the middle of a line.
	s, err = sessionfile.OpenFS(faulty{MapFS: files, size: first + 9, grown: int64(len(text))}, "in", formats.All(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Transcript.Len() != 1 || len(s.Losses) != 2 {
		t.Errorf("%d messages, losses %v", s.Transcript.Len(), s.Losses)
	}
	s, err = sessionfile.OpenFS(faulty{MapFS: files, size: int64(len(text)) + 100, grown: int64(len(text))}, "in", formats.All(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Transcript.Len() != 2 || len(s.Losses) != 1 || !strings.Contains(s.Losses[0].What, "the file shrank") {
		t.Errorf("%d messages, losses %v", s.Transcript.Len(), s.Losses)
	}
}

// The limits can be lowered, and hold for documents, objects and files.
func TestLimits(t *testing.T) {
	document := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 5000) + `"}]}`
	for _, c := range []struct {
		name, text string
		limits     sessionfile.Limits
	}{
		{"file", claudeLine, sessionfile.Limits{FileBytes: 20}},
		{"object", claudeLine + claudeLine, sessionfile.Limits{ObjectBytes: 20}},
		{"document", document, sessionfile.Limits{DocumentBytes: 4000}},
		{"array", "[" + document + "]", sessionfile.Limits{DocumentBytes: 4000}},
	} {
		_, err := sessionfile.Read("in", []byte(c.text), formats.All(), &sessionfile.Options{Limits: c.limits})
		if !errors.Is(err, sessionfile.ErrTooLarge) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := sessionfile.Read("in", []byte(document), formats.All(), &sessionfile.Options{
		Limits: sessionfile.Limits{DocumentBytes: 6000, ObjectBytes: 100}}); err != nil {
		t.Errorf("a document may be longer than an object: %v", err)
	}
}

// Text in which no session begins is given up at a bound, not held.
func TestNoiseIsBounded(t *testing.T) {
	noise := "{\"cut" + strings.Repeat("\nno session here", 10_000)
	_, err := sessionfile.Read("in", []byte(noise), formats.All(), &sessionfile.Options{Limits: sessionfile.Limits{DocumentBytes: 1000}})
	if !errors.Is(err, sessionfile.ErrUnreadable) {
		t.Errorf("error: %v", err)
	}
}

// Formats are found by content, never by name, through links, and with the
// folder that the file stands in.
func TestOpenOnDisk(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	parent := `{"ordinal":0,"type":"session_meta","payload":{"id":"A","timestamp":"2026-01-01T00:00:00Z"}}` + "\n" +
		strings.Replace(codexLine, "{", `{"ordinal":1,`, 1)
	child := `{"ordinal":2,"type":"session_meta","payload":{"id":"B","timestamp":"2026-01-02T00:00:00Z",` +
		`"history_base":{"thread_id":"A","end_ordinal_exclusive":2}}}` + "\n" + strings.Replace(codexLine, "{", `{"ordinal":3,`, 1)
	write("sessions/2026/01/01/rollout-A.jsonl", parent)
	path := write("sessions/2026/01/02/rollout-B.jsonl", child)
	link := filepath.Join(dir, "link.txt")
	if err := os.Symlink(write("elsewhere/claude.bin", claudeLine), link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		format   string
		messages int
	}{path: {"codex", 2}, link: {"claude-code", 1}} {
		s, err := sessionfile.Open(path, formats.All(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Format != want.format || s.Transcript.Len() != want.messages || len(s.Losses) != 0 {
			t.Errorf("%s: format %s, %d messages, losses %v", path, s.Format, s.Transcript.Len(), s.Losses)
		}
	}
}

// Hostile lines that each begin a new object inside the one before must not
// take quadratic time: with it, this test would not end.
func TestHostileNestingIsLinear(t *testing.T) {
	for _, line := range []string{"{\"a\":[1,\n", "{\"a\":\n", "{\"a\":[{\"b\":1},\n", "{\"a\"\n"} {
		data := []byte(strings.Repeat(line, (4<<20)/len(line)))
		if _, err := sessionfile.Read("in", data, formats.All(), nil); err == nil {
			t.Errorf("%q: read without an error", line)
		}
	}
}

// Read does not keep or change the caller's bytes.
func TestReadLeavesTheBytesAlone(t *testing.T) {
	data := []byte(claudeLine)
	s, err := sessionfile.Read("in", data, formats.All(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, []byte(claudeLine)) {
		t.Error("the bytes were changed")
	}
	clear(data)
	if got := s.Transcript.At(0).Text(); got != "Hi." {
		t.Errorf("message %q lives in the caller's bytes", got)
	}
}
