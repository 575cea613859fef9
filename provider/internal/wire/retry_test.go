package wire_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/internal/wire"
)

// trip answers requests without a network.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(status int, header http.Header, body io.ReadCloser) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: body}
}

// echo is the smallest dialect: each event is a text, "end" is the last.
type echo struct{ said, done bool }

func (e *echo) Evidence() bool { return e.said }
func (e *echo) Done() bool     { return e.done }
func (e *echo) Completed() (model.Completed, error) {
	return model.Completed{Stop: model.StopEnd}, nil
}
func (e *echo) Take(ev wire.Event) ([]model.Event, error) {
	switch text := string(ev.Data); text {
	case "end":
		e.done = true
	case "fault":
		return nil, &model.Error{Kind: model.ErrTransient, Body: []byte(text)}
	default:
		e.said = true
		return []model.Event{model.TextDelta{Text: text}}, nil
	}
	return nil, nil
}

func newClient(t *testing.T, c provider.Connection, f trip) *wire.Client {
	t.Helper()
	c.Endpoint, c.Client = "https://api.example.com/v1", &http.Client{Transport: f}
	client, err := wire.New(c, "test", "m", func(http.Header, string) {})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func stream(ctx context.Context, c *wire.Client) (texts []string, completed bool, last error) {
	for e, err := range c.Stream(ctx, wire.Call{Path: "/x", Body: []byte("{}")}, func() wire.Turn { return &echo{} }) {
		switch e := e.(type) {
		case model.TextDelta:
			texts = append(texts, e.Text)
		case model.Completed:
			completed = true
		}
		last = err
	}
	return texts, completed, last
}

// The waits double from the first on, are shortened by the jitter, and are
// bounded in size and number.
func TestWaits(t *testing.T) {
	tests := []struct {
		name    string
		retry   provider.Retry
		random  float64
		header  http.Header
		want    []time.Duration // between requests
		overall int
	}{
		{"doubling", provider.Retry{Attempts: 4, Wait: time.Second}, 0, nil, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, 4},
		{"most jitter", provider.Retry{Attempts: 3, Wait: time.Second}, 0.999999, nil, []time.Duration{500 * time.Millisecond, time.Second}, 3},
		{"bounded", provider.Retry{Attempts: 4, Wait: time.Second, MaxWait: 1500 * time.Millisecond}, 0, nil, []time.Duration{time.Second, 1500 * time.Millisecond, 1500 * time.Millisecond}, 4},
		{"the provider's wish", provider.Retry{Attempts: 2, Wait: time.Second}, 0.5, http.Header{"Retry-After": {"20"}}, []time.Duration{20 * time.Second}, 2},
		{"a date", provider.Retry{Attempts: 2, Wait: time.Second}, 0, http.Header{"Retry-After": {"Sat, 01 Jan 2000 00:00:30 GMT"}}, []time.Duration{30 * time.Second}, 2},
		{"a wish beyond the bound", provider.Retry{Attempts: 5, Wait: time.Second, MaxWait: 10 * time.Second}, 0, http.Header{"Retry-After": {"20"}}, nil, 1},
		{"no retry", provider.Retry{Attempts: 1}, 0, nil, nil, 1},
		{"the default", provider.Retry{}, 0, nil, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // whose clock starts at midnight UTC 2000-01-01
				var at []time.Time
				c := newClient(t, provider.Connection{Retry: test.retry, Random: func() float64 { return test.random }}, func(*http.Request) (*http.Response, error) {
					at = append(at, time.Now())
					return response(503, test.header, io.NopCloser(strings.NewReader("later"))), nil
				})
				_, completed, err := stream(t.Context(), c)
				if completed || !errors.Is(err, model.ErrTransient) || len(at) != test.overall {
					t.Fatalf("%d requests, %v", len(at), err)
				}
				for i, want := range test.want {
					if got := at[i+1].Sub(at[i]); got.Round(time.Millisecond) != want {
						t.Errorf("wait %d is %s, want %s", i, got, want)
					}
				}
			})
		})
	}
}

func TestCancelledWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		c := newClient(t, provider.Connection{Random: func() float64 { return 0 }}, func(*http.Request) (*http.Response, error) {
			return nil, errors.New("connection refused")
		})
		start := time.Now()
		_, _, err := stream(ctx, c)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 300*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// A stream that falls silent ends; one that goes on slowly does not.
func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, server := io.Pipe()
		go func() {
			for range 5 {
				time.Sleep(9 * time.Minute)
				_, _ = server.Write([]byte("data: a\n\n"))
			}
		}()
		c := newClient(t, provider.Connection{}, func(r *http.Request) (*http.Response, error) {
			context.AfterFunc(r.Context(), func() { _ = body.CloseWithError(r.Context().Err()) })
			return response(200, nil, body), nil
		})
		start := time.Now()
		texts, completed, err := stream(t.Context(), c)
		if len(texts) != 5 || completed || !errors.Is(err, model.ErrIncompleteStream) || errors.Is(err, context.Canceled) {
			t.Errorf("%q, %v", texts, err)
		}
		if got := time.Since(start); got != 55*time.Minute {
			t.Errorf("ended after %s", got)
		}
	})
}

// A caller that takes its time with an event is not the provider's silence.
func TestSlowCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, provider.Connection{}, func(r *http.Request) (*http.Response, error) {
			body, server := io.Pipe()
			context.AfterFunc(r.Context(), func() { _ = body.CloseWithError(r.Context().Err()) })
			go func() { _, _ = server.Write([]byte("data: a\n\ndata: b\n\ndata: end\n\n")) }()
			return response(200, nil, body), nil
		})
		completed := false
		for e, err := range c.Stream(t.Context(), wire.Call{Path: "/x"}, func() wire.Turn { return &echo{} }) {
			if err != nil {
				t.Fatal(err)
			}
			_, completed = e.(model.Completed)
			time.Sleep(time.Hour)
		}
		if !completed {
			t.Error("the answer is not complete")
		}
	})
}

// A fault inside the stream is retried as long as nothing of the answer came.
func TestFaultInsideTheStream(t *testing.T) {
	for _, test := range []struct {
		name, first string
		requests    int
		ok          bool
	}{
		{"as the first event", "data: fault\n\n", 2, true},
		{"after a text", "data: a\n\ndata: fault\n\n", 1, false},
		{"nothing at all", "", 2, true},
		{"a comment and nothing more", ": wait\n\n", 2, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				c := newClient(t, provider.Connection{}, func(*http.Request) (*http.Response, error) {
					body := test.first
					if requests++; requests > 1 {
						body = "data: b\n\ndata: end\n\n"
					}
					return response(200, nil, io.NopCloser(strings.NewReader(body))), nil
				})
				_, completed, err := stream(t.Context(), c)
				if requests != test.requests || completed != test.ok || (err == nil) != test.ok {
					t.Errorf("%d requests, %v", requests, err)
				}
			})
		})
	}
}

func TestBadConnections(t *testing.T) {
	good := provider.Connection{Endpoint: "https://api.example.com"}
	other, err := provider.NewKey("not-real-key", "https://other.example.com")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*provider.Connection){
		"key of another endpoint": func(c *provider.Connection) { c.Key = other },
		"no encryption":           func(c *provider.Connection) { c.Endpoint = "http://api.example.com" },
		"negative attempts":       func(c *provider.Connection) { c.Retry.Attempts = -1 },
		"negative wait":           func(c *provider.Connection) { c.Retry.Wait = -1 },
		"negative timeout":        func(c *provider.Connection) { c.IdleTimeout = -1 },
	} {
		c := good
		change(&c)
		if _, err := wire.New(c, "p", "m", nil); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := wire.New(good, "p", "", nil); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("no model: %v", err)
	}
}
