package tui

import (
	"fmt"
	"testing"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
)

// The screens of issue 6, behaviour 8: F-MAN-01 /context, F-MAN-02 the dry
// run, F-MAN-03 /compact, P-ROW-03 and P-ROW-04 rows and notices.
func TestScreens(t *testing.T) {
	scenes := []struct {
		name string
		play func(p *player)
	}{
		{"start", func(p *player) {}},
		{"commands", func(p *player) { p.keys("/co") }},
		{"files", func(p *player) { p.keys("look at @gr", "down") }},
		{"streaming", func(p *player) {
			p.keys("Greet in 你好 too", "enter")
			p.events(sampleRun("Greet in 你好 too")[:5]...)
		}},
		{"approval", func(p *player) {
			p.keys("Greet in 你好 too", "enter")
			events := sampleRun("Greet in 你好 too")
			p.events(events[:7]...)
			plan := events[6].(agent.CallPlanned).Plan
			p.send(askMsg{ask{id: 1, request: policy.Ask(plan), decision: policy.Decision{Reason: "the profile safe says confirm for write"}}}, armMsg{1})
		}},
		{"done", func(p *player) {
			p.keys("Greet in 你好 too", "enter")
			p.events(sampleRun("Greet in 你好 too")...)
			p.events(agent.Ended{Result: agent.Result{Status: agent.StatusCompleted}})
			p.send(ranMsg{result: &agent.Result{Status: agent.StatusCompleted}})
		}},
		{"failed", func(p *player) {
			p.keys("Run the tests", "enter")
			call := message.ToolCall{ID: "c9", Name: "run_command", Arguments: `{"command":["go","test","./..."]}`}
			p.events(agent.Admitted{Message: spoken(message.RoleUser, "m1", "Run the tests")},
				agent.Answered{Messages: []message.Message{{ID: "m2", Role: message.RoleAssistant, Blocks: []message.Block{call}}}},
				agent.CallDecided{Call: call, Decision: policy.Decision{Action: policy.Allow}},
				agent.CallCompleted{Call: call, Result: message.ToolResult{Outcome: message.OutcomeFailure, Content: []message.Block{message.Text{Text: "--- FAIL: TestA\n\x1b[31mred\x1b[0m\nFAIL\n"}}}},
				agent.Notice{Kind: "warning", Text: "request 2 weighs about 190,000 tokens, 6,384 over the budget of 183,616"},
				agent.Ended{Result: agent.Result{Status: agent.StatusFailed, Reason: "the provider answered 500 three times"}})
			p.send(ranMsg{result: &agent.Result{Status: agent.StatusFailed}})
		}},
		{"compacted", func(p *player) {
			f := sampleFit(9, 900)
			f.Checkpoint, f.Warning = sampleCheckpoint(), "48 earlier messages are now in the window as a checkpoint of 1210 tokens; the transcript keeps them"
			f.Compactions = []contextwindow.CompactionReport{{Checkpoint: sampleCheckpoint(), TokensBefore: 180_000, TokensAfter: 30_000}}
			p.keys("Go on", "enter")
			p.events(agent.Admitted{Message: spoken(message.RoleUser, "m1", "Go on")}, agent.Budgeted{Step: 9, Fit: f}, agent.Notice{Kind: "compaction", Text: f.Warning})
		}},
		{"compact", func(p *player) { p.keys("/compact", "enter") }},
		{"context", func(p *player) { p.keys("/context", "enter") }},
		{"context-end", func(p *player) { p.keys("/context", "enter", "end") }},
		{"dry-run", func(p *player) { p.keys("/compact --dry-run", "enter") }},
		{"resume", func(p *player) { p.keys("/resume", "enter", "down") }},
		{"resumed", func(p *player) { p.keys("/resume s2", "enter") }},
		{"help", func(p *player) { p.keys("/help", "enter") }},
		{"lines", func(p *player) {
			p.keys("first line", "alt+enter", "second 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字", "alt+enter", "third")
		}},
		{"unknown", func(p *player) { p.keys("/contxt", "enter") }},
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 10}} {
		for _, scene := range scenes {
			t.Run(fmt.Sprintf("%s %dx%d", scene.name, size[0], size[1]), func(t *testing.T) {
				p := play(t, size[0], size[1])
				scene.play(p)
				golden(t, "screens.txtar", fmt.Sprintf("%s-%dx%d", scene.name, size[0], size[1]), drawn(p.state))
			})
		}
	}
}
