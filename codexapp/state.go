package codexapp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
)

// stateName is the name of the session's state that says which thread of Codex
// goes with it.
const stateName = "codex"

// threadState is what is known of a thread that Codex keeps for a session.
type threadState struct {
	// Session is the session that it belongs to: a copy of it, made by a fork,
	// has to get a thread of its own.
	Session string `json:"session"`
	// Thread is Codex's id, LastTurn that of its newest turn.
	Thread   string `json:"thread"`
	LastTurn string `json:"lastTurn,omitempty"`
	// Messages of the session went into it, or came out of it, and Prefix is
	// their hash: a session that was forked, cut or continued elsewhere has
	// another one.
	Messages int          `json:"messages"`
	Prefix   message.Hash `json:"prefix"`
	// Instructions stand for the instructions that the thread began with,
	// Settings for folder, model and configuration.
	Instructions message.Hash `json:"instructions"`
	Settings     message.Hash `json:"settings"`
	// OccupancyTokens is what it holds by Codex's word, Estimated when Codex
	// reckoned it. Full says that the number is not to be trusted and the
	// thread has to be compacted before its next turn.
	OccupancyTokens int  `json:"occupancyTokens,omitempty"`
	Estimated       bool `json:"estimated,omitempty"`
	Full            bool `json:"full,omitempty"`
	// WindowTokens is the window that Codex goes by.
	WindowTokens int `json:"windowTokens,omitempty"`
	// HiddenTokens is what Codex sends besides the conversation: its own
	// instructions and tools. Zero for unknown.
	HiddenTokens int `json:"hiddenTokens,omitempty"`
	// Spoilt: the thread is not to be used again, for a fixed reason.
	Spoilt string `json:"spoilt,omitempty"`
}

func readState(s *session.Session) threadState {
	var st threadState
	if json.Unmarshal(s.State(stateName), &st) != nil {
		return threadState{} // derived: the thread is rebuilt
	}
	return st
}

// agrees reports whether the session still begins with what the thread holds,
// and has nothing since that the thread does not: the first before messages
// are the session without the present prompt. The reason is a fixed word.
func (st threadState) agrees(s *session.Session, before int, instructions, settings message.Hash) (bool, string) {
	switch t := s.Transcript(); {
	case st.Thread == "":
		return false, ""
	case st.Session != s.ID():
		return false, "forked"
	case st.Spoilt != "":
		return false, st.Spoilt
	case st.Messages != before || st.Messages > t.Len() || t.RangeHash(0, st.Messages) != st.Prefix:
		return false, "transcript-changed"
	case st.Instructions != instructions:
		return false, "instructions-changed"
	case st.Settings != settings:
		return false, "settings-changed"
	}
	return true, ""
}

// keepState stores the state with the session as it is now. Of a thread that
// held one prompt only, nothing but the window is worth keeping.
func (e *Engine) keepState(ctx context.Context) error {
	t := e.opts.Session.Transcript()
	e.state.Messages, e.state.Prefix = t.Len(), t.RangeHash(0, t.Len())
	kept := e.state
	if e.opts.Carry == Wrapper {
		kept = threadState{Session: e.opts.Session.ID(), Settings: e.settings(), WindowTokens: e.window}
	}
	body, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("keep state of thread: %w", err)
	}
	return e.opts.Session.SetStates(ctx, map[string][]byte{stateName: body})
}
