package wirebody

import (
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// anthropicMessage reads one message. A user message that begins with tool
// results becomes a tool message and a user message.
func (r *reader) anthropicMessage(v sessionfile.Value) {
	if v.Kind() != '{' {
		r.b.Lose(v.Line, "an element of the message list that is no object")
		return
	}
	var m message.Message
	for key, member := range v.Members() {
		if member.Cut && key != "content" {
			continue
		}
		switch key {
		case "role":
			m.Role = message.Role(member.Text())
		case "content":
			m.Blocks = r.blocks(member)
		case "id":
			m.ID = member.Text()
		case "model":
			m.Model = member.Text()
		case "type", "stop_reason", "stop_sequence", "usage", "cache_control":
			// A reply that was put back whole.
		default:
			r.b.Losef(member.Line, "unknown key %q in a message", key)
		}
	}
	r.append(v.Line, m)
}
