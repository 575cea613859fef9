package tui

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/policy"
)

// A slow backend runs until it is cancelled, and counts who is in it.
type slow struct {
	*fake
	inside, most int
	runs         int
	started      chan struct{} // closed by the first run, unless nil
}

func (s *slow) Run(ctx context.Context, _ Prompt) (*agent.Result, error) {
	s.mu.Lock()
	s.inside++
	s.runs++
	s.most = max(s.most, s.inside)
	if s.started != nil && s.runs == 1 {
		close(s.started)
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	s.inside--
	s.mu.Unlock()
	return &agent.Result{Status: agent.StatusCancelled}, nil
}

// An interruption reaches what has only just been asked for, calls of the
// backend come one at a time, and the engine ends when none is left, whether
// or not anybody waits for what they answer.
func TestEngineInterruptsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &slow{fake: newFake("")}
		e := newEngine(t.Context(), b)
		e.attach(func(tea.Msg) {})
		first, second := e.do(run{Prompt{Text: "one"}}), e.do(run{Prompt{Text: "two"}})
		e.do(interrupt{})
		for _, cmd := range []tea.Cmd{first, second} {
			m, ok := cmd().(ranMsg)
			if !ok || m.result.Status != agent.StatusCancelled {
				t.Errorf("%#v", m)
			}
		}
		e.do(run{Prompt{Text: "nobody waits for this"}})
		e.do(interrupt{})
		e.wait()
		if b.runs != 3 || b.most != 1 {
			t.Errorf("%d runs, %d at a time", b.runs, b.most)
		}
		if cmd := e.do(run{}); cmd != nil {
			t.Error("something was begun after the end")
		}
	})
}

// A question is answered once; without an answer it ends with its run, and a
// late answer goes nowhere.
func TestEngineAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t.Context(), newFake(""))
		var sent []tea.Msg
		e.attach(func(m tea.Msg) { sent = append(sent, m) })
		ask := func(ctx context.Context) (policy.Answer, error) {
			var got policy.Answer
			var err error
			done := make(chan struct{})
			go func() {
				got, err = e.confirm(ctx, policy.Request{Tool: "run_command"}, policy.Decision{})
				close(done)
			}()
			synctest.Wait()
			if ctx.Err() == nil {
				e.do(answer{id: e.asked, answer: policy.ApproveOnce})
				e.do(answer{id: e.asked, answer: policy.ApproveForRun})
			}
			<-done
			return got, err
		}
		if got, err := ask(t.Context()); got != policy.ApproveOnce || err != nil {
			t.Errorf("%v, %v", got, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got, err := ask(ctx); got != policy.Refuse || !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the run: %v, %v", got, err)
		}
		asks, ends := 0, 0
		for _, m := range sent {
			switch m.(type) {
			case askMsg:
				asks++
			case askDoneMsg:
				ends++
			}
		}
		if asks != 2 || ends != 2 {
			t.Errorf("%d questions, %d ends", asks, ends)
		}
	})
}

func TestRunNeedsABackend(t *testing.T) {
	if err := Run(t.Context(), nil, Options{}); err == nil {
		t.Error("no error without a backend")
	}
}

// When the program is told to end in the middle of a run, Run cancels it and
// returns when it has ended: the session is at rest, and nothing is left.
func TestRunEndsWithItsContext(t *testing.T) {
	b := &slow{fake: newFake(""), started: make(chan struct{})}
	keys, typed := io.Pipe()
	defer typed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, b, Options{Input: keys, Output: io.Discard, Environ: []string{"TERM=xterm"}})
	}()
	go func() {
		for { // until the session is open and the prompt is taken
			select {
			case <-b.started:
				return
			default:
			}
			if _, err := typed.Write([]byte("go\r")); err != nil {
				return
			}
		}
	}()
	<-b.started
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if b.inside != 0 || b.runs != 1 {
		t.Errorf("%d runs, %d still going on", b.runs, b.inside)
	}
}
