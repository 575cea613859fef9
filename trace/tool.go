package trace

import "github.com/forge-agent/forge/message"

// ToolCompleted says what became of one tool call. It holds neither arguments
// nor output: the session has them.
type ToolCompleted struct {
	// Request is the number of the request whose answer made the call.
	Request int `json:"request"`
	// Tool is the name that the model called, Call stands for name and
	// arguments.
	Tool string       `json:"tool"`
	Call message.Hash `json:"call"`
	// Risk is the tool's; empty when there is no such tool.
	Risk string `json:"risk,omitempty"`
	// Decision is what the policy said, Cause why; empty when it was not
	// asked.
	Decision string `json:"decision,omitempty"`
	Cause    string `json:"cause,omitempty"`
	// Fate is "run", "denied" or "refused": the call could not be planned, or
	// stood twice in one answer.
	Fate string `json:"fate"`
	// Outcome is success or failure, empty when unknown.
	Outcome string `json:"outcome,omitempty"`
	// OutputBytes is the stored output, OutputHash stands for it; Truncated
	// says that it is not all there was.
	OutputBytes int64        `json:"outputBytes"`
	OutputHash  message.Hash `json:"outputHash"`
	Truncated   bool         `json:"truncated,omitempty"`
	// DurationMS is how long it took, in milliseconds; zero when unknown.
	DurationMS int64 `json:"durationMs,omitempty"`
}

// Type returns TypeToolCompleted.
func (*ToolCompleted) Type() Type { return TypeToolCompleted }

func (p *ToolCompleted) check() error {
	return checkCounts(count{"request", p.Request, 0}, count{"outputBytes", int(p.OutputBytes), 0}, count{"durationMs", int(p.DurationMS), 0})
}
