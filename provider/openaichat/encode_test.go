package openaichat_test

import (
	"encoding/json"
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/provider/openaichat"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

func reasoning(text string) message.Reasoning {
	return message.Reasoning{Text: text, Provider: "openai-compatible", Opaque: json.RawMessage(`"reasoning"`)}
}

func encoder(t testing.TB) adaptertest.Encoder {
	m := newModel(t, modeltest.Setup{URL: "https://api.example.com", Secret: "not-a-real-key"}, openaichat.Options{})
	return adaptertest.Encoder{Encode: m.Encode, Dialect: wirebody.Chat, Reasoning: reasoning}
}

// The same request is the same bytes, a longer one only adds to them, and
// nothing is lost on the way (B12, weak spots 7 and 8).
func TestEncode(t *testing.T) { adaptertest.Check(t, encoder(t)) }

// Encoding a megabyte against json.Marshal of the same values.
func BenchmarkEncode(b *testing.B) {
	e := encoder(b)
	r := adaptertest.Large(e.Reasoning)
	body, err := e.Encode(r)
	if err != nil {
		b.Fatal(err)
	}
	var values any
	if err := json.Unmarshal(body, &values); err != nil {
		b.Fatal(err)
	}
	b.Run("adapter", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := e.Encode(r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json.Marshal", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := json.Marshal(values); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json.Marshal of the messages", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := json.Marshal(r.Messages); err != nil {
				b.Fatal(err)
			}
		}
	})
}
