package contextwindow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// conversation is a growing session with a manager in the mode compact. Words
// are tokens.
type conversation struct {
	t  *testing.T
	m  *contextwindow.Manager
	tr *transcript.Transcript
	in contextwindow.Input
	n  int
}

func converse(t *testing.T, windowTokens int, c contextwindow.Compaction) *conversation {
	t.Helper()
	m, err := contextwindow.New(model.Capabilities{Model: "test", WindowTokens: windowTokens}, counter(),
		&contextwindow.Options{Mode: contextwindow.Compact, Compaction: c})
	if err != nil {
		t.Fatal(err)
	}
	tr := &transcript.Transcript{}
	return &conversation{t: t, m: m, tr: tr, in: contextwindow.Input{Transcript: tr, Complete: true}}
}

func (c *conversation) add(m message.Message) {
	c.t.Helper()
	c.n++
	m.ID = fmt.Sprint("m", c.n)
	if err := c.tr.Append(m); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) user(text string) {
	c.add(message.Message{Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: text}}})
}

func (c *conversation) answer(words int) {
	c.add(message.Message{Role: message.RoleAssistant, Blocks: say("", "", words).Blocks})
}

// step is a call and its result.
func (c *conversation) step(words int) {
	id := fmt.Sprint("call", c.n)
	c.add(message.Message{Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: id, Name: "read_file", Arguments: `{"path":"` + id + `.go"}`}}})
	c.add(message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: id, Outcome: message.OutcomeSuccess, Content: output(id, words)}}})
}

func (c *conversation) fit() *contextwindow.Fit {
	c.t.Helper()
	f, err := c.m.Fit(context.Background(), c.in)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

// turn is a question, steps with results, and an answer.
func (c *conversation) turn(text string, steps, words int) {
	c.user(text)
	for range steps {
		c.step(words)
	}
	c.answer(10)
}

func textOf(ms []message.Message) string {
	var b strings.Builder
	for _, m := range ms {
		b.WriteString(m.Text())
		b.WriteByte('\n')
	}
	return b.String()
}

// F-SEL-11, F-RUN-04, issue behaviour 2: old tool output goes first; a
// checkpoint is made only when that is not enough.
func TestOrderOfRelief(t *testing.T) {
	c := converse(t, 8000, contextwindow.Compaction{})
	c.turn("First question.", 8, 400)
	c.user("Second question.")
	if f := c.fit(); len(f.Relief) != 0 {
		t.Fatalf("a request that fits was relieved: %v", f.Relief)
	}
	c.step(600)
	c.step(600)
	f := c.fit()
	if !slices.Equal(f.Relief, []contextwindow.Relief{contextwindow.ReliefProjection}) || len(f.Projections) == 0 || len(f.Compactions) != 0 {
		t.Fatalf("relief %v with %d projections and %d compactions", f.Relief, len(f.Projections), len(f.Compactions))
	}
	for range 12 {
		c.answer(300)
		c.user("Go on.")
	}
	if f = c.fit(); len(f.Compactions) == 0 {
		t.Fatalf("talk that cannot be cleared was not compacted: %v", f.Relief)
	}
}

// F-E2E-01, P-RET-02: a constraint from the first turn is in the view long
// after its turn has left it, and the tail is verbatim.
func TestEarlyConstraintSurvives(t *testing.T) {
	c := converse(t, 6000, contextwindow.Compaction{})
	c.turn("Never touch the file db/schema.sql. Please look around.", 1, 100)
	for i := range 30 {
		c.turn(fmt.Sprintf("Question number %d, what does it do?", i), 1, 200)
		c.fit()
	}
	c.user("And now?")
	c.fit()
	view := textOf(c.m.Request(c.in).Messages)
	for _, want := range []string{"Never touch the file db/schema.sql", "And now?", "Question number 29"} {
		if !strings.Contains(view, want) {
			t.Errorf("the view lacks %q:\n%s", want, view)
		}
	}
}

// P-RET-03 to P-RET-07, C2, C19, B24, B27: inside one run, user messages stay
// newest first up to their share, in order and marked as earlier; the active
// request stays last and unmarked; the newest steps stay.
func TestInRunShape(t *testing.T) {
	c := converse(t, 4000, contextwindow.Compaction{SummaryTargetTokens: 300})
	for i := range 3 {
		c.turn(fmt.Sprintf("Earlier request %d about the parser.", i), 1, 50)
	}
	c.user("The active request: fix the printer.")
	var last *contextwindow.Fit
	for range 40 {
		c.step(120)
		c.answer(90)
		if last = c.fit(); len(last.Compactions) > 0 && last.Compactions[0].Shape == contextwindow.ShapeUserMessages {
			break
		}
	}
	if len(last.Compactions) == 0 {
		t.Fatal("a run that fills the window was never compacted")
	}
	var order []string
	for _, m := range c.m.Request(c.in).Messages {
		switch text := m.Text(); {
		case m.Origin == message.OriginSummary:
			order = append(order, "memory")
		case strings.Contains(text, "Earlier request"):
			if !strings.HasPrefix(text, "[Earlier message") {
				t.Errorf("an earlier request is not marked: %q", text)
			}
			order = append(order, text[strings.Index(text, "Earlier request"):][:17])
		case strings.Contains(text, "The active request"):
			if strings.HasPrefix(text, "[") {
				t.Errorf("the active request is marked: %q", text)
			}
			order = append(order, "active")
		}
	}
	want := []string{"memory", "Earlier request 0", "Earlier request 1", "Earlier request 2", "active"}
	if !slices.Equal(order, want) {
		t.Errorf("order of the view: %v, want %v", order, want)
	}
}

// P-RET-05, P-RET-06, B33: the user message that crosses the share is cut on
// a rune boundary, not dropped.
func TestCrossingUserMessageIsCut(t *testing.T) {
	c := converse(t, 4000, contextwindow.Compaction{SummaryTargetTokens: 200})
	c.turn(strings.Repeat("日本語の長い説明 ", 1500), 0, 0)
	c.turn("A short one.", 0, 0)
	c.user("The active request.")
	for range 14 {
		c.step(100)
		c.answer(40)
	}
	c.fit()
	for _, m := range c.m.Request(c.in).Messages {
		text := m.Text()
		if strings.Contains(text, "日本語") && m.Origin != message.OriginSummary {
			if !utf8.ValidString(text) || !strings.HasSuffix(text, "[…]") || len(strings.Fields(text)) > 1010 {
				t.Errorf("a cut message of %d words ends in %q", len(strings.Fields(text)), text[len(text)-20:])
			}
			return
		}
	}
	t.Error("the crossing message was dropped")
}

// F-CLS-10, C13, F-SUM-05, weak spot 12: memory is a message of its own after
// the instructions, and the hash of the instructions does not know it.
func TestMemoryIsNoInstruction(t *testing.T) {
	c := converse(t, 4000, contextwindow.Compaction{})
	c.in.Instructions = []message.Message{say("i", message.RoleSystem, 20)}
	before := c.fit().InstructionsHash
	var f *contextwindow.Fit
	for i := range 20 {
		c.turn(fmt.Sprintf("Question %d?", i), 0, 0)
		c.answer(150)
		f = c.fit()
	}
	if f.Checkpoint == nil || f.InstructionsHash != before {
		t.Fatalf("checkpoint %v, instructions hash changed: %t", f.Checkpoint, f.InstructionsHash != before)
	}
	first := c.m.Request(c.in).Messages[0]
	if first.Role == message.RoleSystem || first.Origin != message.OriginSummary || !strings.Contains(first.Text(), "untrusted") {
		t.Errorf("memory is %s/%s: %q", first.Role, first.Origin, first.Text())
	}
}

// F-MOD-03, F-SEL-05, F-CKP-05, C5, weak spot 1: a checkpoint is used again by the next
// run while its range is unchanged, and a later turn does not invalidate it.
func TestCheckpointIsReusedAfterResume(t *testing.T) {
	chain := &checkpoint.Chain{}
	c := converse(t, 4000, contextwindow.Compaction{Chain: chain})
	for i := range 12 {
		c.turn(fmt.Sprintf("Question %d?", i), 0, 0)
		c.answer(200)
		c.fit()
	}
	made := chain.Len()
	if made == 0 {
		t.Fatal("no checkpoint was made")
	}
	resumed := converse(t, 4000, contextwindow.Compaction{Chain: chain})
	resumed.tr, resumed.in.Transcript, resumed.n = c.tr, c.tr, c.n
	resumed.user("One more question?")
	f := resumed.fit()
	if len(f.Compactions) == 0 || !f.Compactions[0].Reused || chain.Len() != made {
		t.Errorf("relief %v, chain grew from %d to %d", f.Relief, made, chain.Len())
	}
}

// F-CLS-12, F-SEL-09, F-TST-12: what cannot be left out and does not fit is
// stopped, with the breakdown and what helps, and nothing is compacted for it.
func TestMandatoryOverflowStops(t *testing.T) {
	c := converse(t, 4000, contextwindow.Compaction{})
	c.turn("Small.", 1, 100)
	c.user(strings.Repeat("w ", 2500))
	_, err := c.m.Fit(context.Background(), c.in)
	var limit *contextwindow.LimitError
	if !errors.As(err, &limit) || !limit.Mandatory || limit.Diagnosis.Category != budget.CurrentRequest {
		t.Fatalf("error %v", err)
	}
	if !strings.Contains(err.Error(), "shorten the request") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

// Issue behaviour 8: the diagnosis names the server or the item that fills
// the window.
func TestDiagnosisNamesTheCulprit(t *testing.T) {
	c := converse(t, 4000, contextwindow.Compaction{})
	c.in.Tools = []message.ToolDefinition{{Name: "a", Server: "browser", Description: strings.Repeat("w ", 1200)}, {Name: "b", Server: "browser", Description: strings.Repeat("w ", 1200)}}
	c.user("Hello.")
	_, err := c.m.Fit(context.Background(), c.in)
	if err == nil || !strings.Contains(err.Error(), "server browser") {
		t.Errorf("tool schemas: %v", err)
	}
	c = converse(t, 4000, contextwindow.Compaction{})
	c.user("Read it.")
	c.step(2500)
	_, err = c.m.Fit(context.Background(), c.in)
	if err == nil || !strings.Contains(err.Error(), "read_file") || !strings.Contains(err.Error(), "in parts") {
		t.Errorf("one large result: %v", err)
	}
}

// failing is a strategy that gains nothing or breaks.
type failing struct {
	err   error
	calls int
}

func (f *failing) Compact(context.Context, compaction.Input) (*checkpoint.Checkpoint, error) {
	f.calls++
	return nil, f.err
}

// F-NOP-02, F-NOP-03, F-NOP-05, F-TST-15, weak spot 14: compaction that gains
// nothing stops instead of going round, and says so; it is not asked for the
// same range twice.
func TestNoProgressStops(t *testing.T) {
	s := &failing{err: compaction.ErrNoGain}
	c := converse(t, 4000, contextwindow.Compaction{Strategy: s})
	for i := range 5 {
		c.turn(fmt.Sprintf("Question %d?", i), 0, 0)
		c.answer(600)
	}
	_, err := c.m.Fit(context.Background(), c.in)
	if !errors.Is(err, contextwindow.ErrLimitReached) {
		t.Fatalf("error %v", err)
	}
	if s.calls == 0 || s.calls > 20 {
		t.Errorf("the strategy was asked %d times", s.calls)
	}
}

// F-CKP-08, F-TST-07: a strategy that fails leaves the view and the chain as
// they were.
func TestFailedCompactionChangesNothing(t *testing.T) {
	chain := &checkpoint.Chain{}
	broken := errors.New("broken")
	c := converse(t, 4000, contextwindow.Compaction{Strategy: &failing{err: broken}, Chain: chain})
	for i := range 5 {
		c.turn(fmt.Sprintf("Question %d?", i), 0, 0)
		c.answer(600)
	}
	if _, err := c.m.Fit(context.Background(), c.in); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	if chain.Len() != 0 || len(c.m.View()) != c.tr.Len() {
		t.Errorf("chain of %d, %d of %d messages in the view", chain.Len(), len(c.m.View()), c.tr.Len())
	}
}

// P-REM-01 to P-REM-05, C8, C17, B34: each reminder comes once in a window,
// before the first request already, is no part of the transcript, and a
// restart does not repeat it.
func TestReminders(t *testing.T) {
	c := converse(t, 100_000, contextwindow.Compaction{RecentTailTokens: 5000})
	c.user("Start.")
	if f := c.fit(); f.Reminder != "" {
		t.Fatalf("a reminder with an empty window: %q", f.Reminder)
	}
	first := c.m.Budget().AvailableTokens * 15 / 100
	c.answer(c.m.Budget().AvailableTokens - first - 2) // one token before the first tier
	if f := c.fit(); f.Reminder != "" {
		t.Fatalf("a reminder before it is due: %q", f.Reminder)
	}
	c.answer(1)
	f := c.fit()
	if f.ReminderTier != 1 || !strings.Contains(f.Reminder, fmt.Sprint(first)) {
		t.Fatalf("tier %d: %q", f.ReminderTier, f.Reminder)
	}
	if got := c.m.Request(c.in).Reminder; got != f.Reminder {
		t.Errorf("the request carries %q", got)
	}
	if f = c.fit(); f.Reminder != "" {
		t.Errorf("the first reminder came twice: %q", f.Reminder)
	}
	c.answer(first - 1_900)
	if f = c.fit(); f.ReminderTier != 2 {
		t.Errorf("tier %d with %d tokens left", f.ReminderTier, f.Budget.AvailableTokens-f.Estimate.Tokens)
	}
	again := converse(t, 100_000, contextwindow.Compaction{})
	again.tr, again.in.Transcript = c.tr, c.tr
	if err := again.m.Restore(again.in, c.m.State()); err != nil {
		t.Fatal(err)
	}
	if f = again.fit(); f.Reminder != "" {
		t.Errorf("a restart repeated the reminder: %q", f.Reminder)
	}
	for i := 1; i < c.tr.Len(); i++ {
		if strings.Contains(c.tr.At(i).Text(), "tokens are left") {
			t.Error("a reminder is in the transcript")
		}
	}
}

// F-RUN-03: what the model has not seen is not cleared, not even right after a
// compaction; and the request after one finds what that one has written.
func TestAfterACompaction(t *testing.T) {
	c := converse(t, 20_000, contextwindow.Compaction{RecentTailTokens: 500, SummaryTargetTokens: 300})
	compacted := false
	for i := 0; !compacted; i++ {
		c.turn(fmt.Sprintf("Question %d?", i), 6, 40)
		c.answer(300)
		compacted = len(c.fit().Compactions) > 0
	}
	call, results := message.Message{Role: message.RoleAssistant}, message.Message{Role: message.RoleTool}
	for i := range 10 {
		id := fmt.Sprint("new", i)
		call.Blocks = append(call.Blocks, message.ToolCall{ID: id, Name: "read_file", Arguments: `{"path":"` + id + `"}`})
		results.Blocks = append(results.Blocks, message.ToolResult{CallID: id, Content: output(id, 300)})
	}
	c.add(call)
	c.add(results)
	f := c.fit()
	for _, p := range f.Projections {
		if p.Result.Message == c.tr.Len()-1 {
			t.Errorf("%v was cleared before the model saw it", p.Result)
		}
	}
	for _, d := range f.Clearings {
		if d.Reason == projection.ReasonBroken {
			t.Errorf("the cache is taken for broken: %+v", d)
		}
	}
}

// A compaction that a person asked for between two requests is found again after
// a restart, whatever came since the last request, and so is what it means for
// clearing: from the whole state, and from what is stored piece by piece.
func TestRestartAfterManualCompaction(t *testing.T) {
	for _, later := range []int{0, 3} {
		chain := &checkpoint.Chain{}
		c := converse(t, 100_000, contextwindow.Compaction{Chain: chain})
		var kept contextwindow.State
		for i := range 8 {
			c.turn(fmt.Sprintf("Question %d?", i), 3, 300)
			c.fit()
			kept.Add(c.m.Progress(false))
		}
		for i := range later {
			c.turn(fmt.Sprintf("Later %d?", i), 2, 300)
		}
		c.user("Now compact.")
		plan, err := c.m.Plan(t.Context(), c.in, contextwindow.ManualOptions{TailTokens: 2000})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.m.Apply(c.in, plan); err != nil {
			t.Fatal(err)
		}
		kept.Add(c.m.Progress(false))
		base := c.m.Base()
		base.Clearings, base.Answered, base.Model, base.FirstReminder, base.SecondReminder = kept.Clearings, kept.Answered, kept.Model, kept.FirstReminder, kept.SecondReminder
		whole := c.m.State()
		c.turn("And on?", 6, 300)
		live := c.fit()
		for name, s := range map[string]contextwindow.State{"whole": whole, "pieces": base} {
			again := converse(t, 100_000, contextwindow.Compaction{Chain: chain})
			again.in = c.in
			if err := again.m.Restore(c.in, s); err != nil {
				t.Fatalf("%s, %d turns later: %v", name, later, err)
			}
			if f := again.fit(); f.CountedTokens != live.CountedTokens || len(f.Projections) != len(live.Projections) || string(encode(again.m.View())) != string(encode(c.m.View())) {
				t.Errorf("%s, %d turns later: %d tokens and %d stand-ins, live %d and %d", name, later, f.CountedTokens, len(f.Projections), live.CountedTokens, len(live.Projections))
			}
		}
	}
}

// A model that answers for the first time finds no cache, after a restart too.
func TestModelChangeBreaksTheCache(t *testing.T) {
	c, _ := readMany(t)
	again := converse(t, 100_000, contextwindow.Compaction{})
	again.in = c.in
	if err := again.m.Restore(c.in, c.m.State()); err != nil {
		t.Fatal(err)
	}
	c.in.Model, again.in.Model = "another", "another"
	live, restored := c.fit(), again.fit()
	if len(live.Projections) == 0 || len(restored.Projections) != len(live.Projections) || string(encode(c.m.View())) != string(encode(again.m.View())) {
		t.Errorf("live %+v, restored %+v", live.Projections, restored.Projections)
	}
}

// P-REM-05: a request that fits goes out, whatever the reminder in it weighs;
// the band of the estimate grows with it.
func TestReminderNeverStopsARequest(t *testing.T) {
	c := tokencount.New(words{}, tokencount.ProfileFor("openai"))
	fit := func(window, answer int, s contextwindow.State) (*contextwindow.Fit, error) {
		m, err := contextwindow.New(model.Capabilities{Model: "test", WindowTokens: window}, c, &contextwindow.Options{Mode: contextwindow.Compact})
		if err != nil {
			t.Fatal(err)
		}
		tr := record(t, say("u1", message.RoleUser, 100), say("a1", message.RoleAssistant, m.Budget().AvailableTokens-answer), say("u2", message.RoleUser, 100))
		in := contextwindow.Input{Transcript: tr, Complete: true}
		if err := m.Restore(in, s); err != nil {
			t.Fatal(err)
		}
		return m.Fit(t.Context(), in)
	}
	given := contextwindow.State{FirstReminder: true, SecondReminder: true}
	edges := 0
	for n := range 60 {
		window := 40_000 + 7*n
		probe, err := fit(window, 760, contextwindow.State{})
		if err != nil || probe.Reminder == "" {
			t.Fatalf("window %d: reminder %q, %v", window, probe.Reminder, err)
		}
		// As heavy as it can be so that the reminder and nothing more fits.
		room := probe.Budget.AvailableTokens - probe.Estimate.Tokens - probe.Estimate.BandTokens
		for below := 760 - room*50/51 - 2; below <= 760-room*50/51+2; below++ {
			without, err := fit(window, below, given)
			with, withErr := fit(window, below, contextwindow.State{})
			if err != nil || withErr != nil || len(without.Compactions) != len(with.Compactions) {
				t.Fatalf("window %d, %d tokens below the budget: %v, with a reminder %v", window, below, err, withErr)
			}
			if with.Reminder == "" && len(with.Compactions) == 0 {
				edges++
			}
		}
	}
	if edges == 0 {
		t.Error("no reminder was left out: the test proves nothing")
	}
}

// P-REM-04: a checkpoint begins a new window, with both reminders due again.
func TestCheckpointResetsReminders(t *testing.T) {
	c := converse(t, 100_000, contextwindow.Compaction{RecentTailTokens: 5000})
	tiers := map[contextwindow.Tier]int{}
	for i := range 40 {
		c.turn(fmt.Sprintf("Question %d?", i), 0, 0)
		c.answer(5_000)
		tiers[c.fit().ReminderTier]++
	}
	if tiers[1] < 2 {
		t.Errorf("first reminders in two and more windows: %v", tiers)
	}
}

// P-TOOL-02, P-TOOL-03, B19, B30: a request for a new context compacts at the
// next boundary though the budget is far; an ended run forgets it, and one
// that gains nothing does not come back.
func TestNewContext(t *testing.T) {
	c := converse(t, 40_000, contextwindow.Compaction{RecentTailTokens: 300})
	for i := range 6 {
		c.turn(fmt.Sprintf("Question %d?", i), 1, 300)
	}
	c.m.RequestNewContext()
	c.m.EndRun()
	c.user("Next.")
	if f := c.fit(); len(f.Compactions) != 0 {
		t.Fatal("a request of an ended run was served")
	}
	if answer := c.m.RequestNewContext(); !strings.Contains(answer, "not affected") {
		t.Errorf("the tool answers %q", answer)
	}
	f := c.fit()
	if len(f.Compactions) != 1 || !slices.Contains(f.Relief, contextwindow.ReliefRequested) {
		t.Fatalf("relief %v", f.Relief)
	}
	if !strings.Contains(f.Warning, "the transcript keeps them") {
		t.Errorf("a checkpoint took effect and the user is told %q (P-ROW-04)", f.Warning)
	}
	if f = c.fit(); len(f.Compactions) != 0 {
		t.Error("the request was served twice")
	}
}

func overflow(used, limit int) *model.Error {
	return &model.Error{Kind: model.ErrContextOverflow, UsedTokens: used, LimitTokens: limit, Message: "too long"}
}

// F-OVF-02, F-OVF-03, F-TST-13, F-E2E-08, F-SEC-10: one clean overflow makes
// the request smaller and is retried with the same input.
func TestRecover(t *testing.T) {
	c := converse(t, 20_000, contextwindow.Compaction{RecentTailTokens: 2000})
	for i := range 8 {
		c.turn(fmt.Sprintf("Question %d?", i), 0, 0)
		c.answer(800)
	}
	c.user("The request.")
	before := c.fit()
	length := c.tr.Len()
	f, err := c.m.Recover(context.Background(), c.in, overflow(9000, 8000))
	if err != nil {
		t.Fatal(err)
	}
	if f.Attempt != 2 || f.Step != before.Step || f.Estimate.Tokens >= before.Estimate.Tokens || c.tr.Len() != length {
		t.Errorf("attempt %d of request %d: %d tokens after %d", f.Attempt, f.Step, f.Estimate.Tokens, before.Estimate.Tokens)
	}
	if f.Capabilities.WindowTokens != 8000 || f.Capabilities.WindowSource != model.WindowLearned {
		t.Errorf("window %d from %s", f.Capabilities.WindowTokens, f.Capabilities.WindowSource)
	}
	if view := textOf(c.m.Request(c.in).Messages); strings.Count(view, "The request.") != 1 {
		t.Error("the retry duplicates the input")
	}
	// F-OVF-04, F-NOP-04: a second overflow is an ordinary failure.
	if _, err := c.m.Recover(context.Background(), c.in, overflow(9000, 8000)); !errors.Is(err, contextwindow.ErrNotRecovered) || !errors.Is(err, model.ErrContextOverflow) {
		t.Errorf("second overflow: %v", err)
	}
}

// F-TST-14: no retry after partial output, for other errors, in other modes,
// or without a request.
func TestRecoverRefuses(t *testing.T) {
	partial := overflow(0, 0)
	partial.Evidence = true
	for name, failed := range map[string]*model.Error{
		"partial output": partial,
		"rate limit":     {Kind: model.ErrRateLimited},
		"unclassified":   {},
	} {
		c := converse(t, 20_000, contextwindow.Compaction{})
		c.turn("Question?", 1, 500)
		c.fit()
		if _, err := c.m.Recover(context.Background(), c.in, failed); !errors.Is(err, contextwindow.ErrNotRecovered) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := converse(t, 20_000, contextwindow.Compaction{})
	if _, err := c.m.Recover(context.Background(), c.in, overflow(0, 0)); !errors.Is(err, contextwindow.ErrNotRecovered) {
		t.Errorf("without a request: %v", err)
	}
	m := manager(t, 20_000, contextwindow.Warn)
	in := contextwindow.Input{Transcript: record(t, say("u", message.RoleUser, 10))}
	if _, err := m.Fit(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Recover(context.Background(), in, overflow(0, 0)); !errors.Is(err, contextwindow.ErrNotRecovered) {
		t.Errorf("in the mode warn: %v", err)
	}
}

// F-CAP, issue "Provider adapters" 5: a rejection never raises a window.
func TestLearnedWindowNeverRises(t *testing.T) {
	c := converse(t, 20_000, contextwindow.Compaction{})
	for i := range 8 {
		c.turn(fmt.Sprintf("Question %d?", i), 0, 0)
		c.answer(800)
	}
	c.fit()
	f, err := c.m.Recover(context.Background(), c.in, overflow(0, 500_000))
	if err != nil {
		t.Fatal(err)
	}
	if f.Capabilities.WindowTokens != 20_000 {
		t.Errorf("window %d", f.Capabilities.WindowTokens)
	}
}

// F-MAN-02, P-INL-04: a plan changes nothing, and applying it does what it
// says.
func TestPlanThenApply(t *testing.T) {
	c := converse(t, 100_000, contextwindow.Compaction{})
	for i := range 10 {
		c.turn(fmt.Sprintf("Question %d? Keep all names as they are.", i), 2, 300)
	}
	c.fit()
	before := encode(c.m.View())
	plan, err := c.m.Plan(context.Background(), c.in, contextwindow.ManualOptions{TailTokens: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if string(encode(c.m.View())) != string(before) {
		t.Fatal("making a plan changed the view")
	}
	again, err := c.m.Plan(context.Background(), c.in, contextwindow.ManualOptions{TailTokens: 1000})
	if err != nil || again.Checkpoint.ID != plan.Checkpoint.ID {
		t.Fatalf("a second plan differs: %v", err)
	}
	if err := c.m.Apply(c.in, plan); err != nil {
		t.Fatal(err)
	}
	if n := c.m.Counted(); n != plan.TokensAfter {
		t.Errorf("the plan says %d tokens, the view has %d", plan.TokensAfter, n)
	}
	// The cache is broken now, so that old output of the tail is cleared too.
	if f := c.fit(); f.CountedTokens > plan.TokensAfter {
		t.Errorf("the plan says %d tokens, the request has %d", plan.TokensAfter, f.CountedTokens)
	}
	if plan.TokensAfter >= plan.TokensBefore {
		t.Errorf("from %d to %d tokens", plan.TokensBefore, plan.TokensAfter)
	}
}

// Weak spot 5, B6, F-TST-03: a tiny or empty conversation is not compacted.
func TestNothingToCompact(t *testing.T) {
	c := converse(t, 100_000, contextwindow.Compaction{})
	if _, err := c.m.Plan(context.Background(), c.in, contextwindow.ManualOptions{}); !errors.Is(err, contextwindow.ErrNothing) {
		t.Errorf("empty: %v", err)
	}
	c.turn("Hello.", 0, 0)
	c.turn("And?", 0, 0)
	if _, err := c.m.Plan(context.Background(), c.in, contextwindow.ManualOptions{TailTokens: -1}); !errors.Is(err, contextwindow.ErrNothing) && !errors.Is(err, compaction.ErrNoGain) {
		t.Errorf("tiny: %v", err)
	}
}

// B19: a new context that the model asked for and that cannot be made does not
// fail the turn, and is not tried again.
func TestFailedNewContextDoesNotFailTheTurn(t *testing.T) {
	s := &failing{err: errors.New("broken")}
	c := converse(t, 40_000, contextwindow.Compaction{Strategy: s, RecentTailTokens: 300})
	for i := range 6 {
		c.turn(fmt.Sprintf("Question %d?", i), 1, 300)
	}
	c.user("Next.")
	c.m.RequestNewContext()
	if f := c.fit(); f.Action != contextwindow.Send || s.calls != 1 {
		t.Errorf("action %s after %d tries", f.Action, s.calls)
	}
	if c.fit(); s.calls != 1 {
		t.Errorf("tried again: %d", s.calls)
	}
}
