// Package scripted is a provider on this machine that answers as a script
// says, in the wire formats of real providers: OpenAI Responses, chat
// completions, Anthropic Messages and Gemini generateContent. It reads each
// request as the provider would, counts what it weighs and what a cache of
// common beginnings holds of it, and can fail in the ways in which providers
// fail.
//
// It is for tests and evaluations: it listens on the loopback address, checks
// no key and knows no model. Its counts are those of one public vocabulary
// without any framing, so they are close to no provider's own.
package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// Dialects lists the wire formats that a Server speaks.
func Dialects() []wirebody.Dialect {
	return []wirebody.Dialect{wirebody.Responses, wirebody.Chat, wirebody.Anthropic, wirebody.Gemini}
}

// Options are what a Server does.
type Options struct {
	// Script answers the requests, one at a time. Required.
	Script func(Request) Reply
	// WindowTokens is the window that requests are held against; zero for
	// none. Refuse makes the server refuse a request over it as the provider
	// would; without it such a request is only counted.
	WindowTokens int
	Refuse       bool
	// Keep keeps every request. A large run keeps only the newest.
	Keep bool
}

// A Request is what the server was asked.
type Request struct {
	// N counts the requests from 1.
	N int
	// Dialect is the wire format, Model the model asked for.
	Dialect wirebody.Dialect
	Model   string
	// Instructions, Messages and Tools are what the model would read.
	// Instructions that stand among the messages are in Messages.
	Instructions []message.Message
	Messages     []message.Message
	Tools        []message.ToolDefinition
	// OutputCapTokens bounds the answer, zero when the body has no bound.
	OutputCapTokens int
	// InputTokens is the server's count of the request, CachedTokens the part
	// of it that stands at the beginning of the request before it too.
	InputTokens, CachedTokens int
	// Body is the request as it came, Header its header.
	Body   []byte
	Header http.Header
}

// Text returns everything that the model would read, one part a line.
func (r Request) Text() string {
	var b strings.Builder
	for _, p := range pieces(r) {
		b.WriteString(p)
		b.WriteByte('\n')
	}
	return b.String()
}

// Last returns the text of the last message, the results of tools included.
func (r Request) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	var parts []string
	for _, b := range r.Messages[len(r.Messages)-1].Blocks {
		parts = append(parts, blockText(b))
	}
	return strings.Join(parts, "\n")
}

// A Call is a tool call of an answer. Arguments are sent as they stand, JSON
// or not; an empty ID gets one that no other call has.
type Call struct{ ID, Name, Arguments string }

// A Reply is what the server answers.
type Reply struct {
	Reasoning, Text string
	Calls           []Call
	// Usage is what is reported; nil means what the server counted.
	Usage *message.Usage
	// Truncated says that the answer was cut at its bound.
	Truncated bool
	// Fault is what goes wrong; the rest is said as far as the fault lets it.
	Fault Fault
	// RetryAfter is the header with this name, for the faults that refuse.
	RetryAfter string
}

// Totals counts what a server was asked.
type Totals struct {
	// Requests are all, Refused those that a window or a fault refused.
	Requests, Refused int
	// InputTokens, CachedTokens and OutputTokens sum the answered requests.
	InputTokens, CachedTokens, OutputTokens int
	// PeakInputTokens is the heaviest request, refused ones included,
	// PeakWithOutputTokens the same with the bound of its answer.
	PeakInputTokens, PeakWithOutputTokens int
	// OverWindow are requests over Options.WindowTokens, Uncapped those
	// without a bound of the answer.
	OverWindow, Uncapped int
}

// UncachedTokens is the input that no cache held.
func (t Totals) UncachedTokens() int { return t.InputTokens - t.CachedTokens }

// A Server is a running provider. Its methods may be called at any time.
type Server struct {
	options  Options
	listener net.Listener
	http     *http.Server
	done     chan struct{}

	mu       sync.Mutex
	weigher  weigher
	calls    int
	totals   Totals
	requests []Request
}

// Start starts a server. Close ends it.
func Start(o Options) (*Server, error) {
	if o.Script == nil {
		return nil, errors.New("start provider: there is no script")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start provider: %w", err)
	}
	s := &Server{options: o, listener: l, done: make(chan struct{}), weigher: newWeigher()}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // it always ends with an error: that of Close
	}()
	return s, nil
}

// Close ends the server and every answer that is going on.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// URL is the endpoint for every dialect.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Totals returns the counts so far.
func (s *Server) Totals() Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.totals
}

// Requests returns the requests so far, without Options.Keep only the newest.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// route tells what a path asks for.
func route(path string) (d wirebody.Dialect, model string, count bool) {
	switch {
	case strings.HasSuffix(path, "/responses/input_tokens"):
		return wirebody.Responses, "", true
	case strings.HasSuffix(path, "/responses"):
		return wirebody.Responses, "", false
	case strings.HasSuffix(path, "/chat/completions"):
		return wirebody.Chat, "", false
	case strings.HasSuffix(path, "/messages/count_tokens"):
		return wirebody.Anthropic, "", true
	case strings.HasSuffix(path, "/messages"):
		return wirebody.Anthropic, "", false
	}
	_, name, found := strings.Cut(path, "/models/")
	name, method, _ := strings.Cut(name, ":")
	if found && (method == "streamGenerateContent" || method == "countTokens") {
		return wirebody.Gemini, name, method == "countTokens"
	}
	return "", "", false
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	dialect, name, count := route(hr.URL.Path)
	if dialect == "" {
		http.Error(w, "this provider has no "+hr.URL.Path, http.StatusNotFound)
		return
	}
	r, err := read(hr, dialect, name, count)
	if err != nil {
		refuse(w, dialect, refusal{status: http.StatusBadRequest, kind: "invalid_request_error", message: err.Error()})
		return
	}
	if count {
		s.mu.Lock()
		tokens := s.weigher.weigh(pieces(r), false).total
		s.mu.Unlock()
		answerCount(w, dialect, tokens)
		return
	}
	reply, usage := s.take(&r)
	a := answer{w: w, request: hr, asked: r, reply: reply, usage: usage, windowTokens: s.options.WindowTokens}
	a.write()
}

// take counts a request and asks the script.
func (s *Server) take(r *Request) (Reply, message.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.totals
	t.Requests++
	r.N = t.Requests
	weight := s.weigher.weigh(pieces(*r), true)
	r.InputTokens, r.CachedTokens = weight.total, weight.cached
	t.PeakInputTokens = max(t.PeakInputTokens, weight.total)
	t.PeakWithOutputTokens = max(t.PeakWithOutputTokens, weight.total+r.OutputCapTokens)
	if r.OutputCapTokens <= 0 {
		t.Uncapped++
	}
	if !s.options.Keep {
		s.requests = s.requests[:0]
	}
	s.requests = append(s.requests, *r)
	over := s.options.WindowTokens > 0 && weight.total > s.options.WindowTokens
	if over {
		t.OverWindow++
	}
	var reply Reply
	if over && s.options.Refuse {
		reply = Reply{Fault: Overflow}
	} else {
		reply = s.options.Script(*r)
	}
	if reply.Fault.refuses() {
		t.Refused++
		return reply, message.Usage{}
	}
	reply.Calls = s.number(reply)
	usage := message.Usage{InputTokens: weight.total, CachedInputTokens: weight.cached, OutputTokens: s.weigher.answer(reply)}
	t.InputTokens += usage.InputTokens
	t.CachedTokens += usage.CachedInputTokens
	t.OutputTokens += usage.OutputTokens
	if reply.Usage != nil {
		usage = *reply.Usage
	}
	return reply, usage
}

// number gives calls without an id one of their own.
func (s *Server) number(r Reply) []Call {
	calls := slices.Clone(r.Calls)
	for i := range calls {
		if calls[i].ID == "" {
			s.calls++
			calls[i].ID = fmt.Sprintf("call_%06d", s.calls)
		}
	}
	switch r.Fault {
	case DuplicateIDs:
		calls = append(calls, calls...)
	case BrokenArguments:
		for i := range calls {
			calls[i].Arguments = strings.TrimSuffix(calls[i].Arguments, "}")
		}
	}
	return calls
}

func answerCount(w http.ResponseWriter, d wirebody.Dialect, tokens int) {
	name := "input_tokens"
	if d == wirebody.Gemini {
		name = "totalTokens"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]int{name: tokens}) // whoever asked may be gone
}
