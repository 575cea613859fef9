// Package trace is the record of what Forge decided: one definition of
// versioned events, and how they are written to and read from JSON lines.
//
// A trace holds decisions, counts, ids, labels and hashes. It never holds
// content: no message text, no tool arguments or output, no provider's error
// text (F-EVT-03, F-NAT-03, F-SEC-12). Whoever has the conversation can check
// a trace against it; whoever has only the trace learns nothing that was
// said.
//
// The package decides nothing and renders nothing. Package contextwindow
// makes the decisions, internal/inspect shows them.
//
// # Format
//
// One event is one line, a JSON object whose first members are always the
// same:
//
//	{"v":1,"seq":7,"time":"2026-01-02T15:04:05Z","type":"context.budgeted",…}
//
// v is the version of the format (Version), seq counts the events of a file
// from 1 without gaps, time is absent when it is not known. The members after
// type belong to the event type; they are the JSON form of the payload types
// of this package. Within a version members and event types are only added: a
// reader ignores members that it does not know and keeps events of an unknown
// type as they are. Token numbers are never negative.
package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Version is the version of the format that this package writes, and the
// newest that it reads.
const Version = 1

// Type is the name of an event type.
type Type string

// The event types (F-EVT-01 names the context.… types except overflow and
// mark; the engine.… types are those of turns that another engine runs).
const (
	TypeRunStarted          Type = "run.started"
	TypeContextBudgeted     Type = "context.budgeted"
	TypeContextWarning      Type = "context.warning"
	TypeCompactionStarted   Type = "context.compaction.started"
	TypeCompactionCompleted Type = "context.compaction.completed"
	TypeCompactionFailed    Type = "context.compaction.failed"
	TypeLimitReached        Type = "context.limit_reached"
	TypeContextOverflow     Type = "context.overflow"
	TypeContextMark         Type = "context.mark"
	TypeEngineTurn          Type = "engine.turn"
	TypeEngineUsage         Type = "engine.usage"
	TypeRequestCompleted    Type = "request.completed"
	TypeToolCompleted       Type = "tool.completed"
	TypeRunCompleted        Type = "run.completed"
)

// Errors that reading returns or reports, wrapped with the place.
var (
	// ErrNewerVersion: the trace was written by a newer Forge.
	ErrNewerVersion = errors.New("trace has a newer format")
	// ErrMalformed: a line is not an event.
	ErrMalformed = errors.New("not a trace event")
	// ErrLineTooLong: a line is longer than MaxLineBytes.
	ErrLineTooLong = errors.New("trace line too long")
)

// A Payload is what an event of one type says. The implementations are the
// pointer types *RunStarted, *ContextBudgeted, *ContextWarning,
// *CompactionStarted, *CompactionCompleted, *CompactionFailed, *LimitReached,
// *ContextOverflow, *ContextMark, *EngineTurn, *EngineUsage,
// *RequestCompleted, *ToolCompleted, *RunCompleted and *Unknown; a type switch
// over these is complete.
type Payload interface {
	// Type returns the name of the event type.
	Type() Type
	// check says what is impossible about the payload, nil when nothing is.
	check() error
}

// An Event is one entry of a trace.
type Event struct {
	// Seq counts the events of a trace from 1.
	Seq int64
	// Time is when it happened; zero when unknown.
	Time time.Time
	// Payload is what happened. It is never nil in an event that was read.
	Payload Payload
}

// Unknown is an event of a type that this version does not know.
type Unknown struct {
	// Name is the event type.
	Name Type
	// Raw is the whole event as it was read.
	Raw json.RawMessage
}

// Type returns the name that was read.
func (u *Unknown) Type() Type { return u.Name }

func (u *Unknown) check() error { return nil }

// newPayload returns an empty payload for a type, nil when the type is
// unknown.
func newPayload(t Type) Payload {
	switch t {
	case TypeRunStarted:
		return &RunStarted{}
	case TypeContextBudgeted:
		return &ContextBudgeted{}
	case TypeContextWarning:
		return &ContextWarning{}
	case TypeCompactionStarted:
		return &CompactionStarted{}
	case TypeCompactionCompleted:
		return &CompactionCompleted{}
	case TypeCompactionFailed:
		return &CompactionFailed{}
	case TypeLimitReached:
		return &LimitReached{}
	case TypeContextOverflow:
		return &ContextOverflow{}
	case TypeContextMark:
		return &ContextMark{}
	case TypeEngineTurn:
		return &EngineTurn{}
	case TypeEngineUsage:
		return &EngineUsage{}
	case TypeRequestCompleted:
		return &RequestCompleted{}
	case TypeToolCompleted:
		return &ToolCompleted{}
	case TypeRunCompleted:
		return &RunCompleted{}
	}
	return nil
}

// header is what every event begins with.
type header struct {
	Version int        `json:"v"`
	Seq     int64      `json:"seq"`
	Time    *time.Time `json:"time,omitempty"`
	Type    Type       `json:"type"`
}

// AppendJSON appends the event's JSON form to dst, without a newline.
func (e Event) AppendJSON(dst []byte) ([]byte, error) {
	if e.Payload == nil {
		return dst, fmt.Errorf("encode event %d: it has no payload", e.Seq)
	}
	if u, ok := e.Payload.(*Unknown); ok {
		return append(dst, bytes.TrimSpace(u.Raw)...), nil
	}
	if err := e.Payload.check(); err != nil {
		return dst, fmt.Errorf("encode event %d (%s): %w", e.Seq, e.Payload.Type(), err)
	}
	h := header{Version: Version, Seq: e.Seq, Type: e.Payload.Type()}
	if !e.Time.IsZero() {
		utc := e.Time.UTC()
		h.Time = &utc
	}
	head, err := json.Marshal(h)
	if err != nil {
		return dst, fmt.Errorf("encode event %d (%s): %w", e.Seq, h.Type, err)
	}
	body, err := json.Marshal(e.Payload)
	if err != nil {
		return dst, fmt.Errorf("encode event %d (%s): %w", e.Seq, h.Type, err)
	}
	if len(body) <= len("{}") {
		return append(dst, head...), nil
	}
	dst = append(dst, head[:len(head)-1]...)
	dst = append(dst, ',')
	return append(dst, body[1:]...), nil
}

// ParseEvent reads one line. It returns an error that wraps ErrNewerVersion
// for an event of a newer version and ErrMalformed for anything that is not
// an event.
func ParseEvent(line []byte) (Event, error) {
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return Event{}, fmt.Errorf("%w: %s", ErrMalformed, jsonProblem(err))
	}
	switch {
	case h.Version > Version:
		return Event{}, fmt.Errorf("%w: it has version %d, this Forge reads up to %d: update Forge to read it", ErrNewerVersion, h.Version, Version)
	case h.Version < 1:
		return Event{}, fmt.Errorf("%w: it states no version", ErrMalformed)
	case h.Seq < 1:
		return Event{}, fmt.Errorf("%w: its sequence number is %d", ErrMalformed, h.Seq)
	case h.Type == "":
		return Event{}, fmt.Errorf("%w: it states no type", ErrMalformed)
	}
	e := Event{Seq: h.Seq}
	if h.Time != nil {
		e.Time = *h.Time
	}
	p := newPayload(h.Type)
	if p == nil {
		e.Payload = &Unknown{Name: h.Type, Raw: bytes.Clone(line)}
		return e, nil
	}
	if err := json.Unmarshal(line, p); err != nil {
		return Event{}, fmt.Errorf("%w: %s: %s", ErrMalformed, h.Type, jsonProblem(err))
	}
	if err := p.check(); err != nil {
		return Event{}, fmt.Errorf("%w: %s: %w", ErrMalformed, h.Type, err)
	}
	e.Payload = p
	return e, nil
}

// jsonProblem keeps what the decoder says and drops what it quotes: an error
// text must not carry foreign content to a terminal.
func jsonProblem(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return "invalid JSON at byte " + strconv.FormatInt(syntax.Offset, 10)
	case errors.As(err, &kind):
		return "wrong JSON type at byte " + strconv.FormatInt(kind.Offset, 10)
	}
	return "invalid value"
}

// maxTokens bounds every number of a trace, so that sums cannot overflow.
const maxTokens = 1 << 40

// checkCounts says which of the named numbers is out of range. Names and
// values alternate.
func checkCounts(counts ...count) error {
	for _, c := range counts {
		if c.value < c.least || c.value > maxTokens {
			return fmt.Errorf("%s is %d, out of range", c.name, c.value)
		}
	}
	return nil
}

type count struct {
	name         string
	value, least int
}
