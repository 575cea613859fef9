package gemini_test

import (
	"encoding/json"
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/provider/gemini"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

func reasoning(string) message.Reasoning {
	return message.Reasoning{Provider: gemini.Provider, Opaque: json.RawMessage(`"c2lnbmF0dXJl"`)}
}

func encoder(t testing.TB) adaptertest.Encoder {
	m := newModel(t, adaptertest.Nowhere(), gemini.Options{})
	return adaptertest.Encoder{Encode: m.Encode, Dialect: wirebody.Gemini, Reasoning: reasoning, ReminderAsUser: true}
}

// The same request is the same bytes, a longer one only adds to them, and
// nothing is lost on the way (B12, weak spots 7 and 8).
func TestEncode(t *testing.T) { adaptertest.Check(t, encoder(t)) }

// Encoding a megabyte against json.Marshal of the same values.
func BenchmarkEncode(b *testing.B) { adaptertest.BenchmarkEncode(b, encoder(b)) }
