// Package adaptertest draws model requests and checks what an adapter encodes
// them to: the same request gives the same bytes, a longer one only adds at
// the end, and the reader of request bodies finds everything again. It also
// holds what else the tests of all adapters share: connections, lists of
// models, fuzzed streams.
//
// It is for tests only. The suite for streams is model/modeltest.
package adaptertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// An Encoder is one adapter.
type Encoder struct {
	// Encode makes the body.
	Encode func(model.Request) ([]byte, error)
	// Dialect is how the body reads.
	Dialect wirebody.Dialect
	// Reasoning is what this provider's reasoning looks like; its opaque part
	// goes back.
	Reasoning func(text string) message.Reasoning
	// Strip takes out what may move without being a change, nil for nothing.
	Strip func([]byte) []byte
	// ReminderAsUser says that a reminder, which stands behind the
	// conversation in every dialect, does so in the user's role.
	ReminderAsUser bool
}

// Check runs the properties.
func Check(t *testing.T, e Encoder) {
	rapid.Check(t, func(t *rapid.T) {
		r := e.Draw(t)
		body := e.encode(t, r)
		if again := e.encode(t, clone(t, r)); !bytes.Equal(body, again) {
			t.Fatalf("the same request gives other bytes:\n%s\n%s", body, again)
		}
		e.checkPrefix(t, r, body)
		e.checkInverse(t, r, body)
	})
}

func (e Encoder) encode(t *rapid.T, r model.Request) []byte {
	body, err := e.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) {
		t.Fatalf("no JSON: %s", body)
	}
	return body
}

// clone copies the messages by way of their JSON form.
func clone(t *rapid.T, r model.Request) model.Request {
	var ms []message.Message
	data, err := json.Marshal(r.Messages)
	if err == nil {
		err = json.Unmarshal(data, &ms)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = ms
	return r
}

// checkPrefix: every beginning of the conversation that a provider could have
// been sent is a beginning of the bytes, but for the brackets at the end.
func (e Encoder) checkPrefix(t *rapid.T, r model.Request, body []byte) {
	strip := e.Strip
	if strip == nil {
		strip = bytes.Clone
	}
	body = strip(body)
	open := map[string]bool{}
	for i, m := range r.Messages {
		for _, b := range m.Blocks {
			switch b := b.(type) {
			case message.ToolCall:
				open[b.ID] = true
			case message.ToolResult:
				delete(open, b.CallID)
			}
		}
		if len(open) > 0 {
			continue
		}
		shorter := r
		shorter.Messages = r.Messages[:i+1]
		shorter.Reminder = "" // stands behind the conversation, whose beginning the provider's cache holds
		start := bytes.TrimRight(strip(e.encode(t, shorter)), "]}")
		if !bytes.HasPrefix(body, start) {
			t.Fatalf("appending messages changes what stands before them:\n%s\n%s", start, body)
		}
	}
}

// content is what a conversation says, in a form that does not depend on how
// it is cut into messages.
type content struct {
	User, Assistant string
	Calls, Results  []string
	Images, Tools   int
}

func contentOf(ms []message.Message) content {
	var c content
	add := func(role message.Role, text string) {
		text = strings.ReplaceAll(text, "\n", "")
		if role == message.RoleAssistant {
			c.Assistant += text
		} else {
			c.User += text
		}
	}
	for _, m := range ms {
		for _, b := range m.Blocks {
			switch b := b.(type) {
			case message.Text:
				add(m.Role, b.Text)
			case message.Image:
				c.Images++
			case message.ToolCall:
				c.Calls = append(c.Calls, fmt.Sprintf("%s %s %s", b.ID, b.Name, b.Arguments))
			case message.ToolResult:
				for _, inner := range b.Content {
					if inner.Kind() == message.KindImage {
						c.Images++
					}
				}
				text := strings.TrimSuffix(b.Text(), "\n[image follows]")
				c.Results = append(c.Results, fmt.Sprintf("%s %s", b.CallID, text))
			}
		}
	}
	return c
}

// checkInverse reads the body back.
func (e Encoder) checkInverse(t *rapid.T, r model.Request, body []byte) {
	read, err := wirebody.Decode(body)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if read.Dialect != e.Dialect {
		t.Fatalf("the body reads as %s: %s", read.Dialect, body)
	}
	system := ""
	for _, m := range read.Instructions {
		system += m.Text()
	}
	var rest []message.Message
	for _, m := range read.Messages {
		if m.Role == message.RoleSystem && e.Dialect != wirebody.Gemini {
			system += m.Text()
			continue
		}
		rest = append(rest, m)
	}
	want, got := contentOf(r.Messages), contentOf(rest)
	if e.ReminderAsUser {
		want.User += strings.ReplaceAll(r.Reminder, "\n", "")
		system += r.Reminder
	}
	want.Tools, got.Tools = len(r.Tools), len(read.Tools)
	// Where system messages of a conversation go to the system side, they are
	// looked for there.
	for _, m := range r.Messages {
		if m.Role == message.RoleSystem {
			text := strings.ReplaceAll(m.Text(), "\n", "")
			if strings.Contains(strings.ReplaceAll(system, "\n", ""), text) {
				want.User = strings.Replace(want.User, text, "", 1)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("reading the body back (-want +got):\n%s\n%s", diff, body)
	}
	for _, text := range []string{r.Instructions[0].Text(), r.Reminder} {
		if !strings.Contains(system, text) {
			t.Fatalf("the system text lacks %q: %s", text, body)
		}
	}
	if read.OutputTokens != r.OutputTokens && r.OutputTokens > 0 {
		t.Fatalf("output cap is %d, want %d (weak spot 8)", read.OutputTokens, r.OutputTokens)
	}
}
