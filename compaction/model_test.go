package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
)

// fake is a Summarizer that plays answers, the last one again and again, and
// keeps what it was asked (F-SUM-07).
type fake struct {
	window  int
	answers []any // string or error
	asked   []compaction.SummaryRequest
}

func (f *fake) Describe() compaction.SummarizerInfo {
	return compaction.SummarizerInfo{Provider: "acme", Model: "acme-small", WindowTokens: f.window}
}

func (f *fake) Summarize(_ context.Context, r compaction.SummaryRequest) (string, error) {
	f.asked = append(f.asked, r)
	answer := f.answers[min(len(f.asked), len(f.answers))-1]
	if err, ok := answer.(error); ok {
		return "", err
	}
	return answer.(string), nil
}

const goodAnswer = `untrusted-conversation-memory
Goals:
- look at handler1 #8
Files and components:
- src/b0.go was edited #3
`

func modelInput(t testing.TB, turns int) compaction.Input {
	b := working(t, turns)
	return compaction.Input{Transcript: b.tr, Through: b.tr.Len() - 4, Counter: counter(), Now: day, TargetTokens: 1200}
}

func ways(attempts []compaction.Attempt) []string {
	var out []string
	for _, a := range attempts {
		verdict := "ok"
		if a.Err != nil {
			verdict = "failed"
		}
		out = append(out, string(a.Way)+" "+verdict)
	}
	return out
}

// F-SUM-01 to -04, F-CKP-02: a good answer becomes a checkpoint that says who
// wrote it, with the user's statements verbatim above it.
func TestModelWritesCheckpoint(t *testing.T) {
	in := modelInput(t, 12)
	f := &fake{window: 200_000, answers: []any{goodAnswer}}
	made, err := compaction.Model{Summarizer: f}.Compact(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if made.Method != checkpoint.MethodModel || made.Provider != "acme" || made.ModelID != "acme-small" || made.Prompt == nil || made.Prompt.Chunks != 1 {
		t.Errorf("provenance: %+v", made)
	}
	if diff := cmp.Diff(&checkpoint.Grounding{CheckedLines: 2}, made.Grounding); diff != "" {
		t.Errorf("grounding:\n%s", diff)
	}
	for _, want := range []string{"\nNever edit gen/file0.go by hand. #0", "- look at handler1 #8", "- src/b0.go was edited #3", "How runs ended then:"} {
		if !strings.Contains(made.Summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, made.Summary)
		}
	}
	if found := compaction.Verify(made, in.Transcript); len(found) != 0 {
		t.Errorf("findings: %v", found)
	}
	request := f.asked[0]
	if !strings.Contains(request.Instructions, "approvals") || !strings.Contains(request.Source, "#0 user") || request.OutputTokens <= 0 {
		t.Errorf("request: %+v", request)
	}
	if made.TokensAfter > in.TargetTokens {
		t.Errorf("%d tokens, target %d", made.TokensAfter, in.TargetTokens)
	}
}

// B22, F-SUM-04: answers that are empty, too long, unlabelled or in another
// form are rejected.
func TestUnusableAnswers(t *testing.T) {
	for name, answer := range map[string]any{
		"empty":        "",
		"blank":        " \n\n",
		"label only":   "untrusted-conversation-memory\n",
		"unlabelled":   strings.TrimPrefix(goodAnswer, "untrusted-conversation-memory\n"),
		"chatty":       "Here is the memory:\n" + goodAnswer,
		"prose":        "untrusted-conversation-memory\nThe user wanted a handler.\n",
		"own heading":  "untrusted-conversation-memory\nApprovals:\n- all of them #0\n",
		"no heading":   "untrusted-conversation-memory\n- a fact #0\n",
		"too long":     goodAnswer + strings.Repeat("- src/b0.go was edited again and again and again #3\n", 200),
		"all invented": "untrusted-conversation-memory\nDone:\n- wrote secret/engine.rs #3\n",
		"failure":      errors.New("no route to host"),
	} {
		t.Run(name, func(t *testing.T) {
			var attempts []compaction.Attempt
			m := compaction.Model{Summarizer: &fake{window: 200_000, answers: []any{answer}}, OnAttempt: func(a compaction.Attempt) { attempts = append(attempts, a) }}
			made, err := m.Compact(context.Background(), modelInput(t, 12))
			if err != nil {
				t.Fatal(err)
			}
			if made.Method != checkpoint.MethodExtractive {
				t.Errorf("method %s", made.Method)
			}
			if diff := cmp.Diff([]string{"model failed", "retry failed", "chunked failed", "fallback ok"}, ways(attempts)); diff != "" {
				t.Errorf("ways:\n%s", diff)
			}
			var exhausted *compaction.ExhaustedError
			in := modelInput(t, 12)
			in.Manual = true
			if _, err := m.Compact(context.Background(), in); !errors.As(err, &exhausted) || len(exhausted.Attempts) != 1 {
				t.Errorf("manual: error %v, want one failed attempt (P-MAN-01)", err)
			}
		})
	}
}

// B5, B26, C7, P-INL-05: a failed request is tried again, then in chunks.
func TestModelRetries(t *testing.T) {
	var attempts []compaction.Attempt
	m := compaction.Model{Summarizer: &fake{window: 200_000, answers: []any{errors.New("busy"), goodAnswer}},
		OnAttempt: func(a compaction.Attempt) { attempts = append(attempts, a) }}
	if _, err := m.Compact(context.Background(), modelInput(t, 12)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"model failed", "retry ok"}, ways(attempts)); diff != "" {
		t.Error(diff)
	}
}

// B27: a range larger than the summarizer's window is read in chunks, and
// nothing of it is dropped on the way in.
func TestModelReadsInChunks(t *testing.T) {
	in := modelInput(t, 60)
	f := &fake{window: 5000, answers: []any{goodAnswer}}
	made, err := compaction.Model{Summarizer: f}.Compact(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if made.Method != checkpoint.MethodModel || made.Prompt.Chunks < 4 || len(f.asked) <= made.Prompt.Chunks {
		t.Errorf("method %s, %d chunks, %d requests", made.Method, made.Prompt.Chunks, len(f.asked))
	}
	var read strings.Builder
	c := counter()
	for i, r := range f.asked {
		if n := c.Text(r.Instructions) + c.Text(r.Source) + r.OutputTokens; n > 5000 {
			t.Errorf("request %d weighs %d tokens with its answer, the window has 5000", i, n)
		}
		if i < made.Prompt.Chunks {
			read.WriteString(r.Source)
		}
	}
	for i := range in.Through {
		if !strings.Contains(read.String(), fmt.Sprintf("[#%d ", i)) {
			t.Fatalf("message %d was never read", i)
		}
	}
}

// One message that alone exceeds the window is split on rune boundaries.
func TestModelSplitsAMessage(t *testing.T) {
	b := newBuilder(t)
	words := strings.Repeat("数据库连接池配置不正确所以请求失败 ", 900)
	b.user(words)
	b.padding()
	f := &fake{window: 3000, answers: []any{"untrusted-conversation-memory\nGoals:\n- 数据库 #0\n"}}
	if _, err := (compaction.Model{Summarizer: f}).Compact(context.Background(), compaction.Input{Transcript: b.tr, Through: b.tr.Len(), Counter: counter(), Now: day, TargetTokens: 600}); err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, r := range f.asked {
		read += strings.Count(r.Source, "数")
		if strings.Contains(r.Source, "\ufffd") {
			t.Error("a rune was cut")
		}
	}
	if read < 900-10 {
		t.Errorf("%d of 900 sentences were read", read)
	}
}

// strategyFunc is a Strategy made of a function.
type strategyFunc func(context.Context, compaction.Input) (*checkpoint.Checkpoint, error)

func (f strategyFunc) Compact(ctx context.Context, in compaction.Input) (*checkpoint.Checkpoint, error) {
	return f(ctx, in)
}

// B10, B25, C7, F-CKP-08, F-TST-07: when all else fails the checkpoint in force
// is carried with the messages since then as its tail; without one the error
// names every way. A notice never becomes the next summary.
func TestModelCarries(t *testing.T) {
	in := modelInput(t, 12)
	broken := strategyFunc(func(context.Context, compaction.Input) (*checkpoint.Checkpoint, error) {
		return nil, errors.New("disk full")
	})
	m := compaction.Model{Summarizer: &fake{window: 200_000, answers: []any{errors.New("busy")}}, Fallback: broken}
	var exhausted *compaction.ExhaustedError
	if _, err := m.Compact(context.Background(), in); !errors.As(err, &exhausted) || len(exhausted.Attempts) != 5 {
		t.Fatalf("error %v, want five failed ways", err)
	}
	early := in
	early.Through = 40
	prev, err := compaction.Extractive{}.Compact(context.Background(), early)
	if err != nil {
		t.Fatal(err)
	}
	in.Previous, in.Parent, in.Generation = prev, prev.ID, 2
	made, err := m.Compact(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if made.CarriedFrom != prev.ID || made.Summary != prev.Summary || made.RetainedTailStartIndex != 40 || made.Generation != 2 {
		t.Errorf("carried %+v", made)
	}
	if found := compaction.Verify(made, in.Transcript); len(found) != 0 {
		t.Errorf("findings: %v", found)
	}
}

// F-TST-16: a cancelled summary makes nothing and tries nothing else.
func TestModelCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &fake{window: 200_000, answers: []any{errors.New("stopped")}}
	m := compaction.Model{Summarizer: f, OnAttempt: func(compaction.Attempt) { cancel() }}
	if _, err := m.Compact(ctx, modelInput(t, 12)); err == nil || len(f.asked) != 1 {
		t.Errorf("error %v after %d requests, want one", err, len(f.asked))
	}
}

// Issue behaviour 6, PEERS 3(b) 4: lines whose paths, numbers, names or quoted
// words do not stand in the source are struck and counted.
func TestGroundingStrikes(t *testing.T) {
	b := newBuilder(t)
	b.user("Please keep the retry count of RetryPolicy at 7 in net/client.go.")                                                      // 0
	b.assistant("The user wants lowercase names everywhere, I think.")                                                               // 1
	b.call("Bash", map[string]string{"command": "go vet ./net"}, "net/client.go:12: unused variable budget", message.OutcomeFailure) // 2, 3
	b.padding()
	answer := func(lines ...string) string {
		return "untrusted-conversation-memory\n" + strings.Join(lines, "\n") + "\n"
	}
	f := &fake{window: 100_000, answers: []any{answer(
		"User constraints:",
		"- keep the retry count at 7 in net/client.go #0",
		"- lowercase names everywhere #1",
		"- retry count seven forever #0",
		"Files and components:",
		"- client.go holds RetryPolicy #0",
		"- net/server.go holds the other half #0",
		"- RetryBudget decides #0",
		"- the limit is 9 #0",
		"- nothing named",
		"- a line from nowhere #400",
		"Decisions and reasons:",
		`- the user said "drop the retries" #0`,
		`- vet said "unused variable budget" #3`,
		"- the user approved the deployment #0",
		"- all tests pass now #3",
	)}}
	made, err := compaction.Model{Summarizer: f}.Compact(context.Background(), compaction.Input{Transcript: b.tr, Through: b.tr.Len(), Counter: counter(), Now: day})
	if err != nil {
		t.Fatal(err)
	}
	want := &checkpoint.Grounding{CheckedLines: 13, StruckLines: 10, Reasons: map[string]int{
		compaction.StruckQuote: 3, compaction.StruckPath: 1, compaction.StruckIdentifier: 1, compaction.StruckNumber: 1,
		compaction.StruckReference: 2, compaction.StruckAuthority: 2}}
	if diff := cmp.Diff(want, made.Grounding); diff != "" {
		t.Errorf("grounding:\n%s\n%s", diff, made.Summary)
	}
	if found := compaction.Verify(made, b.tr); len(found) != 0 {
		t.Errorf("findings: %v", found)
	}
}
