package modeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/forge-agent/forge/model"
)

// streams are the answers that are cut, spoilt and cancelled at every event.
func streams() []string { return []string{"text", "reasoning", "call", "parallel-calls"} }

// cut: a stream that ends before its terminal event is an error, whatever the
// transport says.
func (s *suite) cut(t *testing.T) {
	for _, name := range streams() {
		a := s.answer(t, name)
		events := a.events()
		for n := range events {
			for _, abort := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s after %d events, abort %t", name, n, abort), func(t *testing.T) {
					short := a.with(bytes.Join(events[:n], nil))
					short.Abort = abort
					s.checkCut(t, short)
				})
			}
			t.Run(fmt.Sprintf("%s inside event %d", name, n), func(t *testing.T) {
				body := bytes.Join(events[:n], nil)
				s.checkCut(t, a.with(append(body, events[n][:len(events[n])/2]...)))
			})
		}
	}
}

func (s *suite) checkCut(t *testing.T, a Answer) {
	t.Helper()
	out, server := s.play(t, a)
	if out.completed != nil {
		t.Fatalf("completed: %+v", out.completed)
	}
	e := modelError(t, out.err)
	if e.Kind != model.ErrIncompleteStream {
		t.Errorf("kind is %v: %v", e.Kind, e)
	}
	if n := len(server.Requests()); n > 1 && (e.Evidence || len(out.events) > 0) {
		t.Errorf("%d requests although the answer had begun", n)
	}
}

// malformed: what cannot be read is an error and never a panic; what was read
// before stays evidence.
func (s *suite) malformed(t *testing.T) {
	garbage := map[string]string{
		"no JSON":    "data: {\"a\":\n\n",
		"wrong type": "data: {\"type\":17,\"choices\":3,\"candidates\":\"x\"}\n\n",
		"not UTF-8":  "data: \xff\xfe{\n\n",
	}
	a := s.answer(t, "call")
	events := a.events()
	for name, text := range garbage {
		for n := range events {
			t.Run(fmt.Sprintf("%s before event %d", name, n), func(t *testing.T) {
				body := slices.Concat(bytes.Join(events[:n], nil), []byte(text), bytes.Join(events[n:], nil))
				out, server := s.play(t, a.with(body))
				if out.err == nil {
					t.Fatal("no error")
				}
				if e := modelError(t, out.err); len(e.Body) == 0 {
					t.Error("the event is not kept")
				}
				if n := len(server.Requests()); n != 1 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

// cancel: the caller can stop at every event, in both ways, and in silence.
func (s *suite) cancel(t *testing.T) {
	for _, name := range streams() {
		a := s.answer(t, name)
		complete, _ := s.play(t, a)
		for n := range len(complete.events) + 1 {
			t.Run(fmt.Sprintf("%s by context after %d events", name, n), func(t *testing.T) { s.cancelContext(t, a, n) })
		}
		for n := range len(complete.events) + 1 {
			t.Run(fmt.Sprintf("%s by break at event %d", name, n), func(t *testing.T) { s.breakOff(t, a, n) })
		}
	}
	t.Run("in silence", s.silence)
}

func (s *suite) cancelContext(t *testing.T, a Answer, after int) {
	server := NewServer(t, a)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if after == 0 {
		cancel()
	}
	seen := 0
	var last error
	for e, err := range s.model(t, server).Stream(ctx, Ask()) {
		if _, done := e.(model.Completed); done {
			t.Fatal("completed after the cancellation")
		}
		last = err
		if seen++; seen == after {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v, want the cancellation", last)
	}
	if e := modelError(t, last); e.Evidence != (after > 0) || errors.Is(last, model.ErrIncompleteStream) {
		t.Errorf("got %+v", e)
	}
}

func (s *suite) breakOff(t *testing.T, a Answer, at int) {
	server := NewServer(t, a)
	seen := 0
	for _, err := range s.model(t, server).Stream(context.Background(), Ask()) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen > at {
			break
		}
	}
	awaitEnd(t, server)
	if n := len(server.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func awaitEnd(t *testing.T, server *Server) {
	t.Helper()
	select {
	case <-server.Ended:
	case <-time.After(10 * time.Second):
		t.Error("the request goes on at the server")
	}
}

// silence: a server that says nothing more is left when the caller asks.
func (s *suite) silence(t *testing.T) {
	a := s.answer(t, "text")
	a.Body, a.Stall = bytes.Join(a.events()[:1], nil), true
	server := NewServer(t, a)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-server.Stalled
		cancel()
	}()
	out := s.read(t, ctx, s.model(t, server))
	if !errors.Is(out.err, context.Canceled) {
		t.Errorf("got %v", out.err)
	}
	awaitEnd(t, server)
}

// transport: how the bytes arrive makes no difference.
func (s *suite) transport(t *testing.T) {
	a := s.answer(t, "parallel-calls")
	text := s.answer(t, "text")
	plain, _ := s.play(t, a)
	said, _ := s.play(t, text)
	variants := map[string]func(Answer) Answer{
		"byte by byte": func(a Answer) Answer { a.Piece = 1; return a },
		"in odd pieces": func(a Answer) Answer {
			a.Piece = 7
			return a
		},
		"CRLF": func(a Answer) Answer { return a.with(bytes.ReplaceAll(a.Body, []byte("\n"), []byte("\r\n"))) },
		"CR":   func(a Answer) Answer { return a.with(bytes.ReplaceAll(a.Body, []byte("\n"), []byte("\r"))) },
		"comments": func(a Answer) Answer {
			return a.with(bytes.ReplaceAll(a.Body, []byte("\n\n"), []byte("\n\n: keep-alive\n\nid: 7\nretry: 10\n\n")))
		},
		"byte order mark": func(a Answer) Answer { return a.with(append([]byte("\xEF\xBB\xBF"), a.Body...)) },
		"no space after the colon": func(a Answer) Answer {
			return a.with(bytes.ReplaceAll(a.Body, []byte("data: "), []byte("data:")))
		},
		"no content type": func(a Answer) Answer { a.Header = http.Header{"Content-Type": {"text/plain"}}; return a },
	}
	for name, change := range variants {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				answer Answer
				want   outcome
			}{{a, plain}, {text, said}} {
				out, _ := s.play(t, change(c.answer))
				if out.err != nil {
					t.Fatal(out.err)
				}
				if got, want := fmt.Sprintf("%+v %+v", out.events, out.completed.Messages), fmt.Sprintf("%+v %+v", c.want.events, c.want.completed.Messages); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
}
