package codexapp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/replay"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/forgejsonl"
	"github.com/forge-agent/forge/sessionfile/formats"
)

// raw is the real program driven by hand, for what the engine does not do.
type raw struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func startRaw(t testing.TB, r *real) *raw {
	t.Helper()
	cmd := exec.CommandContext(withTimeout(t), r.program, "app-server")
	cmd.Env, cmd.Dir = r.environ(), r.work
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &raw{t: t, cmd: cmd, in: in, out: bufio.NewReader(out)}
	s.call("initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}})
	s.write(map[string]any{"method": "initialized"})
	return s
}

func (s *raw) write(v any) {
	data, _ := json.Marshal(v)
	if _, err := s.in.Write(append(data, '\n')); err != nil {
		s.t.Fatal(err)
	}
}

// until reads lines to the one that is wanted.
func (s *raw) until(want func(m map[string]any) bool) map[string]any {
	s.t.Helper()
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		var m map[string]any
		if json.Unmarshal(line, &m) == nil && want(m) {
			return m
		}
	}
}

func (s *raw) call(method string, params any) map[string]any {
	s.t.Helper()
	s.id++
	id := float64(s.id)
	s.write(map[string]any{"id": s.id, "method": method, "params": params})
	m := s.until(func(m map[string]any) bool { return m["id"] == id && m["method"] == nil })
	if m["error"] != nil {
		s.t.Fatalf("%s: %v", method, m["error"])
	}
	result, _ := m["result"].(map[string]any)
	return result
}

// turn runs a turn and returns its id.
func (s *raw) turn(thread, prompt string) string {
	s.t.Helper()
	res := s.call("turn/start", map[string]any{"threadId": thread, "input": []map[string]any{{"type": "text", "text": prompt}}})
	s.until(func(m map[string]any) bool { return m["method"] == "turn/completed" })
	return res["turn"].(map[string]any)["id"].(string)
}

func (s *raw) close() {
	s.in.Close()
	s.cmd.Wait()
}

// said are the texts of persons and of the model, in order.
func said(s *sessionfile.Session) string {
	var out []string
	for _, m := range s.Transcript.All() {
		if m.Text() != "" && (m.Authored() || m.Role == message.RoleAssistant) {
			out = append(out, m.Text())
		}
	}
	return strings.Join(out, "|")
}

// What the real program writes is read: the thread of a session with its
// compaction, a fork of it and a thread that was reverted, each with what came
// before. Forge's wrapper is known as such.
func TestRealFilesAreRead(t *testing.T) {
	r := newReal(t, setting{})
	r.provider.plan(says("answer one", 1500), runs("echo hi", 16000), says("the summary", 16100), says("answer two", 3000), says("answer three", 3100))
	r.good("one")
	r.good("two")
	r.good("three")
	thread := r.result().Thread
	requests := len(must(r.s.Requests(context.Background())))
	r.engine.Close()

	s := startRaw(t, r)
	r.provider.plan(says("answer fork", 1600), says("answer four", 3200), says("answer after", 3300))
	s.call("thread/resume", map[string]any{"threadId": thread})
	fork := s.call("thread/fork", map[string]any{"threadId": thread})["thread"].(map[string]any)["id"].(string)
	s.turn(fork, "fork")
	four := s.turn(thread, "four")
	s.call("thread/revert", map[string]any{"threadId": thread, "beforeTurnId": four})
	s.turn(thread, "after")
	s.close()

	want := map[string]int{
		"one|answer one|two|answer two|three|answer three|four|answer four":   0,
		"one|answer one|two|answer two|three|answer three|fork|answer fork":   0,
		"one|answer one|two|answer two|three|answer three|after|answer after": 0,
	}
	for _, file := range r.rollouts() {
		imported, err := sessionfile.Open(file, formats.All(), nil)
		if err != nil {
			t.Fatal(err)
		}
		text := said(imported)
		if _, ok := want[text]; !ok {
			t.Errorf("%s: %s", filepath.Base(file), text)
		}
		want[text]++
		if len(imported.Losses) > 0 {
			t.Errorf("%s: %+v", filepath.Base(file), imported.Losses)
		}
		if n := len(imported.Requests); n != requests+1 {
			t.Errorf("%s: %d requests, the session has %d and one follows", filepath.Base(file), n, requests)
		}
		compactions := 0
		for _, m := range imported.Marks {
			if m.Kind == sessionfile.MarkCompaction {
				compactions++
			}
		}
		if compactions != 1 {
			t.Errorf("%s: marks %+v", filepath.Base(file), imported.Marks)
		}
		replays(t, file, imported)
		imports(t, r, file, imported)
	}
	for text, n := range want {
		if n != 1 {
			t.Errorf("%d files say %s", n, text)
		}
	}
}

// A thread that was rebuilt has the wrapper at its beginning, and nobody said
// that.
func TestRealWrapperIsKnownInFiles(t *testing.T) {
	r := newReal(t, setting{})
	r.provider.plan(says("answer one", 1500))
	r.good("one")
	r.engine.Close()
	before := r.rollouts()
	o := r.opts
	o.Config = map[string]any{"project_doc_max_bytes": 0} // other settings: another thread
	r.use(r.s, o)
	r.provider.plan(says("answer two", 1600))
	if res := r.good("two"); res.Origin != "rebuilt" || res.Rebuilt != "settings-changed" {
		t.Errorf("%+v", res)
	}
	r.engine.Close()
	for _, file := range r.rollouts() {
		if file == before[0] {
			continue
		}
		imported, err := sessionfile.Open(file, formats.All(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := said(imported); got != "two|answer two" {
			t.Errorf("said: %s", got)
		}
		found := false
		for _, m := range imported.Transcript.All() {
			found = found || m.Origin == message.OriginInjected && strings.Contains(m.Text(), "answer one")
		}
		if !found {
			t.Error("the wrapper is not there")
		}
	}
}

func replays(t *testing.T, file string, s *sessionfile.Session) {
	t.Helper()
	rep, err := replay.Run(context.Background(), file, s, replay.Options{Catalog: catalog.Default(), Counter: vocabulary.Counter})
	if err != nil {
		t.Fatalf("replay: %v", err)
	}
	if rep.Requests == 0 {
		t.Error("nothing was replayed")
	}
}

func imports(t *testing.T, r *real, file string, s *sessionfile.Session) {
	t.Helper()
	done, err := session.Import(context.Background(), r.store, "", forgejsonl.Content(s, filepath.Base(file)), nil)
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	if rep, err := session.Verify(context.Background(), r.store, done.ID); err != nil || len(rep.Findings) > 0 || rep.Messages != s.Transcript.Len() {
		t.Errorf("%+v, %v", rep, err)
	}
}
