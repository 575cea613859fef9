package claudecode

import (
	"fmt"
	"strings"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// syntheticModel is the model name of texts that the program wrote in place
// of a reply.
const syntheticModel = "<synthetic>"

// clearedStandIn is what the model sees in place of a tool result that a
// microcompaction cleared. The file does not hold it; it is the program's
// constant.
const clearedStandIn = "[Old tool result content cleared]"

// builder turns the lines of the conversation into messages and marks.
type builder struct {
	*importer
	in        []bool
	responses map[string][]int // lines of each response
	boundary  *line            // a compaction that waits for its summary
}

// build appends the conversation to the session.
func (im *importer) build() {
	bu := &builder{importer: im, in: im.conversation(), responses: map[string][]int{}}
	for i := range im.lines {
		if l := &im.lines[i]; bu.in[i] && l.Type == "assistant" {
			bu.responses[l.response()] = append(bu.responses[l.response()], i)
		}
	}
	for i := range im.lines {
		if !bu.in[i] {
			continue
		}
		switch l := &im.lines[i]; l.Type {
		case "user":
			bu.user(i, l)
		case "assistant":
			bu.assistant(l)
		case "system":
			bu.system(l)
		case "attachment":
			bu.attachment(l)
		}
	}
	bu.dropBoundary()
}

func (l *line) id(b *sessionfile.Builder) string {
	if l.UUID == "" {
		b.Lose(l.number, "message without a uuid, numbered instead")
		return b.NextID()
	}
	return l.UUID
}

// user adds a user line: what the person said, what the program injected, and
// tool results, each as its own message.
func (bu *builder) user(i int, l *line) {
	if l.Message == nil {
		bu.b.Lose(l.number, "a user line without a message")
		return
	}
	if l.IsCompactSummary {
		bu.summary(l)
		return
	}
	if l.ScreenOnly {
		bu.b.Lose(l.number, "text that only the user's screen showed")
		return
	}
	blocks := bu.convert(l.number, l.Message.Content)
	id, part := l.id(bu.b), 0
	at := bu.b.Len()
	for len(blocks) > 0 {
		origin := bu.origin(i, l, blocks[0], message.OriginAuthored)
		n := 1
		for n < len(blocks) && bu.origin(i, l, blocks[n], origin) == origin {
			n++
		}
		m := message.Message{ID: id, Role: message.RoleUser, Origin: origin, Blocks: blocks[:n], Time: l.Timestamp.Time}
		if part++; part > 1 {
			m.ID = fmt.Sprintf("%s/part%d", id, part)
		}
		bu.b.Append(l.number, m)
		blocks = blocks[n:]
	}
	if part == 0 || bu.b.Len() == at {
		if part == 0 {
			bu.b.Lose(l.number, "user message without content")
		}
		return
	}
	if isInterruption(l.Message.firstText()) {
		bu.b.Mark(sessionfile.Mark{At: bu.b.Len(), Kind: sessionfile.MarkInterrupted, Line: l.number,
			Trigger: "user", Detail: strings.TrimSpace(l.Message.firstText())})
	}
}

func (m *wireMessage) firstText() string {
	if m.Content.IsText {
		return m.Content.Text
	}
	for _, b := range m.Content.List {
		if b.Type == "text" {
			return b.Text
		}
	}
	return ""
}

// origin says who wrote a block of a user line. Blocks that are no text go
// with the one before them.
func (bu *builder) origin(i int, l *line, block message.Block, before message.Origin) message.Origin {
	if l.IsMeta || l.Origin != nil && l.Origin.Kind != "" && l.Origin.Kind != "human" {
		return message.OriginInjected
	}
	text, ok := block.(message.Text)
	if !ok {
		if block.Kind() == message.KindToolResult {
			return message.OriginAuthored
		}
		return before
	}
	if command, arguments := isCommand(text.Text); command && !arguments && bu.answeredLocally(i) {
		return message.OriginInjected
	}
	return originOf(text.Text)
}

// answeredLocally reports whether the next line of the conversation is the
// output of a command: the program answered it, not the model.
func (bu *builder) answeredLocally(i int) bool {
	for i++; i < len(bu.lines); i++ {
		l := &bu.lines[i]
		if !bu.in[i] || l.Type != "user" && l.Type != "assistant" {
			continue
		}
		return l.Type == "user" && l.Message != nil && isLocalOutput(l.Message.firstText())
	}
	return true
}

// assistant adds a response once, at its first line.
func (bu *builder) assistant(l *line) {
	indexes := bu.responses[l.response()]
	if len(indexes) == 0 || l.number != bu.lines[indexes[0]].number || l.UUID != bu.lines[indexes[0]].UUID {
		return
	}
	if l.Message == nil {
		bu.b.Lose(l.number, "an assistant line without a message")
		return
	}
	if l.IsAPIError || l.Message.Model == syntheticModel {
		bu.synthetic(l)
		return
	}
	var usage *wireUsage
	var blocks []message.Block
	bu.contextEdits(l)
	calls := map[string]bool{}
	for _, i := range indexes {
		part := &bu.lines[i]
		if part.Message == nil {
			continue
		}
		if part.Message.Usage != nil {
			usage = part.Message.Usage
		}
		for _, block := range bu.convert(part.number, part.Message.Content) {
			if call, ok := block.(message.ToolCall); ok && call.ID != "" {
				if calls[call.ID] {
					bu.b.Lose(part.number, "a tool call that its response repeats")
					continue
				}
				calls[call.ID] = true
			}
			blocks = append(blocks, block)
		}
	}
	at, end := bu.b.Append(l.number, message.Message{ID: l.id(bu.b), Role: message.RoleAssistant, Blocks: blocks,
		Time: l.Timestamp.Time, Model: l.Message.Model})
	bu.b.Request(sessionfile.Request{At: at, End: end, Model: l.Message.Model, Usage: usage.normalized(),
		LongCacheWriteTokens: usage.longCacheWrite(), Time: l.Timestamp.Time, Line: l.number})
}

// contextEdits marks what the provider cleared from the request on its side.
// Which results those were, the file does not say.
func (bu *builder) contextEdits(l *line) {
	if l.Message.Context == nil {
		return
	}
	for _, e := range l.Message.Context.Edits {
		if e.Tokens > 0 {
			bu.b.Mark(sessionfile.Mark{At: bu.b.Len(), Kind: sessionfile.MarkProjection, Line: l.number, Trigger: "provider",
				Detail: fmt.Sprintf("the provider cleared %d tokens (%s)", e.Tokens, clip(e.Type))})
		}
	}
}

// synthetic handles text that the program wrote in place of a reply.
func (bu *builder) synthetic(l *line) {
	text := strings.TrimSpace(l.Message.firstText())
	if !l.IsAPIError && !strings.HasPrefix(text, "API Error") {
		bu.b.Lose(l.number, "text that the program wrote in place of a reply")
		return
	}
	bu.failed(l, text)
}

// failed records a request that got no reply.
func (bu *builder) failed(l *line, reason string) {
	at := bu.b.Len()
	if reason == "" {
		reason = "no reason given"
	}
	bu.b.Request(sessionfile.Request{At: at, End: at, Time: l.Timestamp.Time, Line: l.number, Failed: reason})
	used, window, overflow := parseOverflow(reason)
	if !overflow {
		return
	}
	if bu.b.Session.WindowTokens == 0 {
		bu.b.Session.WindowTokens = window
	}
	bu.b.Mark(sessionfile.Mark{At: at, Kind: sessionfile.MarkOverflow, Line: l.number, TokensBefore: used, Detail: reason})
}

func (bu *builder) system(l *line) {
	switch l.Subtype {
	case "compact_boundary":
		bu.dropBoundary()
		bu.boundary = l
	case "microcompact_boundary":
		bu.microcompaction(l)
	case "api_error":
		reason := l.Error.Text
		if len(l.Error.List) > 0 {
			e := l.Error.List[0]
			reason = e.Message
			if e.Status != 0 {
				reason = strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.Status, e.Message))
			}
		}
		bu.failed(l, reason)
	case "local_command":
		bu.b.Append(l.number, message.Message{ID: l.id(bu.b), Role: message.RoleUser, Origin: message.OriginInjected,
			Blocks: bu.convert(l.number, l.Content), Time: l.Timestamp.Time})
	case "turn_duration", "stop_hook_summary", "away_summary", "informational", "bridge_status", "memory_saved",
		"thinking", "permission_retry", "scheduled_task_fire", "agents_killed":
		// Notes for the screen.
	default:
		bu.b.Losef(l.number, "system lines of the unknown kind %q", clip(l.Subtype))
	}
}

// summary ends a compaction: the text takes the place of everything before
// it, except what the boundary names as preserved. At the start of a file
// there is nothing to replace, and the summary is a message.
func (bu *builder) summary(l *line) {
	boundary := bu.boundary
	bu.boundary = nil
	at := bu.b.Len()
	m := message.Message{ID: l.id(bu.b), Role: message.RoleUser, Origin: message.OriginSummary,
		Blocks: bu.convert(l.number, l.Message.Content), Time: l.Timestamp.Time}
	mark := sessionfile.Mark{At: at, Kind: sessionfile.MarkCompaction, Line: l.number}
	keep := at
	if boundary != nil {
		mark.Line = boundary.number
		if c := boundary.Compact; c != nil {
			mark.Trigger, mark.TokensBefore, mark.TokensAfter = c.Trigger, c.PreTokens, c.PostTokens
			keep = bu.keepFrom(boundary, at)
		}
	}
	if at == 0 {
		bu.b.Append(l.number, m)
		mark.At = bu.b.Len()
		bu.b.Mark(mark)
		return
	}
	mark.Change = &activeview.Change{Kind: activeview.ChangeCompaction, Replacement: []message.Message{m}, KeepFrom: keep}
	bu.b.Mark(mark)
}

// keepFrom returns the index of the first message that a compaction
// preserves, at when it preserves none.
func (bu *builder) keepFrom(boundary *line, at int) int {
	head, _ := boundary.Compact.kept()
	if head == "" {
		return at
	}
	// A response has the id of its first line.
	if i, known := bu.uuid[head]; known && bu.lines[i].Type == "assistant" {
		if lines := bu.responses[bu.lines[i].response()]; len(lines) > 0 {
			head = bu.lines[lines[0]].UUID
		}
	}
	i, found := bu.b.Session.Transcript.Index(head)
	if !found {
		bu.b.Lose(boundary.number, "a message that a compaction preserved is not in the file")
		return at
	}
	return i
}

// dropBoundary marks a compaction whose summary never came.
func (bu *builder) dropBoundary() {
	if l := bu.boundary; l != nil {
		mark := sessionfile.Mark{At: bu.b.Len(), Kind: sessionfile.MarkInterrupted, Line: l.number,
			Detail: "compaction without its summary"}
		if l.Compact != nil {
			mark.Trigger, mark.TokensBefore = l.Compact.Trigger, l.Compact.PreTokens
		}
		bu.b.Mark(mark)
	}
	bu.boundary = nil
}

func (bu *builder) microcompaction(l *line) {
	mark := sessionfile.Mark{At: bu.b.Len(), Kind: sessionfile.MarkProjection, Line: l.number}
	if m := l.Micro; m != nil {
		mark.Trigger, mark.TokensBefore = m.Trigger, m.PreTokens
		mark.TokensAfter = max(m.PreTokens-m.TokensSaved, 0)
		refs := bu.b.Refs(m.CompactedToolIDs)
		if len(refs) < len(m.CompactedToolIDs) {
			bu.b.Lose(l.number, "a tool result that a microcompaction cleared is not in the file")
		}
		if len(m.ClearedAttachments) > 0 {
			bu.b.Lose(l.number, "attachments that a microcompaction cleared stay in the view")
		}
		if len(refs) > 0 {
			mark.Change = &activeview.Change{Kind: activeview.ChangeProjection, Results: refs, StandIn: clearedStandIn}
		}
	}
	bu.b.Mark(mark)
}
