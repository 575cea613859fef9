package wire

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider/internal/overflow"
)

// EventError reads an error that came inside a stream, or as a body under a
// status of success. The bytes are copied.
func EventError(raw []byte) *model.Error { return bodyError(0, raw) }

// bodyError reads a body. status is zero when it says nothing.
func bodyError(status int, raw []byte) *model.Error {
	f := overflow.Read(raw)
	e := &model.Error{Status: status, Code: f.Code, Type: f.Type, Message: f.Message, Body: append([]byte(nil), raw...)}
	if delay, err := time.ParseDuration(f.RetryDelay); err == nil && delay > 0 {
		e.RetryAfter = delay
	}
	verdict := f.Classify(status)
	if verdict.Overflow {
		e.Kind, e.UsedTokens, e.LimitTokens = model.ErrContextOverflow, verdict.UsedTokens, verdict.LimitTokens
		return e
	}
	e.Kind = kind(status, e.Code, e.Type)
	return e
}

// kind tells what may pass from what will not.
func kind(status int, code, kind string) error {
	if code == "insufficient_quota" || kind == "insufficient_quota" {
		return nil // waiting brings no money
	}
	switch {
	case status == http.StatusTooManyRequests:
		return model.ErrRateLimited
	case status == http.StatusRequestTimeout, status >= 500 && status != http.StatusNotImplemented:
		return model.ErrTransient
	case status != 0:
		return nil
	}
	for _, name := range []string{code, kind} {
		switch name {
		case "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED", "429", "throttlingException", "ThrottlingException":
			return model.ErrRateLimited
		case "overloaded_error", "api_error", "server_error", "internal_server_error", "timeout_error", "service_unavailable",
			"UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "500", "502", "503", "504", "529", "internalServerException":
			return model.ErrTransient
		}
	}
	return nil
}

func (c *Client) statusError(r *http.Response, body []byte) *model.Error {
	e := bodyError(r.StatusCode, body)
	if e.Code == "" && e.Type == "" {
		e.Type = r.Header.Get("X-Amzn-Errortype")
	}
	if after := retryAfter(r.Header, c.connection.Now()); after > 0 {
		e.RetryAfter = after
	}
	if e.Message == "" {
		e.Message = http.StatusText(r.StatusCode)
	}
	if r.StatusCode >= 300 && r.StatusCode < 400 {
		e.Message = "the endpoint redirects elsewhere; state its real address"
	}
	return e
}

// retryAfter reads the header in its three forms: milliseconds (OpenAI),
// seconds, a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e10 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if seconds > 0 && seconds < 1e7 {
			return time.Duration(seconds * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// complete fills in who failed, and takes the key out of what a server
// repeated. Any error becomes a *model.Error.
func (c *Client) complete(err error, evidence bool) *model.Error {
	var e *model.Error
	if !errors.As(err, &e) {
		e = &model.Error{Err: err}
	}
	e.Provider, e.Model, e.Evidence = c.provider, c.model, e.Evidence || evidence
	key := c.connection.Key
	e.Message, e.Code, e.Type = key.Redact(e.Message), key.Redact(e.Code), key.Redact(e.Type)
	if len(e.Body) > 0 {
		e.Body = []byte(key.Redact(string(e.Body)))
	}
	return e
}

// again says whether and after which wait a failed attempt is made again.
func (c *Client) again(attempt int, e *model.Error) (time.Duration, bool) {
	retry := c.connection.Retry
	switch {
	case attempt >= retry.Attempts, e.Evidence, e.RetryAfter > retry.MaxWait:
		return 0, false
	case errors.Is(e, model.ErrTransient), errors.Is(e, model.ErrRateLimited):
	case errors.Is(e, model.ErrIncompleteStream) && e.Body == nil:
		// The connection broke before the first event.
	default:
		return 0, false
	}
	wait := float64(retry.Wait) * math.Pow(2, float64(min(attempt-1, 30)))
	wait = min(wait, float64(retry.MaxWait)) * (1 - c.connection.Random()/2)
	return max(time.Duration(wait), e.RetryAfter), true
}

// Malformed is an answer, or an event of one, that cannot be read.
func Malformed(raw []byte, err error) *model.Error {
	return &model.Error{Kind: model.ErrUnreadable, Body: append([]byte(nil), raw...), Err: err}
}
