package codexapp_test

import (
	"context"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/forge-agent/forge/codexapp"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/trace"
)

// Every case of measured behaviour of Codex (the names are those of the
// captures), and what Forge then does. Each ends with an ordinary turn that
// succeeds: no thread is left stuck (F-PKG-07).
func TestMeasuredBehaviour(t *testing.T) {
	for _, test := range []struct {
		name string
		set  setting
		play func(t *testing.T, r *real)
	}{
		{"preturn", setting{}, preturn},
		{"midturn", setting{}, midturn},
		{"clamp90", setting{limit: 19500}, clamp90},
		{"tooldelta", setting{}, tooldelta},
		{"hugeuser", setting{}, hugeuser},
		{"hugeuser, window not known yet", setting{options: codexapp.Options{Capabilities: model.Capabilities{Model: "fake-model", WindowTokens: 200_000, WindowSource: model.WindowFromUser}}}, hugeUnknown},
		{"loop_midturn", setting{}, loopMidturn},
		{"compact_empty", setting{}, compactEmpty},
		{"compact_err", setting{}, compactErr},
		{"cle_compact", setting{}, cleCompact},
		{"cle_compact, to the end", setting{}, cleCompactAll},
		{"remote_cle", setting{provider: "OpenAI"}, remoteCle},
		{"cle_turn", setting{}, func(t *testing.T, r *real) { cleTurn(t, r, tooLong) }},
		{"cle_http", setting{}, func(t *testing.T, r *real) { cleTurn(t, r, tooLong400) }},
		{"cle_midtool", setting{}, cleMidtool},
		{"cle_stuck", setting{}, cleStuck},
		{"int_compact", setting{}, intCompact},
		{"remote", setting{provider: "OpenAI"}, remote},
		{"azure", setting{provider: "azure"}, remote},
		{"res", setting{}, resumes},
		{"res, after an overflow", setting{}, resumesFull},
		{"exec", setting{}, execShowsNothing},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newReal(t, test.set)
			test.play(t, r)
			r.provider.plan()
			r.good("one more ordinary turn")
			if s := r.engine.Strays(); s != (codexapp.Strays{}) {
				t.Errorf("strays: %+v", s)
			}
		})
	}
}

// Limit passed, next user turn: Codex compacts before the new message.
func preturn(t *testing.T, r *real) {
	r.provider.plan(says("first answer", 16000), says("the summary", 16100), says("second answer", 3000))
	r.good("one")
	res := r.good("two")
	r.completedCompactions(res, 1)
	if c := res.Compactions[0]; c.Manual || c.TokensBefore != 16010 || c.TokensAfter == 0 || c.TokensAfter >= c.TokensBefore {
		t.Errorf("%+v", c)
	}
	if res.OccupancyTokens != 3010 || res.WindowTokens != 19000 {
		t.Errorf("occupancy %d of %d", res.OccupancyTokens, res.WindowTokens)
	}
	marks := payloads[*trace.ContextMark](r.rig)
	if len(marks) != 1 || marks[0].Kind != "compaction" || marks[0].Trigger != "auto" {
		t.Errorf("marks %+v", marks)
	}
	stored, err := r.s.Marks(context.Background())
	if err != nil || len(stored) != 1 || stored[0].TokensBefore != 16010 {
		t.Errorf("stored marks %+v, %v", stored, err)
	}
	requests, err := r.s.Requests(context.Background())
	if err != nil || len(requests) != 3 || !requests[1].Compaction || requests[2].Compaction || requests[1].Usage.InputTokens != 16100 {
		t.Errorf("requests %+v, %v", requests, err)
	}
}

// Limit passed with a pending tool result: the loop goes on in the same turn.
func midturn(t *testing.T, r *real) {
	r.provider.plan(runs("echo hello", 16000), says("the summary", 16100), says("done", 3000))
	res := r.good("one")
	r.completedCompactions(res, 1)
	if got := r.texts(message.RoleAssistant); got != "done" {
		t.Errorf("assistant said %q", got)
	}
	if res.Totals.ToolCalls != 1 || res.Totals.Steps != 3 {
		t.Errorf("%+v", res.Totals)
	}
}

// The limit is clamped to 90 % of the raw window, whatever is configured.
func clamp90(t *testing.T, r *real) {
	r.provider.plan(says("first", 17900), says("second", 17945), says("third", 18040), says("the summary", 18100), says("fourth", 3000))
	r.good("one")
	r.completedCompactions(r.good("two"), 0)   // 17,910 held
	r.completedCompactions(r.good("three"), 0) // 17,955 held
	r.completedCompactions(r.good("four"), 1)  // 18,050 held
}

// Tool output grows the thread past the limit: Codex adds an estimate.
func tooldelta(t *testing.T, r *real) {
	r.provider.plan(runs("head -c 30000 /dev/zero | tr '\\0' 'x'", 13500), says("the summary", 15000), says("done", 3000))
	r.completedCompactions(r.good("one"), 1)
	whole := 0
	for _, m := range r.s.Transcript().All() {
		for _, b := range m.Blocks {
			if res, ok := b.(message.ToolResult); ok {
				whole = len(res.Text())
			}
		}
	}
	if whole < 30000 {
		t.Errorf("the session keeps %d bytes of the output", whole)
	}
}

// One huge user message: Codex would send it without a check, Forge does not.
func hugeuser(t *testing.T, r *real) {
	r.good("one")
	asked := r.provider.asked()
	res := r.limited(strings.Repeat("many words here. ", 12000))
	if r.provider.asked() != asked {
		t.Error("the prompt was sent")
	}
	if !strings.Contains(res.Reason, "context limit reached") || !strings.Contains(res.Reason, "shorten the request") {
		t.Errorf("reason: %s", res.Reason)
	}
	if l := payloads[*trace.LimitReached](r.rig); len(l) != 1 || l[0].Reason != trace.LimitMandatory {
		t.Errorf("trace: %+v", l)
	}
}

// The same while the window is unknown: it is refused by the provider, and the
// compaction that follows does not bring the thread under its window, so it is
// rebuilt without the prompt that failed.
func hugeUnknown(t *testing.T, r *real) {
	r.provider.plan(tooLong)
	r.limited(strings.Repeat("many words here. ", 20000))
	r.provider.plan(says("the summary", 9000))
	res := r.good("two")
	if res.Origin != codexapp.OriginRebuilt || res.Rebuilt != "stuck" {
		t.Errorf("%+v", res)
	}
	if strings.Contains(r.provider.last(), "many words here. many words here.") {
		t.Error("the prompt that failed was sent again")
	}
}

// Compaction again and again in one turn: Codex has no limit, Forge interrupts
// and says why.
func loopMidturn(t *testing.T, r *real) {
	r.provider.plan(repeat(9, runs("echo again", 16000), says("the summary", 16100))...)
	res := r.limited("loop")
	if n := len(res.Compactions); n != 3 {
		t.Errorf("%d compactions", n)
	}
	if !strings.Contains(res.Reason, "compact for the 3. time") {
		t.Errorf("reason: %s", res.Reason)
	}
	if r.provider.left() < 9 {
		t.Errorf("%d responses left", r.provider.left())
	}
}

// An empty summary is accepted by Codex in silence; the session keeps what was
// said.
func compactEmpty(t *testing.T, r *real) {
	r.provider.plan(says("first answer", 16000), says("", 16100), says("second answer", 3000))
	r.good("one")
	r.completedCompactions(r.good("two"), 1)
	if got := r.texts(message.RoleAssistant); got != "first answer|second answer" {
		t.Errorf("assistant said %q", got)
	}
}

// A compaction that fails ends the turn; the compaction is never told to end.
func compactErr(t *testing.T, r *real) {
	r.provider.plan(says("first answer", 16000), broken, broken, broken)
	r.good("one")
	res := r.run("two")
	if res.Status != codexapp.StatusFailed || res.Err == nil {
		t.Fatalf("%s: %s", res.Status, res.Reason)
	}
	r.completedCompactions(res, 0)
	if len(res.Compactions) != 1 {
		t.Errorf("%+v", res.Compactions)
	}
	marks := payloads[*trace.ContextMark](r.rig)
	if len(marks) != 1 || marks[0].Kind != "interrupted" {
		t.Errorf("marks %+v", marks)
	}
}

// Overflow on the compaction call: Codex drops the oldest item and tries again.
func cleCompact(t *testing.T, r *real) {
	r.provider.plan(says("first answer", 16000), tooLong, says("the summary", 9000), says("second answer", 3000))
	r.good("one")
	r.completedCompactions(r.good("two"), 1)
}

// … down to the prompt alone, and then it fails.
func cleCompactAll(t *testing.T, r *real) {
	r.provider.plan(append([]reply{says("first answer", 16000)}, repeat(12, tooLong)...)...)
	r.good("one")
	r.limited("two")
	if !r.result().OccupancyUnknown {
		t.Error("the occupancy counts as known")
	}
}

// Overflow on a compaction by the provider: every later turn of the thread
// fails, so Forge leaves it.
func remoteCle(t *testing.T, r *real) {
	r.provider.plan(says("first answer", 16000), tooLong)
	r.good("one")
	r.limited("two")
	r.provider.plan(tooLong) // the compaction that Forge asks for
	res := r.good("three")
	if res.Origin != codexapp.OriginRebuilt || res.Rebuilt != "stuck" {
		t.Errorf("%+v", res)
	}
	if !strings.Contains(r.provider.last(), "first answer") {
		t.Error("the conversation was not carried into the new thread")
	}
}

// Overflow on a normal call: no retry by Codex; Forge compacts before the next
// turn.
func cleTurn(t *testing.T, r *real, refusal reply) {
	r.good("one")
	r.provider.plan(refusal)
	res := r.limited("two")
	if !res.OccupancyUnknown {
		t.Error("the occupancy counts as known")
	}
	r.provider.plan(says("the summary", 2000), says("third answer", 2500))
	res = r.good("three")
	r.completedCompactions(res, 1)
	if !res.Compactions[0].Manual || res.Origin != codexapp.OriginKept || res.OccupancyUnknown {
		t.Errorf("%+v", res)
	}
	if o := payloads[*trace.ContextOverflow](r.rig); len(o) != 1 {
		t.Errorf("trace %+v", o)
	}
}

func cleMidtool(t *testing.T, r *real) {
	r.provider.plan(runs("echo hello", 9000), tooLong)
	res := r.limited("one")
	if !res.OccupancyUnknown || res.Totals.ToolCalls != 1 {
		t.Errorf("%+v", res)
	}
	r.provider.plan(says("the summary", 2000), says("second answer", 2500))
	r.completedCompactions(r.good("two"), 1)
}

// After an overflow with more spent than the window holds, Codex says that the
// thread is empty, and would fail for ever.
func cleStuck(t *testing.T, r *real) {
	r.provider.plan(says("first", 8000), says("second", 8100), says("third", 8200), tooLong)
	r.good("one")
	r.good("two")
	r.good("three")
	res := r.limited("four")
	if !res.OccupancyUnknown {
		t.Errorf("%+v", res)
	}
	usages := payloads[*trace.EngineUsage](r.rig)
	if u := usages[len(usages)-1]; u.OccupancyTokens != 0 || u.Usage != nil {
		t.Errorf("Codex said %+v", u)
	}
	r.provider.plan(says("the summary", 8000), says("fifth", 2500))
	res = r.good("five")
	r.completedCompactions(res, 1)
	if !res.Compactions[0].Manual || res.OccupancyUnknown || res.OccupancyTokens != 2510 {
		t.Errorf("%+v", res)
	}
}

// Interrupted in the middle of a compaction: it is never told to end.
func intCompact(t *testing.T, r *real) {
	r.provider.plan(says("first answer", 16000))
	r.good("one")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	released := make(chan struct{})
	r.provider.plan(func(_ *responses, w http.ResponseWriter, q *http.Request) {
		cancel()
		select {
		case <-q.Context().Done():
		case <-released:
		}
	})
	res := r.runCtx(ctx, "two")
	close(released)
	if res.Status != codexapp.StatusCancelled {
		t.Errorf("%s: %s", res.Status, res.Reason)
	}
	r.completedCompactions(res, 0)
	if len(res.Compactions) != 1 {
		t.Errorf("%+v", res.Compactions)
	}
}

// Compaction by the provider: its usage is missing from what Codex tells.
func remote(t *testing.T, r *real) {
	r.provider.plan(says("first answer", 16000), sealed(16100), says("second answer", 3000))
	r.good("one")
	res := r.good("two")
	r.completedCompactions(res, 1)
	if res.Totals.InputTokens != 3000 {
		t.Errorf("Codex reported %d input tokens", res.Totals.InputTokens)
	}
}

// After a restart the thread goes on where it was, compaction included.
func resumes(t *testing.T, r *real) {
	r.provider.plan(says("first answer", 16000), says("the summary", 16100), says("second answer", 3000))
	r.good("one")
	r.good("two")
	r.restart()
	res := r.good("three")
	if res.Origin != codexapp.OriginResumed || res.WrapperBytes != 0 {
		t.Errorf("%+v", res)
	}
	if last := r.provider.last(); !strings.Contains(last, "the summary") || strings.Contains(last, "first answer") || !strings.Contains(last, "second answer") {
		t.Error("the thread does not hold what it held")
	}
}

// What is known of a full thread outlives a restart.
func resumesFull(t *testing.T, r *real) {
	r.provider.plan(says("first answer", 1500), tooLong)
	r.good("one")
	r.limited("two")
	r.restart()
	r.provider.plan(says("the summary", 2000), says("third answer", 2500))
	res := r.good("three")
	r.completedCompactions(res, 1)
	if res.Origin != codexapp.OriginResumed || !res.Compactions[0].Manual {
		t.Errorf("%+v", res)
	}
}

// "codex exec --json" shows nothing of a compaction, which is why the engine
// is a client of the app server.
func execShowsNothing(t *testing.T, r *real) {
	r.provider.plan(runs("echo hello", 16000), says("the summary", 16100), says("done", 3000))
	cmd := exec.CommandContext(withTimeout(t), r.program, "exec", "--json", "--skip-git-repo-check", "-s", "read-only", "one")
	cmd.Env, cmd.Dir = r.environ(), r.work
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if r.provider.left() != 0 || !strings.Contains(string(out), "done") {
		t.Fatalf("no compaction happened: %s", out)
	}
	if strings.Contains(strings.ToLower(string(out)), "compact") {
		t.Errorf("exec tells of the compaction now: %s", out)
	}
}
