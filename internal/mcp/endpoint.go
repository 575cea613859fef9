package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/forge-agent/forge/provider"
)

// An endpoint is a server over HTTP: the round tripper under the protocol's
// transport. It adds the declared headers, bounds what is read, and keeps the
// stream of notices from breaking a session that works without it.
type endpoint struct {
	server Server
	base   http.RoundTripper
	own    *http.Client // made here, nil for one of the caller
	life   context.Context
	kill   context.CancelFunc
	status func(code int) // told of every refusal
	noise  func(string)   // told the first thing that is no message
	noises atomic.Int64
}

func newEndpoint(s Server, client *http.Client, refused func(int), noise func(string)) *endpoint {
	e := &endpoint{server: s, status: refused, noise: noise}
	if client == nil {
		client = provider.NewClient(nil)
		e.own = client
	}
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	e.base = base
	e.life, e.kill = context.WithCancel(context.Background())
	return e
}

// transport is the protocol's transport over this endpoint. A stream of an
// answer that breaks is taken up again where it broke, which repeats no call.
func (e *endpoint) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{
		Endpoint: e.server.URL,
		HTTPClient: &http.Client{
			Transport: e,
			// Following would send the call a second time, and the headers to
			// whoever the server names.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		MaxEventSize: maxMessageBytes + 4*maxFieldBytes,
	}
}

// close ends all requests.
func (e *endpoint) close() {
	e.kill()
	if e.own != nil {
		e.own.CloseIdleConnections()
	}
}

// RoundTrip sends a request of the protocol.
func (e *endpoint) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := e.life.Err(); err != nil {
		return nil, err
	}
	if req.Method == http.MethodGet && req.Header.Get("Last-Event-ID") == "" {
		return e.notices(req), nil
	}
	var id json.RawMessage
	if req.Method == http.MethodPost && req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			id = callID(body)
			body.Close()
		}
	}
	resp, err := e.send(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		e.status(resp.StatusCode)
		resp.Body = &limited{Reader: io.LimitReader(resp.Body, 64<<10), Closer: resp.Body}
	case kind == "text/event-stream":
		resp.Body = &limited{Reader: e.events(resp.Body, id), Closer: resp.Body}
		resp.ContentLength = -1
	case id != nil:
		return e.bounded(resp, id, kind)
	}
	return resp, nil
}

// events reads the stream that answers the call with the id, or notices.
func (e *endpoint) events(from io.Reader, id json.RawMessage) *events {
	return &events{lines: newLineReader(from, maxMessageBytes), id: id, noise: e.leaveOut}
}

// leaveOut notes something that is no message. The error says that it is enough.
func (e *endpoint) leaveOut(data []byte) error {
	switch n := e.noises.Add(1); {
	case n == 1:
		e.noise(string(data))
	case n > maxNoise:
		return fmt.Errorf("it sent more than %d events that are no messages", maxNoise)
	}
	return nil
}

// send sends a request with the declared headers, until the endpoint is closed.
func (e *endpoint) send(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(e.life, cancel)
	release := func() { stop(); cancel() }
	req = req.Clone(ctx)
	for name, value := range e.server.Headers {
		req.Header.Set(name, value)
	}
	resp, err := e.base.RoundTrip(req)
	if err != nil {
		release()
		return nil, err
	}
	resp.Body = &released{ReadCloser: resp.Body, release: release}
	return resp, nil
}

// bounded reads an answer that is no stream. One that is too long, or no
// message, becomes an error of its call: the session works without it.
func (e *endpoint) bounded(resp *http.Response, id json.RawMessage, kind string) (*http.Response, error) {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxMessageBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(data) > maxMessageBytes {
		rest, _ := io.Copy(io.Discard, io.LimitReader(resp.Body, 16*maxMessageBytes))
		data = errorFor(id, tooLongText(len(data)+int(rest)))
	} else if kind == "application/json" {
		message, _, err := recode(data)
		if err != nil {
			message = errorFor(id, "the answer is no message of the protocol, so what the call did is not known: "+e.server.quote(string(data), 200))
		}
		data = message
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return resp, nil
}

// errorFor is the answer in place of one that cannot be read, nil without an id.
func errorFor(id json.RawMessage, text string) []byte {
	message, err := unreadable(id, text)
	if err != nil {
		return nil
	}
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return nil
	}
	return data
}

// callID returns the id of a call in the body of a request, nil for none.
func callID(body io.Reader) json.RawMessage {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.NewDecoder(body).Decode(&message) != nil || message.Method == "" || bytes.Equal(message.ID, []byte("null")) {
		return nil
	}
	return message.ID
}

func parseNumber(id []byte) (float64, error) { return strconv.ParseFloat(string(id), 64) }

// notices answers the request for the stream of notices at once and opens it
// while it is read. When there is none, or it ends, the stream is silent: the
// protocol's transport would else end a session because of it, or wait for it
// without end before the session begins.
func (e *endpoint) notices(req *http.Request) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1, Request: req,
		Body: &noticeStream{endpoint: e, req: req, done: make(chan struct{})},
	}
}

type noticeStream struct {
	endpoint *endpoint
	req      *http.Request
	opened   bool
	from     io.Reader // nil when there is nothing more to read

	mu   sync.Mutex
	body io.Closer
	done chan struct{}
	once sync.Once
}

// Read reads what there is and then waits until the session ends.
func (n *noticeStream) Read(p []byte) (int, error) {
	if !n.opened {
		n.opened = true
		n.open()
	}
	if n.from != nil {
		if k, err := n.from.Read(p); k > 0 || err == nil {
			return k, nil
		}
		n.from = nil
	}
	select {
	case <-n.done:
	case <-n.endpoint.life.Done():
	case <-n.req.Context().Done():
	}
	return 0, io.EOF
}

func (n *noticeStream) open() {
	resp, err := n.endpoint.send(n.req)
	if err != nil {
		return
	}
	n.mu.Lock()
	n.body = resp.Body
	n.mu.Unlock()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		resp.Body.Close()
		return
	}
	n.from = n.endpoint.events(resp.Body, nil)
}

// Close ends the wait.
func (n *noticeStream) Close() error {
	n.once.Do(func() { close(n.done) })
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.body != nil {
		return n.body.Close()
	}
	return nil
}

// released gives up the context of a request with its body.
type released struct {
	io.ReadCloser
	release func()
}

// Close closes the body.
func (r *released) Close() error {
	defer r.release()
	return r.ReadCloser.Close()
}
