package session

import (
	"encoding/json"
	"time"

	"github.com/forge-agent/forge/activeview"
)

// A Request is one model request that was made in a session: the form that
// sessionfile.Request has too.
type Request struct {
	// At is the number of messages before the reply, End after it.
	At  int `json:"at"`
	End int `json:"end"`
	// Model answered; empty when unknown.
	Model string `json:"model,omitempty"`
	// Usage is what the provider reported, nil for nothing.
	Usage *Usage `json:"usage,omitempty"`
	// Time is when the reply came; zero when unknown.
	Time time.Time `json:"time,omitzero"`
	// Compaction: it asked for a summary.
	Compaction bool `json:"compaction,omitempty"`
	// Failed says why it failed; empty for success.
	Failed string `json:"failed,omitempty"`
	// Window is what the engine that made the request keeps of what was
	// decided about the context window before it: JSON, without content, read
	// by that engine only. Empty for none.
	Window json.RawMessage `json:"window,omitempty"`
}

// Usage is the JSON form of message.Usage.
type Usage struct {
	InputTokens           int `json:"inputTokens"`
	CachedInputTokens     int `json:"cachedInputTokens"`
	CacheWriteInputTokens int `json:"cacheWriteInputTokens"`
	OutputTokens          int `json:"outputTokens"`
	ReasoningTokens       int `json:"reasoningTokens"`
}

// A Mark is something that the agent which wrote an imported session did to
// its own context.
type Mark struct {
	At           int                `json:"at"`
	Kind         string             `json:"kind"`
	Line         int                `json:"line,omitempty"`
	Trigger      string             `json:"trigger,omitempty"`
	TokensBefore int                `json:"tokensBefore,omitempty"`
	TokensAfter  int                `json:"tokensAfter,omitempty"`
	Detail       string             `json:"detail,omitempty"`
	Change       *activeview.Change `json:"change,omitempty"`
}

// A Loss is something that did not come along on the way into the store.
type Loss struct {
	Line int    `json:"line,omitempty"`
	What string `json:"what"`
}
