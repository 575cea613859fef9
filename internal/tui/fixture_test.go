package tui

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
	"github.com/forge-agent/forge/trace"
)

func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// TestMain runs the interface instead of the tests when it is asked to: in a
// terminal of tmux.
func TestMain(m *testing.M) {
	if script := os.Getenv("FORGE_TUI_SCRIPT"); script != "" {
		if err := Run(context.Background(), newFake(script), Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("left the interface")
		os.Exit(0)
	}
	flag.Bool("update", false, "rewrite the golden files")
	os.Exit(m.Run())
}

// golden compares a part of a txtar file in testdata, or rewrites it.
func golden(t *testing.T, file, part, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	archive, err := txtar.ParseFile(path)
	if err != nil {
		archive = &txtar.Archive{Comment: []byte("Screens as they are drawn. Rewrite with: go test ./internal/tui -update\n")}
	}
	got = strings.TrimRight(got, "\n") + "\n"
	at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == part })
	if updating() {
		if at < 0 {
			at = len(archive.Files)
			archive.Files = append(archive.Files, txtar.File{Name: part})
		}
		archive.Files[at].Data = []byte(got)
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if at < 0 {
		t.Fatalf("%s has no part %s: run with -update", path, part)
	}
	if diff := cmp.Diff(strings.Split(string(archive.Files[at].Data), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s, %s (-want +got):\n%s", path, part, diff)
	}
}

// drawn is a screen as text.
func drawn(s state) string {
	lines := s.view().lines
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

func pointer(f float64) *float64 { return &f }

// sampleFit is a window of 200,000 tokens with a bit of everything in it.
func sampleFit(step, results int) *contextwindow.Fit {
	f := &contextwindow.Fit{Step: step, Attempt: 1, Mode: contextwindow.Compact, Model: "sample-1",
		Capabilities:     model.Capabilities{Provider: "sample", Model: "sample-1", WindowTokens: 200_000, WindowSource: model.WindowFromCatalog},
		Budget:           budget.Budget{WindowTokens: 200_000, ReserveTokens: 16_384, AvailableTokens: 183_616, OutputTokens: 4096},
		RetainedMessages: 14}
	f.Breakdown[budget.Instructions], f.Breakdown[budget.ToolSchemas] = 6_200, 9_400
	f.Breakdown[budget.Conversation], f.Breakdown[budget.CurrentRequest] = 12_300, 410
	f.Breakdown[budget.ToolCalls], f.Breakdown[budget.ToolResults] = 2_900, results
	f.Breakdown[budget.Framing] = 640
	f.Estimate = model.Estimate{Tokens: f.Breakdown.Total(), BandTokens: 1_150}
	f.CountedTokens = f.Estimate.Tokens
	return f
}

func sampleCheckpoint() *checkpoint.Checkpoint {
	return &checkpoint.Checkpoint{ID: "ckpt-0123456789abcdef0123456789abcdef", Generation: 2, Strategy: checkpoint.ForgeSummary, Method: checkpoint.MethodExtractive,
		SummarizedThroughMessageIndex: 48, Anchors: checkpoint.Anchors{First: "m1", Last: "m48"},
		EstimatedCheckpointTokens: 1_210, TokensBefore: 32_100, TokensAfter: 1_800, Summary: "what was said",
		Pins: []checkpoint.Pin{{Text: "Never touch the folder vendor.", MessageID: "m1", Source: "user"}}}
}

func sampleWindow() *agent.Window {
	f := sampleFit(7, 21_400)
	f.Checkpoint = sampleCheckpoint()
	f.Breakdown[budget.Memory] = 1_210
	f.Estimate.Tokens = f.Breakdown.Total()
	return &agent.Window{Fit: f, Mode: contextwindow.Compact, Next: "nothing: the request fits with 129,156 tokens to spare",
		Diagnosis: contextwindow.Diagnosis{Category: budget.ToolResults, Tokens: 21_400, Percent: 39, Item: "m57#0", Label: "read_file", ItemTokens: 9_800, Remedy: "read this output in parts"},
		Lines: []activeview.Line{
			{ID: "tool:run_command", Category: budget.ToolSchemas, Tokens: 1_900, Decision: activeview.Kept},
			{ID: "tool:query", Label: "server database", Category: budget.ToolSchemas, Tokens: 6_100, Decision: activeview.Kept},
			{ID: "m57#0", Label: "read_file", Category: budget.ToolResults, Tokens: 9_800, FramingTokens: 12, Decision: activeview.Kept},
			{ID: "m55#0", Label: "run_command", Category: budget.ToolResults, Tokens: 210, Decision: activeview.Projected},
			{ID: "m12#0", Label: "run_command", Category: budget.ToolResults, Decision: activeview.Summarized},
			{ID: "AGENTS.md", Category: budget.Instructions, Tokens: 6_200, Decision: activeview.Kept},
		}}
}

func sampleProposal() *Proposal {
	return &Proposal{BeforeUSD: pointer(0.0162), AfterUSD: pointer(0.0071), RewriteUSD: pointer(0.0412), Plan: &contextwindow.Plan{
		Checkpoint: sampleCheckpoint(), TokensBefore: 54_460, TokensAfter: 23_570,
		Items: []contextwindow.PlanItem{
			{From: 0, Through: 0, Decision: activeview.Kept, Reason: activeview.ReasonRetained, TokensBefore: 120, TokensAfter: 134},
			{From: 1, Through: 46, Decision: activeview.Summarized, Reason: activeview.ReasonSummarized, TokensBefore: 31_900, TokensAfter: 0},
			{From: 47, Through: 49, Decision: activeview.Projected, Reason: activeview.ReasonCleared, TokensBefore: 4_000, TokensAfter: 96},
			{From: 50, Through: 61, Decision: activeview.Kept, Reason: "recent", TokensBefore: 11_800, TokensAfter: 11_800},
		}}}
}

const sampleDiff = `--- a/greet.go
+++ b/greet.go
@@ -1,5 +1,5 @@
 package greet

 // Hello greets.
-func Hello() string { return "hello" }
+func Hello() string { return "你好, hello" }
`

// A fake is a backend that plays a script.
type fake struct {
	script  string
	observe func(agent.Event)
	confirm policy.Confirmer

	mu   sync.Mutex
	info Info
	said []message.Message
	mark []trace.CompactionMark
	pins []string
}

var _ Backend = (*fake)(nil)

func newFake(script string) *fake {
	return &fake{script: script, info: Info{Version: "0.0.0-test", Model: "sample-1", Provider: "sample", Effort: "high", Mode: contextwindow.Compact,
		Session: "s1", Workspace: "~/greet", Profile: policy.Safe, CostUSD: pointer(0.0123)}}
}

func (f *fake) Attach(observe func(agent.Event), confirm policy.Confirmer) {
	f.observe, f.confirm = observe, confirm
}

func (f *fake) Info() Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info
}

func spoken(role message.Role, id, s string) message.Message {
	return message.Message{ID: id, Role: role, Blocks: []message.Block{message.Text{Text: s}}}
}

// Run greets, asks for a change, and waits to be interrupted when told so.
func (f *fake) Run(ctx context.Context, p Prompt) (*agent.Result, error) {
	if strings.Contains(p.Text, "refuse") {
		return nil, errors.New("there is no key for sample; set SAMPLE_API_KEY")
	}
	for _, e := range sampleRun(p.Text) {
		f.observe(e)
		planned, ok := e.(agent.CallPlanned)
		if !ok {
			continue
		}
		d := policy.Decision{Action: policy.Confirm, Cause: policy.CauseProfile, Source: "profile safe", Reason: "the profile safe says confirm for write"}
		answer, err := f.confirm(ctx, policy.Ask(planned.Plan), d)
		if err != nil || answer == policy.Refuse {
			d.Action, d.Reason = policy.Deny, "it was refused"
			f.observe(agent.CallDecided{Call: planned.Call, Decision: d})
			result := agent.Result{Status: agent.StatusDenied, Reason: "a change was refused"}
			if ctx.Err() != nil {
				result = agent.Result{Status: agent.StatusCancelled}
			}
			f.observe(agent.Ended{Result: result})
			return &result, nil
		}
		d.Action = policy.Allow
		f.observe(agent.CallDecided{Call: planned.Call, Decision: d})
	}
	if strings.Contains(p.Text, "wait") {
		<-ctx.Done()
		result := agent.Result{Status: agent.StatusCancelled, Reason: "interrupted by the user"}
		f.observe(agent.Ended{Result: result})
		return &result, nil
	}
	result := agent.Result{Status: agent.StatusCompleted}
	f.observe(agent.Ended{Result: result})
	return &result, nil
}

// sampleRun is a run with an answer, a change and another answer.
func sampleRun(prompt string) []agent.Event {
	call := message.ToolCall{ID: "c1", Name: "apply_patch", Arguments: `{"patch":"…"}`}
	first := "I will change the **greeting** in `greet.go`:\n\n- keep the name\n- add 你好\n"
	return []agent.Event{
		agent.Admitted{Message: spoken(message.RoleUser, "m1", prompt)},
		agent.Budgeted{Step: 1, Fit: sampleFit(1, 0)},
		agent.ReasoningDelta{Text: "The greeting is in one place."},
		agent.TextDelta{Text: first[:20]}, agent.TextDelta{Text: first[20:]},
		agent.Answered{Messages: []message.Message{{ID: "m2", Role: message.RoleAssistant, Blocks: []message.Block{
			message.Reasoning{Text: "The greeting is in one place."}, message.Text{Text: first}, call}}}, CostUSD: pointer(0.0021)},
		agent.CallPlanned{Call: call, Plan: tool.Plan{Tool: "apply_patch", Risk: tool.RiskWrite, Summary: "change greet.go: 1 line added, 1 removed", Diff: sampleDiff, Scope: "greet.go"}},
		agent.CallCompleted{Call: call, Took: 12 * time.Millisecond, Result: message.ToolResult{CallID: "c1", Name: "apply_patch",
			Outcome: message.OutcomeSuccess, Content: []message.Block{message.Text{Text: "changed greet.go\n"}}}},
		agent.Budgeted{Step: 2, Fit: sampleFit(2, 350)},
		agent.TextDelta{Text: "Done: `Hello` greets in two languages.\n"},
		agent.Answered{Messages: []message.Message{spoken(message.RoleAssistant, "m4", "Done: `Hello` greets in two languages.\n")}, CostUSD: pointer(0.0008)},
	}
}

func (f *fake) Window(context.Context) (*agent.Window, error) { return sampleWindow(), nil }

func (f *fake) PlanCompaction(context.Context, contextwindow.ManualOptions) (*Proposal, error) {
	return sampleProposal(), nil
}

func (f *fake) Compact(context.Context, contextwindow.ManualOptions) (*contextwindow.Plan, error) {
	return sampleProposal().Plan, nil
}

func (f *fake) Conversation(context.Context) (Conversation, error) {
	return Conversation{Messages: f.said, Marks: f.mark}, nil
}

func (f *fake) Sessions(context.Context) ([]SessionItem, error) {
	return []SessionItem{{ID: "s2", Title: "Repair the parser", UpdatedAt: time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC), Messages: 3},
		{ID: "s1", Title: "Greet in two languages", Messages: 1}}, nil
}

func (f *fake) Resume(_ context.Context, id string) error {
	if id != "s2" {
		return fmt.Errorf("there is no session %s", id)
	}
	f.said = []message.Message{spoken(message.RoleUser, "m1", "Repair the parser"), spoken(message.RoleAssistant, "m2", "It is repaired.")}
	f.mark = []trace.CompactionMark{{ID: "ckpt-1", ThroughMessage: "m2", Generation: 1, SummaryTokens: 300, Summarized: 2}}
	f.info.Title, f.info.Session = "Repair the parser", id
	return nil
}

func (f *fake) Fork(context.Context) error { return nil }

func (f *fake) Rewind(context.Context, int) error { f.said = nil; return nil }

func (f *fake) New(context.Context) error { f.said, f.mark, f.info.Title = nil, nil, ""; return nil }

func (f *fake) Models(context.Context) ([]Choice, error) {
	return []Choice{{"sample-1", "200k window"}, {"sample-2", "1M window"}}, nil
}

func (f *fake) SetModel(_ context.Context, id string) error { f.info.Model = id; return nil }

func (f *fake) SetEffort(_ context.Context, level string) error { f.info.Effort = level; return nil }

func (f *fake) Efforts() []string { return []string{"low", "high"} }

func (f *fake) Pins(context.Context) ([]string, error) { return f.pins, nil }

func (f *fake) Pin(_ context.Context, text string) error { f.pins = append(f.pins, text); return nil }

func (f *fake) Unpin(_ context.Context, n int) error {
	if n > len(f.pins) {
		return fmt.Errorf("there is no pin %d", n)
	}
	f.pins = slices.Delete(f.pins, n-1, n)
	return nil
}

func (f *fake) Complete(prefix string) []string {
	var out []string
	for _, p := range []string{"docs/", "go.mod", "greet.go", "greet_test.go"} {
		if strings.HasPrefix(p, prefix) {
			out = append(out, p)
		}
	}
	return out
}

func (f *fake) Skills() []Choice { return []Choice{{"release", "how to release"}} }

func (f *fake) Plugins(context.Context) ([]Choice, error) {
	return []Choice{{"lint", "trusted in this workspace"}}, nil
}

func (f *fake) Hint(command string) string { return "in a shell: forge auth " + command + " PROVIDER" }

// A player drives a state with a fake behind it, without a terminal. Effects
// that need the backend are done at once; runs are not, their events are given.
type player struct {
	t       testing.TB
	state   state
	fake    *fake
	effects []effect // all that were asked for
}

func play(t testing.TB, width, height int) *player {
	p := &player{t: t, state: newState(theme{}), fake: newFake("")}
	p.send(tea.WindowSizeMsg{Width: width, Height: height})
	p.send(perform(context.Background(), p.fake, open{how: openStart}))
	return p
}

func (p *player) send(msgs ...any) {
	for _, m := range msgs {
		s, effects := p.state.update(m)
		p.state = s
		for _, e := range effects {
			p.effects = append(p.effects, e)
			switch e := e.(type) {
			case complete:
				p.send(completedMsg{e.number, p.fake.Complete(e.prefix)})
			case hintOf:
				p.send(hintMsg{p.fake.Hint(e.what)})
			case run, interrupt, answer, arm, tick, suspend, quit:
			default:
				p.send(perform(context.Background(), p.fake, e))
			}
		}
	}
}

// keys presses keys by name; a text of several characters is typed.
func (p *player) keys(names ...string) {
	for _, n := range names {
		p.send(keyNamed(n)...)
	}
}

func keyNamed(name string) []any {
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
		"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "backspace": {Code: tea.KeyBackspace},
		"delete": {Code: tea.KeyDelete}, "pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown},
		"alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "shift+up": {Code: tea.KeyUp, Mod: tea.ModShift},
	}
	if k, ok := special[name]; ok {
		return []any{k}
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok && len(letter) == 1 {
		return []any{tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}}
	}
	var out []any
	for _, r := range name {
		out = append(out, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return out
}

func (p *player) events(es ...agent.Event) {
	for _, e := range es {
		p.send(eventMsg{e})
	}
}

// has reports whether an effect like this one was asked for.
func has[E effect](p *player) bool {
	return slices.ContainsFunc(p.effects, func(e effect) bool { _, ok := e.(E); return ok })
}
