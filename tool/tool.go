// Package tool is the seam to what a model may call: a tool, its definition,
// its risk and what came of a call. A [Set] is the fixed list of one run; it
// turns a model's call into a [Plan], whatever the model wrote, so that bad
// calls become results that say what to change.
//
// The package runs nothing and decides nothing. The built-in tools stand in
// internal/tools, and whether a plan may run is the business of package
// policy.
package tool

import (
	"context"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/projection"
)

// Risk is what the worst use of a tool can touch. The zero value is no risk
// that is known, and a policy denies it.
type Risk string

// The risks, from the smallest to the largest.
const (
	// RiskRead reads files of the workspace or the session, changes nothing.
	RiskRead Risk = "read"
	// RiskWrite changes files of the workspace.
	RiskWrite Risk = "write"
	// RiskProcess starts a program, which may do what its confinement lets it.
	RiskProcess Risk = "process"
	// RiskNetwork sends data to another machine.
	RiskNetwork Risk = "network"
)

// Risks returns the risks from the smallest to the largest.
func Risks() []Risk { return []Risk{RiskRead, RiskWrite, RiskProcess, RiskNetwork} }

// A Tool is something that a model can call. It is used by one run at a time,
// and by several goroutines of it.
type Tool interface {
	// Definition is what the model reads. It is the same for the whole run.
	Definition() message.ToolDefinition
	// Risk is the largest risk of any call.
	Risk() Risk
	// Plan reads the arguments and says what the call would do. It changes
	// nothing. Arguments that cannot be used are an error whose text tells
	// the model what to change; it is best made by Decode.
	Plan(ctx context.Context, arguments string) (Plan, error)
}

// A Plan is a call that has been understood and not yet run.
type Plan struct {
	// Tool and Risk come from the tool; a Set fills them in.
	Tool string
	Risk Risk
	// Via is the tool that the model called, where that is a Dispatcher and
	// Tool the one that it stands for; empty for others. A Set fills it in.
	Via string
	// Summary says in one line what the call does, for a person to decide on.
	Summary string
	// Diff is what would change in files, as a unified diff; empty where no
	// file is known to change.
	Diff string
	// Scope names what an approval for the whole run would cover, for example
	// the exact argument vector of a command. Empty means that each call is
	// asked for by itself.
	Scope string
	// Command is the argument vector of a call that starts a program, nil for
	// others.
	Command []string
	// Run does what the plan says, or fails when the world has changed since.
	// It is called at most once. It returns by the time ctx is done or shortly
	// after, and leaves nothing running.
	Run func(ctx context.Context) Result
}

// A Result is what a call came to. Its text is the whole output up to
// MaxOutputBytes, to be redacted and stored once; what the model sees first is
// derived by Shown (F-RUN-01, F-RUN-05).
type Result struct {
	// Text is valid UTF-8.
	Text string
	// Outcome says whether the tool did what it was asked for.
	Outcome message.Outcome
	// Truncated is set when Text is not all there was; OriginalBytes is how
	// much there was, zero when unknown or not cut.
	Truncated     bool
	OriginalBytes int
}

// Success is a result with the outcome success.
func Success(text string) Result {
	return Result{Text: text, Outcome: message.OutcomeSuccess}.bounded()
}

// Failure is a result with the outcome failure. The text says what to change.
func Failure(text string) Result {
	return Result{Text: text, Outcome: message.OutcomeFailure}.bounded()
}

// bounded holds the promises on Text for a tool that did not use an Output.
func (r Result) bounded() Result {
	if len(r.Text) <= MaxOutputBytes {
		r.Text = validText(r.Text)
		if len(r.Text) <= MaxOutputBytes {
			return r
		}
	}
	out := NewOutput(MaxOutputBytes)
	out.WriteString(r.Text)
	cut := out.Result(r.Outcome)
	cut.OriginalBytes = max(cut.OriginalBytes, r.OriginalBytes)
	return cut
}

// Message returns the result as the answer to a call: the form that is stored.
func (r Result) Message(call message.ToolCall) message.ToolResult {
	r = r.bounded()
	return message.ToolResult{
		CallID:        call.ID,
		Name:          call.Name,
		Content:       []message.Block{message.Text{Text: r.Text}},
		Outcome:       r.Outcome,
		Truncated:     r.Truncated,
		OriginalBytes: r.OriginalBytes,
	}
}

// Shown returns what a model sees first of a stored result: its beginning and
// its end, at most shownBytes of text (F-RUN-01). Zero or less means
// DefaultShownBytes. The argument is not changed and stays the only full copy.
func Shown(stored message.ToolResult, shownBytes int) message.ToolResult {
	if shownBytes <= 0 {
		shownBytes = DefaultShownBytes
	}
	shown, _ := projection.Trim(stored, projection.Bound{Bytes: shownBytes})
	return shown
}
