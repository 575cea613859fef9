// Package wire is the thin layer between an adapter and net/http: it sends
// stable bytes, reads server-sent events, keeps the raw body of a refusal and
// makes a request again while nothing of an answer has come.
//
// It knows no dialect. An adapter gives it the bytes of a request and a Turn
// that reads the events of one answer.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider"
)

const (
	maxErrorBytes  = 1 << 20
	maxAnswerBytes = 64 << 20
	maxStreamBytes = 256 << 20

	defaultAttempts    = 4
	defaultWait        = 500 * time.Millisecond
	defaultMaxWait     = time.Minute
	defaultIdleTimeout = 10 * time.Minute
)

// A Client sends the requests of one adapter. It is safe for concurrent use.
type Client struct {
	connection      provider.Connection
	endpoint        *url.URL
	secret          string
	authorize       func(h http.Header, secret string)
	provider, model string
}

// New checks a connection. authorize puts the key into a request's header.
func New(c provider.Connection, providerName, modelName string, authorize func(h http.Header, secret string)) (*Client, error) {
	u, err := provider.ParseEndpoint(c.Endpoint)
	if err != nil {
		return nil, err
	}
	secret, err := c.Key.Reveal(u)
	if err != nil {
		return nil, err
	}
	if modelName == "" {
		return nil, fmt.Errorf("%w: the model is not named", provider.ErrInvalid)
	}
	if c.Retry.Attempts < 0 || c.Retry.Wait < 0 || c.Retry.MaxWait < 0 || c.IdleTimeout < 0 {
		return nil, fmt.Errorf("%w: a bound of retries or time is negative", provider.ErrInvalid)
	}
	if c.Client == nil {
		c.Client = provider.NewClient(nil)
	}
	client := *c.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Client = &client
	setDefault(&c.Retry.Attempts, defaultAttempts)
	setDefault(&c.Retry.Wait, defaultWait)
	setDefault(&c.Retry.MaxWait, defaultMaxWait)
	setDefault(&c.IdleTimeout, defaultIdleTimeout)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return &Client{connection: c, endpoint: u, secret: secret, authorize: authorize, provider: providerName, model: modelName}, nil
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// A Call is one request.
type Call struct {
	// Method defaults to POST.
	Method string
	// Path follows the endpoint's, with a slash in front; Query follows it.
	Path, Query string
	// Header holds fields besides those of the connection.
	Header http.Header
	// Body is sent as JSON.
	Body []byte
}

// A Turn reads the events of one answer. One with a method Ended() bool says
// by it that the stream may end without another event.
type Turn interface {
	// Take reads one event of the server and returns what it says. It must not
	// keep e.Data.
	Take(e Event) ([]model.Event, error)
	// Done reports whether the terminal event has come.
	Done() bool
	// Evidence reports whether the answer has said anything or called a tool.
	Evidence() bool
	// Completed returns the whole answer. It is called once, when Done.
	Completed() (model.Completed, error)
}

// Stream makes one provider turn. newTurn is called for each attempt.
func (c *Client) Stream(ctx context.Context, call Call, newTurn func() Turn) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for attempt := 1; ; attempt++ {
			a := attemptState{turn: newTurn()}
			err := c.attempt(ctx, call, &a, yield)
			if err == nil || a.stopped {
				return
			}
			failed := c.complete(err, a.turn.Evidence())
			failed.Attempts = attempt
			wait, again := c.again(attempt, failed)
			if a.started || !again {
				yield(nil, failed)
				return
			}
			if err := c.connection.Sleep(ctx, wait); err != nil {
				yield(nil, c.complete(canceled(ctx, err), false))
				return
			}
		}
	}
}

type attemptState struct {
	turn    Turn
	started bool // an event of the answer came
	stopped bool // the caller wants no more
}

// attempt makes one request and reads its answer. It returns nil when the
// answer is complete.
func (c *Client) attempt(ctx context.Context, call Call, a *attemptState, yield func(model.Event, error) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.connection.IdleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()
	response, err := c.send(ctx, call, "text/event-stream")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "application/json" || kind == "text/html" {
		return c.notStreamed(ctx, response)
	}
	events := NewReader(response.Body, 0)
	for total := 0; ; {
		idle.Reset(c.connection.IdleTimeout)
		e, err := events.Next()
		idle.Stop() // the caller may take its time
		if ender, ok := a.turn.(interface{ Ended() bool }); ok && err == io.EOF && ender.Ended() {
			return a.finish(yield)
		}
		if err != nil {
			return c.broken(ctx, err)
		}
		if total += len(e.Data); total > maxStreamBytes {
			return &model.Error{Kind: model.ErrIncompleteStream, Body: []byte{}, Err: fmt.Errorf("the answer has more than %d bytes", maxStreamBytes)}
		}
		out, err := a.turn.Take(e)
		if err != nil {
			return err
		}
		a.started = true
		for _, event := range out {
			if !yield(event, nil) {
				a.stopped = true
				return nil
			}
		}
		if err := ctx.Err(); err != nil {
			return canceled(ctx, err)
		}
		if a.turn.Done() {
			return a.finish(yield)
		}
	}
}

func (a *attemptState) finish(yield func(model.Event, error) bool) error {
	completed, err := a.turn.Completed()
	if err == nil {
		a.stopped = !yield(completed, nil)
	}
	return err
}

var errIdle = errors.New("the provider has said nothing for too long")

// broken says why a stream ended before its terminal event.
func (c *Client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return canceled(ctx, err)
	}
	if err == io.EOF {
		err = nil
	}
	return &model.Error{Kind: model.ErrIncompleteStream, Err: err}
}

// canceled tells the caller's cancellation from our own.
func canceled(ctx context.Context, err error) error {
	if context.Cause(ctx) == errIdle {
		return &model.Error{Kind: model.ErrIncompleteStream, Err: errIdle}
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return &model.Error{Err: err}
}

// notStreamed reads an answer that is one document: an error under a status
// of success, or a server that cannot stream.
func (c *Client) notStreamed(ctx context.Context, r *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxErrorBytes))
	if err != nil {
		return c.broken(ctx, err)
	}
	failed := EventError(body)
	failed.Status = r.StatusCode
	if failed.Kind == nil {
		failed.Kind = model.ErrIncompleteStream
		failed.Err = errors.New("the server answered with one document, not with a stream")
	}
	return failed
}

// send makes one request and returns an answer with a status of success.
func (c *Client) send(ctx context.Context, call Call, accept string) (*http.Response, error) {
	request, err := c.request(ctx, call, accept)
	if err != nil {
		return nil, err
	}
	response, err := c.connection.Client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, canceled(ctx, err)
		}
		return nil, &model.Error{Kind: model.ErrTransient, Err: plainCause(err)}
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	if err != nil && ctx.Err() != nil {
		return nil, canceled(ctx, err)
	}
	return nil, c.statusError(response, body)
}

func (c *Client) request(ctx context.Context, call Call, accept string) (*http.Request, error) {
	u := *c.endpoint
	u.Path, u.RawQuery = u.Path+call.Path, call.Query
	method := call.Method
	if method == "" {
		method = http.MethodPost
	}
	var body io.Reader
	if call.Body != nil {
		body = bytes.NewReader(call.Body)
	}
	request, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, &model.Error{Err: err}
	}
	for _, h := range []http.Header{c.connection.Header, call.Header} {
		for name, values := range h {
			for _, value := range values {
				request.Header.Add(name, value)
			}
		}
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", "forge")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.secret != "" {
		c.authorize(request.Header, c.secret)
	}
	return request, nil
}

// plainCause takes the URL out of an error of net/http.
func plainCause(err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// Do makes one request without a stream and without a retry, and returns the
// body of its answer.
func (c *Client) Do(ctx context.Context, call Call) ([]byte, error) {
	response, err := c.send(ctx, call, "application/json")
	if err != nil {
		return nil, c.complete(err, false)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return nil, c.complete(c.broken(ctx, err), false)
	case len(body) > maxAnswerBytes:
		return nil, c.complete(&model.Error{Err: fmt.Errorf("the answer has more than %d bytes", maxAnswerBytes)}, false)
	}
	return body, nil
}

// Count asks a provider's count endpoint. The number of tokens is the member
// of the answer that bears the name.
func (c *Client) Count(ctx context.Context, call Call, name string) (model.Estimate, error) {
	answer, err := c.Do(ctx, call)
	if err != nil {
		return model.Estimate{}, err
	}
	var members map[string]json.RawMessage
	var tokens *int
	err = json.Unmarshal(answer, &members)
	if err == nil && members[name] != nil {
		err = json.Unmarshal(members[name], &tokens)
	}
	if err != nil || tokens == nil || *tokens < 0 {
		return model.Estimate{}, c.Fail(Malformed(answer, errors.New("the answer holds no count")))
	}
	return model.ProviderCount(*tokens), nil
}

// Bearer puts a key into a header as most endpoints take it.
func Bearer(h http.Header, secret string) { h.Set("Authorization", "Bearer "+secret) }

// Refuse returns a stream that consists of an error about the request itself.
func (c *Client) Refuse(err error) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) { yield(nil, c.complete(err, false)) }
}

// Fail returns an error as Stream and Do would give it.
func (c *Client) Fail(err error) error { return c.complete(err, false) }
