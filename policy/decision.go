package policy

// Cause is the kind of reason for a decision.
type Cause string

// The causes.
const (
	// CauseProfile: the profile says so.
	CauseProfile Cause = "profile"
	// CauseGrant: the user's configuration allows what the profile would ask
	// for.
	CauseGrant Cause = "grant"
	// CauseRule: a rule of a layer or the opinion of a hook.
	CauseRule Cause = "rule"
	// CauseApproval: the person said yes to this call.
	CauseApproval Cause = "approval"
	// CauseRunApproval: the person said yes to the same scope earlier in this
	// run.
	CauseRunApproval Cause = "run-approval"
	// CauseRefusal: the person said no, or gave no valid answer.
	CauseRefusal Cause = "refusal"
	// CauseNoChannel: it had to be asked for, and nobody could be asked.
	CauseNoChannel Cause = "no-channel"
	// CauseCanceled: the run ended before there was an answer.
	CauseCanceled Cause = "canceled"
	// CauseUnknownRisk: the tool states no known risk.
	CauseUnknownRisk Cause = "unknown-risk"
)

// A Decision is what a policy thinks of a request. It holds no authority: only
// the Run that made it acts on approvals, and a decision read back from a
// trace is a record.
type Decision struct {
	// Action is what to do. The zero value counts as Deny.
	Action Action `json:"action"`
	// Cause is the kind of reason.
	Cause Cause `json:"cause"`
	// Source names whose opinion decided: a profile, a layer, the person.
	Source string `json:"source"`
	// Reason is one clause for people and for the model.
	Reason string `json:"reason"`
}

// Allowed reports whether the call may run.
func (d Decision) Allowed() bool { return d.Action == Allow }

// Stricter returns the decision with the stricter action; of two equally
// strict ones the first, and never one with an unknown action: that becomes
// Deny.
func Stricter(a, b Decision) Decision {
	d := a
	if b.Action.strictness() > a.Action.strictness() {
		d = b
	}
	if d.Action.strictness() == Deny.strictness() {
		d.Action = Deny
	}
	return d
}
