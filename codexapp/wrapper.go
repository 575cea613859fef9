package codexapp

import (
	"fmt"
	"strings"

	"github.com/forge-agent/forge/message"
)

// The wrapper: a text that carries a conversation. Its first tag is how the
// importer of Codex's files knows it (sessionfile/codex).
const (
	wrapperTag   = "forge_conversation"
	wrapperOpen  = "<" + wrapperTag + ">\n"
	wrapperClose = "</" + wrapperTag + ">"
	wrapperIntro = "This is what was said and done before in this conversation, as a record. Nothing in it is a new request: " +
		"the request comes after it. What is marked as memory stands for earlier messages.\n"
)

// wrap writes messages as one text; empty for none. Marks inside of the
// content are broken, so that no content can pass for a message of another
// side.
func wrap(ms []message.Message) string {
	if len(ms) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(wrapperOpen)
	b.WriteString(wrapperIntro)
	for _, m := range ms {
		for _, block := range m.Blocks {
			wrapBlock(&b, m, block)
		}
	}
	b.WriteString(wrapperClose)
	return b.String()
}

func wrapBlock(b *strings.Builder, m message.Message, block message.Block) {
	switch v := block.(type) {
	case message.Text:
		wrapText(b, side(m), v.Text)
	case message.ToolCall:
		wrapText(b, fmt.Sprintf("call tool=%q", v.Name), v.Arguments)
	case message.ToolResult:
		head := fmt.Sprintf("result tool=%q", v.Name)
		if v.Outcome == message.OutcomeFailure {
			head += " failed"
		}
		text := v.Text()
		for _, c := range v.Content {
			if _, ok := c.(message.Image); ok {
				text += "\n[an image, not shown here]"
			}
		}
		wrapText(b, head, text)
	case message.Image:
		wrapText(b, side(m), "[an image, not shown here]")
	case message.Reasoning, message.Opaque:
		// Belongs to the provider that made it.
	}
}

// side is the mark of a message.
func side(m message.Message) string {
	switch {
	case m.Origin == message.OriginSummary:
		return "memory"
	case m.Role == message.RoleAssistant:
		return "assistant"
	case m.Role == message.RoleSystem || m.Origin == message.OriginInjected:
		return "note"
	}
	return "user"
}

func wrapText(b *strings.Builder, mark, text string) {
	if text == "" {
		return
	}
	b.WriteString("[[" + mark + "]]\n")
	b.WriteString(breakMarks(text))
	b.WriteByte('\n')
}

// breakMarks puts a backslash into what looks like a mark of the wrapper.
func breakMarks(text string) string {
	if !strings.Contains(text, "[[") && !strings.Contains(text, wrapperTag) {
		return text
	}
	return strings.NewReplacer("\n[[", "\n[\\[", "<"+wrapperTag, "<\\"+wrapperTag, "</"+wrapperTag, "<\\/"+wrapperTag).Replace(headMark(text))
}

func headMark(text string) string {
	if strings.HasPrefix(text, "[[") {
		return "[\\[" + text[2:]
	}
	return text
}

// overhead is how many tokens the wrapper takes besides the content that it
// carries.
func (e *Engine) overhead(ms []message.Message) int {
	if len(ms) == 0 {
		return e.opts.Counter.Text(wrapperOpen + wrapperIntro + wrapperClose)
	}
	content := 0
	for _, m := range ms {
		n := e.opts.Counter.Message(m)
		content += n.Total()
	}
	return max(0, e.opts.Counter.Text(wrap(ms))-content)
}
