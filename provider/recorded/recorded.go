// Package recorded plays the assistant side of a recorded session back as a
// model.Model: each request gets the next recorded reply, whatever was asked.
//
// It talks to nobody. A replay stands on it, so that played-back sessions take
// the same path as live ones.
package recorded

import (
	"context"
	"errors"
	"iter"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// ErrExhausted is returned when more requests are made than were recorded.
var ErrExhausted = errors.New("no recorded reply left")

// A Reply is what was recorded for one request.
type Reply struct {
	// Messages is what came back: the assistant's message or messages.
	Messages []message.Message
	// Usage is what the provider reported, nil when it was not recorded.
	Usage *message.Usage
	// Err is the recorded failure, nil for success.
	Err error
}

// A Model plays replies back. It is not safe for concurrent use.
type Model struct {
	capabilities model.Capabilities
	next         func() (Reply, bool)
}

// New returns a model that answers with the replies that next yields, until
// it returns false.
func New(c model.Capabilities, next func() (Reply, bool)) *Model {
	return &Model{capabilities: c, next: next}
}

// Capabilities returns what New was given.
func (m *Model) Capabilities() model.Capabilities { return m.capabilities }

// Stream yields the next recorded reply as one Completed event.
func (m *Model) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		reply, ok := m.next()
		switch {
		case !ok:
			yield(nil, ErrExhausted)
		case reply.Err != nil:
			yield(nil, reply.Err)
		default:
			yield(model.Completed{Messages: reply.Messages, Usage: reply.Usage, Stop: stop(reply.Messages)}, nil)
		}
	}
}

func stop(ms []message.Message) model.StopReason {
	for _, m := range ms {
		for _, b := range m.Blocks {
			if b.Kind() == message.KindToolCall {
				return model.StopToolCall
			}
		}
	}
	return model.StopEnd
}
