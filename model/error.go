package model

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Sentinels that an *Error matches through errors.Is.
var (
	// ErrContextOverflow: the provider says that the request is too long for
	// the window.
	ErrContextOverflow = errors.New("context overflow")
	// ErrRateLimited: try again later; also quota errors that look like size
	// errors.
	ErrRateLimited = errors.New("rate limited")
	// ErrTransient: connection and server faults worth a retry.
	ErrTransient = errors.New("transient provider fault")
	// ErrIncompleteStream: the stream ended without its terminal event.
	ErrIncompleteStream = errors.New("stream ended early")
	// ErrUnreadable: an answer, or an event of it, is not in the form that was
	// agreed on.
	ErrUnreadable = errors.New("unreadable answer")
)

// An Error is what went wrong with one provider turn. Everything the provider
// said is kept.
type Error struct {
	// Kind is one of the sentinels, nil for any other failure.
	Kind error
	// Provider and Model say where.
	Provider, Model string
	// Status is the HTTP status, zero when the fault is not from HTTP.
	Status int
	// Code and Type are the provider's own fields, empty when absent.
	Code, Type string
	// Message is the provider's text.
	Message string
	// Body is the raw body or event, unchanged.
	Body []byte
	// UsedTokens and LimitTokens are what an overflow stated, zero when it
	// did not.
	UsedTokens, LimitTokens int
	// RetryAfter is the provider's wish, zero when it stated none.
	RetryAfter time.Duration
	// Evidence is true when the attempt had already produced text, a call or
	// any other visible effect: it must not be retried (F-OVF-02).
	Evidence bool
	// Attempts is how many requests were made, all for the same turn: those
	// before the last one ended before the first event. Zero when not known.
	Attempts int
	// Err is the underlying fault, nil when there is none.
	Err error
}

// Error describes the fault in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("model request")
	if e.Provider != "" {
		fmt.Fprintf(&b, " to %s", e.Provider)
	}
	if e.Kind != nil {
		fmt.Fprintf(&b, ": %s", e.Kind)
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, ": HTTP %d", e.Status)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", e.Err)
	}
	return b.String()
}

// Unwrap returns the kind and the underlying fault.
func (e *Error) Unwrap() []error {
	var out []error
	if e.Kind != nil {
		out = append(out, e.Kind)
	}
	if e.Err != nil {
		out = append(out, e.Err)
	}
	return out
}
