package projection_test

import (
	"strings"
	"testing"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// conversation is a transcript in which a tool answers once.
func conversation(t *testing.T, name, arguments string, r message.ToolResult) *transcript.Transcript {
	t.Helper()
	var out transcript.Transcript
	for _, m := range []message.Message{
		{ID: "u", Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "go on"}}},
		{ID: "a", Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: r.CallID, Name: name, Arguments: arguments}}},
		{ID: "t", Role: message.RoleTool, Blocks: []message.Block{r}},
	} {
		if err := out.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	return &out
}

func TestObserve(t *testing.T) {
	cases := []struct {
		name, arguments string
		effect          projection.Effect
		path            string
	}{
		{"Read", `{"file_path":"/a/b.go"}`, projection.EffectRead, "/a/b.go"},
		{"read_file", `{"path":"b.go","limit":20}`, projection.EffectRead, "b.go"},
		{"readFile", `{"absolute_path":"/x"}`, projection.EffectRead, "/x"},
		{"LS", `{"path":"."}`, projection.EffectRead, "."},
		{"Grep", `{"pattern":"x"}`, projection.EffectRead, ""},
		{"search", `{"query":"x"}`, projection.EffectRead, ""},
		{"MultiEdit", `{"file_path":"c.go"}`, projection.EffectWrite, "c.go"},
		{"apply_patch", "*** Begin Patch", projection.EffectWrite, ""},
		{"str_replace_editor", `{"command":"view","path":"d.go"}`, projection.EffectRead, "d.go"},
		{"str_replace_editor", `{"command":"create","path":"d.go"}`, projection.EffectWrite, "d.go"},
		{"run_shell_command", `{"command":"go test"}`, projection.EffectRun, ""},
		{"container.exec", `{"cmd":["ls"]}`, projection.EffectRun, ""},
		{"bash", `ls -la`, projection.EffectRun, ""},
		{"catalog", `{"path":7}`, projection.EffectUnknown, ""},
		{"notification", `{broken`, projection.EffectUnknown, ""},
		{"", ``, projection.EffectUnknown, ""},
	}
	for _, c := range cases {
		tr := conversation(t, c.name, c.arguments, textResult(strings.Repeat("word ", 500), message.OutcomeSuccess))
		o, err := projection.Observe(tr, transcript.Ref{Message: 2}, 500, bytesCount, projection.Targets{})
		if err != nil {
			t.Fatal(err)
		}
		if o.Effect != c.effect || o.Path != c.path {
			t.Errorf("%s %s: effect %q on %q, want %q on %q", c.name, c.arguments, o.Effect, o.Path, c.effect, c.path)
		}
		if o.Tokens != 500 || o.StandInTokens < 20 || o.StandInTokens > 60 || o.Outcome != message.OutcomeSuccess || o.Ref.Message != 2 {
			t.Errorf("%s: %+v", c.name, o)
		}
	}
}

// What a stand-in would not make lighter keeps its weight, and so is never
// cleared.
func TestObserveShortResult(t *testing.T) {
	tr := conversation(t, "bash", "true", textResult("ok", message.OutcomeSuccess))
	o, err := projection.Observe(tr, transcript.Ref{Message: 2}, 9, bytesCount, projection.Targets{})
	if err != nil || o.StandInTokens != o.Tokens {
		t.Errorf("%+v, %v", o, err)
	}
}

// Two calls ask for the same thing when tool and arguments are the same; the
// id tells calls apart, not wishes.
func TestCallHash(t *testing.T) {
	a := message.ToolCall{ID: "1", Name: "bash", Arguments: "ls"}
	b := message.ToolCall{ID: "2", Name: "bash", Arguments: "ls"}
	if projection.CallHash(a) != projection.CallHash(b) {
		t.Error("the id counts")
	}
	b.Arguments = "ls -l"
	if projection.CallHash(a) == projection.CallHash(b) {
		t.Error("the arguments do not count")
	}
}

func TestObserveRefusesWhatIsNoResult(t *testing.T) {
	tr := conversation(t, "bash", "true", textResult("ok", ""))
	for _, ref := range []transcript.Ref{{Message: 0}, {Message: 1}, {Message: 2, Block: 1}, {Message: 9}, {Message: -1}} {
		if _, err := projection.Observe(tr, ref, 1, bytesCount, projection.Targets{}); err == nil {
			t.Errorf("%v is taken for a tool result", ref)
		}
	}
}
