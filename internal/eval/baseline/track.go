package baseline

import (
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/tokencount"
)

// A Track is a session as its tokens come in, counted once for all policies.
type Track struct {
	// Name says which session it is.
	Name string
	// FrontTokens is the weight of instructions and tools, FrontChars their
	// characters.
	FrontTokens, FrontChars int
	// Items are the pieces of the conversation in order.
	Items []Item
	// Steps are the requests.
	Steps []Step
}

// An Item is a block of a message, or the framing around one.
type Item struct {
	// Message is the index of its message.
	Message int
	// Role is that of its message; Authored says that a person wrote it.
	Role     message.Role
	Authored bool
	// Result says that it is a tool result, Starts that its message begins
	// with it.
	Result, Starts bool
	// Tokens is its weight, Chars its characters.
	Tokens, Chars int
}

// A Step is one request: it sees the items before Items, and those up to End
// are its answer.
type Step struct{ Items, End int }

// NewTrack counts a session.
func NewTrack(name string, s *sessionfile.Session, c *tokencount.Counter) *Track {
	t := &Track{Name: name, FrontTokens: c.Fixed(len(s.Tools))}
	for _, m := range s.Instructions {
		t.FrontTokens += c.Message(m).Total()
		t.FrontChars += len(m.Text())
	}
	for _, d := range s.Tools {
		t.FrontTokens += c.Tool(d)
		t.FrontChars += len(d.Description) + len(d.Parameters)
	}
	starts := make([]int, s.Transcript.Len()+1)
	for i, m := range s.Transcript.All() {
		starts[i] = len(t.Items)
		count := c.Message(m)
		t.Items = append(t.Items, Item{Message: i, Role: m.Role, Authored: m.Authored(), Starts: true, Tokens: count.FramingTokens})
		for b, block := range m.Blocks {
			_, result := block.(message.ToolResult)
			t.Items = append(t.Items, Item{Message: i, Role: m.Role, Authored: m.Authored(), Result: result, Tokens: count.BlockTokens[b], Chars: chars(block)})
		}
	}
	starts[s.Transcript.Len()] = len(t.Items)
	for _, q := range s.Requests {
		if q.Failed == "" && !q.Compaction && q.At > 0 {
			t.Steps = append(t.Steps, Step{starts[q.At], starts[max(q.End, q.At)]})
		}
	}
	return t
}

func chars(b message.Block) int {
	switch b := b.(type) {
	case message.Text:
		return len(b.Text)
	case message.Reasoning:
		return len(b.Text)
	case message.ToolCall:
		return len(b.Name) + len(b.Arguments)
	case message.ToolResult:
		return len(b.Text())
	}
	return 0
}

// Limits are those of the model.
type Limits struct {
	// WindowTokens holds input and output. MaxInputTokens bounds one request
	// where the provider states that apart; MaxOutputTokens bounds an answer.
	// Zero for not known.
	WindowTokens, MaxInputTokens, MaxOutputTokens int
}

// Input is the most that one request may weigh.
func (l Limits) Input() int {
	if l.MaxInputTokens > 0 {
		return min(l.MaxInputTokens, l.WindowTokens)
	}
	return l.WindowTokens
}

// mostOutput is the most that OpenCode asks a model for and keeps free, however
// much more the model could write: OUTPUT_TOKEN_MAX in provider/transform.ts
// and session/compaction.ts [S].
const mostOutput = 32_000

// output is how much of the window OpenCode keeps free for the answer.
func (l Limits) output() int {
	if l.MaxOutputTokens > 0 {
		return min(l.MaxOutputTokens, mostOutput)
	}
	return min(mostOutput, l.WindowTokens/4)
}

// A Request is what one request cost, in tokens.
type Request struct {
	// InputTokens is all that it read, CachedTokens the part that the cache
	// of the request before covers, OutputTokens what came back.
	InputTokens, CachedTokens, OutputTokens int
	// Summary marks a call for a summary.
	Summary bool
}

// A Run is a session under a policy.
type Run struct {
	// Requests are all calls in order.
	Requests []Request
	// Overflows is how many requests weighed more than the model takes.
	Overflows int
	// Compactions is how often the beginning was replaced.
	Compactions int
}
