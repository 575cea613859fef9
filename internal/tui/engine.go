package tui

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/policy"
)

const (
	// tickTime is how fast the spinner turns.
	tickTime = 120 * time.Millisecond
	// armTime is how long a question stands before a key answers it.
	armTime = 400 * time.Millisecond
)

// An engine does the effects: it calls the backend, one call at a time, and
// sends what comes of it back.
type engine struct {
	ctx     context.Context
	backend Backend
	turn    sync.Mutex // held while the session is in use
	running sync.WaitGroup

	mu      sync.Mutex
	send    func(tea.Msg)
	cancels map[int]context.CancelFunc // of what is under way or waits
	calls   int
	waiting map[int]chan policy.Answer
	asked   int
	ended   bool
}

func newEngine(ctx context.Context, b Backend) *engine {
	return &engine{ctx: ctx, backend: b, cancels: map[int]context.CancelFunc{}, waiting: map[int]chan policy.Answer{}}
}

// attach says where messages go, and tells the backend who follows.
func (e *engine) attach(send func(tea.Msg)) {
	e.send = send
	e.backend.Attach(func(event agent.Event) { send(eventMsg{event}) }, e.confirm)
}

// confirm puts a question on the screen and waits for its answer.
func (e *engine) confirm(ctx context.Context, q policy.Request, d policy.Decision) (policy.Answer, error) {
	reply := make(chan policy.Answer, 1)
	e.mu.Lock()
	e.asked++
	id := e.asked
	e.waiting[id] = reply
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		delete(e.waiting, id)
		e.mu.Unlock()
		e.send(askDoneMsg{id})
	}()
	e.send(askMsg{ask{id: id, request: q, decision: d}})
	select {
	case a := <-reply:
		return a, nil
	case <-ctx.Done():
		return policy.Refuse, context.Cause(ctx)
	case <-e.ctx.Done():
		return policy.Refuse, context.Cause(e.ctx)
	}
}

// do starts an effect, and returns the command that waits for what comes of
// it. It is called by the loop of the terminal, in the order of the effects.
func (e *engine) do(what effect) tea.Cmd {
	switch what := what.(type) {
	case interrupt:
		e.interrupt()
		return nil
	case answer:
		e.answer(what)
		return nil
	case tick:
		return tea.Tick(tickTime, func(time.Time) tea.Msg { return tickMsg{} })
	case arm:
		return tea.Tick(armTime, func(time.Time) tea.Msg { return armMsg(what) })
	case complete:
		return func() tea.Msg { return completedMsg{what.number, e.backend.Complete(what.prefix)} }
	case hintOf:
		return func() tea.Msg { return hintMsg{e.backend.Hint(what.what)} }
	case suspend:
		return tea.Suspend
	case quit:
		return tea.Quit
	}
	return e.session(what)
}

// session does what uses the session, when nothing else does. It can be
// interrupted from now on.
func (e *engine) session(what effect) tea.Cmd {
	ctx, cancel := context.WithCancel(e.ctx)
	number, ok := e.enter(cancel)
	if !ok {
		cancel()
		return nil
	}
	out := make(chan tea.Msg, 1)
	go func() { // whether or not anybody still waits for it
		defer e.leave(number)
		e.turn.Lock()
		defer e.turn.Unlock()
		out <- perform(ctx, e.backend, what)
	}()
	return func() tea.Msg { return <-out }
}

// enter counts a call of the backend, unless the program has ended.
func (e *engine) enter(cancel context.CancelFunc) (number int, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return 0, false
	}
	e.running.Add(1)
	e.calls++
	e.cancels[e.calls] = cancel
	return e.calls, true
}

func (e *engine) leave(number int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancels[number]()
	delete(e.cancels, number)
	e.running.Done()
}

// wait ends the engine: it returns when no call of the backend is left.
func (e *engine) wait() {
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
	e.running.Wait()
}

func (e *engine) interrupt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, cancel := range e.cancels {
		cancel()
	}
}

func (e *engine) answer(a answer) {
	e.mu.Lock()
	reply := e.waiting[a.id]
	delete(e.waiting, a.id)
	e.mu.Unlock()
	if reply != nil {
		reply <- a.answer
	}
}
