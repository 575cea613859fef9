package codex

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// noOrdinal reads a file to its end.
const noOrdinal = -1

// rollout is what one file holds.
type rollout struct {
	im      *importer
	file    string // named in losses; empty for the file that was asked for
	meta    meta
	headed  bool
	entries []entry
}

// meta is the header of a rollout.
type meta struct {
	id, version, provider string
	instructions          string
	// user is true when the instructions are the user's and not the system
	// prompt: old versions have only those.
	user    bool
	started time.Time
	base    historyBase
}

// entry is one line that matters for the context.
type entry struct {
	line int // zero when it stands in a parent file
	time time.Time
	data any
}

// The data of entries.
type (
	// said is one item of the conversation.
	said struct {
		messages []message.Message // several when a user message mixes origins
		byModel  bool
	}
	// reply is the usage of one response, written right after its items.
	reply struct {
		id    string
		usage wireUsage
	}
	// tokens is a token count as the screen shows it.
	tokens struct{ info tokenInfo }
	// turn is the start or the end of a turn.
	turn struct{}
	// failure is a request that got no reply.
	failure struct {
		reason   string
		overflow bool
		turnID   string
	}
	// aborted is the end of a turn that was stopped.
	aborted struct{ reason string }
	// compacted is a new history.
	compacted struct {
		summary     string
		id          string
		replacement []message.Message // nil when the file does not hold it
		opaque      bool
	}
	// model is the model of the requests that follow.
	model struct{ name string }
	// window is the context window that follows.
	window struct{ tokens int }
	// shown is a text on the screen that an item should hold too.
	shown struct{ text, what string }
	// shownOutput is a tool's output as the screen shows it.
	shownOutput struct {
		callID string
		bytes  int
	}
)

// readAll reads the lines of a file below the ordinal end.
func (ro *rollout) readAll(src *sessionfile.Source, end int) error {
	for v, err := range src.Objects() {
		if err != nil {
			return err
		}
		var l wireLine
		if err := v.Decode(&l); err != nil {
			if !isMismatch(err) {
				ro.lose(v.Line, "a line that cannot be decoded")
				continue
			}
			ro.lose(v.Line, "a field of an unexpected type")
		}
		if end != noOrdinal && l.Ordinal != nil && *l.Ordinal >= end {
			return nil
		}
		ro.read(v, &l)
	}
	return nil
}

// lose names a loss; in a parent file by the file's name.
func (ro *rollout) lose(line int, what string) {
	if ro.file != "" {
		ro.im.b.Lose(0, fmt.Sprintf("%s: %s", ro.file, what))
		return
	}
	ro.im.b.Lose(line, what)
}

func (ro *rollout) losef(line int, format string, args ...any) {
	ro.lose(line, fmt.Sprintf(format, args...))
}

// add keeps an entry.
func (ro *rollout) add(v sessionfile.Value, l *wireLine, data any) {
	e := entry{line: v.Line, time: l.Timestamp.Time, data: data}
	if ro.file != "" {
		e.line = 0
	}
	ro.entries = append(ro.entries, e)
}

func (ro *rollout) read(v sessionfile.Value, l *wireLine) {
	p := &l.Payload
	switch l.Type {
	case "session_meta":
		ro.readMeta(v, p)
	case "turn_context":
		if p.Model != "" {
			ro.add(v, l, model{p.Model})
		}
	case "response_item":
		ro.readItem(v, l)
	case "event_msg":
		ro.readEvent(v, l)
	case "token_usage_record":
		if p.Usage != nil {
			ro.add(v, l, reply{p.ResponseID, *p.Usage})
		}
	case "compacted":
		ro.readCompacted(v, l)
	case "world_state", "inter_agent_communication", "inter_agent_communication_metadata", "retained_context",
		"dynamic_tools_updated", "security_risk_score", "realtime_item", "session_state", "thread_memory_mode":
		// State of the program; what the model sees of it are items.
	default:
		ro.losef(v.Line, "lines of the unknown type %q", clip(l.Type))
	}
}

// readMeta takes the first header. A fork that copies its parent's lines has
// theirs further on.
func (ro *rollout) readMeta(v sessionfile.Value, p *payload) {
	if ro.headed {
		if p.ID != ro.meta.id {
			ro.lose(v.Line, "the header of another session inside the file, not read")
		}
		return
	}
	ro.headed = true
	ro.meta = meta{id: p.ID, version: p.Version, provider: p.Provider, started: p.Started.Time}
	if p.Base != nil {
		ro.meta.base = *p.Base
	}
	ro.meta.instructions = textOf(p.BaseInstructions)
	if ro.meta.instructions == "" {
		ro.meta.instructions = textOf(p.Instructions)
		ro.meta.user = p.Instructions.IsText
	}
}

// textOf returns a text that stands alone in some versions and inside an
// object in others.
func textOf(t sessionfile.TextOrList[wireText]) string {
	if len(t.List) > 0 {
		return t.List[0].Text
	}
	return t.Text
}

// readEvent reads what only events tell, and remembers what they show.
func (ro *rollout) readEvent(v sessionfile.Value, l *wireLine) {
	p := &l.Payload
	switch p.Type {
	case "token_count":
		if p.Info != nil {
			ro.add(v, l, tokens{*p.Info})
		}
	case "task_started", "turn_started":
		if p.WindowTokens > 0 {
			ro.add(v, l, window{p.WindowTokens})
		}
		ro.add(v, l, turn{})
	case "task_complete", "turn_complete":
		if p.Error != nil {
			ro.add(v, l, newFailure(p.Error.Message, p.Error.Info, p.TurnID))
		}
		ro.add(v, l, turn{})
	case "error", "stream_error":
		ro.add(v, l, newFailure(p.Message, p.ErrorInfo, ""))
	case "turn_aborted":
		ro.add(v, l, aborted{p.Reason})
	case "thread_rolled_back":
		ro.rollBack(v.Line, p.Turns)
	case "user_message", "agent_message":
		if p.Message != "" {
			ro.add(v, l, shown{ro.im.shared(p.Message), "a text that the screen showed (" + p.Type + ") and that no message holds"})
		}
	case "item_completed":
		ro.readShownItem(v, l)
	}
}

func (ro *rollout) readShownItem(v sessionfile.Value, l *wireLine) {
	it := l.Payload.Item
	if it == nil {
		return
	}
	switch it.Type {
	case "UserMessage", "AgentMessage":
		for _, c := range it.Content.List {
			if c.Text != "" {
				ro.add(v, l, shown{ro.im.shared(c.Text), "a text that the screen showed (" + it.Type + ") and that no message holds"})
			}
		}
	case "CommandExecution":
		if len(it.Output) > 0 {
			ro.add(v, l, shownOutput{it.ID, len(it.Output)})
		}
	}
}

func newFailure(reason string, info json.RawMessage, turnID string) failure {
	if reason == "" {
		reason = strings.Trim(string(info), `"`)
	}
	return failure{
		reason: reason,
		turnID: turnID,
		overflow: strings.Contains(string(info), "context_window_exceeded") ||
			strings.Contains(string(info), "contextWindowExceeded") || sessionfile.SaysOverflow(reason) ||
			strings.Contains(reason, "ran out of room in the model's context window"),
	}
}

// rollBack drops the last turns: the user took them back.
func (ro *rollout) rollBack(line, turns int) {
	keep, messages := len(ro.entries), 0
	for keep > 0 && turns > 0 {
		keep--
		s, ok := ro.entries[keep].data.(said)
		if !ok {
			continue
		}
		messages += len(s.messages)
		if len(s.messages) > 0 && s.messages[0].Authored() {
			turns--
		}
	}
	if messages == 1 {
		ro.lose(line, "not part of this context: 1 message of a turn that the user took back")
	} else if messages > 1 {
		ro.losef(line, "not part of this context: %d messages of turns that the user took back", messages)
	}
	// The settings that were made meanwhile stay.
	ro.entries = slices.DeleteFunc(ro.entries, func(e entry) bool {
		keep--
		if keep >= 0 {
			return false
		}
		switch e.data.(type) {
		case model, window:
			return false
		}
		return true
	})
}

// clip keeps a foreign word short enough for a message.
func clip(s string) string {
	const most = 40
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}
