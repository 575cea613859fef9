package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
	"github.com/forge-agent/forge/trace"
)

// hostile draws text of every kind, made to break a screen.
func hostile() *rapid.Generator[string] {
	pieces := []string{"word", " ", "  ", "\n", "\n\n", "\r\n", "\r", "\t", "漢字", "👩‍👩‍👧‍👦", "🇩🇪", "é", "\u0301", "\u200d", "\ufe0f", "\x1b[31m", "\x1b]0;title\x07", "\x1b[2J",
		"\x9b1A", "\u202e", "\u2066", "\x00", "\x7f", "\xff\xfe", "```", "```go\n", "~~~", "- ", "1. ", "# ", "> ", "| a | b |\n|---|---|\n| c | d |\n", "**", "*", "_", "`", "[x](http://y)",
		"<b>", "&#27;[31m", "&lt;", "\\", "/", "@", "$", "+++", "---", "@@", strings.Repeat("x", 90), strings.Repeat("漢", 50), strings.Repeat("> ", 40), strings.Repeat("\n", 30), strings.Repeat("- ", 30)}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.String()), 0, 12).Draw(t, "pieces"), "")
	})
}

func drawFit(t *rapid.T) *contextwindow.Fit {
	n := rapid.IntRange(0, 3_000_000)
	f := sampleFit(n.Draw(t, "step"), 0)
	for c := range f.Breakdown {
		f.Breakdown[c] = rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 50), n).Draw(t, "tokens")
	}
	f.Estimate.Tokens = f.Breakdown.Total()
	f.Budget = budget.Budget{WindowTokens: n.Draw(t, "window"), AvailableTokens: n.Draw(t, "available"), ReserveTokens: n.Draw(t, "reserve")}
	f.Model = hostile().Draw(t, "model")
	if rapid.Bool().Draw(t, "checkpoint") {
		f.Checkpoint = sampleCheckpoint()
		f.Checkpoint.ID = hostile().Draw(t, "id")
		f.Compactions = []contextwindow.CompactionReport{{Checkpoint: f.Checkpoint}, {}}
	}
	return f
}

func drawEvent(t *rapid.T) agent.Event {
	s := func(name string) string { return hostile().Draw(t, name) }
	call := message.ToolCall{ID: rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "call"), Name: s("name"), Arguments: s("arguments")}
	switch rapid.IntRange(0, 10).Draw(t, "event") {
	case 0:
		return agent.Admitted{Message: spoken(rapid.SampledFrom([]message.Role{message.RoleUser, message.RoleAssistant, message.RoleTool}).Draw(t, "role"), "m", s("text"))}
	case 1:
		return agent.Budgeted{Fit: drawFit(t)}
	case 2:
		return agent.TextDelta{Text: s("text")}
	case 3:
		return agent.ReasoningDelta{Text: s("text")}
	case 4:
		return agent.Retrying{Reason: s("reason")}
	case 5:
		return agent.Answered{Messages: []message.Message{{Role: message.RoleAssistant, Blocks: []message.Block{message.Text{Text: s("text")}, message.Reasoning{Text: s("thought")}, call}}}}
	case 6:
		return agent.CallPlanned{Call: call, Plan: tool.Plan{Summary: s("summary")}}
	case 7:
		return agent.CallDecided{Call: call, Decision: policy.Decision{Action: rapid.SampledFrom([]policy.Action{policy.Allow, policy.Deny}).Draw(t, "action"), Reason: s("reason")}}
	case 8:
		return agent.CallCompleted{Call: call, Took: time.Duration(rapid.Int64Range(0, 1<<42).Draw(t, "took")), Result: message.ToolResult{CallID: call.ID,
			Outcome: rapid.SampledFrom([]message.Outcome{message.OutcomeFailure, message.OutcomeSuccess, ""}).Draw(t, "outcome"), Content: []message.Block{message.Text{Text: s("output")}}}}
	case 9:
		return agent.Notice{Kind: rapid.SampledFrom([]string{"warning", "compaction", "odd"}).Draw(t, "kind"), Text: s("text")}
	}
	return agent.Ended{Result: agent.Result{Status: rapid.SampledFrom([]agent.Status{agent.StatusCompleted, agent.StatusFailed, agent.StatusCancelled, "odd"}).Draw(t, "status"), Reason: s("reason")}}
}

var keyNames = []string{"enter", "esc", "tab", "up", "down", "left", "right", "home", "end", "backspace", "delete", "pgup", "pgdown", "shift+up", "alt+enter",
	"ctrl+c", "ctrl+d", "ctrl+j", "ctrl+w", "ctrl+u", "ctrl+k", "ctrl+a", "ctrl+e", "ctrl+z", "y", "n", "a", "/", "@", "$", "q", "G", "漢", "👩‍👩‍👧‍👦",
	"/context", "/compact --dry-run", "/compact", "/help", "/resume", "/rewind", "/model", "/pins", "/new"}

func drawMsg(t *rapid.T) any {
	s := func(name string) string { return hostile().Draw(t, name) }
	switch rapid.IntRange(0, 13).Draw(t, "kind") {
	case 0:
		size := rapid.OneOf(rapid.IntRange(-1, 12), rapid.IntRange(13, 200))
		return tea.WindowSizeMsg{Width: size.Draw(t, "width"), Height: size.Draw(t, "height")}
	case 1:
		return tea.PasteMsg{Content: s("paste")}
	case 2, 3, 4:
		return eventMsg{drawEvent(t)}
	case 5:
		return askMsg{ask{id: rapid.IntRange(1, 3).Draw(t, "id"), request: policy.Request{Tool: s("tool"), Command: []string{s("word"), s("word")}, Summary: s("summary"), Diff: s("diff"), Scope: s("scope")}}}
	case 6:
		return armMsg{rapid.IntRange(1, 3).Draw(t, "id")}
	case 7:
		return askDoneMsg{rapid.IntRange(1, 3).Draw(t, "id")}
	case 8:
		return ranMsg{result: &agent.Result{Status: agent.StatusFailed, Reason: s("reason")}}
	case 9:
		return openedMsg{info: Info{Title: s("title"), Model: s("model"), Warnings: []string{s("warning")}},
			conversation: Conversation{Messages: []message.Message{spoken(message.RoleUser, "m1", s("text")), spoken(message.RoleAssistant, "m2", s("text"))},
				Marks: []trace.CompactionMark{{ThroughMessage: "m2", Generation: 1}}}}
	case 10:
		w := sampleWindow()
		w.Fit, w.Next, w.Lines[0].ID, w.Lines[1].Label = drawFit(t), s("next"), s("id"), s("label")
		return windowMsg{window: w, show: rapid.Bool().Draw(t, "show")}
	case 11:
		return listedMsg{what: listModels, choices: []Choice{{s("name"), s("detail")}, {s("name"), ""}}}
	case 12:
		return themeMsg{theme{colour: rapid.Bool().Draw(t, "colour"), dark: rapid.Bool().Draw(t, "dark")}}
	}
	return errors.New("a message that nobody knows")
}

// checkScreen holds for every state: one line for each row of the terminal,
// none wider than it, and nothing in them that a terminal would obey.
func checkScreen(s state) error {
	v := s.view()
	if len(v.lines) != s.height {
		return fmt.Errorf("%d lines on a screen of %d", len(v.lines), s.height)
	}
	for i, l := range v.lines {
		if n := ansi.StringWidth(l); n > s.width {
			return fmt.Errorf("line %d has %d columns of %d: %q", i+1, n, s.width, l)
		}
		if bad := strings.IndexFunc(ansi.Strip(l), func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }); bad >= 0 {
			return fmt.Errorf("line %d holds a control character: %q", i+1, l)
		}
		if !s.theme.colour && strings.ContainsRune(l, '\x1b') {
			return fmt.Errorf("line %d is coloured: %q", i+1, l)
		}
	}
	if v.cursor && (v.column < 0 || v.column >= s.width || v.row < 0 || v.row >= s.height) {
		return fmt.Errorf("the cursor stands at %d, %d on a screen of %d x %d", v.column, v.row, s.width, s.height)
	}
	return nil
}

// Issue 6, behaviour 8, F-SEC: no sequence of keys, sizes and events panics,
// draws outside of the screen, or lets foreign text command the terminal.
func TestAnySequenceDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := play(nil, rapid.IntRange(1, 130).Draw(t, "width"), rapid.IntRange(1, 50).Draw(t, "height"))
		for range rapid.IntRange(1, 25).Draw(t, "messages") {
			if rapid.IntRange(0, 2).Draw(t, "source") == 0 {
				p.keys(rapid.SampledFrom(keyNames).Draw(t, "key"))
			} else {
				p.send(drawMsg(t))
			}
			if err := checkScreen(p.state); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Colour only paints: with it the same words stand in the same places, bars
// and swatches aside.
func TestColourOnlyPaints(t *testing.T) {
	plainPlayer, coloured := play(t, 80, 24), play(t, 80, 24)
	coloured.send(themeMsg{theme{colour: true, dark: true}})
	for _, p := range []*player{plainPlayer, coloured} {
		p.keys("Greet in 你好 too", "enter")
		p.events(sampleRun("Greet in 你好 too")...)
	}
	a, b := plainPlayer.state.view().lines, coloured.state.view().lines
	for i := range a[:21] {
		if got := ansi.Strip(b[i]); got != a[i] {
			t.Errorf("line %d is %q in colour, %q without", i+1, got, a[i])
		}
	}
	if !strings.Contains(strings.Join(b, ""), "\x1b[") {
		t.Error("no colour at all")
	}
}

// A text that is streamed in pieces makes the same blocks as the whole text,
// and no text is lost.
func TestSplitterIgnoresWherePiecesEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := hostile().Draw(t, "text")
		want := blocks(whole)
		var m stream
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			m, rest = m.add(rest[:n]), rest[n:]
		}
		var got []string
		for _, r := range m.rows() {
			got = append(got, r.content.(answerRow).text)
		}
		if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("pieces make %q, the whole %q", got, want)
		}
		if squeezed(strings.Join(want, "")) != squeezed(strings.ReplaceAll(whole, "\r\n", "\n")) {
			t.Fatalf("%q lost text: %q", whole, want)
		}
	})
}

// The editor keeps its cursor between characters, and its rows to the width.
func TestEditorKeepsItsCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := editor{}
		for range rapid.IntRange(1, 30).Draw(t, "edits") {
			switch rapid.IntRange(0, 12).Draw(t, "edit") {
			case 0, 1, 2:
				s := hostile().Draw(t, "text")
				e, _ = e.insert(s)
			case 3:
				e = e.left()
			case 4:
				e = e.right()
			case 5:
				e = e.wordLeft()
			case 6:
				e = e.wordRight()
			case 7:
				e = e.backspace()
			case 8:
				e = e.deleteNext()
			case 9:
				e = e.killWord()
			case 10:
				e = e.killEnd()
			case 11:
				e, _ = e.vertical(rapid.SampledFrom([]int{-1, 1}).Draw(t, "by"), rapid.IntRange(1, 40).Draw(t, "width"))
			case 12:
				e = e.home()
			}
			if e.at < 0 || e.at > len(e.text) {
				t.Fatalf("the cursor of %q is at %d", e.text, e.at)
			}
			if at := e.settle().at; at != e.at {
				t.Fatalf("the cursor is inside of a character: %d instead of %d in %q", e.at, at, e.text)
			}
			width := rapid.IntRange(1, 60).Draw(t, "layout")
			rows, row, column := e.layout(width)
			if row >= len(rows) || column > max(width, 2) {
				t.Fatalf("cursor in row %d, column %d of %d rows", row, column, len(rows))
			}
			for _, r := range rows {
				if cells(r.text) > max(width, 2) {
					t.Fatalf("row %q is wider than %d", r.text, width)
				}
			}
		}
	})
}
