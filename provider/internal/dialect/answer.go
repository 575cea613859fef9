package dialect

import (
	"encoding/json"
	"strconv"

	"github.com/forge-agent/forge/message"
)

// GeneratedID is the beginning of an id that the adapter gave a call because
// the provider had given none.
const GeneratedID = "forge-"

// An Answer is a message as its pieces come in.
type Answer struct {
	parts []*Part
	// used are the ids given so far, next how often each was wanted again.
	used map[string]bool
	next map[string]int
}

// A Part is one block of an answer as it grows.
type Part struct {
	// Kind says which of the other fields count.
	Kind message.Kind
	// Text is the text, the visible reasoning, or the arguments of a call.
	Text []byte
	// ID and Name are a call's.
	ID, Name string
	// Opaque and Type are what goes back to the provider.
	Opaque json.RawMessage
	Type   string
	// Discard leaves the part out.
	Discard bool
}

// Add appends an empty part.
func (a *Answer) Add(kind message.Kind) *Part {
	p := &Part{Kind: kind}
	a.parts = append(a.parts, p)
	return p
}

// Last returns the part that is being written when it is of this kind, and
// otherwise a new one.
func (a *Answer) Last(kind message.Kind) *Part {
	if n := len(a.parts); n > 0 && a.parts[n-1].Kind == kind {
		return a.parts[n-1]
	}
	return a.Add(kind)
}

// First returns the first part of a kind, and a new one in front of all others
// when there is none.
func (a *Answer) First(kind message.Kind) *Part {
	for _, p := range a.parts {
		if p.Kind == kind {
			return p
		}
	}
	p := &Part{Kind: kind}
	a.parts = append([]*Part{p}, a.parts...)
	return p
}

// Evidence reports whether anything was said, thought or called.
func (a *Answer) Evidence() bool {
	for _, p := range a.parts {
		if len(p.Text) > 0 || len(p.Opaque) > 0 || p.Kind == message.KindToolCall {
			return true
		}
	}
	return false
}

// HasCalls reports whether a tool is called.
func (a *Answer) HasCalls() bool {
	for _, p := range a.parts {
		if p.Kind == message.KindToolCall && !p.Discard {
			return true
		}
	}
	return false
}

// Messages returns the answer as one message of the assistant, or none when
// nothing was said. Calls without an id, or with one that another call of the
// answer has, get one of their own. seed makes generated ids differ between
// answers.
func (a *Answer) Messages(provider, model, seed string) []message.Message {
	var blocks []message.Block
	a.used, a.next = map[string]bool{}, map[string]int{}
	for _, p := range a.parts {
		if p.Discard {
			continue
		}
		text := string(p.Text)
		switch p.Kind {
		case message.KindText:
			if text != "" {
				blocks = append(blocks, message.Text{Text: text})
			}
		case message.KindReasoning:
			if text != "" || len(p.Opaque) > 0 {
				blocks = append(blocks, message.Reasoning{Text: text, Provider: provider, Opaque: p.Opaque})
			}
		case message.KindToolCall:
			blocks = append(blocks, message.ToolCall{ID: a.id(p, seed), Name: p.Name, Arguments: text})
		case message.KindOpaque:
			if len(p.Opaque) > 0 {
				blocks = append(blocks, message.Opaque{Provider: provider, Type: p.Type, Data: p.Opaque})
			}
		}
	}
	if len(blocks) == 0 {
		return nil
	}
	return []message.Message{{Role: message.RoleAssistant, Blocks: blocks, Model: model}}
}

func (a *Answer) id(p *Part, seed string) string {
	id := p.ID
	if id == "" {
		id = GeneratedID + SafeID(seed)
	}
	unique := id
	for a.used[unique] {
		a.next[id]++
		unique = id + "-" + strconv.Itoa(a.next[id]+1)
	}
	a.used[unique] = true
	return unique
}
