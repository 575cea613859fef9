package compaction_test

import (
	"strings"
	"testing"

	"github.com/forge-agent/forge/compaction"
)

// Weak spot 3: leave with a condition to it keeps the condition. A sentence
// that is nothing but leave is held back, and so is leave in a condition.
func TestConditionBehindLeave(t *testing.T) {
	for text, want := range map[string]string{
		`Yes, but with --json make the total a field called "totalTokens", and no null file.`: "with --json make the total a field",
		"Approved, but never touch the file db/schema.sql.":                                   "never touch the file db/schema.sql",
		"Ja, aber niemals die Datei db/schema.sql anfassen.":                                  "niemals die Datei db/schema.sql anfassen",
		"Yes, go ahead, but you may also deploy it.":                                          "",
	} {
		b := newBuilder(t)
		b.user(text)
		b.padding()
		b.assistant("Done.")
		b.user("Next.")
		p := compact(t, compaction.Input{Transcript: b.tr, Through: b.tr.Len() - 1})
		if want == "" {
			if strings.Contains(p.Text, "deploy") {
				t.Errorf("%q: leave is shown:\n%s", text, p.Text)
			}
			continue
		}
		if !strings.Contains(p.Text, want) {
			t.Errorf("%q: the condition is lost:\n%s", text, p.Text)
		}
	}
}
