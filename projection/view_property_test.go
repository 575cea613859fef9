package projection_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// quarters counts a token for every four bytes.
type quarters struct{}

func (quarters) Count(text string) int { return (len(text) + 3) / 4 }
func (quarters) Name() string          { return "quarters" }

// world is a conversation with the view that a model gets of it.
type world struct {
	t          *rapid.T
	transcript transcript.Transcript
	counter    *tokencount.Counter
	scheduler  *projection.Scheduler
	view       []message.Message
	calls      int
}

func (w *world) append(role message.Role, blocks ...message.Block) {
	m := message.Message{ID: fmt.Sprint("m", w.transcript.Len()), Role: role, Blocks: blocks}
	index := w.transcript.Len()
	if err := w.transcript.Append(m); err != nil {
		w.t.Fatal(err)
	}
	w.view = append(w.view, m)
	count := w.counter.Message(m)
	w.scheduler.Extend(count.FramingTokens)
	for i, b := range blocks {
		if b.Kind() != message.KindToolResult {
			w.scheduler.Extend(count.BlockTokens[i])
			continue
		}
		o, err := projection.Observe(&w.transcript, transcript.Ref{Message: index, Block: i}, count.BlockTokens[i], w.counter.Text, projection.Targets{})
		if err != nil {
			w.t.Fatal(err)
		}
		if err := w.scheduler.Admit(o); err != nil {
			w.t.Fatal(err)
		}
	}
}

// act lets the model call tools and the tools answer, in one message or one
// each.
func (w *world) act() {
	var calls, results []message.Block
	for range rapid.IntRange(1, 4).Draw(w.t, "calls") {
		w.calls++
		id := fmt.Sprint("call", w.calls)
		calls = append(calls, message.ToolCall{ID: id, Name: rapid.SampledFrom([]string{"read", "bash", "edit"}).Draw(w.t, "tool"), Arguments: `{"path":"a"}`})
		results = append(results, message.ToolResult{CallID: id, Outcome: outcomes().Draw(w.t, "outcome"),
			Content: []message.Block{message.Text{Text: strings.Repeat(rapid.SampledFrom([]string{"a line\n", "日本語", "\xff"}).Draw(w.t, "piece"), rapid.IntRange(0, 3000).Draw(w.t, "times"))}}})
	}
	w.append(message.RoleAssistant, calls...)
	if rapid.Bool().Draw(w.t, "together") {
		w.append(message.RoleTool, results...)
		return
	}
	for _, r := range results {
		w.append(message.RoleTool, r)
	}
}

func (w *world) tokens(ms []message.Message) int {
	return w.counter.Request(model.Request{Messages: ms}).Breakdown.Total()
}

// clear does what a decision says and checks what comes of it.
func (w *world) clear(d projection.Decision) {
	before := w.tokens(w.view)
	next := append([]message.Message(nil), w.view...)
	for _, ref := range d.Clear {
		source, _, err := projection.SourceAt(&w.transcript, ref)
		if err != nil {
			w.t.Fatal(err)
		}
		r, ok := projection.Project(source, projection.Targets{})
		if !ok {
			w.t.Fatalf("%v has no stand-in", ref)
		}
		blocks := append([]message.Block(nil), next[ref.Message].Blocks...)
		blocks[ref.Block] = r
		next[ref.Message].Blocks = blocks
	}
	if err := w.scheduler.Apply(d.Clear); err != nil {
		w.t.Fatal(err)
	}
	after := w.tokens(next)
	if after > before || before-after != d.SavedTokens() {
		w.t.Fatalf("%s: the view weighs %d instead of %d, %d were promised to go", d.Reason, after, before, d.SavedTokens())
	}
	if got := w.scheduler.ConversationTokens() + w.counter.Fixed(0); got != after {
		w.t.Fatalf("the view weighs %d, the scheduler says %d", after, got)
	}
	w.view = next
}

// Any conversation: calls and results stay paired, what is not tool output
// stays as it is, no view grows, every token is accounted for, and the
// transcript is untouched (F-RUN-03, F-RUN-09, F-SEC-05, F-SEC-06).
func TestProjectedViewProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := projection.New(projection.Options{Prices: prices(0.25, 1), Cache: ttlOf(time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, counter: tokencount.New(quarters{}, tokencount.Profile{MessageTokens: 3, ToolResultTokens: 5, RequestTokens: 7}), scheduler: s}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			if w.calls == 0 || rapid.IntRange(0, 5).Draw(t, "speaks") == 0 {
				w.append(message.RoleUser, message.Text{Text: rapid.String().Draw(t, "said") + "."})
			}
			w.act()
			q := projection.Query{FrontTokens: w.counter.Fixed(0), Idle: rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(t, "idle")}
			w.clear(s.Decide(q))
			if rapid.IntRange(0, 7).Draw(t, "pressure") == 0 {
				w.clear(s.Relieve(q, rapid.IntRange(1, 20_000).Draw(t, "need")))
			}
			s.Sent()
		}
		var again transcript.Transcript
		for i, m := range w.view {
			original := w.transcript.At(i)
			if err := again.Append(m); err != nil {
				t.Fatalf("the view is no conversation: %v", err)
			}
			if m.Role != message.RoleTool && m.Hash() != original.Hash() || original.Hash() != w.transcript.Hash(i) {
				t.Fatalf("message %d changed", i)
			}
		}
		if len(again.Pending()) != len(w.transcript.Pending()) {
			t.Fatal("calls lost their results")
		}
	})
}
