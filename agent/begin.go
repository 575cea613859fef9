package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// begin admits the request and makes the window ready. What the person said is
// in the session before anything can fail (resolution C16, fault B20).
func (n *run) begin(ctx context.Context) error {
	if err := n.a.settle(ctx); err != nil {
		return err
	}
	note := n.a.unfinished()
	prompt := message.Message{ID: n.a.opts.NewID(), Role: message.RoleUser, Blocks: n.request.Prompt, Time: n.a.opts.Now()}
	admitted := []message.Message{prompt}
	for _, text := range append(slices.Clone(n.request.Notes), note) {
		if strings.TrimSpace(text) != "" {
			admitted = append(admitted, n.a.noteMessage(text))
		}
	}
	stored, err := n.a.admit(ctx, admitted...)
	if err != nil {
		return fmt.Errorf("admit request: %w", err)
	}
	for _, m := range stored {
		n.a.show(Admitted{Message: m})
	}
	n.input = n.a.windowInput(n.request)
	if n.manager, err = n.a.restored(ctx, n.a.opts.Window.Mode, &n.input); err != nil {
		n.fail(ctx, fmt.Errorf("restore context window: %w", err))
	}
	n.a.manager = n.manager
	if err := n.front(ctx); err != nil {
		n.fail(ctx, err)
	}
	if err := n.emit(n.started()); err != nil {
		n.fail(ctx, err)
	}
	return nil
}

// settle ends what an interrupted run has left.
func (a *Agent) settle(ctx context.Context) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	return a.opts.Session.Settle(ctx, a.resultMessage)
}

// answer gives calls that were not run a result that says so.
func (a *Agent) answer(ctx context.Context, calls []message.ToolCall, text string) error {
	var ms []message.Message
	for _, c := range calls {
		ms = append(ms, a.resultMessage(message.ToolResult{CallID: c.ID, Name: c.Name, Content: []message.Block{message.Text{Text: text}}, Outcome: message.OutcomeFailure}))
	}
	_, err := a.admit(ctx, ms...)
	return err
}

func (a *Agent) resultMessage(r message.ToolResult) message.Message {
	return message.Message{ID: a.opts.NewID(), Role: message.RoleTool, Blocks: []message.Block{r}, Time: a.opts.Now()}
}

// noteMessage is a message of the harness: without the authority of a person.
func (a *Agent) noteMessage(text string) message.Message {
	return message.Message{ID: a.opts.NewID(), Role: message.RoleUser, Origin: message.OriginInjected,
		Blocks: []message.Block{message.Text{Text: text}}, Time: a.opts.Now()}
}

// unfinished tells the model about the newest turn when it did not complete.
func (a *Agent) unfinished() string {
	u, ok := a.opts.Session.Unfinished()
	if !ok {
		return ""
	}
	return fmt.Sprintf("[Note of the harness: its messages are not in this window, the recall tool has them under %s and later: %s]",
		projection.Reference(transcript.Ref{Message: u.Start}), u)
}

// settlePending answers calls that the end of the run has left open.
func (a *Agent) settlePending(ctx context.Context) error {
	pending := a.opts.Session.Transcript().Pending()
	if len(pending) == 0 {
		return nil
	}
	return a.answer(ctx, pending, "The run ended before this call was run.")
}

// closeTurn ends a turn that nothing answered, so that the next request does
// not become part of it: one that was too long would make every later one too
// long.
func (n *run) closeTurn(ctx context.Context) error {
	t := n.a.opts.Session.Transcript()
	if n.result.Status == StatusCompleted || t.Len() == t.Base() || t.At(t.Len()-1).Role != message.RoleUser {
		return nil
	}
	_, err := n.a.admit(ctx, n.a.noteMessage(fmt.Sprintf("[Note of the harness: this request has no answer (%s).]", n.result.Status)))
	return err
}
