package message_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
)

func genAnyBlock(t *rapid.T, depth int) message.Block {
	text := func() string { return string(rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "bytes")) }
	raw := func() []byte { return []byte(text()) }
	n := rapid.IntRange(0, 1<<40)
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case kind == 1:
		return message.Reasoning{Text: text(), Provider: text(), Opaque: raw()}
	case kind == 2:
		return message.Image{MediaType: text(), Data: raw(), URL: text(), Detail: text(), WidthPixels: n.Draw(t, "w"), HeightPixels: n.Draw(t, "h")}
	case kind == 3:
		return message.ToolCall{ID: text(), Name: text(), Arguments: text()}
	case kind == 4 && depth < 3:
		r := message.ToolResult{CallID: text(), Name: text(), Outcome: message.OutcomeFailure, Truncated: rapid.Bool().Draw(t, "cut"), OriginalBytes: n.Draw(t, "n")}
		for range rapid.IntRange(0, 3).Draw(t, "blocks") {
			r.Content = append(r.Content, genAnyBlock(t, depth+1))
		}
		return r
	case kind == 5:
		return message.Opaque{Provider: text(), Type: text(), Data: raw()}
	}
	return message.Text{Text: text()}
}

// Whatever bytes a message holds, its canonical encoding gives it back with
// the same hash; JSON cannot promise that for text that is no UTF-8.
func TestCanonicalRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := message.Message{Role: message.RoleTool, Origin: message.OriginSummary}
		for range rapid.IntRange(0, 4).Draw(t, "blocks") {
			m.Blocks = append(m.Blocks, genAnyBlock(t, 0))
		}
		data := m.AppendCanonical(nil)
		got, err := message.ParseCanonical(data)
		if err != nil {
			t.Fatal(err)
		}
		if got.Hash() != m.Hash() || !bytes.Equal(got.AppendCanonical(nil), data) {
			t.Fatalf("%#v became %#v", m, got)
		}
		if at := rapid.IntRange(0, len(data)-1).Draw(t, "cut"); at < len(data) {
			if _, err := message.ParseCanonical(data[:at]); !errors.Is(err, message.ErrCanonical) {
				t.Fatalf("a cut encoding: %v", err)
			}
		}
		if _, err := message.ParseCanonical(append(data, 0)); err == nil {
			t.Fatal("a longer encoding was read")
		}
	})
}

func FuzzParseCanonical(f *testing.F) {
	f.Add(message.Message{Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "x"}, message.ToolResult{CallID: "c", Content: []message.Block{message.Text{Text: "y"}}}}}.AppendCanonical(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := message.ParseCanonical(data)
		if err != nil {
			if !errors.Is(err, message.ErrCanonical) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.Equal(m.AppendCanonical(nil), data) {
			t.Fatalf("%x is read, and written as %x", data, m.AppendCanonical(nil))
		}
	})
}
