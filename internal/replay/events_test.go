package replay_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/replay"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/trace"
	"github.com/forge-agent/forge/transcript"
)

// talk is a session of questions and long answers.
func talk(t *testing.T, turns int) *sessionfile.Session {
	t.Helper()
	s := &sessionfile.Session{Format: "test", Transcript: &transcript.Transcript{}}
	add := func(id string, role message.Role, text string) {
		m := message.Message{ID: id, Role: role, Blocks: []message.Block{message.Text{Text: text}}}
		if err := s.Transcript.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	for i := range turns {
		add(fmt.Sprint("u", i), message.RoleUser, fmt.Sprintf("Question %d? Never touch file%d.go.", i, i))
		add(fmt.Sprint("a", i), message.RoleAssistant, strings.Repeat("This is what I found out. ", 120))
		s.Requests = append(s.Requests, sessionfile.Request{At: 2*i + 1, End: 2*i + 2})
	}
	return s
}

// F-EVT-01, F-EVT-02, F-EVT-06, P-ROW-01, P-ROW-02, weak spot 13: a budget
// event stands before every answer; after a compaction it names range,
// checkpoint, strategy and what was freed; and the closing event of a
// compaction carries the mark, without a phase.
func TestEventsOfTheModeCompact(t *testing.T) {
	list := &trace.List{}
	r, err := replay.Run(t.Context(), "talk", talk(t, 30), replay.Options{Mode: contextwindow.Compact, WindowTokens: 16_000,
		Catalog: catalog.Default(), Counter: vocabulary.Counter, Trace: list})
	if err != nil {
		t.Fatal(err)
	}
	if r.Compactions == 0 || len(r.Checkpoints) != r.Compactions || r.ReclaimedTokens <= 0 || r.OverBudgetSent != 0 {
		t.Fatalf("%d compactions, %d checkpoints, %d tokens reclaimed, %d sent over budget", r.Compactions, len(r.Checkpoints), r.ReclaimedTokens, r.OverBudgetSent)
	}
	budgeted, marks, warned := 0, 0, 0
	for _, e := range list.Events {
		switch p := e.Payload.(type) {
		case *trace.ContextBudgeted:
			budgeted = p.Request
			if marks > 0 && (p.Summarized == nil || p.Summarized.Checkpoint == "" || p.Summarized.Messages == 0) {
				t.Errorf("request %d does not say what is summarized", p.Request)
			}
			if p.ReclaimedTokens > 0 && p.Strategy == "" {
				t.Errorf("request %d reclaimed %d tokens by nothing", p.Request, p.ReclaimedTokens)
			}
		case *trace.RequestCompleted:
			if budgeted != p.Request {
				t.Errorf("request %d was answered, the last budget is of request %d", p.Request, budgeted)
			}
		case *trace.CompactionCompleted:
			marks++
			data, err := json.Marshal(p.Mark)
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range []string{"id", "throughMessageId", "generation", "summaryTokens", "summarized"} {
				if !strings.Contains(string(data), `"`+field+`":`) {
					t.Errorf("the mark %s lacks %s", data, field)
				}
			}
			if strings.Contains(string(data), "phase") || p.Mark.Generation != marks || p.Mark.ID != r.Checkpoints[marks-1].ID {
				t.Errorf("mark %d is %s", marks, data)
			}
		case *trace.ContextWarning:
			if p.Code == trace.WarningCompacted {
				warned++
			}
		}
	}
	if marks != r.Compactions || warned == 0 {
		t.Errorf("%d marks and %d warnings for %d compactions", marks, warned, r.Compactions)
	}
}

// Replay twice, get the same report and the same events.
func TestReplayIsDeterministic(t *testing.T) {
	play := func() string {
		list := &trace.List{}
		r, err := replay.Run(t.Context(), "talk", talk(t, 20), replay.Options{Mode: contextwindow.Compact, WindowTokens: 16_000,
			Catalog: catalog.Default(), Counter: vocabulary.Counter, Trace: list})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Events {
			if data, err = e.AppendJSON(data); err != nil {
				t.Fatal(err)
			}
		}
		return string(data)
	}
	if first, again := play(), play(); first != again {
		t.Error("two replays of one session differ")
	}
}
