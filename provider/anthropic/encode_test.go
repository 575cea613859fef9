package anthropic_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/provider/anthropic"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

func reasoning(text string) message.Reasoning {
	return message.Reasoning{Text: text, Provider: anthropic.Provider, Opaque: json.RawMessage(`"c2lnbmF0dXJl"`)}
}

func encoder(t testing.TB) adaptertest.Encoder {
	m := newModel(t, adaptertest.Nowhere(), anthropic.Options{})
	return adaptertest.Encoder{Encode: m.Encode, Dialect: wirebody.Anthropic, Reasoning: reasoning, ReminderAsUser: true,
		Strip: func(body []byte) []byte { // marks move, and are no change to the provider
			return bytes.ReplaceAll(body, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
		},
	}
}

// The same request is the same bytes, a longer one only adds to them, and
// nothing is lost on the way (B12, weak spots 7 and 8).
func TestEncode(t *testing.T) { adaptertest.Check(t, encoder(t)) }

// Encoding a megabyte against json.Marshal of the same values.
func BenchmarkEncode(b *testing.B) { adaptertest.BenchmarkEncode(b, encoder(b)) }
