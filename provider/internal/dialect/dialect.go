// Package dialect holds what the adapters' encoders and readers share: the
// pairing of calls and results, ids that every provider takes, an answer as it
// grows, and the capabilities that they start from.
//
// It writes no JSON: each dialect is written in its adapter.
package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/tokencount"
)

// ErrRequest is wrapped by errors about a request that must not be sent.
var ErrRequest = errors.New("unsendable request")

// NativeType is the Type of an opaque block that stands for a summarized
// range.
const NativeType = "compaction"

// Capabilities starts from the stated ones, or from the catalog's where no
// window is stated, and sets what is the adapter's to say: it sends reasoning
// back itself, and has no native compaction, cache points or count endpoint,
// until the adapter says otherwise.
func Capabilities(stated model.Capabilities, provider, name string, wire tokencount.Wire) model.Capabilities {
	c := stated
	if c.WindowTokens == 0 {
		known, _ := catalog.Default().Resolve(name) // an unknown one gets the small window
		c = known.Capabilities()
	}
	c.Provider, c.Model, c.Wire = provider, name, string(wire)
	c.NativeCompaction, c.ContinuationProjection = model.NativeCompactionUnsupported, model.ContinuationProjectionAdapterOwned
	c.PromptCache.Breakpoints, c.CountsRequests = 0, false
	return c
}

// Check refuses a request whose calls and results do not pair (P-RET-08, B12),
// or which holds another provider's compaction item in place of a range:
// leaving that out would leave out what it stands for (F-NAT-02, F-TST-19).
// Such an item inside a reply of the assistant stands beside what it
// summarizes and may be left out. native says that this dialect carries them.
func Check(ms []message.Message, provider string, native bool) error {
	open := map[string]bool{}
	for i, m := range ms {
		for _, b := range m.Blocks {
			switch b := b.(type) {
			case message.ToolCall:
				if open[b.ID] {
					return fmt.Errorf("%w: message %d calls a tool under the id %q, which still waits for its result", ErrRequest, i, b.ID)
				}
				open[b.ID] = true
			case message.ToolResult:
				if !open[b.CallID] {
					return fmt.Errorf("%w: message %d holds a result for the call %q, which is not in the request", ErrRequest, i, b.CallID)
				}
				delete(open, b.CallID)
			case message.Opaque:
				if m.Role != message.RoleAssistant && strings.HasPrefix(b.Type, NativeType) && (b.Provider != provider || !native) {
					return fmt.Errorf("%w: message %d is a compaction item of %q, which cannot go to %s: rebuild the view from the transcript",
						ErrRequest, i, b.Provider, provider)
				}
			}
		}
	}
	for _, m := range ms { // in order, so that the same request names the same call
		for _, b := range m.Blocks {
			if call, ok := b.(message.ToolCall); ok && open[call.ID] {
				return fmt.Errorf("%w: the call %q of %s has no result", ErrRequest, call.ID, call.Name)
			}
		}
	}
	return nil
}

// CallNames returns the tool of every call by its id.
func CallNames(ms []message.Message) map[string]string {
	out := map[string]string{}
	for _, m := range ms {
		for _, b := range m.Blocks {
			if call, ok := b.(message.ToolCall); ok {
				out[call.ID] = call.Name
			}
		}
	}
	return out
}

// SafeID returns an id that a strict provider takes: letters, digits, "_" and
// "-", at most 64. Another id is replaced by one made from its hash, the same
// in a call and its result.
func SafeID(id string) string {
	ok := id != "" && len(id) <= 64
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	if ok {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// Texts joins the texts of messages with an empty line between them.
func Texts(ms []message.Message) string {
	var out []string
	for _, m := range ms {
		if text := m.Text(); text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n\n")
}

// MissingImage stands for a picture of which nothing but its place is known.
const MissingImage = "[image not available]"

// HasImage reports whether a picture can be sent.
func HasImage(b message.Image) bool { return len(b.Data) > 0 || b.URL != "" }

// MediaType is the picture's type, PNG when unknown.
func MediaType(b message.Image) string {
	if b.MediaType == "" {
		return "image/png"
	}
	return b.MediaType
}

// Only returns the one text of blocks when they are a single text.
func Only(blocks []message.Block) (string, bool) {
	if len(blocks) != 1 {
		return "", false
	}
	t, ok := blocks[0].(message.Text)
	return t.Text, ok
}

// OnlyText reports whether all blocks are text.
func OnlyText(blocks []message.Block) bool {
	for _, b := range blocks {
		if _, ok := b.(message.Text); !ok {
			return false
		}
	}
	return true
}
