package policy

import (
	"context"
	"errors"
	"sync"
)

// Answer is what a person says to a request. The zero value refuses.
type Answer int

// The answers.
const (
	// Refuse denies this call.
	Refuse Answer = iota
	// ApproveOnce allows this call and no other.
	ApproveOnce
	// ApproveForRun allows this call and, until the run ends, calls of the
	// same tool with the same risk and scope. For a request without a scope it
	// is ApproveOnce.
	ApproveForRun
)

// A Confirmer asks a person. It shows the request's summary and diff and the
// decision's reason, and returns when there is an answer or ctx is done. An
// error denies the call.
type Confirmer func(ctx context.Context, q Request, d Decision) (Answer, error)

// A Run authorizes the calls of one run and remembers its approvals. There is
// no way to read them out, to store them or to begin with some: a resumed
// session asks again. It may be used by several goroutines; they are asked one
// after another.
type Run struct {
	policy  *Policy
	confirm Confirmer

	asking   chan struct{} // held while a person is asked
	mu       sync.Mutex
	approved map[scope]bool
	ended    bool
}

// scope is what an approval for the run covers.
type scope struct{ tool, risk, scope string }

// Begin starts the authorizations of a run. A nil confirmer means that nobody
// can be asked: what needs confirmation is denied.
func (p *Policy) Begin(confirm Confirmer) *Run {
	return &Run{policy: p, confirm: confirm, asking: make(chan struct{}, 1), approved: map[scope]bool{}}
}

// Authorize decides on a request, asking the person where that is needed. The
// result is Allow or Deny. Opinions of hooks are merged before anything is
// asked and can only make the outcome stricter; an opinion of Confirm is asked
// for even where the scope was approved before.
func (r *Run) Authorize(ctx context.Context, q Request, opinions ...Decision) Decision {
	d := r.policy.Decide(q)
	hooked := false // a hook wants each call to be confirmed
	for _, opinion := range opinions {
		d = Stricter(d, opinion)
		hooked = hooked || opinion.Action == Confirm
	}
	if r.isEnded() {
		return Stricter(d, Decision{Action: Deny, Cause: CauseCanceled, Source: "run", Reason: "the run has ended"})
	}
	if d.Action != Confirm {
		return d
	}
	if r.confirm == nil {
		return Decision{Action: Deny, Cause: CauseNoChannel, Source: d.Source,
			Reason: d.Reason + ", and there is nobody to ask"}
	}
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return canceled(d)
	}
	key := scope{q.Tool, string(q.Risk), q.Scope}
	if !hooked && q.Scope != "" && r.isApproved(key) {
		return Decision{Action: Allow, Cause: CauseRunApproval, Source: "person", Reason: "approved earlier in this run"}
	}
	answer, err := r.confirm(ctx, q, d)
	return r.settle(ctx, key, d, answer, err)
}

// settle turns an answer into a decision and keeps an approval for the run.
func (r *Run) settle(ctx context.Context, key scope, d Decision, answer Answer, err error) Decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case ctx.Err() != nil || r.ended:
		return canceled(d)
	case err != nil:
		return Decision{Action: Deny, Cause: CauseNoChannel, Source: d.Source, Reason: "asking did not work: " + err.Error()}
	case answer == ApproveForRun:
		if key.scope != "" {
			r.approved[key] = true
		}
	case answer != ApproveOnce:
		return Decision{Action: Deny, Cause: CauseRefusal, Source: "person", Reason: "it was refused"}
	}
	return Decision{Action: Allow, Cause: CauseApproval, Source: "person", Reason: "it was approved"}
}

func canceled(d Decision) Decision {
	return Decision{Action: Deny, Cause: CauseCanceled, Source: d.Source, Reason: "the run ended before it was approved"}
}

func (r *Run) isApproved(key scope) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.approved[key]
}

func (r *Run) isEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// End forgets all approvals. Whatever is asked of the run afterwards is
// denied. Calling it again does nothing.
func (r *Run) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	clear(r.approved)
}

// ErrNotStored is returned by MarshalJSON and MarshalText.
var ErrNotStored = errors.New("approvals live for one run and are not stored")

// MarshalJSON refuses: approvals are not stored (F-SEC-02).
func (*Run) MarshalJSON() ([]byte, error) { return nil, ErrNotStored }

// MarshalText refuses: approvals are not stored (F-SEC-02).
func (*Run) MarshalText() ([]byte, error) { return nil, ErrNotStored }
