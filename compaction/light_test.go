package compaction_test

import (
	"strings"
	"testing"

	"github.com/forge-agent/forge/compaction"
)

// F-SUM-06, DESIGN section 6: while there is room, all that the user wrote
// comes along, rules or not; leave and bare small talk do not.
func TestLightTextIsKeptWhole(t *testing.T) {
	b := newBuilder(t)
	for range 4 {
		b.padding()
	}
	kept := []string{"Why is the parser slow?", "I ran it twice yesterday and it took long.", "Open cmd/tool/main.go and look at line 40.",
		"Never touch gen/api.go.", "Could it be the cache?"}
	for _, text := range kept {
		b.user(text)
	}
	b.user("You may push to main.")
	p := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 600, RangeTokens: 20_000})
	for _, text := range kept {
		if !strings.Contains(p.Text, strings.TrimSuffix(text, ".")) {
			t.Errorf("%q is left out although there is room:\n%s", text, p.Text)
		}
	}
	if strings.Contains(p.Text, "push to main") {
		t.Errorf("leave is shown:\n%s", p.Text)
	}
}
