package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/trace"
	"github.com/forge-agent/forge/transcript"
)

// windowState is the name of the session's state that keeps what the newest
// checkpoint left in the window.
const windowState = "window"

// keptWindow is what is stored with a checkpoint.
type keptWindow struct {
	// State is that of the checkpoint, without what the requests tell.
	State contextwindow.State `json:"state"`
	// Requests is how many were stored before it, Progress what the next one
	// will tell: it counts while that one is not stored. What a person asked for
	// between two requests (Manual) no request tells.
	Requests int                    `json:"requests"`
	Progress contextwindow.Progress `json:"progress"`
	Manual   bool                   `json:"manual,omitempty"`
}

// newManager makes a manager for the session as it is.
func (a *Agent) newManager(mode contextwindow.Mode) (*contextwindow.Manager, error) {
	o := a.opts.Window
	o.Mode = mode
	o.Compaction.Chain = a.opts.Session.Chain()
	o.Compaction.Prices, o.Compaction.Cache = a.opts.Prices, a.opts.Cache
	if o.Compaction.Now == nil {
		o.Compaction.Now = a.opts.Now
	}
	return contextwindow.New(a.caps, a.opts.Counter, &o)
}

// windowInput is what requests of a run are made from.
func (a *Agent) windowInput(r Request) contextwindow.Input {
	in := contextwindow.Input{Instructions: r.Instructions, Transcript: a.opts.Session.Transcript(), Uncompleted: a.uncompleted(), Complete: true}
	if r.Tools != nil {
		in.Tools = r.Tools.Definitions()
	}
	return in
}

// uncompleted returns the turns that no view may show (resolution C16).
func (a *Agent) uncompleted() []transcript.Turn {
	var out []transcript.Turn
	for i := range a.opts.Session.Uncompleted {
		if n := len(out); n > 0 && out[n-1].End == i {
			out[n-1].End++
			continue
		}
		out = append(out, transcript.Turn{Start: i, End: i + 1})
	}
	return out
}

// restored returns a manager in the state that the session keeps. The whole
// conversation is read where the newer messages are not enough.
func (a *Agent) restored(ctx context.Context, mode contextwindow.Mode, in *contextwindow.Input) (*contextwindow.Manager, error) {
	state, err := a.keptState(ctx)
	if err != nil {
		return nil, err
	}
	m, err := a.restore(mode, *in, state)
	if errors.Is(err, contextwindow.ErrPartial) {
		if err := a.holdAll(ctx, in); err != nil {
			return nil, err
		}
		m, err = a.restore(mode, *in, state)
	}
	if err == nil {
		return m, nil
	}
	// What is kept does not fit the transcript: begin anew, with all of it.
	if err := a.holdAll(ctx, in); err != nil {
		return nil, err
	}
	return a.restore(mode, *in, contextwindow.State{})
}

// holdAll takes the whole conversation into memory and into the input.
func (a *Agent) holdAll(ctx context.Context, in *contextwindow.Input) error {
	if err := a.opts.Session.HoldAll(ctx); err != nil {
		return err
	}
	in.Transcript, in.Uncompleted = a.opts.Session.Transcript(), a.uncompleted()
	return nil
}

func (a *Agent) restore(mode contextwindow.Mode, in contextwindow.Input, state contextwindow.State) (*contextwindow.Manager, error) {
	m, err := a.newManager(mode)
	if err != nil {
		return nil, err
	}
	return m, m.Restore(in, state)
}

// keptState puts the stored pieces of the manager's state together.
func (a *Agent) keptState(ctx context.Context) (contextwindow.State, error) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	s := a.opts.Session
	requests, err := s.Requests(ctx)
	if err != nil {
		return contextwindow.State{}, err
	}
	a.requests = len(requests)
	if a.requests > 0 {
		a.answered = requests[a.requests-1].Time
	}
	var kept keptWindow
	if body := s.State(windowState); len(body) > 0 {
		if json.Unmarshal(body, &kept) != nil {
			return contextwindow.State{}, nil // derived: it can be made again
		}
	} else if s.Chain().Last() != nil {
		// The session was cut behind a checkpoint, or is a fork: its requests
		// belong to a window that is gone.
		return contextwindow.State{}, nil
	}
	state := kept.State
	for i, r := range requests {
		if i == kept.Requests && kept.Manual {
			state.Add(kept.Progress)
		}
		var p contextwindow.Progress
		if len(r.Window) > 0 && json.Unmarshal(r.Window, &p) == nil {
			state.Add(p)
		}
	}
	if len(requests) <= kept.Requests && kept.State.Checkpoint != "" {
		state.Add(kept.Progress)
	}
	return state, nil
}

// keepFit stores and traces what a Fit did, before its request goes out
// (F-EVT-06, F-CKP-06).
func (n *run) keepFit(ctx context.Context, f *contextwindow.Fit, trigger trace.Trigger, attempt int, retry string) error {
	n.result.Totals.Compactions += made(f)
	n.result.Totals.Projections += len(f.Projections)
	n.summary.look(f)
	if len(f.Compactions) > 0 {
		if err := n.a.keepCheckpoints(ctx, n.manager, false); err != nil {
			return err
		}
	}
	for _, e := range trace.Compactions(f, trigger) {
		if err := n.emit(e); err != nil {
			return err
		}
	}
	if err := n.emit(trace.Budgeted(f, n.details(f, attempt, retry))); err != nil {
		return err
	}
	if w := trace.Warning(f); w != nil {
		if err := n.emit(w); err != nil {
			return err
		}
	}
	if f.Action == contextwindow.Stop {
		if err := n.emit(trace.Limit(f)); err != nil {
			return err
		}
	}
	n.tell(f)
	return nil
}

func made(f *contextwindow.Fit) int {
	count := 0
	for _, c := range f.Compactions {
		if !c.Reused {
			count++
		}
	}
	return count
}

// keepCheckpoints stores the records of the chain that are new, the last one
// together with the window that it begins.
func (a *Agent) keepCheckpoints(ctx context.Context, m *contextwindow.Manager, manual bool) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	s := a.opts.Session
	body, err := json.Marshal(keptWindow{State: m.Base(), Requests: a.requests, Progress: m.Progress(true), Manual: manual})
	if err != nil {
		return fmt.Errorf("store checkpoint: %w", err)
	}
	states := map[string][]byte{windowState: body}
	stored := false
	last := s.Chain().Last()
	for c := range s.Chain().All() {
		if c.Generation <= s.Header().Checkpoints {
			continue
		}
		with := map[string][]byte(nil)
		if c == last {
			with, stored = states, true
		}
		if err := s.AddCheckpoint(ctx, c, with); err != nil {
			return err
		}
	}
	if !stored {
		return s.SetStates(ctx, states)
	}
	return nil
}

// details are what a budget event says besides the Fit.
func (n *run) details(f *contextwindow.Fit, attempt int, retry string) trace.Details {
	return trace.Details{Adapter: n.a.opts.Adapter, BufferTokens: f.Budget.BufferTokens, Attempt: attempt, RetryReason: retry,
		InstructionPaths: n.request.InstructionPaths}.With(f)
}

// stopUnsent ends a run whose next request must not be sent, or could not be
// made.
func (n *run) stopUnsent(ctx context.Context, f *contextwindow.Fit, err error) {
	if f != nil {
		at := n.a.opts.Session.Transcript().Len()
		record := session.Request{At: at, End: at, Model: f.Model, Time: n.a.opts.Now(), Failed: err.Error()}
		if kept := n.addRequest(ctx, record); kept != nil {
			err = errors.Join(err, kept)
		}
	}
	n.fail(ctx, err)
}

// tell shows a front end what a Fit means.
func (n *run) tell(f *contextwindow.Fit) {
	cached, fresh := n.prices(f)
	n.a.show(Budgeted{Step: f.Step, Fit: f, FreshUSD: fresh, CachedUSD: cached})
	if len(f.Projections) > 0 {
		saved := 0
		for _, p := range f.Projections {
			saved += p.TokensBefore - p.TokensAfter
		}
		n.a.show(Notice{Kind: "projection", Text: fmt.Sprintf("%d tool results have a stand-in now, %d tokens less; the transcript keeps them", len(f.Projections), saved)})
	}
	switch {
	case f.Warning == "":
	case len(f.Compactions) > 0:
		n.a.show(Notice{Kind: "compaction", Text: f.Warning})
	default:
		n.a.show(Notice{Kind: "warning", Text: f.Warning})
	}
	if why := n.broken(f); why != "" && f.Action != contextwindow.Stop {
		text := fmt.Sprintf("%s: %d tokens are read anew", why, f.FreshTokens)
		if fresh != nil {
			text += fmt.Sprintf(", about $%.4f", *fresh)
		}
		n.a.show(Notice{Kind: "cache", Text: text})
	}
}

// broken says why the provider's cache does not cover the beginning of a
// request, empty when it does or when there was none. It is said before the
// request goes out.
func (n *run) broken(f *contextwindow.Fit) string {
	switch {
	case f.Step > 1 && f.Restructured:
		return "the window was rearranged, which breaks the provider's cache"
	case f.Step > 1 || n.a.requests == 0:
		return ""
	case n.frontChanged:
		return "instructions, tools or the model have changed since the last request, which breaks the provider's cache"
	}
	if ttl, known := n.a.opts.Cache.TTL.Get(); known && ttl > 0 && n.input.Idle > ttl {
		return "the provider's cache has expired since the last request"
	}
	return ""
}

// frontState is the name of the session's state with the hash of what stands
// before the conversation.
const frontState = "front"

// front takes note of what stands before the conversation in this run, and
// whether it is something else than in the last one.
func (n *run) front(ctx context.Context) error {
	h := sha256.New()
	for _, m := range n.request.Instructions {
		d := m.Hash()
		h.Write(d[:])
	}
	tools, err := json.Marshal(n.input.Tools)
	if err != nil {
		return fmt.Errorf("look at tools: %w", err)
	}
	h.Write(tools)
	h.Write([]byte(n.a.caps.Provider + " " + n.a.caps.Model))
	now := hex.AppendEncode(nil, h.Sum(nil))
	last := n.a.opts.Session.State(frontState)
	if bytes.Equal(last, now) {
		return nil
	}
	n.frontChanged = len(last) > 0
	ctx, cancel := lasting(ctx)
	defer cancel()
	return n.a.opts.Session.SetStates(ctx, map[string][]byte{frontState: now})
}

// prices says what reading a request costs at list prices: the part that the
// provider's cache can hold, and the rest.
func (n *run) prices(f *contextwindow.Fit) (cached, fresh *float64) {
	old := max(0, f.Estimate.Tokens-f.FreshTokens)
	whole, ok := n.a.opts.Prices.Cost(message.Usage{InputTokens: f.Estimate.Tokens, CachedInputTokens: old}, nil)
	if !ok {
		return nil, nil
	}
	if part, ok := n.a.opts.Prices.Cost(message.Usage{InputTokens: old, CachedInputTokens: old}, nil); ok {
		rest := max(0, whole-part)
		return &part, &rest
	}
	return nil, nil
}
