package codex_test

import (
	"testing"
	"testing/fstest"

	"github.com/forge-agent/forge/message"
)

// The text with which Forge carries a conversation into a thread is nobody's
// request, whatever kind Codex records for it; a text that only begins like it
// is the user's.
func TestForgeWrapperIsNoRequest(t *testing.T) {
	const wrapper = "<forge_conversation>\n[[user]]\none\n</forge_conversation>"
	fsys := fstest.MapFS{"a.jsonl": rollout("t", "2026-01-01T00:00:00Z", 0, "", wrapper, "two", "<forge_conversation> is a tag")}
	s := open(t, fsys, "a.jsonl")
	want := []message.Origin{message.OriginInjected, message.OriginAuthored, message.OriginAuthored}
	for i, origin := range want {
		if got := s.Transcript.At(i).Origin; got != origin {
			t.Errorf("message %d: %q, want %q", i, got, origin)
		}
	}
}
