package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/trace"
)

// B15: an answer, even the last one, is not the end of the run.
func TestIdleOnlyAfterTheRunHasEnded(t *testing.T) {
	p := play(t, 80, 24)
	p.keys("hello", "enter")
	if p.state.phase != phaseRunning {
		t.Fatalf("phase %d after Enter", p.state.phase)
	}
	for _, e := range sampleRun("hello") {
		p.events(e)
		if p.state.phase != phaseRunning || !strings.Contains(drawn(p.state), "working") {
			t.Fatalf("%T made the interface idle", e)
		}
		p.effects = nil
		p.keys("more", "enter")
		if has[run](p) {
			t.Fatalf("a second run began after %T", e)
		}
		p.keys("ctrl+u")
	}
	p.events(agent.Ended{Result: agent.Result{Status: agent.StatusCompleted}})
	if p.state.phase != phaseRunning {
		t.Error("idle before the run has returned")
	}
	p.send(ranMsg{result: &agent.Result{Status: agent.StatusCompleted}})
	if p.state.phase != phaseIdle || strings.Contains(drawn(p.state), "working") {
		t.Error("not idle after the run")
	}
	p.keys("ctrl+u", "again", "enter")
	if !has[run](p) {
		t.Error("no second run after the first")
	}
}

// B16: the meter shows the window of the newest Fit and no other, and none
// when what was measured is no longer true.
func TestMeterShowsTheWindowOfTheFit(t *testing.T) {
	p := play(t, 80, 24)
	f := sampleFit(1, 0)
	f.Budget = budget.Budget{WindowTokens: 1_000_000, ReserveTokens: 50_000, AvailableTokens: 950_000}
	p.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	p.events(agent.Budgeted{Step: 1, Fit: f})
	if got := drawn(p.state); !strings.Contains(got, "of 950k") {
		t.Errorf("not the window of the Fit:\n%s", got)
	}
	p.send(changedMsg{said: "model: other", info: Info{Model: "other"}})
	if got := drawn(p.state); strings.Contains(got, "950k") || !strings.Contains(got, "not measured yet") {
		t.Errorf("the window of the former model is still shown:\n%s", got)
	}
	// A measurement that comes late does not replace that of the run.
	p.send(windowMsg{window: sampleWindow()})
	p.keys("go", "enter")
	p.events(agent.Budgeted{Step: 1, Fit: f})
	p.send(windowMsg{window: sampleWindow()})
	if got := drawn(p.state); !strings.Contains(got, "of 950k") {
		t.Errorf("a late measurement replaced that of the run:\n%s", got)
	}
}

// B26: what failed is shown as what it is.
func TestFailureIsNeverShownAsSuccess(t *testing.T) {
	call := message.ToolCall{ID: "c", Name: "run_command", Arguments: `{"command":["false"]}`}
	for _, test := range []struct {
		name   string
		events []agent.Event
		ran    ranMsg
		want   string
	}{
		{"failed run", []agent.Event{agent.Ended{Result: agent.Result{Status: agent.StatusFailed, Reason: "cut stream"}}}, ranMsg{}, "■ Failed: cut stream"},
		{"failure without a reason", nil, ranMsg{result: &agent.Result{Status: agent.StatusFailed, Err: errors.New("broken pipe")}}, "■ Failed: broken pipe"},
		{"status that is not known", nil, ranMsg{result: &agent.Result{Status: "odd"}}, "■ Failed"},
		{"run that says nothing", nil, ranMsg{}, "■ Failed"},
		{"run that was not begun", nil, ranMsg{err: errors.New("no key")}, "■ Nothing was run: no key"},
		{"limit", nil, ranMsg{result: &agent.Result{Status: agent.StatusLimitReached, Limit: "cost", Reason: "over 1 USD"}}, "■ Stopped at a limit: cost: over 1 USD"},
		{"denied", nil, ranMsg{result: &agent.Result{Status: agent.StatusDenied, Reason: "a write was denied"}}, "■ Denied: a write was denied"},
		{"interrupted", nil, ranMsg{result: &agent.Result{Status: agent.StatusCancelled}}, "■ Interrupted"},
		{"failed call", []agent.Event{agent.CallDecided{Call: call, Decision: policy.Decision{Action: policy.Allow}}, agent.CallCompleted{Call: call, Result: message.ToolResult{Outcome: message.OutcomeFailure}}},
			ranMsg{result: &agent.Result{Status: agent.StatusCompleted}}, "✗ run_command"},
		{"call of unknown outcome", []agent.Event{agent.CallCompleted{Call: call, Result: message.ToolResult{}}}, ranMsg{result: &agent.Result{Status: agent.StatusCompleted}}, "outcome unknown"},
		{"denied call", []agent.Event{agent.CallDecided{Call: call, Decision: policy.Decision{Action: policy.Deny, Reason: "a rule says deny"}},
			agent.CallCompleted{Call: call, Result: message.ToolResult{Outcome: message.OutcomeSuccess}}}, ranMsg{result: &agent.Result{Status: agent.StatusCompleted}}, "denied"},
		{"call without a result", []agent.Event{agent.CallDecided{Call: call, Decision: policy.Decision{Action: policy.Allow}}}, ranMsg{result: &agent.Result{Status: agent.StatusCancelled}}, "ended before a result"},
		{"cut answer", []agent.Event{agent.TextDelta{Text: "I have don"}}, ranMsg{result: &agent.Result{Status: agent.StatusFailed}}, "! this answer was cut off"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := play(t, 100, 40)
			p.keys("do it", "enter")
			p.events(test.events...)
			p.send(test.ran)
			got := drawn(p.state)
			if !strings.Contains(got, test.want) || strings.Contains(got, "✓") {
				t.Errorf("want %q and no ✓:\n%s", test.want, got)
			}
		})
	}
	for _, m := range []any{compactedMsg{err: contextwindow.ErrNothing}, compactedMsg{}, planMsg{err: errors.New("x")}, planMsg{},
		openedMsg{err: errors.New("x")}, listedMsg{what: listPins, err: errors.New("x")}, changedMsg{err: errors.New("x")}, windowMsg{show: true, err: errors.New("x")}} {
		p := play(t, 80, 24)
		p.send(m)
		if got := drawn(p.state); !strings.Contains(got, "\n! ") {
			t.Errorf("%#v is not shown as a failure:\n%s", m, got)
		}
	}
}

// A prompt that was not kept goes back into the editor; one that was kept does
// not (C16).
func TestPromptIsNotLost(t *testing.T) {
	p := play(t, 80, 24)
	p.keys("precious words", "enter")
	p.send(ranMsg{err: errors.New("no key")})
	if p.state.editor.text != "precious words" {
		t.Errorf("the editor holds %q", p.state.editor.text)
	}
	p.keys("enter")
	p.events(agent.Admitted{Message: spoken(message.RoleUser, "m1", "precious words")})
	p.send(ranMsg{result: &agent.Result{Status: agent.StatusFailed}})
	if p.state.editor.text != "" || strings.Count(drawn(p.state), "precious words") != 1 {
		t.Errorf("editor %q, screen:\n%s", p.state.editor.text, drawn(p.state))
	}
}

// P-ROW-01 to P-ROW-03: one row after its anchor; a mark whose anchor is
// missing is dropped.
func TestMarksStandAfterTheirAnchor(t *testing.T) {
	rows := conversationRows(Conversation{
		Messages: []message.Message{spoken(message.RoleUser, "m1", "one"), spoken(message.RoleAssistant, "m2", "two"), spoken(message.RoleUser, "m3", "three")},
		Marks:    []trace.CompactionMark{{ID: "a", ThroughMessage: "m2", Generation: 1}, {ID: "b", ThroughMessage: "gone", Generation: 2}},
	})
	var got []string
	for _, r := range rows {
		switch c := r.content.(type) {
		case userRow:
			got = append(got, c.text)
		case answerRow:
			got = append(got, c.text)
		case compactionRow:
			got = append(got, "mark "+c.mark.ID)
		}
	}
	if want := "one two mark a three"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// P-ROW-03, P-ROW-04: every compaction is a row and a notice, each once, even
// when the agent says the same in a notice of its own.
func TestEveryCompactionIsARowAndANotice(t *testing.T) {
	for _, warning := range []string{"", "48 messages are a checkpoint now"} {
		p := play(t, 100, 40)
		p.keys("go on", "enter")
		for range 2 {
			f := sampleFit(3, 0)
			f.Warning = warning
			f.Compactions = []contextwindow.CompactionReport{{Checkpoint: sampleCheckpoint(), TokensBefore: 9_000, TokensAfter: 4_000}}
			p.events(agent.Budgeted{Step: 3, Fit: f})
			if warning != "" {
				p.events(agent.Notice{Kind: "compaction", Text: warning})
			}
		}
		rows, notices := 0, 0
		for _, r := range p.state.rows {
			switch r.content.(type) {
			case compactionRow:
				rows++
			case noticeRow:
				notices++
			}
		}
		if rows != 2 || notices != 2 {
			t.Errorf("warning %q: %d rows and %d notices of 2 compactions", warning, rows, notices)
		}
	}
}

// F-MAN-03: /compact needs no second confirmation, says that the transcript is
// kept, and shows the new estimate. F-MAN-02: the dry run compacts nothing.
func TestCompactCommand(t *testing.T) {
	p := play(t, 80, 24)
	p.keys("/compact --dry-run", "enter")
	if has[compact](p) || !has[plan](p) {
		t.Fatalf("a dry run asked for %v", p.effects)
	}
	p.keys("esc", "/compact --tail 0", "enter")
	if got := drawn(p.state); !has[compact](p) || !strings.Contains(got, "The transcript is kept") || !strings.Contains(got, "estimated at 54,460") {
		t.Errorf("effects %v:\n%s", p.effects, got)
	}
	for _, e := range p.effects {
		if c, ok := e.(compact); ok && c.options.TailTokens != -1 {
			t.Errorf("--tail 0 became %d", c.options.TailTokens)
		}
	}
}

// Interrupting: Esc and Ctrl+C cancel once, and the interface stays busy until
// the run has ended. Leaving: Ctrl+C twice or Ctrl+D on an empty editor; in a
// run, when it is over.
func TestInterruptAndLeave(t *testing.T) {
	for _, key := range []string{"esc", "ctrl+c"} {
		p := play(t, 80, 24)
		p.keys("go", "enter", key, key)
		if !has[interrupt](p) || has[quit](p) || p.state.phase != phaseRunning || !strings.Contains(drawn(p.state), "stopping") {
			t.Errorf("%s: effects %v, phase %d", key, p.effects, p.state.phase)
		}
	}
	p := play(t, 80, 24)
	p.keys("text", "ctrl+c")
	if p.state.editor.text != "" || has[quit](p) {
		t.Error("Ctrl+C does not clear the editor")
	}
	if p.keys("ctrl+c"); has[quit](p) {
		t.Error("one Ctrl+C on an empty editor leaves")
	}
	if p.keys("x", "backspace", "ctrl+c"); has[quit](p) {
		t.Error("Ctrl+C leaves though something was typed in between")
	}
	if p.keys("ctrl+c"); !has[quit](p) {
		t.Error("Ctrl+C twice does not leave")
	}
	p = play(t, 80, 24)
	if p.keys("x", "ctrl+d"); has[quit](p) {
		t.Error("Ctrl+D leaves though something is written")
	}
	if p.keys("backspace", "ctrl+d"); !has[quit](p) {
		t.Error("Ctrl+D does not leave")
	}
	p = play(t, 80, 24)
	p.keys("go", "enter", "ctrl+d")
	if !has[interrupt](p) || has[quit](p) {
		t.Errorf("leaving in a run: %v", p.effects)
	}
	p.send(ranMsg{result: &agent.Result{Status: agent.StatusCancelled}})
	if !has[quit](p) {
		t.Error("the program does not end after the run")
	}
}

// F-MAN-04 and the policy: a key answers only a question that has been seen,
// one key answers one question, and there is no approval for the run where
// the call has no scope.
func TestApprovals(t *testing.T) {
	question := func(id int, scope string) askMsg {
		return askMsg{ask{id: id, request: policy.Request{Tool: "run_command", Command: []string{"rm", "a b"}, Scope: scope, Summary: "run rm"}}}
	}
	replies := func(p *player) (out []policy.Answer) {
		for _, e := range p.effects {
			if a, ok := e.(answer); ok {
				out = append(out, a.answer)
			}
		}
		return out
	}
	for _, test := range []struct {
		key   string
		scope string
		want  []policy.Answer
	}{
		{"y", "s", []policy.Answer{policy.ApproveOnce}}, {"a", "s", []policy.Answer{policy.ApproveForRun}}, {"n", "s", []policy.Answer{policy.Refuse}},
		{"esc", "s", []policy.Answer{policy.Refuse}}, {"ctrl+c", "s", []policy.Answer{policy.Refuse}},
		{"a", "", nil}, {"enter", "s", nil}, {"x", "s", nil}, {"down", "s", nil},
	} {
		p := play(t, 80, 24)
		p.keys("go", "enter", "draft")
		p.send(question(1, test.scope))
		if p.keys("y", "a"); len(replies(p)) > 0 {
			t.Fatal("a key answered a question that nobody has seen")
		}
		p.send(armMsg{1})
		p.keys(test.key)
		if got := replies(p); len(got) != len(test.want) || len(got) == 1 && got[0] != test.want[0] {
			t.Errorf("%s with scope %q: %v, want %v", test.key, test.scope, got, test.want)
		}
		if p.state.editor.text != "draft" {
			t.Errorf("%s went into the editor: %q", test.key, p.state.editor.text)
		}
	}
	p := play(t, 80, 24)
	p.keys("go", "enter")
	p.send(question(1, ""), question(2, ""), armMsg{1}, armMsg{2})
	if p.keys("y", "y"); len(replies(p)) != 1 {
		t.Error("one key pressed twice answered two questions")
	}
	if p.send(armMsg{2}, askDoneMsg{2}); len(p.state.asks) != 0 {
		t.Error("a question that is over is still there")
	}
}

func TestUnknownCommandsNameTheNearest(t *testing.T) {
	for name, want := range map[string]string{"contxt": "/context", "compat": "/compact", "quti": "/quit", "clera": "/clear", "rewnd": "/rewind", "lgout": "/logout"} {
		p := play(t, 80, 24)
		p.keys("/"+name, "enter")
		if got := drawn(p.state); !strings.Contains(got, "nearest is "+want+",") {
			t.Errorf("/%s:\n%s", name, got)
		}
		if has[run](p) {
			t.Errorf("/%s was sent to the model", name)
		}
	}
}

func TestCommands(t *testing.T) {
	for line, want := range map[string]effect{
		"/pin Never touch vendor": pin{"Never touch vendor"}, "/unpin 2": unpin{2}, "/pins": list{listPins}, "/resume s2": open{how: openResume, id: "s2"},
		"/fork": open{how: openFork}, "/new": open{how: openNew}, "/clear": open{how: openNew}, "/model sample-2": setModel{"sample-2"},
		"/effort low": setEffort{"low"}, "/plugins": list{listPlugins}, "/login": hintOf{"login"}, "/logout": hintOf{"logout"}, "/exit": quit{}, "/quit": quit{},
		"/context": measure{show: true}, "/model": list{listModels}, "/effort": list{listEfforts}, "/resume": list{listSessions},
	} {
		p := play(t, 80, 24)
		p.effects = nil
		p.send(tea.PasteMsg{Content: line})
		p.keys("esc", "enter")
		if len(p.effects) == 0 || p.effects[0] != want {
			t.Errorf("%s asks for %#v, want %#v", line, p.effects, want)
		}
	}
	for _, line := range []string{"/pin", "/unpin", "/unpin x", "/unpin 0", "/fork now", "/compact everything", "/compact --tail", "/compact --tail x", "/rewind 9"} {
		p := play(t, 80, 24)
		p.effects = nil
		p.state = p.state.add(newRow(userRow{text: "one"}))
		p.send(tea.PasteMsg{Content: line})
		p.keys("esc", "enter")
		if got := drawn(p.state); len(p.effects) > 0 || !strings.Contains(got, "\n! ") {
			t.Errorf("%s: effects %v\n%s", line, p.effects, got)
		}
	}
}

// A path is no command.
func TestPathsAreNoCommands(t *testing.T) {
	p := play(t, 80, 24)
	p.send(tea.PasteMsg{Content: "/etc/hosts says what?"})
	p.keys("esc", "enter")
	if !has[run](p) {
		t.Errorf("not sent: %v", p.effects)
	}
}

func TestRewindPutsTheRequestBack(t *testing.T) {
	p := play(t, 80, 24)
	p.state = p.state.add(newRow(userRow{text: "first"}), newRow(answerRow{"ok"}), newRow(userRow{text: "second"}))
	p.keys("/rewind", "enter")
	if p.state.overlay.picker == nil {
		t.Fatal("no list to choose from")
	}
	p.effects = nil
	p.keys("down", "enter")
	if len(p.effects) == 0 || p.effects[0] != (open{how: openRewind, turn: 1, prompt: "first"}) || p.state.editor.text != "first" {
		t.Errorf("effects %#v, editor %q", p.effects, p.state.editor.text)
	}
}

func TestHistory(t *testing.T) {
	p := play(t, 80, 24)
	for _, text := range []string{"one", "two\nlines"} {
		p.send(tea.PasteMsg{Content: text})
		p.keys("enter")
		p.send(ranMsg{result: &agent.Result{Status: agent.StatusCompleted}})
	}
	p.keys("draft")
	for _, step := range []struct{ key, want string }{
		{"up", "two\nlines"}, {"up", "two\nlines"}, {"up", "one"}, {"up", "one"}, {"down", "two\nlines"}, {"down", "draft"}, {"down", "draft"},
	} {
		if p.keys(step.key); p.state.editor.text != step.want {
			t.Errorf("after %s: %q, want %q", step.key, p.state.editor.text, step.want)
		}
	}
}

func TestPromptNamesFilesAndPictures(t *testing.T) {
	p := readPrompt("look at @a.go, @docs/b.md and @shot.PNG. Mail x@y.z; again @a.go")
	if strings.Join(p.Files, " ") != "a.go docs/b.md" || strings.Join(p.Images, " ") != "shot.PNG" {
		t.Errorf("files %q, pictures %q", p.Files, p.Images)
	}
}

func TestCompletion(t *testing.T) {
	p := play(t, 80, 24)
	p.keys("see @gr", "down", "tab", "and $re", "tab")
	if want := "see @greet_test.go and $release "; p.state.editor.text != want {
		t.Errorf("%q, want %q", p.state.editor.text, want)
	}
	p.keys("ctrl+u", "@d", "tab")
	if p.state.editor.text != "@docs/" {
		t.Errorf("a folder became %q", p.state.editor.text)
	}
	p.keys("ctrl+u", "@g")
	late := p.state
	p.keys("r")
	s, _ := p.state.update(completedMsg{number: late.popup.number, paths: []string{"stale"}})
	for _, item := range s.popup.items {
		if item.Name == "@stale" {
			t.Error("an answer for a former word is offered")
		}
	}
	p.keys("esc")
	if p.state.popup.shown() {
		t.Error("Esc does not close what is offered")
	}
	// What needs no argument runs at once.
	p.effects = nil
	p.keys("ctrl+u", "/for", "enter")
	if !has[open](p) {
		t.Errorf("/for: %v", p.effects)
	}
}

// Money that is not known is not left out.
func TestSpending(t *testing.T) {
	p := play(t, 80, 24)
	p.keys("go", "enter")
	p.events(agent.Answered{CostUSD: pointer(0.5)}, agent.Answered{})
	if got := drawn(p.state); !strings.Contains(got, "$0.5123 and more, not priced") {
		t.Errorf("no such sum:\n%s", got)
	}
}

// What is read while scrolled up stays where it is when more comes.
func TestScrolledTextStaysInPlace(t *testing.T) {
	p := play(t, 80, 24)
	for range 20 {
		p.state = p.state.add(newRow(answerRow{"a\n\nb"}))
	}
	p.state = p.state.add(newRow(answerRow{"the place"}))
	for range 20 {
		p.state = p.state.add(newRow(answerRow{"c\n\nd"}))
	}
	p.keys("go", "enter")
	for !strings.Contains(drawn(p.state), "the place") {
		before := p.state.scroll
		if p.keys("pgup"); p.state.scroll == before {
			t.Fatal("the top comes before the place")
		}
	}
	at := strings.Index(drawn(p.state), "the place")
	for range 30 {
		p.events(agent.TextDelta{Text: "more\n\nand more\n"}, agent.Notice{Text: "note"})
	}
	if got := strings.Index(drawn(p.state), "the place"); got != at {
		t.Errorf("it was at %d and is at %d:\n%s", at, got, drawn(p.state))
	}
	for range 100 {
		p.keys("pgdown")
	}
	if p.state.scroll != 0 {
		t.Errorf("still %d lines up", p.state.scroll)
	}
	for range 100 {
		p.keys("pgup")
	}
	if !strings.Contains(drawn(p.state), "Forge 0.0.0-test") {
		t.Errorf("the beginning cannot be reached:\n%s", drawn(p.state))
	}
}

// What is under way keeps commands from the session that need it, but not
// those that do not.
func TestCommandsDuringARun(t *testing.T) {
	for line, allowed := range map[string]bool{"/compact": false, "/new": false, "/resume": false, "/model x": false, "/pin x": false, "/fork": false,
		"/rewind": false, "/help": true, "/login": true, "/context": true} {
		p := play(t, 80, 24)
		p.keys("go", "enter")
		p.events(agent.Budgeted{Step: 1, Fit: sampleFit(1, 0)})
		p.effects = nil
		p.send(tea.PasteMsg{Content: line})
		p.keys("esc", "enter")
		waits := strings.Contains(p.state.hint, "waits until")
		if waits == allowed || has[open](p) || has[compact](p) || has[measure](p) {
			t.Errorf("%s during a run: effects %v, hint %q", line, p.effects, p.state.hint)
		}
	}
}

// Calls with the same id get their results in order, and a denial stays one
// whatever comes after it.
func TestCallsWithTheSameID(t *testing.T) {
	p := play(t, 100, 40)
	call := message.ToolCall{ID: "same", Name: "read_file", Arguments: `{}`}
	result := func(o message.Outcome) agent.CallCompleted {
		return agent.CallCompleted{Call: call, Result: message.ToolResult{Outcome: o}}
	}
	p.keys("go", "enter")
	p.events(agent.Answered{Messages: []message.Message{{Role: message.RoleAssistant, Blocks: []message.Block{call, call, call}}}},
		agent.CallDecided{Call: call, Decision: policy.Decision{Action: policy.Deny, Reason: "no"}}, result(message.OutcomeFailure),
		result(message.OutcomeSuccess), result(message.OutcomeFailure), result(message.OutcomeSuccess))
	var got []callState
	for _, r := range p.state.rows {
		if c, ok := r.content.(callRow); ok {
			got = append(got, c.state)
		}
	}
	want := []callState{callDenied, callSucceeded, callFailed, callSucceeded}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
