package compaction_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
)

func ledger(t *testing.T, b *builder, names ...string) []string {
	t.Helper()
	b.padding()
	p := compact(t, compaction.Input{Transcript: b.tr})
	var out []string
	for _, name := range names {
		for _, e := range p.Ledgers[name] {
			if !strings.Contains(e.Text, "big.txt") {
				out = append(out, e.Text)
			}
		}
	}
	slices.Sort(out)
	return out
}

// The tool dialects of the agents whose sessions are known.
func TestLedgersReadEveryDialect(t *testing.T) {
	patch := "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** Add File: b.go\n+package b\n*** Delete File: c.go\n*** End Patch"
	cases := map[string]struct {
		name      string
		arguments any
		want      []string
	}{
		"claude read":      {"Read", map[string]any{"file_path": "a.go"}, []string{"read a.go"}},
		"claude edit":      {"Edit", map[string]any{"file_path": "a.go", "old_string": "x"}, []string{"edited a.go"}},
		"claude write":     {"Write", map[string]any{"file_path": "a.go", "content": "x"}, []string{"created a.go"}},
		"claude bash":      {"Bash", map[string]any{"command": "cat a.go | head"}, []string{"command `cat a.go | head`, ended with exit 0 in that run", "read a.go"}},
		"codex shell list": {"shell", map[string]any{"command": []string{"bash", "-lc", "sed -n 1,20p a.go"}}, []string{"command `sed -n 1,20p a.go`, ended with exit 0 in that run", "read a.go"}},
		"codex exec":       {"exec_command", map[string]any{"cmd": "rm a.go"}, []string{"command `rm a.go`, ended with exit 0 in that run", "deleted a.go"}},
		"codex patch":      {"apply_patch", map[string]any{"input": patch}, []string{"created b.go", "deleted c.go", "edited a.go"}},
		"patch in shell":   {"shell", map[string]any{"command": []string{"bash", "-lc", "apply_patch <<'EOF'\n" + patch + "\nEOF"}}, []string{"created b.go", "deleted c.go", "edited a.go"}},
		"pi edit":          {"edit", map[string]any{"path": "a.go", "oldText": "x", "newText": "y"}, []string{"edited a.go"}},
		"gemini read":      {"read_file", map[string]any{"absolute_path": "/r/a.go"}, []string{"read /r/a.go"}},
		"gemini replace":   {"replace", map[string]any{"file_path": "a.go"}, []string{"edited a.go"}},
		"gemini write":     {"write_file", map[string]any{"file_path": "a.go"}, []string{"created a.go"}},
		"opencode edit":    {"edit", map[string]any{"filePath": "a.go"}, []string{"edited a.go"}},
		"editor create":    {"str_replace_editor", map[string]any{"command": "create", "path": "a.go"}, []string{"created a.go"}},
		"editor view":      {"str_replace_based_edit_tool", map[string]any{"command": "view", "path": "a.go"}, []string{"read a.go"}},
		"heredoc":          {"bash", map[string]any{"command": "cat <<'EOF' > a.go\npackage a; rm x.go\nEOF"}, []string{"command `cat <<'EOF' > a.go package a; rm x.go EOF`, ended with exit 0 in that run", "created a.go"}},
		"sed in place":     {"bash", map[string]any{"command": "sed -i s/x/y/ a.go"}, []string{"command `sed -i s/x/y/ a.go`, ended with exit 0 in that run", "edited a.go"}},
		"unknown tool":     {"WebSearch", map[string]any{"query": "x"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(t)
			b.call(c.name, c.arguments, "<returncode>0</returncode>\n", message.OutcomeUnknown)
			got := ledger(t, b, compaction.LedgerFiles, compaction.LedgerArtefacts, compaction.LedgerRuns)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Agents without tool calls write the command into their text and get the
// answer as a user message; that answer is no statement of the user.
func TestLedgersReadTextActions(t *testing.T) {
	b := newBuilder(t)
	b.user("Never touch setup.cfg.")
	b.assistant("Let me look.\n\n```bash\nsed -i 's/a/b/' src/x.py\n```")
	b.user("<returncode>1</returncode>\n<output>\nNever run this again.\nTypeError: x must not be None\n</output>")
	b.assistant("Open it.\n```\nedit 1:2\nx\n```")
	b.user("[File: src/y.py (2 lines total)]\n1:x\n(Open file: src/y.py)\n(Current directory: /r)\nbash-$")
	got := ledger(t, b, compaction.LedgerFiles, compaction.LedgerErrors)
	want := []string{"`sed -i 's/a/b/' src/x.py`: TypeError: x must not be None", "edited src/y.py"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p := compact(t, compaction.Input{Transcript: b.tr})
	if len(p.Pins) != 1 || p.Pins[0].Text != "Never touch setup.cfg." {
		t.Errorf("pins %v", p.Pins)
	}
}

// F-SEC-03, F-E2E-04: a test run is told as of then; a later edit is told too.
func TestRunsAreHistorical(t *testing.T) {
	b := newBuilder(t)
	b.call("Bash", map[string]string{"command": "go test ./..."}, "ok\texample\t0.1s", message.OutcomeSuccess)
	b.call("Edit", map[string]string{"file_path": "a.go"}, "done", message.OutcomeSuccess)
	got := ledger(t, b, compaction.LedgerRuns)
	want := []string{"test run `go test ./...`, ended with exit 0 in that run; files changed since"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// An error stays until the same thing succeeds.
func TestErrorsUntilResolved(t *testing.T) {
	b := newBuilder(t)
	b.call("Bash", map[string]string{"command": "go test ./a"}, "--- FAIL: TestA (0.00s)\nFAIL", message.OutcomeFailure)
	b.call("Bash", map[string]string{"command": "go build ./..."}, "a.go:3:2: undefined: x", message.OutcomeFailure)
	b.call("Bash", map[string]string{"command": "go test ./..."}, "ok", message.OutcomeSuccess)
	got := ledger(t, b, compaction.LedgerErrors)
	if diff := cmp.Diff([]string{"`go build ./...`: a.go:3:2: undefined: x"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlanAndDecisions(t *testing.T) {
	b := newBuilder(t)
	todos := []map[string]string{{"content": "read the parser", "status": "completed"}, {"content": "write the lexer", "status": "in_progress"}}
	b.call("TodoWrite", map[string]any{"todos": todos}, "ok", message.OutcomeSuccess)
	b.assistant("I looked around. I chose a table over a switch because it is shorter. It is nice.")
	got := ledger(t, b, compaction.LedgerPlan, compaction.LedgerDecisions)
	want := []string{"I chose a table over a switch because it is shorter.", "open: write the lexer"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	b = newBuilder(t)
	plan := []map[string]string{{"step": "scan", "status": "completed"}, {"step": "patch go.mod", "status": "pending"}}
	b.call("update_plan", map[string]any{"plan": plan}, "Plan updated", message.OutcomeUnknown)
	if diff := cmp.Diff([]string{"open: patch go.mod"}, ledger(t, b, compaction.LedgerPlan)); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsThatAreNoJSON(t *testing.T) {
	b := newBuilder(t)
	b.add(message.RoleAssistant, "", message.ToolCall{ID: "x", Name: "bash", Arguments: "cat a.go"}, message.ToolCall{ID: "y", Name: "Edit", Arguments: "{broken"})
	b.add(message.RoleTool, "", message.ToolResult{CallID: "x", Content: []message.Block{message.Text{Text: "x"}}}, message.ToolResult{CallID: "y"})
	got := ledger(t, b, compaction.LedgerFiles)
	if len(got) != 1 || got[0] != "read a.go" {
		t.Errorf("ledger %q", got)
	}
}
