package message_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
)

var update = flag.Bool("update", false, "rewrite golden files")

// samples has one message for each kind of block.
func samples() map[string]message.Message {
	user := func(bs ...message.Block) message.Message {
		return message.Message{ID: "m", Role: message.RoleUser, Blocks: bs}
	}
	return map[string]message.Message{
		"text":      user(message.Text{Text: "héllo 世界"}),
		"two-texts": user(message.Text{Text: "a"}, message.Text{Text: "b"}),
		"one-text":  user(message.Text{Text: "ab"}),
		"injected":  {ID: "m", Role: message.RoleUser, Origin: message.OriginInjected, Blocks: []message.Block{message.Text{Text: "ab"}}},
		"reasoning": {ID: "m", Role: message.RoleAssistant, Blocks: []message.Block{message.Reasoning{Text: "t", Provider: "p", Opaque: json.RawMessage(`{"s":1}`)}}},
		"image":     user(message.Image{MediaType: "image/png", Data: []byte{1, 2, 3}, Detail: "high", WidthPixels: 4, HeightPixels: 5}),
		"call":      {ID: "m", Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: "c", Name: "n", Arguments: "{}"}}},
		"result": {ID: "m", Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: "c", Name: "n",
			Content: []message.Block{message.Text{Text: "out"}}, Outcome: message.OutcomeFailure, Truncated: true, OriginalBytes: 300}}},
		"opaque": {ID: "m", Role: message.RoleAssistant, Blocks: []message.Block{message.Opaque{Provider: "p", Type: "compaction", Data: json.RawMessage(`{"x":[1]}`)}}},
	}
}

// The canonical encoding is a file format: these bytes must never change.
func TestCanonicalEncodingIsGolden(t *testing.T) {
	path := filepath.Join("testdata", "canonical.txtar")
	var got txtar.Archive
	for _, name := range []string{"text", "two-texts", "one-text", "injected", "reasoning", "image", "call", "result", "opaque"} {
		m := samples()[name]
		data := hex.EncodeToString(m.AppendCanonical(nil)) + "\n" + m.Hash().String() + "\n"
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(data)})
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(&got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(txtar.Format(&got))); diff != "" {
		t.Errorf("canonical encoding changed (-want +got):\n%s", diff)
	}
}

func TestHashCoversContentAndNotIdentity(t *testing.T) {
	seen := map[message.Hash]string{}
	for name, m := range samples() {
		h := m.Hash()
		if other, taken := seen[h]; taken {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[h] = name
		m.ID, m.Time, m.Model = "other", time.Unix(1, 0), "model"
		if m.Hash() != h {
			t.Errorf("%s: the hash depends on id, time or model", name)
		}
	}
}

func genText() *rapid.Generator[string] { return rapid.StringN(0, 700, -1) }

func genBlock(depth int) *rapid.Generator[message.Block] {
	return rapid.Custom(func(t *rapid.T) message.Block {
		raw := func(name string) json.RawMessage {
			data, err := json.Marshal(genText().Draw(t, name))
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		top := 5
		if depth == 0 {
			top = 2
		}
		switch rapid.IntRange(0, top).Draw(t, "kind") {
		case 0:
			return message.Text{Text: genText().Draw(t, "text")}
		case 1:
			return message.Image{MediaType: "image/png", URL: genText().Draw(t, "url"), WidthPixels: rapid.IntRange(0, 1<<20).Draw(t, "width")}
		case 2:
			return message.Opaque{Provider: "p", Type: genText().Draw(t, "type"), Data: raw("data")}
		case 3:
			return message.Reasoning{Text: genText().Draw(t, "text"), Provider: "p", Opaque: raw("opaque")}
		case 4:
			return message.ToolCall{ID: genText().Draw(t, "id"), Name: "n", Arguments: genText().Draw(t, "arguments")}
		}
		return message.ToolResult{CallID: genText().Draw(t, "id"), Truncated: rapid.Bool().Draw(t, "cut"),
			Content: rapid.SliceOfN(genBlock(depth-1), 0, 3).Draw(t, "content")}
	})
}

func TestHashEqualsHashOfEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := message.Message{ID: "a", Role: message.RoleUser, Blocks: rapid.SliceOfN(genBlock(2), 0, 4).Draw(t, "a")}
		b := message.Message{ID: "b", Role: message.RoleUser, Blocks: rapid.SliceOfN(genBlock(2), 0, 4).Draw(t, "b")}
		same := string(a.AppendCanonical(nil)) == string(b.AppendCanonical(nil))
		if same != (a.Hash() == b.Hash()) {
			t.Fatal("hash and encoding disagree about equality")
		}
		if same && !cmp.Equal(normal(a.Blocks), normal(b.Blocks)) {
			t.Fatal("two different messages share an encoding")
		}
	})
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := message.Message{ID: genText().Draw(t, "id"), Role: message.RoleAssistant,
			Blocks: rapid.SliceOfN(genBlock(2), 0, 4).Draw(t, "blocks"), Time: time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "time"), 0).UTC()}
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back message.Message
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if back.Hash() != m.Hash() || back.ID != m.ID || !back.Time.Equal(m.Time) {
			t.Fatalf("round trip changed the message: %s", data)
		}
	})
}

// normal makes nil and empty slices alike.
func normal(bs []message.Block) []message.Block {
	out := []message.Block{}
	for _, b := range bs {
		if r, ok := b.(message.ToolResult); ok {
			r.Content = normal(r.Content)
			b = r
		}
		out = append(out, b)
	}
	return out
}

func FuzzMessageJSON(f *testing.F) {
	for _, m := range samples() {
		data, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"id":"x","blocks":[{"kind":"new"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m message.Message
		if json.Unmarshal(data, &m) != nil {
			return
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("a message that was read cannot be written: %v", err)
		}
		var back message.Message
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("a message that was written cannot be read: %v", err)
		}
	})
}

func TestUnknownBlockKindIsAnError(t *testing.T) {
	var m message.Message
	if err := json.Unmarshal([]byte(`{"id":"x","role":"user","blocks":[{"kind":"video"}]}`), &m); err == nil {
		t.Error("an unknown block was dropped without an error")
	}
}

func TestAuthored(t *testing.T) {
	for _, c := range []struct {
		message.Message
		want bool
	}{
		{message.Message{Role: message.RoleUser}, true},
		{message.Message{Role: message.RoleUser, Origin: message.OriginInjected}, false},
		{message.Message{Role: message.RoleUser, Origin: message.OriginSummary}, false},
		{message.Message{Role: message.RoleAssistant}, false},
		{message.Message{Role: message.RoleSystem}, false},
	} {
		if got := c.Authored(); got != c.want {
			t.Errorf("%s/%q: Authored() = %t", c.Role, c.Origin, got)
		}
	}
}

func TestHashText(t *testing.T) {
	h := samples()["text"].Hash()
	text, err := h.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var back message.Hash
	if err := back.UnmarshalText(text); err != nil || back != h {
		t.Errorf("hash round trip: %v, %v", back, err)
	}
	for _, bad := range []string{"", "zz", string(text[:63]), string(text) + "0", "g" + string(text[1:])} {
		if err := back.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("hash %q was accepted", bad)
		}
	}
}
