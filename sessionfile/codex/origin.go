package codex

import (
	"strings"

	"github.com/forge-agent/forge/message"
)

// originOfKind reads the kind that versions from 0.150 on record for each
// part of a message.
func originOfKind(kind string, before message.Origin) message.Origin {
	switch {
	case kind == "compaction.summary":
		return message.OriginSummary
	case strings.HasPrefix(kind, "user."):
		return message.OriginAuthored
	case kind == "unknown" || kind == "":
		return before
	}
	return message.OriginInjected
}

// harnessTags open texts that the program puts into user messages.
var harnessTags = []string{
	"<environment_context>", "<user_instructions>", "<instructions>", "<turn_aborted>", "<skill>", "<user_action>",
	"<subagent_notification>", "<permissions instructions>", "<collaboration_mode>", "<model_switch>",
	"<user_shell_command>", "<context_window>",
}

// forgeTag opens the text with which Forge carries a conversation into a
// thread: a record of what was said, not a request.
const forgeTag = "<forge_conversation>"

// ideContext begins a message that the editor extension wrote around what the
// user typed, and ideRequest begins that.
const (
	ideContext = "# Context from my IDE setup:"
	ideRequest = "## My request for Codex:"
)

// isWrapper reports whether a block is that text. Codex records it like any
// other text of the user's.
func isWrapper(b message.Block) bool {
	t, ok := b.(message.Text)
	return ok && strings.HasPrefix(t.Text, forgeTag+"\n") && strings.HasSuffix(t.Text, "</"+forgeTag[1:])
}

// originOf says who wrote a text of a user message. Text that mixes the
// editor's context and a request is the user's.
func originOf(text string) message.Origin {
	text = strings.TrimSpace(text)
	lower := strings.ToLower(text[:min(len(text), 64)])
	for _, tag := range harnessTags {
		if strings.HasPrefix(lower, tag) && strings.HasSuffix(text, ">") {
			return message.OriginInjected
		}
	}
	switch {
	case strings.HasPrefix(text, "# AGENTS.md instructions"):
		return message.OriginInjected
	case strings.HasPrefix(text, ideContext):
		_, request, found := strings.Cut(text, ideRequest)
		if !found || strings.TrimSpace(request) == "" {
			return message.OriginInjected
		}
	case isSummaryText(text):
		return message.OriginSummary
	}
	return message.OriginAuthored
}

// isSummaryText reports whether a text is a summary as the program hands it
// to the model: with a fixed beginning.
func isSummaryText(text string) bool {
	return strings.HasPrefix(text, "Another language model started to solve this problem and produced a summary")
}
