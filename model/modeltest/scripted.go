package modeltest

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// A Reply is what a Scripted model does with one request.
type Reply struct {
	// Events come first, in order. A Completed among them ends the stream.
	Events []model.Event
	// Err ends the stream when no Completed did.
	Err error
}

// Text is the reply of a model that says something and stops.
func Text(text string) Reply {
	return Reply{Events: []model.Event{
		model.TextDelta{Text: text},
		model.Completed{Messages: []message.Message{{Role: message.RoleAssistant, Blocks: []message.Block{message.Text{Text: text}}}}, Stop: model.StopEnd},
	}}
}

// Call is the reply of a model that calls tools.
func Call(calls ...message.ToolCall) Reply {
	m := message.Message{Role: message.RoleAssistant}
	for _, c := range calls {
		m.Blocks = append(m.Blocks, c)
	}
	return Reply{Events: []model.Event{model.Completed{Messages: []message.Message{m}, Stop: model.StopToolCall}}}
}

// A Scripted model answers from a list and keeps the requests. It is safe for
// concurrent use.
type Scripted struct {
	capabilities model.Capabilities
	mu           sync.Mutex
	replies      []Reply
	requests     []model.Request
}

// NewScripted returns a model that gives these replies in order. A request
// after the last is an error.
func NewScripted(c model.Capabilities, replies ...Reply) *Scripted {
	return &Scripted{capabilities: c, replies: replies}
}

// Capabilities returns what NewScripted was given.
func (s *Scripted) Capabilities() model.Capabilities { return s.capabilities }

// Requests returns the requests so far.
func (s *Scripted) Requests() []model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]model.Request(nil), s.requests...)
}

func (s *Scripted) next(r model.Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	n := len(s.requests)
	if n > len(s.replies) {
		return Reply{Err: fmt.Errorf("scripted model: request %d, and the script has %d replies", n, len(s.replies))}
	}
	return s.replies[n-1]
}

// Stream plays the next reply.
func (s *Scripted) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		reply := s.next(r)
		for _, e := range reply.Events {
			if err := ctx.Err(); err != nil {
				yield(nil, &model.Error{Err: err})
				return
			}
			if !yield(e, nil) {
				return
			}
			if _, last := e.(model.Completed); last {
				return
			}
		}
		err := reply.Err
		if err == nil {
			err = &model.Error{Kind: model.ErrIncompleteStream, Evidence: len(reply.Events) > 0}
		}
		yield(nil, err)
	}
}
