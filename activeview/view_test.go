package activeview_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// words counts words: easy to check by hand.
type words struct{}

func (words) Count(text string) int { return len(strings.Fields(text)) }
func (words) Name() string          { return "words" }

func counter() *tokencount.Counter {
	return tokencount.New(words{}, tokencount.Profile{Family: "test", MessageTokens: 3, RequestTokens: 2, ToolCallTokens: 1, ToolResultTokens: 1, ToolsTokens: 5})
}

// genStep draws the next messages of a growing conversation.
func genStep(t *rapid.T, n int) []message.Message {
	text := func() message.Block {
		return message.Text{Text: strings.Repeat("w ", rapid.IntRange(0, 9).Draw(t, "words"))}
	}
	id := func(s string) string { return fmt.Sprintf("%s%d", s, n) }
	switch rapid.IntRange(0, 4).Draw(t, "step") {
	case 0:
		return []message.Message{{ID: id("u"), Role: message.RoleUser, Blocks: []message.Block{text()}}}
	case 1:
		return []message.Message{{ID: id("i"), Role: message.RoleUser, Origin: message.OriginInjected, Blocks: []message.Block{text()}}}
	case 2:
		return []message.Message{{ID: id("s"), Role: message.RoleSystem, Blocks: []message.Block{text()}}}
	case 3:
		return []message.Message{{ID: id("a"), Role: message.RoleAssistant, Blocks: []message.Block{message.Reasoning{Text: "think hard"}, text()}}}
	}
	c := message.ToolCall{ID: id("c"), Name: "run", Arguments: "a b"}
	return []message.Message{
		{ID: id("a"), Role: message.RoleAssistant, Blocks: []message.Block{text(), c}},
		{ID: id("r"), Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: c.ID, Content: []message.Block{text(), text()}}}},
	}
}

// replica rebuilds a ledger from deltas, as inspect does.
type replica map[string]activeview.Line

func (r replica) apply(d activeview.Delta) {
	for _, id := range d.Removed {
		delete(r, id)
	}
	for _, l := range append(append([]activeview.Line(nil), d.Added...), d.Changed...) {
		r[l.ID] = l
	}
}

// check proves that totals, ledger, hash, deltas and messages tell the same.
func check(t *rapid.T, v *activeview.View, r replica, fixed int) {
	var sum budget.Breakdown
	var hash activeview.LedgerHash
	seen := map[string]bool{}
	for l := range v.Lines() {
		if seen[l.ID] {
			t.Fatalf("two ledger lines have the id %s", l.ID)
		}
		seen[l.ID] = true
		sum[l.Category] += l.Tokens
		sum[budget.Framing] += l.FramingTokens
		hash.Add(l)
		if r[l.ID] != l {
			t.Fatalf("the deltas give %+v, the ledger %+v", r[l.ID], l)
		}
		if (l.Decision == activeview.Summarized || l.Decision == activeview.Dropped) && l.Tokens+l.FramingTokens != 0 {
			t.Fatalf("%s is %s and weighs %d tokens", l.ID, l.Decision, l.Tokens)
		}
	}
	sum[budget.Framing] += fixed
	if sum != v.Breakdown() {
		t.Fatalf("the ledger sums to %v, the totals are %v", sum, v.Breakdown())
	}
	if len(seen) != len(r) || hash != v.LedgerHash() {
		t.Fatalf("ledger of %d lines, deltas give %d; hash equal: %t", len(seen), len(r), hash == v.LedgerHash())
	}
}

// F-BUD-05, F-EVT-02: whatever happens to a view, its totals equal its
// ledger, the ledger can be rebuilt from the deltas, and counting the request
// from scratch gives the same number.
func TestViewAccountsForEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := counter()
		v := activeview.New(c)
		var tr transcript.Transcript
		r := replica{}
		tools := 0
		for n := range rapid.IntRange(1, 14).Draw(t, "operations") {
			switch rapid.IntRange(0, 7).Draw(t, "operation") {
			case 0:
				v.SetInstructions([]message.Message{{Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: strings.Repeat("rule ", rapid.IntRange(0, 3).Draw(t, "rules"))}}}})
			case 1:
				tools = rapid.IntRange(0, 3).Draw(t, "tools")
				var ds []message.ToolDefinition
				for i := range tools {
					ds = append(ds, message.ToolDefinition{Name: fmt.Sprint("tool", i), Description: "does it"})
				}
				v.SetTools(ds)
			case 2:
				keep := rapid.IntRange(0, tr.Len()).Draw(t, "keep")
				err := v.Apply(&tr, activeview.Change{Kind: activeview.ChangeCompaction, At: tr.Len(), KeepFrom: keep, Replacement: []message.Message{
					{Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{message.Text{Text: "what happened before"}}}}})
				if err != nil {
					t.Fatal(err)
				}
			case 3:
				var refs []transcript.Ref
				for i, m := range tr.All() {
					if m.Role == message.RoleTool && rapid.Bool().Draw(t, "clear") {
						refs = append(refs, transcript.Ref{Message: i})
					}
				}
				if err := v.Apply(&tr, activeview.Change{Kind: activeview.ChangeProjection, At: tr.Len(), Results: refs, StandIn: "old output"}); err != nil {
					t.Fatal(err)
				}
			default:
				for _, m := range genStep(t, n) {
					if err := tr.Append(m); err != nil {
						t.Fatal(err)
					}
				}
			}
			v.Extend(&tr)
			if rapid.Bool().Draw(t, "take") {
				r.apply(v.TakeDelta())
				check(t, v, r, c.Fixed(tools))
			}
		}
		r.apply(v.TakeDelta())
		check(t, v, r, c.Fixed(tools))
		if got := c.Request(model.Request{Messages: v.Messages()}).Breakdown.Total(); got+v.Breakdown()[budget.ToolSchemas] > v.Breakdown().Total()+c.Fixed(0) {
			t.Fatalf("the messages weigh %d tokens, the view says %d", got, v.Breakdown().Total())
		}
		if v.MandatoryTokens() > v.Breakdown().Total() {
			t.Fatalf("%d mandatory tokens of %d", v.MandatoryTokens(), v.Breakdown().Total())
		}
	})
}

func text(id string, role message.Role, s string) message.Message {
	return message.Message{ID: id, Role: role, Blocks: []message.Block{message.Text{Text: s}}}
}

func appendAll(t *testing.T, tr *transcript.Transcript, ms ...message.Message) {
	t.Helper()
	for _, m := range ms {
		if err := tr.Append(m); err != nil {
			t.Fatal(err)
		}
	}
}

// F-CLS-03: only the newest request is the current one; the one before
// becomes conversation.
func TestCurrentRequestMovesOn(t *testing.T) {
	v := activeview.New(counter())
	var tr transcript.Transcript
	appendAll(t, &tr, text("u1", message.RoleUser, "one two three"), text("a1", message.RoleAssistant, "ok"))
	v.Extend(&tr)
	if got := v.Breakdown(); got[budget.CurrentRequest] != 3 || got[budget.Conversation] != 1 {
		t.Fatalf("first turn: %v", got)
	}
	appendAll(t, &tr, text("u2", message.RoleUser, "four five"), text("u2b", message.RoleUser, "six"))
	v.Extend(&tr)
	if got := v.Breakdown(); got[budget.CurrentRequest] != 3 || got[budget.Conversation] != 4 {
		t.Fatalf("second turn: %v", got)
	}
}

// F-CLS-04, F-CLS-12: pending calls and unanswered results are mandatory, as
// are instructions, tools and the current request; answered ones are not.
func TestMandatory(t *testing.T) {
	v := activeview.New(counter())
	v.SetInstructions([]message.Message{text("", message.RoleSystem, "be brief")})
	v.SetTools([]message.ToolDefinition{{Name: "run", Description: "runs it"}})
	var tr transcript.Transcript
	fixed := 2 + 5
	base := (2 + 3) + 3 + fixed // instructions, tool schema, request framing
	appendAll(t, &tr, text("u0", message.RoleUser, "old talk"), text("a0", message.RoleAssistant, "old answer"),
		text("u1", message.RoleUser, "do it"))
	v.Extend(&tr)
	if got, want := v.MandatoryTokens(), base+2+3; got != want {
		t.Errorf("with a request: %d mandatory tokens, want %d", got, want)
	}
	appendAll(t, &tr, message.Message{ID: "a1", Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: "c", Name: "run", Arguments: "x"}}},
		message.Message{ID: "r1", Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: "c", Content: []message.Block{message.Text{Text: "a b c d"}}}}})
	v.Extend(&tr)
	if got, want := v.MandatoryTokens(), base+5+(2+1)+(4+1); got != want {
		t.Errorf("with a pending pair: %d mandatory tokens, want %d", got, want)
	}
	appendAll(t, &tr, text("a2", message.RoleAssistant, "all done now"))
	v.Extend(&tr)
	if got, want := v.MandatoryTokens(), base+5; got != want {
		t.Errorf("after the answer: %d mandatory tokens, want %d", got, want)
	}
}

func TestApplyRefuses(t *testing.T) {
	var tr transcript.Transcript
	appendAll(t, &tr, text("u", message.RoleUser, "x"), text("a", message.RoleAssistant, "y"))
	for name, c := range map[string]activeview.Change{
		"beyond the transcript": {Kind: activeview.ChangeCompaction, At: 3},
		"keeps beyond itself":   {Kind: activeview.ChangeCompaction, At: 2, KeepFrom: 3},
		"not a result":          {Kind: activeview.ChangeProjection, At: 2, Results: []transcript.Ref{{Message: 1}}},
		"no such message":       {Kind: activeview.ChangeProjection, At: 2, Results: []transcript.Ref{{Message: 7}}},
		"unknown kind":          {Kind: "magic", At: 2},
	} {
		v := activeview.New(counter())
		if err := v.Apply(&tr, c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A step costs what is new in it: items visited do not depend on the length
// of the transcript.
func TestVisitedIsFlat(t *testing.T) {
	visits := func(length int) int {
		v := activeview.New(counter())
		var tr transcript.Transcript
		for i := range length {
			appendAll(t, &tr, text(fmt.Sprint("u", i), message.RoleUser, "x"), text(fmt.Sprint("a", i), message.RoleAssistant, "y"))
		}
		v.Extend(&tr)
		v.MandatoryTokens()
		before := v.Visited()
		appendAll(t, &tr, text("new", message.RoleUser, "z"))
		v.Extend(&tr)
		v.MandatoryTokens()
		return v.Visited() - before
	}
	if short, long := visits(10), visits(1000); short != long {
		t.Errorf("a new message visits %d items in a short transcript and %d in a long one", short, long)
	}
}

// A stand-in in a message that was in no request yet costs what is new, and
// changes nothing that was returned before.
func TestProjectNewMessage(t *testing.T) {
	v := activeview.New(counter())
	var tr transcript.Transcript
	add := func(n int) transcript.Ref {
		for _, m := range []message.Message{
			{ID: fmt.Sprint("a", n), Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: fmt.Sprint(n), Name: "run"}}},
			{ID: fmt.Sprint("r", n), Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: fmt.Sprint(n), Content: []message.Block{message.Text{Text: "one two three"}}}}},
		} {
			if err := tr.Append(m); err != nil {
				t.Fatal(err)
			}
		}
		v.Extend(&tr)
		return transcript.Ref{Message: tr.Len() - 1}
	}
	for n := range 40 {
		add(n)
	}
	before := v.Messages()
	v.TakePrefix()
	generation, sent := v.Generation(), v.Breakdown().Total()
	if err := v.Project(add(40), "pointer", "test"); err != nil {
		t.Fatal(err)
	}
	after := v.Messages()
	if &after[0] != &before[0] {
		t.Error("the messages were made anew")
	}
	last, _ := after[len(after)-1].Blocks[0].(message.ToolResult)
	if len(after) != len(before)+2 || last.Text() != "pointer" || len(before) != 80 {
		t.Errorf("%d messages, the last is %q", len(after), last.Text())
	}
	if v.Generation() != generation || v.TakePrefix() != sent {
		t.Error("the view has not only grown")
	}
}
