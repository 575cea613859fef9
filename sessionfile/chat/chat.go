// Package chat reads saved conversations in the words of chat completions:
// mini-swe-agent and SWE-agent trajectories, tau-bench results, bare lists of
// messages, and chat-completions request bodies.
//
// A file can hold several conversations (tau-bench does). The session is the
// first of them, and the others are named as a loss: they share nothing that
// one context window could show.
package chat

import (
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// The formats of the sessions that this package reads.
const (
	Plain        = "chat"
	MiniSWEAgent = "mini-swe-agent"
	SWEAgent     = "swe-agent"
	TauBench     = "tau-bench"
)

// Format returns the importer.
func Format() sessionfile.Format { return format{} }

type format struct{}

func (format) Name() string { return Plain }

func (format) Match(h sessionfile.Head) bool { return shapeOf(h) != none }

// shape is how a file holds its conversation.
type shape int

const (
	none       shape = iota
	list             // an array of messages
	lines            // one message on a line
	lists            // an array of objects that hold a list of messages
	listLines        // one such object on a line
	trajectory       // mini-swe-agent's object
	steps            // SWE-agent's object
	record           // an object with a list of messages, or a request body
)

func shapeOf(h sessionfile.Head) shape {
	first := h.First()
	switch {
	case isMessage(first) && h.Array:
		return list
	case isMessage(first):
		return lines
	case h.Array && conversationKey(first) != "":
		return lists
	case h.Array:
		return none
	case h.Single && len(first.Elements("history")) > 0 && isMessage(first.Elements("history")[0]) && first.Has("trajectory"):
		return steps
	case conversationKey(first) == "":
		return none
	case !h.Single:
		return listLines
	case first.Text("trajectory_format") != "" || first.Has("info") && first.Object("info").Has("model_stats"):
		return trajectory
	case first.Kind("messages") == '[' && wirebody.Detect(first) == wirebody.Chat:
		return record
	case first.Kind("traj") == '[':
		return lists
	}
	return none
}

// isMessage: a role with something to say. Other formats' lines have a type
// beside it.
func isMessage(o sessionfile.HeadObject) bool {
	return o.Kind("role") == '"' && (o.Has("content") || o.Has("tool_calls")) && !o.Has("type") && !o.Has("uuid")
}

// conversationKey returns the key under which an object holds a list of
// messages.
func conversationKey(o sessionfile.HeadObject) string {
	if o.Has("schemaVersion") && o.Has("runIds") {
		return "" // Forge's own
	}
	for _, key := range []string{"messages", "traj"} {
		if m := o.Elements(key); len(m) > 0 && m[0].Kind("role") == '"' {
			return key
		}
	}
	return ""
}

func (format) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	shape := shapeOf(src.Head())
	b := sessionfile.NewBuilder(src, Plain)
	c := &conversation{b: b}
	if shape == lines || shape == listLines {
		return c.importLines(src, shape)
	}
	doc, err := src.Document()
	if err != nil {
		return nil, err
	}
	switch shape {
	case list:
		c.messages(doc)
	case lists:
		c.lists(doc)
	case trajectory:
		c.miniSWEAgent(doc)
	case steps:
		c.sweAgent(doc)
	case record:
		c.record(doc, src.Head().First())
	}
	return b.Finish(), nil
}

func (c *conversation) importLines(src *sessionfile.Source, shape shape) (*sessionfile.Session, error) {
	n := 0
	for v, err := range src.Objects() {
		if err != nil {
			return nil, err
		}
		if shape == lines {
			c.message(v)
		} else {
			c.wrapped(v, n)
		}
		n++
	}
	return c.b.Finish(), nil
}

// lists reads an array of objects that hold a conversation each, or one such
// object.
func (c *conversation) lists(v sessionfile.Value) {
	if v.Kind() == '{' {
		c.wrapped(v, 0)
		return
	}
	n := 0
	for e := range v.Elements() {
		c.wrapped(e, n)
		n++
	}
}

// wrapped reads the n-th object that holds a conversation.
func (c *conversation) wrapped(v sessionfile.Value, n int) {
	if n > 0 {
		c.b.Lose(v.Line, "a further conversation in the same file, not read; give each in a file of its own")
		return
	}
	for key, member := range v.Members() {
		switch key {
		case "traj":
			c.b.Session.Format = TauBench
			c.messages(member)
		case "messages":
			c.messages(member)
		case "task_id", "id":
			c.b.Session.ID = identifier(member)
		case "model":
			c.b.Session.Model = member.Text()
		case "tools", "reward", "info", "trial":
			// Results of the task. Tools of a wrapped conversation are read
			// as part of a request body only.
			if key == "tools" {
				c.b.Lose(member.Line, "tools beside a conversation are not read")
			}
		default:
			c.besides(key, member)
		}
	}
}

// record reads an object with a list of messages. One that ends with the
// model's own words is a saved conversation; one that waits for an answer is
// a request.
func (c *conversation) record(v sessionfile.Value, head sessionfile.HeadObject) {
	request := head.Has("model") || head.Has("tools") || head.Has("functions")
	if !request || endsWithReply(v) {
		for key, member := range v.Members() {
			switch key {
			case "messages":
				c.messages(member)
			case "model":
				c.b.Session.Model = member.Text()
			case "id":
				c.b.Session.ID = identifier(member)
			case "tools", "functions":
				wirebody.ReadTools(c.b, member)
			default:
				c.besides(key, member)
			}
		}
		return
	}
	c.b.Session.Format = string(wirebody.Chat)
	body := wirebody.ReadChat(c.b, v)
	c.b.Session.Complete = body.Complete
	c.b.Request(sessionfile.Request{At: c.b.Len(), End: c.b.Len(), Model: c.b.Session.Model, Line: v.Line})
}

func endsWithReply(v sessionfile.Value) bool {
	role := ""
	for key, member := range v.Members() {
		if key != "messages" {
			continue
		}
		for e := range member.Elements() {
			for name, value := range e.Members() {
				if name == "role" {
					role = value.Text()
				}
			}
		}
	}
	return role == string(message.RoleAssistant)
}

// shortBytes is up to which size an unknown key is a setting or a label.
const shortBytes = 200

// besides names what stands beside the messages and is long enough to hold
// content.
func (c *conversation) besides(key string, v sessionfile.Value) {
	if len(v.Raw) >= shortBytes {
		c.b.Losef(v.Line, "unknown key %q beside the messages", key)
	}
}

func identifier(v sessionfile.Value) string {
	switch v.Kind() {
	case '"':
		return v.Text()
	case 0, 'n', '{', '[':
		return ""
	}
	return string(v.Raw)
}
