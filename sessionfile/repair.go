package sessionfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/message"
)

// Append adds what a file gives as one message, read at line, and returns
// the range [first, end) of the transcript messages that it became: usually
// one, none when it has no content, and several when its role cannot carry
// all of its blocks. Order is kept.
//
// Without a loss: tool results inside a user message become a tool message,
// and empty text blocks go. Everything else that a Transcript refuses is
// repaired and named: a missing or duplicate id, a result without its call
// (kept as injected user text), a call id that is still in use (the pair gets
// a suffix), a block on the wrong side (moved into a message of its own), an
// unknown role (read as injected user text).
func (b *Builder) Append(line int, m message.Message) (first, end int) {
	first = b.Len()
	blocks := withoutEmpty(m.Blocks)
	if len(blocks) == 0 {
		b.Losef(line, "%s message without content", roleName(m.Role))
		return first, first
	}
	switch m.Role {
	case message.RoleSystem, message.RoleUser, message.RoleAssistant, message.RoleTool:
	default:
		b.Losef(line, "message of the unknown role %q, kept as injected user text", m.Role)
		m.Role, m.Origin = message.RoleUser, message.OriginInjected
	}
	m.ID = strings.ToValidUTF8(m.ID, "\uFFFD")
	if m.ID == "" {
		b.Lose(line, "message without an id, numbered instead")
		m.ID = b.NextID()
	}
	part := 0
	for len(blocks) > 0 {
		role := carrier(m.Role, blocks[0])
		n := 1
		for n < len(blocks) && carrier(m.Role, blocks[n]) == role {
			n++
		}
		if role != m.Role && !(m.Role == message.RoleUser && role == message.RoleTool) {
			for _, block := range blocks[:n] {
				b.Losef(line, "%s in a %s message, moved into a message of its own", block.Kind(), m.Role)
			}
		}
		p := m
		p.Role, p.Blocks = role, slices.Clone(blocks[:n])
		if role != m.Role && role == message.RoleUser {
			p.Origin = message.OriginInjected
		}
		if part > 0 {
			p.ID = fmt.Sprintf("%s/%d", m.ID, part+1)
		}
		part++
		b.add(line, p)
		blocks = blocks[n:]
	}
	return first, b.Len()
}

func roleName(r message.Role) string {
	if r == "" {
		return "a"
	}
	return string(r)
}

func withoutEmpty(blocks []message.Block) []message.Block {
	empty := func(block message.Block) bool {
		switch block := block.(type) {
		case nil:
			return true
		case message.Text:
			return block.Text == ""
		case message.Reasoning:
			return block.Text == "" && len(block.Opaque) == 0
		}
		return false
	}
	if !slices.ContainsFunc(blocks, empty) {
		return blocks
	}
	return slices.DeleteFunc(slices.Clone(blocks), empty)
}

// carrier returns the role that can carry the block, the wanted one if
// possible.
func carrier(wanted message.Role, block message.Block) message.Role {
	switch block.Kind() {
	case message.KindToolCall, message.KindReasoning:
		return message.RoleAssistant
	case message.KindToolResult:
		return message.RoleTool
	}
	if wanted == message.RoleTool {
		return message.RoleUser
	}
	return wanted
}

// add appends a message whose role carries its blocks.
func (b *Builder) add(line int, m message.Message) {
	t := b.Session.Transcript
	if _, taken := t.Index(m.ID); taken {
		b.Lose(line, "a message id that is used twice, the later one got a suffix")
		for n := 2; ; n++ {
			id := fmt.Sprintf("%s#%d", m.ID, n)
			if _, taken := t.Index(id); !taken {
				m.ID = id
				break
			}
		}
	}
	var orphans []message.Block
	kept := m.Blocks[:0]
	for _, block := range m.Blocks {
		switch block := block.(type) {
		case message.ToolCall:
			kept = append(kept, b.called(line, m.ID, len(kept), block))
			continue
		case message.ToolResult:
			if block, paired := b.answered(line, block); paired {
				kept = append(kept, block)
			} else {
				orphans = append(orphans, orphanText(block)...)
			}
			continue
		}
		kept = append(kept, block)
	}
	m.Blocks = kept
	id := m.ID
	if len(kept) > 0 {
		b.must(line, m)
		id += "/orphan"
	}
	if len(orphans) > 0 {
		b.add(line, message.Message{ID: id, Role: message.RoleUser, Origin: message.OriginInjected,
			Blocks: orphans, Time: m.Time})
	}
}

func (b *Builder) must(line int, m message.Message) {
	if err := b.Session.Transcript.Append(m); err != nil {
		// No known input leads here; if one does, it is named, not hidden.
		b.Losef(line, "message not kept: %v", err)
	}
}

// called notes a pending call and gives it an id that is free.
func (b *Builder) called(line int, messageID string, index int, c message.ToolCall) message.ToolCall {
	filed := c.ID
	if filed == "" {
		b.Lose(line, "tool call without an id, numbered instead")
		c.ID = fmt.Sprintf("%s.%d", messageID, index+1)
	}
	if b.pending[c.ID] {
		b.Lose(line, "a tool call id that is still in use, the later call and its result got a suffix")
		base := c.ID
		for n := 2; b.pending[c.ID]; n++ {
			c.ID = fmt.Sprintf("%s#%d", base, n)
		}
	}
	if c.ID != filed {
		b.filed[c.ID] = filed
	}
	b.pending[c.ID] = true
	b.waiting[filed] = append(b.waiting[filed], call{id: c.ID, name: c.Name})
	return c
}

// answered pairs a result with the oldest call that waits under its id. A
// result without an id goes to the oldest call without one, of the same name
// if it has a name.
func (b *Builder) answered(line int, r message.ToolResult) (message.ToolResult, bool) {
	filed := r.CallID
	calls := b.waiting[filed]
	i := slices.IndexFunc(calls, func(c call) bool {
		return filed != "" || r.Name == "" || c.name == "" || c.name == r.Name
	})
	if i < 0 {
		b.Lose(line, "tool result without its call, kept as injected user text")
		return r, false
	}
	r.CallID = calls[i].id
	delete(b.pending, r.CallID)
	if b.waiting[filed] = slices.Delete(calls, i, i+1); len(calls) == 1 {
		delete(b.waiting, filed)
	}
	return r, true
}

// orphanText keeps a result that nothing waits for.
func orphanText(r message.ToolResult) []message.Block {
	note := "Result of a tool call that is not in the file"
	if r.CallID != "" {
		note += fmt.Sprintf(" (call %s)", r.CallID)
	}
	if r.Name != "" {
		note += fmt.Sprintf(" (tool %s)", r.Name)
	}
	return append([]message.Block{message.Text{Text: note + ":"}}, r.Content...)
}
