package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/message"
)

// Settle ends what an interrupted run has left, before the next one begins:
// calls without a result get one that says so, made into a message by admit,
// and a turn that never ended is a failed one. Where the session was cut
// between a call and its result, the result is as complete as its call.
func (s *Session) Settle(ctx context.Context, admit func(message.ToolResult) message.Message) error {
	status := Failed
	if pending := s.tr.Pending(); len(pending) > 0 {
		if s.Status(s.tr.Len()-1) == Completed {
			status = Completed
		}
		var results []message.Message
		for _, c := range pending {
			results = append(results, admit(message.ToolResult{CallID: c.ID, Name: c.Name, Outcome: message.OutcomeFailure, Content: []message.Block{message.Text{
				Text: "The run was interrupted before this call had a result. Whether it had an effect is not known."}}}))
		}
		if _, err := s.Append(ctx, results...); err != nil {
			return fmt.Errorf("settle interrupted calls: %w", err)
		}
	}
	if _, err := s.Finish(ctx, status); err != nil {
		return fmt.Errorf("settle interrupted turn: %w", err)
	}
	return nil
}

// unfinishedTextBytes is how much of an unfinished request is repeated.
const unfinishedTextBytes = 2000

// An Unfinished is a turn that did not complete. Its messages are in the
// session and in no view (F-SEC-04, resolution C16), so a model has to be told
// of it: a person who says "go on" means it.
type Unfinished struct {
	// Status is how the turn ended, Start the index of its first message,
	// ToolCalls how many results it has.
	Status    Status
	Start     int
	ToolCalls int
	// Text is how the request begins, at most 2,000 bytes of it; Cut says that
	// there is more.
	Text string
	Cut  bool
}

// Unfinished returns the newest turn when it did not complete.
func (s *Session) Unfinished() (Unfinished, bool) {
	if s.tr.TurnCount() == 0 {
		return Unfinished{}, false
	}
	turn := s.tr.Turn(s.tr.TurnCount() - 1)
	u := Unfinished{Status: s.Status(turn.End - 1), Start: turn.Start, Text: s.tr.At(turn.Start).Text()}
	if u.Status == Completed {
		return Unfinished{}, false
	}
	if len(u.Text) > unfinishedTextBytes {
		u.Text, u.Cut = strings.ToValidUTF8(u.Text[:unfinishedTextBytes], ""), true
	}
	for i := turn.Start; i < turn.End; i++ {
		if s.tr.At(i).Role == message.RoleTool {
			u.ToolCalls++
		}
	}
	return u, true
}

// String says what became of the request, with its text in quotes.
func (u Unfinished) String() string {
	cut := ""
	if u.Cut {
		cut = " […]"
	}
	return fmt.Sprintf("the request before this one did not complete (%s, after %d tool calls). Files may have been changed by it. It said: %q%s", u.Status, u.ToolCalls, u.Text, cut)
}
