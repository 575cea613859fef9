package chat

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// conversation reads a list of messages. Every assistant message in it is
// the answer to one request.
type conversation struct {
	b *sessionfile.Builder
	// observes is true for agents whose user messages after the first reply
	// are tool output: their actions are text.
	observes bool
	replied  bool
	// calls counts the messages with tool calls.
	calls int
	// replies are the texts of the replies with what followed each, kept
	// only where a second copy has to be compared.
	compare bool
	replies []reply
}

type reply struct{ text, next string }

// extras are keys of a message that agents add to the dialect.
type extras struct {
	demo        bool
	observation bool
	callIDs     []string
	usage       sessionfile.Value
	model       string
	time        time.Time
	returnCode  *float64
	raw         string
	status      string
	exception   string
}

func (x *extras) read(key string, v sessionfile.Value) bool {
	switch key {
	case "extra":
		x.extra(v)
	case "usage":
		x.usage = v
	case "model":
		x.model = v.Text()
	case "timestamp":
		x.time = v.Time(time.Second)
	case "is_demo":
		x.demo = v.Kind() == 't'
	case "message_type":
		x.observation = v.Text() == "observation"
		x.demo = x.demo || v.Text() == "demonstration"
	case "tool_call_ids":
		for e := range v.Elements() {
			x.callIDs = append(x.callIDs, e.Text())
		}
	case "agent", "action", "thought", "cost", "index":
		// SWE-agent: labels, and pieces of the content a second time.
	default:
		return false
	}
	return true
}

// extra reads mini-swe-agent's object of that name.
func (x *extras) extra(v sessionfile.Value) {
	for key, member := range v.Members() {
		switch key {
		case "response":
			for name, value := range member.Members() {
				switch name {
				case "usage":
					x.usage = value
				case "model":
					x.model = value.Text()
				}
			}
		case "timestamp":
			x.time = member.Time(time.Second)
		case "returncode":
			var code float64
			if json.Unmarshal(member.Raw, &code) == nil {
				x.returnCode = &code
			}
		case "raw_output":
			x.raw = member.Text()
		case "exit_status":
			x.status = member.Text()
		case "exception_str":
			x.exception = member.Text()
		}
	}
}

func (c *conversation) messages(v sessionfile.Value) {
	for e := range v.Elements() {
		c.message(e)
	}
}

// message reads one element of the list.
func (c *conversation) message(v sessionfile.Value) {
	var x extras
	m := wirebody.ReadChatMessage(c.b, v, x.read)
	switch {
	case v.Cut && (m.Role == "" || len(m.Blocks) == 0), v.Kind() != '{':
		return // named already
	case m.Role == "exit":
		c.exit(v.Line, x, m)
		return
	}
	if m.ID == "" {
		m.ID = c.b.NextID()
	}
	m.Time = x.time
	x.apply(&m)
	text := m.Text()
	if x.demo || m.Role == message.RoleUser && c.observed(x, text) {
		m.Origin = message.OriginInjected
	}
	if m.Role == message.RoleAssistant {
		m.Model = x.model
	}
	first, end := c.b.Append(v.Line, m)
	if c.compare && len(c.replies) > 0 && c.replies[len(c.replies)-1].next == "" {
		c.replies[len(c.replies)-1].next = all(m)
	}
	if m.Role != message.RoleAssistant || x.demo {
		return
	}
	c.replied = true
	if c.compare {
		c.replies = append(c.replies, reply{text: text})
	}
	for _, block := range m.Blocks {
		if block.Kind() == message.KindToolCall {
			c.calls++
			break
		}
	}
	c.b.Request(sessionfile.Request{At: first, End: end, Model: x.model, Time: x.time, Line: v.Line,
		Usage: c.usage(x.usage)})
}

// observed reports whether a user message is the output of a command.
func (c *conversation) observed(x extras, text string) bool {
	return c.replied && (x.observation || c.observes) ||
		c.replied && strings.HasPrefix(text, "<returncode>")
}

// apply puts what the agent noted about a tool result into it.
func (x *extras) apply(m *message.Message) {
	for i, block := range m.Blocks {
		r, ok := block.(message.ToolResult)
		if !ok {
			continue
		}
		if r.CallID == "" && i < len(x.callIDs) {
			r.CallID = x.callIDs[i]
		}
		if x.returnCode != nil {
			r.Outcome = message.OutcomeFailure
			if *x.returnCode == 0 {
				r.Outcome = message.OutcomeSuccess
			}
		}
		if raw := strings.TrimSpace(x.raw); raw != "" && !strings.Contains(r.Text(), raw) {
			r.Truncated, r.OriginalBytes = true, len(x.raw)
		}
		m.Blocks[i] = r
	}
}

func (c *conversation) usage(v sessionfile.Value) *message.Usage {
	if v.Kind() != '{' {
		return nil
	}
	u, err := wirebody.DecodeUsage(v.Raw)
	if err != nil {
		c.b.Lose(v.Line, "a usage that cannot be read")
	}
	return u
}

// exit reads mini-swe-agent's last entry, which tells how the run ended. A
// run that ended with a fault ended in a request without an answer.
func (c *conversation) exit(line int, x extras, m message.Message) {
	c.b.Losef(line, "the entry with the role \"exit\" is the result of the run, not a message (status %q)", x.status)
	if x.exception == "" {
		return
	}
	c.b.Request(sessionfile.Request{At: c.b.Len(), End: c.b.Len(), Line: line, Failed: firstLine(x.exception)})
	if strings.Contains(x.status, "ContextWindowExceeded") {
		c.b.Mark(sessionfile.Mark{At: c.b.Len(), Kind: sessionfile.MarkOverflow, Line: line, Detail: firstLine(x.exception)})
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// all returns the text of a message and of the tool results in it.
func all(m message.Message) string {
	var out strings.Builder
	out.WriteString(m.Text())
	for _, block := range m.Blocks {
		if r, ok := block.(message.ToolResult); ok {
			out.WriteString(r.Text())
		}
	}
	return out.String()
}
