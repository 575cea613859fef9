package contextwindow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/transcript"
)

// A session that is opened behind its checkpoint gives the same request as the
// whole one, and says so when it needs the rest.
func TestPartialTranscript(t *testing.T) {
	chain := &checkpoint.Chain{}
	c := converse(t, 6000, contextwindow.Compaction{Chain: chain})
	for i := 0; chain.Len() == 0; i++ {
		c.turn(fmt.Sprintf("Question %d?", i), 1, 100)
		c.answer(300)
		c.fit()
	}
	state := c.m.State()
	part, err := transcript.Resume(c.tr.PrefixAt(state.Through))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.tr.From(state.Through) {
		if err := part.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	p := converse(t, 6000, contextwindow.Compaction{Chain: chain})
	p.tr, p.in.Transcript, p.n = part, part, c.n
	if err := p.m.Restore(p.in, state); err != nil {
		t.Fatal(err)
	}
	c.user("Next?")
	p.user("Next?")
	a, b := c.fit(), p.fit()
	if a.Estimate.Tokens != b.Estimate.Tokens || string(encode(c.m.View())) != string(encode(p.m.View())) {
		t.Errorf("the whole weighs %d tokens, the part %d", a.Estimate.Tokens, b.Estimate.Tokens)
	}
	for range 40 {
		p.answer(300)
		p.user("Go on.")
		if _, err = p.m.Fit(context.Background(), p.in); err != nil {
			break
		}
	}
	if !errors.Is(err, contextwindow.ErrPartial) {
		t.Errorf("a checkpoint of a part: %v", err)
	}
	if _, err := p.m.Plan(context.Background(), p.in, contextwindow.ManualOptions{}); !errors.Is(err, contextwindow.ErrPartial) {
		t.Errorf("a plan over a part: %v", err)
	}
}

// C16, F-E2E-06: the state of a window can be restored when a turn with cleared
// tool output was left out since, from the whole transcript and from its end.
func TestRestoreAfterATurnThatWasLeftOut(t *testing.T) {
	chain := &checkpoint.Chain{}
	c := converse(t, 6000, contextwindow.Compaction{Chain: chain})
	c.user("Read everything.")
	for cleared := 0; chain.Len() == 0 || cleared == 0; {
		c.step(400)
		f := c.fit()
		if cleared += len(f.Projections); len(f.Compactions) > 0 {
			cleared = 0 // one is wanted behind the checkpoint
		}
		if c.n > 500 {
			t.Fatal("no stand-in behind a checkpoint")
		}
	}
	state, turn := c.m.State(), transcript.Turn{End: c.tr.Len()}
	state.Users, state.Kept = nil, nil
	c.user("Go on.")
	part, err := transcript.Resume(c.tr.PrefixAt(state.Through))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.tr.From(state.Through) {
		if err := part.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, tr := range []*transcript.Transcript{c.tr, part} {
		again := converse(t, 6000, contextwindow.Compaction{Chain: chain})
		again.tr, again.in.Transcript = tr, tr
		again.in.Uncompleted = []transcript.Turn{{Start: max(turn.Start, tr.Base()), End: turn.End}}
		if err := again.m.Restore(again.in, state); err != nil {
			t.Errorf("from message %d: %v", tr.Base()+1, err)
			continue
		}
		if f := again.fit(); f.Estimate.Tokens == 0 || again.m.State().Checkpoint != state.Checkpoint {
			t.Errorf("from message %d: checkpoint %q, wanted %q", tr.Base()+1, again.m.State().Checkpoint, state.Checkpoint)
		}
	}
}
