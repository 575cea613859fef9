package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
)

// maxBreakpoints is how many cache points a request may have
// (platform.claude.com, prompt caching).
const maxBreakpoints = 4

// nativeType is the type of the provider's own compaction block.
const nativeType = "compaction"

type purpose int

const (
	forAnswer purpose = iota
	forCount
	forCompaction
)

// Encode returns the body that Stream sends: settings, tools, system text and
// then the messages, the order in which the provider caches. The same request
// gives the same bytes. A longer conversation only adds at the end, except
// that the marks of cache points move, which the provider does not count as a
// change.
func (m *Model) Encode(r model.Request) ([]byte, error) { return m.encode(r, forAnswer) }

func (m *Model) encode(r model.Request, p purpose) ([]byte, error) {
	native := m.capabilities.NativeCompaction == model.NativeCompactionOpaqueItem
	if err := dialect.Check(r.Messages, m.options.Provider, native); err != nil {
		return nil, err
	}
	groups := m.groups(r.Messages)
	if p != forCompaction && !m.options.NoCache {
		markMessages(groups)
	}
	groups = remind(groups, r.Reminder)
	j := wire.NewJSON(wire.SizeHint(r))
	j.Open('{').Field("model", m.options.Model)
	m.writeSettings(j, r, p)
	cacheTools := len(r.Instructions) == 0
	m.writeTools(j, r.Tools, cacheTools)
	m.writeSystem(j, r)
	j.Key("messages").Open('[')
	for _, g := range groups {
		j.Open('{').Field("role", g.role).Key("content").Open('[')
		for _, it := range g.results {
			m.writeBlock(j, it)
		}
		for _, it := range g.items {
			m.writeBlock(j, it)
		}
		j.Close(']').Close('}')
	}
	j.Close(']').Close('}')
	return j.Bytes()
}

func (m *Model) writeSettings(j *wire.JSON, r model.Request, p purpose) {
	o := &m.options
	output := r.OutputTokens
	if output == 0 {
		output = m.capabilities.MaxOutputTokens
	}
	if output == 0 {
		output = fallbackOutputTokens
	}
	if p != forCount {
		j.Key("max_tokens").Int(output)
	}
	switch {
	case p == forCompaction:
		j.Key("compaction").Open('{').Field("type", "summarize").Close('}')
		return
	case p == forAnswer:
		j.Key("stream").Bool(true)
	}
	switch {
	case o.Effort != "":
		j.Key("thinking").Open('{').Field("type", "adaptive").Close('}')
		j.Key("output_config").Open('{').Field("effort", o.Effort).Close('}')
	case o.ThinkingTokens > 0:
		// The budget is part of the cap and must be below it.
		budget := min(o.ThinkingTokens, output-1)
		if budget >= 1024 {
			j.Key("thinking").Open('{').Field("type", "enabled").Key("budget_tokens").Int(budget).Close('}')
		}
	}
	if o.CompactAtTokens > 0 {
		j.Key("context_management").Open('{').Key("edits").Open('[').Open('{').Field("type", "compact_20260112").
			Key("trigger").Open('{').Field("type", "input_tokens").Key("value").Int(o.CompactAtTokens).Close('}').
			Close('}').Close(']').Close('}')
	}
	j.Members(o.Extra, "Options.Extra", "model", "max_tokens", "stream", "messages", "system", "tools", "thinking", "output_config", "compaction", "context_management")
}

func (m *Model) writeTools(j *wire.JSON, tools []message.ToolDefinition, mark bool) {
	if len(tools) == 0 {
		return
	}
	j.Key("tools").Open('[')
	for i, t := range tools {
		j.Open('{').Field("name", t.Name)
		if t.Description != "" {
			j.Field("description", t.Description)
		}
		schema := []byte(t.Parameters)
		if len(schema) == 0 {
			schema = []byte(`{"type":"object"}`)
		}
		j.Key("input_schema").Raw(schema, "the schema of "+t.Name)
		if mark && i == len(tools)-1 {
			m.writeMark(j)
		}
		j.Close('}')
	}
	j.Close(']')
}

func (m *Model) writeSystem(j *wire.JSON, r model.Request) {
	var texts []string
	for _, msg := range r.Instructions {
		if text := msg.Text(); strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return
	}
	j.Key("system").Open('[')
	for i, text := range texts {
		j.Open('{').Field("type", "text").Field("text", text)
		if i == len(texts)-1 {
			m.writeMark(j)
		}
		j.Close('}')
	}
	j.Close(']')
}

// writeMark writes a cache point into the open block.
func (m *Model) writeMark(j *wire.JSON) {
	if m.options.NoCache {
		return
	}
	j.Key("cache_control").Open('{').Field("type", "ephemeral")
	if m.options.LongCache {
		j.Field("ttl", "1h")
	}
	j.Close('}')
}

// remind puts the reminder behind the conversation and behind its cache
// points: in front of it, it would break the cache of all of it.
func remind(groups []*group, text string) []*group {
	if text == "" {
		return groups
	}
	it := &item{block: message.Text{Text: text}}
	if n := len(groups); n > 0 && groups[n-1].role == "user" {
		groups[n-1].items = append(groups[n-1].items, it)
		return groups
	}
	return append(groups, &group{role: "user", items: []*item{it}})
}

// A group is what becomes one message: everything between two changes of the
// role. Results come first, as the provider demands.
type group struct {
	role           string
	results, items []*item
}

// An item is one block to be written.
type item struct {
	block message.Block
	mark  bool
	// memory and request say that the item ends the checkpoint or is of the
	// current request.
	memory, request bool
}

func (g *group) last() *item {
	for _, list := range [][]*item{g.items, g.results} {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].markable() {
				return list[i]
			}
		}
	}
	return nil
}

// markable: thinking and unread blocks take no cache point.
func (it *item) markable() bool {
	switch it.block.(type) {
	case message.Reasoning, message.Opaque:
		return false
	}
	return true
}

func (m *Model) groups(ms []message.Message) []*group {
	var out []*group
	for _, msg := range ms {
		for _, b := range msg.Blocks {
			role, ok := m.sends(msg, b)
			if !ok {
				continue
			}
			if len(out) == 0 || out[len(out)-1].role != role {
				out = append(out, &group{role: role})
			}
			g := out[len(out)-1]
			it := &item{block: b, memory: msg.Origin == message.OriginSummary, request: msg.Authored()}
			if b.Kind() == message.KindToolResult {
				g.results = append(g.results, it)
			} else {
				g.items = append(g.items, it)
			}
		}
	}
	return out
}

// sends says on which side a block is sent, and whether it is sent at all.
func (m *Model) sends(msg message.Message, b message.Block) (role string, ok bool) {
	role = "user"
	if msg.Role == message.RoleAssistant {
		role = "assistant"
	}
	switch b := b.(type) {
	case message.Text:
		return role, strings.TrimSpace(b.Text) != "" // the provider refuses empty text
	case message.Reasoning:
		return role, role == "assistant" && b.Provider == m.options.Provider && (b.Text != "" || len(b.Opaque) > 0)
	case message.Opaque:
		if b.Type == nativeType {
			return "assistant", b.Provider == m.options.Provider && !m.options.NoCompaction // as it came
		}
		return role, b.Provider == m.options.Provider
	}
	return role, true
}

// markMessages sets the cache points among the messages: the end of the
// checkpoint, the current request (what stays while a run goes on), and the
// tail. The fourth is the system text's.
func markMessages(groups []*group) {
	var memory, request *item
	for _, g := range groups {
		for _, it := range g.items {
			if it.memory && it.markable() {
				memory = it
			}
			if it.request && it.markable() {
				request = it
			}
		}
	}
	var tail *item
	for i := len(groups) - 1; i >= 0 && tail == nil; i-- {
		tail = groups[i].last()
	}
	for _, it := range []*item{memory, request, tail} {
		if it != nil {
			it.mark = true
		}
	}
}

func (m *Model) writeBlock(j *wire.JSON, it *item) {
	if b, ok := it.block.(message.Opaque); ok {
		writeUnread(j, b.Data)
		return
	}
	j.Open('{')
	switch b := it.block.(type) {
	case message.Text:
		j.Field("type", "text").Field("text", b.Text)
	case message.Image:
		writeImage(j, b)
	case message.Reasoning:
		writeThinking(j, b)
	case message.ToolCall:
		j.Field("type", "tool_use").Field("id", dialect.SafeID(b.ID)).Field("name", b.Name).Key("input")
		writeArguments(j, b.Arguments)
	case message.ToolResult:
		writeResult(j, b)
	}
	if it.mark {
		m.writeMark(j)
	}
	j.Close('}')
}

// writeUnread writes a block, or each block of a list, as it came.
func writeUnread(j *wire.JSON, data json.RawMessage) {
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' {
		j.Raw(data, "an item of the provider")
		return
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		j.Fail("encode request: an item of the provider is no JSON")
	}
	for _, block := range list {
		j.Raw(block, "an item of the provider")
	}
}

// writeThinking: the opaque part is the signature, the data of redacted
// thinking, or the whole block.
func writeThinking(j *wire.JSON, b message.Reasoning) {
	var sealed string
	switch {
	case len(b.Opaque) == 0:
	case json.Unmarshal(b.Opaque, &sealed) == nil:
	default:
		j.Members(b.Opaque, "thinking")
		return
	}
	if b.Text == "" {
		j.Field("type", "redacted_thinking").Field("data", sealed)
		return
	}
	j.Field("type", "thinking").Field("thinking", b.Text).Field("signature", sealed)
}

// writeArguments writes a call's arguments, which must be an object here. What
// the model wrote otherwise goes as text in one.
func writeArguments(j *wire.JSON, arguments string) {
	text := strings.TrimSpace(arguments)
	switch {
	case text == "":
		j.Raw([]byte("{}"), "")
	case text[0] == '{' && json.Valid([]byte(text)):
		j.Raw([]byte(text), "")
	default:
		j.Open('{').Field("arguments", arguments).Close('}')
	}
}

func writeResult(j *wire.JSON, b message.ToolResult) {
	j.Field("type", "tool_result").Field("tool_use_id", dialect.SafeID(b.CallID))
	if len(b.Content) > 0 {
		j.Key("content").Open('[')
		for _, inner := range b.Content {
			switch inner := inner.(type) {
			case message.Text:
				if inner.Text != "" {
					j.Open('{').Field("type", "text").Field("text", inner.Text).Close('}')
				}
			case message.Image:
				j.Open('{')
				writeImage(j, inner)
				j.Close('}')
			}
		}
		j.Close(']')
	}
	if b.Outcome == message.OutcomeFailure {
		j.Key("is_error").Bool(true)
	}
}

func writeImage(j *wire.JSON, b message.Image) {
	switch {
	case len(b.Data) > 0:
		j.Field("type", "image").Key("source").Open('{').Field("type", "base64").Field("media_type", dialect.MediaType(b)).
			Key("data").Base64("", b.Data).Close('}')
	case strings.HasPrefix(b.URL, "file:"):
		j.Field("type", "image").Key("source").Open('{').Field("type", "file").
			Field("file_id", strings.TrimPrefix(b.URL, "file:")).Close('}')
	case b.URL != "":
		j.Field("type", "image").Key("source").Open('{').Field("type", "url").Field("url", b.URL).Close('}')
	default:
		j.Field("type", "text").Field("text", dialect.MissingImage)
	}
}
