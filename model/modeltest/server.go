package modeltest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// An Answer is one HTTP answer.
type Answer struct {
	// Status and Header come first.
	Status int
	Header http.Header
	// Body is the whole body.
	Body []byte
	// Piece is how many bytes are flushed at a time, zero for all.
	Piece int
	// Abort breaks the connection after the body instead of ending it; Stall
	// keeps it open and silent.
	Abort, Stall bool
}

// A Request is what the server was sent.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
}

// A Server plays answers in order, the last one again and again.
type Server struct {
	// URL is its address.
	URL string
	// Stalled gets a value whenever an answer stalls, Ended whenever a
	// request is over.
	Stalled, Ended chan struct{}

	mu       sync.Mutex
	answers  []Answer
	requests []Request
	waits    []time.Duration
}

// NewServer starts a server that stops with the test.
func NewServer(t testing.TB, answers ...Answer) *Server {
	s := &Server{answers: answers, Stalled: make(chan struct{}, 64), Ended: make(chan struct{}, 64)}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Setup is what a model needs that asks this server once.
func (s *Server) Setup() Setup {
	return Setup{URL: s.URL, Secret: "not-a-real-key", Attempts: 1, Sleep: s.Sleep}
}

// Requests returns what was sent so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Sleep stands for waiting: it notes the wait and returns.
func (s *Server) Sleep(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, d)
	return ctx.Err()
}

// Waits returns the waits so far.
func (s *Server) Waits() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Duration(nil), s.waits...)
}

func (s *Server) next(r Request) (Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	n := min(len(s.requests), len(s.answers))
	if n == 0 {
		return Answer{}, false
	}
	return s.answers[n-1], true
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	defer func() { s.Ended <- struct{}{} }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a, ok := s.next(Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body})
	if !ok {
		http.Error(w, "the script has no answer", http.StatusNotImplemented)
		return
	}
	if a.Abort && a.Status == 0 {
		panic(http.ErrAbortHandler) // ends the connection before any answer
	}
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	flusher, _ := w.(http.Flusher)
	for rest := a.Body; len(rest) > 0; {
		n := len(rest)
		if a.Piece > 0 {
			n = min(n, a.Piece)
		}
		if _, err := w.Write(rest[:n]); err != nil {
			return
		}
		flusher.Flush()
		rest = rest[n:]
	}
	flusher.Flush()
	if a.Stall {
		s.Stalled <- struct{}{}
		<-r.Context().Done()
	}
	if a.Abort {
		panic(http.ErrAbortHandler)
	}
}

// ParseAnswers reads a txtar archive of answers, by name. Each file is
//
//	HTTP status
//	Header: value
//	(empty line)
//	body
func ParseAnswers(archive []byte) (map[string]Answer, error) {
	out := map[string]Answer{}
	for _, f := range txtar.Parse(archive).Files {
		head, body, found := bytes.Cut(f.Data, []byte("\n\n"))
		lines := strings.Split(string(head), "\n")
		status, err := strconv.Atoi(strings.TrimPrefix(lines[0], "HTTP "))
		if !found || err != nil {
			return nil, fmt.Errorf("read answer %q: it does not begin with a status and an empty line", f.Name)
		}
		a := Answer{Status: status, Header: http.Header{}, Body: body}
		for _, line := range lines[1:] {
			name, value, _ := strings.Cut(line, ": ")
			a.Header.Set(name, value)
		}
		if a.Header.Get("Content-Type") != "text/event-stream" {
			a.Body = bytes.TrimSuffix(body, []byte("\n")) // the archive's, not the answer's
		}
		out[f.Name] = a
	}
	return out, nil
}

// events splits the body of a stream.
func (a Answer) events() [][]byte {
	var out [][]byte
	for rest := a.Body; len(rest) > 0; {
		i := bytes.Index(rest, []byte("\n\n"))
		if i < 0 {
			return append(out, rest)
		}
		out, rest = append(out, rest[:i+2]), rest[i+2:]
	}
	return out
}

// with returns the answer with another body.
func (a Answer) with(body []byte) Answer {
	a.Body = body
	return a
}
