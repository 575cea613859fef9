package compaction_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
)

// namesOf returns the names that a plan lists, by message.
func namesOf(t *testing.T, p *compaction.Plan) map[int][]string {
	t.Helper()
	lines, err := compaction.Lines(p.Text)
	if err != nil {
		t.Fatal(err)
	}
	out := map[int][]string{}
	for _, l := range lines {
		if l.Names() {
			out[l.Message] = append(out[l.Message], compaction.Names(l.Text)...)
		}
	}
	return out
}

// Issue "Must reach" 2: what is left of the target goes to names. What counts as
// one, and what is noise.
func TestNamesAreListed(t *testing.T) {
	for text, want := range map[string]string{
		"open src/parse/lexer.go and src/parse/parser.go":                       "src/parse/lexer.go src/parse/parser.go",
		"at /usr/lib/go/src, ./cmd/x.go:12 and a/b":                             "/usr/lib/go/src cmd/x.go",
		"call NewLexer, store.Put, MAX_TOKENS, main, Parse":                     "MAX_TOKENS NewLexer store.Put",
		"on 8080, 42, v1.2.3, 10.0.0.1":                                         "v1.2.3 10.0.0.1 8080",
		"commit 3be972d7 at 0x7ffd5e8c":                                         "3be972d7",
		"2026-11-03 10:00:01.123 INFO took 12.5ms, 64 rows":                     "",
		"見て src/main.go を、config.yaml和":                                         "src/main.go config.yaml",
		"https://example.org/api/v2/items?page=3 (see README.md)":               "example.org/api/v2/items README.md",
		"key sk-Ab12Cd34Ef56Gh78Ij90Kl12Mn34 or src/k9Q2xZ7mB4vT8nL1pR5sW3yD/a": "",
		"add.\nThen go on. It is (very) well-known":                             "",
	} {
		b := newBuilder(t)
		b.assistant(text)
		b.padding()
		p := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 2000, RangeTokens: 10_000})
		got := namesOf(t, p)[0]
		wanted := strings.Fields(want)
		slices.Sort(got)
		slices.Sort(wanted)
		if !slices.Equal(got, wanted) {
			t.Errorf("%q: %q, want %q", text, got, wanted)
		}
	}
}

// The names of a call are those of its values; one line for a message, folders
// shared.
func TestNamesShareLines(t *testing.T) {
	b := newBuilder(t)
	b.call("Grep", map[string]string{"output_mode": "count_matches", "old_string": "a\nfoo_bar(x)\tbazQux"}, "src/parse/lexer.go\nsrc/parse/parser.go\nsrc/parse/token.go\ncmd/run.go\n", message.OutcomeSuccess)
	b.padding()
	p := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 2000, RangeTokens: 10_000})
	for _, want := range []string{"cmd/run.go src/parse/{lexer.go,parser.go,token.go} #1\n", "bazQux count_matches foo_bar #0\n"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("%q is not in\n%s", want, p.Text)
		}
	}
	if len(p.Ledgers[compaction.LedgerNames]) != 2 {
		t.Errorf("ledger %v", p.Ledgers[compaction.LedgerNames])
	}
	if got := compaction.Names("a.go src/{b.go,c.go} 123"); !slices.Equal(got, []string{"a.go", "src/b.go", "src/c.go", "123"}) {
		t.Errorf("read back as %q", got)
	}
}

// What calls used goes before what only stood in output, and names take nothing
// from the user's words.
func TestNamesOrder(t *testing.T) {
	b := newBuilder(t)
	b.user("Never edit gen/api.go by hand.")
	b.call("Bash", map[string]string{"command": "grep -n usedName pkg/used/file.go"}, "ok", message.OutcomeSuccess)
	var log strings.Builder
	for i := range 900 {
		fmt.Fprintf(&log, "pkg/log%d/other%d.go says thing_%d\n", i, i, i)
	}
	b.call("Bash", map[string]string{"command": "ls"}, log.String(), message.OutcomeSuccess)
	b.padding()
	p := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 600, RangeTokens: 20_000})
	for _, want := range []string{"Never edit gen/api.go by hand.", "usedName", "pkg/used/file.go"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("%q is left out of\n%s", want, p.Text)
		}
	}
	if p.CheckpointTokens > 600 || p.CheckpointTokens < 540 {
		t.Errorf("%d tokens of 600", p.CheckpointTokens)
	}
	tight := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 150, RangeTokens: 20_000})
	if !strings.Contains(tight.Text, "Never edit gen/api.go by hand.") {
		t.Errorf("the rule is left out of\n%s", tight.Text)
	}
}

// An index that has grown, or that serves an earlier cut, gives what a fresh one
// gives.
func TestNamesOfAGrownIndex(t *testing.T) {
	b := newBuilder(t)
	for i := range 12 {
		b.call("Read", map[string]string{"file_path": fmt.Sprintf("src/a%d/file%d.go", i%3, i)}, fmt.Sprintf("func doThing%d() { callOther%d() } // see docs/part%d.md", i, i, i), message.OutcomeSuccess)
	}
	b.padding()
	x := &compaction.Index{}
	for _, through := range []int{20, b.tr.Len(), 10} {
		in := compaction.Input{Transcript: b.tr, Through: through, TargetTokens: 1500, RangeTokens: 10_000, Counter: counter(), Now: day}
		fresh, err := compaction.Extractive{}.Plan(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		in.Index = x
		grown, err := compaction.Extractive{}.Plan(context.Background(), in)
		if err != nil || grown.Text != fresh.Text {
			t.Errorf("through %d: %v\n%s\nfresh:\n%s", through, err, grown.Text, fresh.Text)
		}
	}
}

// Issue behaviour 4: a name that its message does not hold is found.
func TestVerifyFindsAForeignName(t *testing.T) {
	b := newBuilder(t)
	b.assistant("look at src/parse/lexer.go and NewLexer")
	b.assistant("then at cmd/run.go")
	b.padding()
	in := compaction.Input{Transcript: b.tr, Through: b.tr.Len(), TargetTokens: 1500, RangeTokens: 10_000, Counter: counter(), Now: day}
	made, err := compaction.Extractive{}.Compact(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if found := compaction.Verify(made, b.tr); len(found) != 0 {
		t.Fatalf("findings %v", found)
	}
	for what, change := range map[string]func(c *checkpoint.Checkpoint){
		"another name": func(c *checkpoint.Checkpoint) { c.Summary = strings.Replace(c.Summary, "NewLexer", "OldLexer", 1) },
		"another message": func(c *checkpoint.Checkpoint) {
			c.Summary = strings.Replace(c.Summary, "NewLexer #0", "NewLexer #1", 1)
		},
		"beyond the range": func(c *checkpoint.Checkpoint) {
			c.Summary = strings.Replace(c.Summary, "NewLexer #0", "NewLexer #99", 1)
		},
		"a sentence": func(c *checkpoint.Checkpoint) {
			c.Summary = strings.Replace(c.Summary, "NewLexer", "all tests pass", 1)
		},
		"ledger": func(c *checkpoint.Checkpoint) { c.Ledgers[compaction.LedgerNames][0].Text = "src/parse/other.go" },
	} {
		forged := *made
		forged.Ledgers = map[string][]checkpoint.Entry{compaction.LedgerNames: slices.Clone(made.Ledgers[compaction.LedgerNames])}
		change(&forged)
		if found := compaction.Verify(&forged, b.tr); !slices.ContainsFunc(found, func(f checkpoint.Finding) bool { return f.What == "line" || f.What == "ledger" }) {
			t.Errorf("%s: not found in %v", what, found)
		}
	}
}
