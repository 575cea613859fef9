package activeview_test

import (
	"encoding/json"
	"testing"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// F-NAT-05: a checkpoint that only its provider can read counts as memory, as a
// readable one does, and its ledger line tells them apart.
func TestOpaqueMemoryIsTold(t *testing.T) {
	for label, block := range map[string]message.Block{
		"opaque summary": message.Opaque{Provider: "p", Type: "compaction", Data: json.RawMessage(`{"encrypted_content":"c2VhbGVk"}`)},
		"summary":        message.Text{Text: "what happened before"},
	} {
		var tr transcript.Transcript
		appendAll(t, &tr, text("u1", message.RoleUser, "one"), text("a1", message.RoleAssistant, "two"), text("u2", message.RoleUser, "three"))
		v := activeview.New(counter())
		v.Extend(&tr)
		memory := message.Message{ID: "memory", Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{block}}
		if err := v.Install(&tr, activeview.Retention{Through: 2, Memory: []message.Message{memory}}); err != nil {
			t.Fatal(err)
		}
		for l := range v.Lines() {
			if l.ID == "memory#0" && (l.Label != label || l.Category != budget.Memory || l.Tokens == 0) {
				t.Errorf("%s: ledger line %+v", label, l)
			}
		}
		if v.Breakdown()[budget.Memory] == 0 {
			t.Errorf("%s: no memory in %v", label, v.Breakdown())
		}
	}
}
