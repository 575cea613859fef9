package modeltest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// retry: only before the first event, only for what may pass, with a bound.
func (s *suite) retry(t *testing.T) {
	good := s.answer(t, "text")
	failing := func(status int, header ...string) Answer {
		a := Answer{Status: status, Header: http.Header{}, Body: []byte(`{"error":{"message":"later"}}`)}
		for i := 0; i+1 < len(header); i += 2 {
			a.Header.Set(header[i], header[i+1])
		}
		return a
	}
	tests := []struct {
		name     string
		answers  []Answer
		requests int
		ok       bool
		wait     time.Duration // at least, before the second request
	}{
		{"429, then an answer", []Answer{failing(429), good}, 2, true, 0},
		{"429 with seconds to wait", []Answer{failing(429, "Retry-After", "7"), good}, 2, true, 7 * time.Second},
		{"429 with milliseconds to wait", []Answer{failing(429, "Retry-After-Ms", "1500"), good}, 2, true, 1500 * time.Millisecond},
		{"429 with too long a wait", []Answer{failing(429, "Retry-After", "3600"), good}, 1, false, 0},
		{"500, then an answer", []Answer{failing(500), good}, 2, true, 0},
		{"503, then an answer", []Answer{failing(503), good}, 2, true, 0},
		{"529, then an answer", []Answer{failing(529), good}, 2, true, 0},
		{"always 503", []Answer{failing(503)}, attempts, false, 0},
		{"connection ends before the answer", []Answer{{Abort: true}, good}, 2, true, 0},
		{"connection ends before the first event", []Answer{good.with(nil), good}, 2, true, 0},
		{"400", []Answer{failing(400), good}, 1, false, 0},
		{"403", []Answer{failing(403), good}, 1, false, 0},
		{"404", []Answer{failing(404), good}, 1, false, 0},
		{"money is out", []Answer{{Status: 429, Body: []byte(`{"error":{"message":"out","code":"insufficient_quota"}}`)}, good}, 1, false, 0},
		{"cut after the first event", []Answer{good.with(bytes.Join(good.events()[:1], nil)), good}, 1, false, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, server := s.play(t, test.answers...)
			if (out.err == nil) != test.ok {
				t.Errorf("error is %v", out.err)
			}
			requests, waits := server.Requests(), server.Waits()
			if len(requests) != test.requests || len(waits) != test.requests-1 {
				t.Fatalf("%d requests and %d waits, want %d", len(requests), len(waits), test.requests)
			}
			for i, wait := range waits {
				if i == 0 && wait < test.wait || wait <= 0 || wait > time.Minute {
					t.Errorf("wait %d is %s, want at least %s", i, wait, test.wait)
				}
			}
			for _, r := range requests[1:] {
				if !bytes.Equal(r.Body, requests[0].Body) {
					t.Error("the retry sends other bytes")
				}
			}
		})
	}
	t.Run("redirect", s.redirect)
}

// redirect: the key never goes to another address.
func (s *suite) redirect(t *testing.T) {
	reached := make(chan struct{}, 8)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	t.Cleanup(other.Close)
	out, _ := s.play(t, Answer{Status: 307, Header: http.Header{"Location": {other.URL}}})
	if out.err == nil || len(reached) > 0 {
		t.Errorf("the redirect was followed: %v", out.err)
	}
}

// request: what is sent.
func (s *suite) request(t *testing.T) {
	good := s.answer(t, "text")
	t.Run("one POST with the encoded bytes", func(t *testing.T) {
		server := NewServer(t, good)
		m := s.model(t, server)
		s.read(t, context.Background(), m)
		r := server.Requests()[0]
		want, err := s.Body(m, Ask())
		if err != nil {
			t.Fatal(err)
		}
		if r.Method != http.MethodPost || !bytes.Equal(r.Body, want) || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %s with %s: %s", r.Method, r.Header.Get("Content-Type"), r.Body)
		}
		if strings.Contains(r.Path+r.Query, s.secret) {
			t.Error("the key is in the address")
		}
		if !bytes.Contains(r.Body, []byte("1234")) {
			t.Error("the output cap is not sent (weak spot 8)")
		}
	})
	t.Run("the key goes in the header", func(t *testing.T) {
		server := NewServer(t, good)
		s.read(t, context.Background(), s.model(t, server))
		found := false
		for _, values := range server.Requests()[0].Header {
			found = found || strings.Contains(strings.Join(values, " "), s.secret)
		}
		if !found {
			t.Error("the key is not sent")
		}
	})
	t.Run("a lost result is refused before anything is sent", func(t *testing.T) {
		server := NewServer(t, good)
		r := Ask()
		r.Messages = append(r.Messages, message.Message{Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: "c", Name: "n"}}})
		s.refused(t, server, r)
	})
	t.Run("a result without its call is refused before anything is sent", func(t *testing.T) {
		server := NewServer(t, good)
		r := Ask()
		r.Messages = append(r.Messages, message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: "c"}}})
		s.refused(t, server, r)
	})
	t.Run("another provider's compaction item is refused", func(t *testing.T) {
		server := NewServer(t, good)
		r := Ask()
		r.Messages = append(r.Messages, message.Message{Role: message.RoleUser, Blocks: []message.Block{
			message.Opaque{Provider: "somebody-else", Type: "compaction", Data: []byte(`{}`)}}})
		s.refused(t, server, r)
	})
	t.Run("capabilities", func(t *testing.T) {
		c := s.model(t, NewServer(t, good)).Capabilities()
		if c.Provider == "" || c.Model == "" || c.WindowTokens <= 0 || c.WindowSource == "" || c.Wire == "" || c.NativeCompaction == "" || c.ContinuationProjection == "" {
			t.Errorf("got %+v", c)
		}
	})
	t.Run("two at once", func(t *testing.T) {
		m := s.model(t, NewServer(t, good))
		done := make(chan outcome, 2)
		for range 2 {
			go func() { done <- s.read(t, context.Background(), m) }()
		}
		for range 2 {
			if out := <-done; out.err != nil {
				t.Error(out.err)
			}
		}
	})
}

func (s *suite) refused(t *testing.T, server *Server, r model.Request) {
	t.Helper()
	var failed error
	for _, err := range s.model(t, server).Stream(context.Background(), r) {
		failed = err
	}
	if failed == nil || len(server.Requests()) != 0 {
		t.Errorf("error is %v, %d requests were sent", failed, len(server.Requests()))
	}
}
