package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/redact"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sqlitestore"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tool"
	"github.com/forge-agent/forge/trace"
)

// A cost is what one step took: the time of Forge itself, without the model,
// the tool, counting and redaction, and what it looked at.
type cost struct {
	overhead, counting, redaction time.Duration
	items                         int   // of the view
	rows                          int   // of the store, messages and records
	hashed, counted, traced       int64 // bytes
}

// steps are the costs of a run.
type steps struct {
	bytes int
	list  []cost
	// compactions and standIns are what the window did.
	compactions, standIns int
}

// measureSteps makes a run of n steps, each with a result of size bytes, in a
// window.
func measureSteps(ctx context.Context, n, size, windowTokens int) (s steps, err error) {
	dir, err := os.MkdirTemp("", "forge-soak-")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := sqlitestore.Open(ctx, dir, nil)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	file, err := trace.CreateRun(root, "soak", time.Now)
	if err != nil {
		return s, err
	}
	b := &bench{steps: n, size: size, windowTokens: windowTokens, redactor: redact.New(nil), trace: file}
	if err := b.open(ctx, store); err != nil {
		return s, errors.Join(err, file.Close())
	}
	result, err := b.run(ctx)
	if err = errors.Join(err, b.session.Close(), file.Close()); err != nil {
		return s, err
	}
	if result.Status != agent.StatusCompleted || result.Totals.ToolCalls != n {
		return s, fmt.Errorf("the run ended with %s: %s", result.Status, result.Reason)
	}
	return steps{bytes: size, list: b.costs, compactions: result.Totals.Compactions, standIns: result.Totals.Projections}, nil
}

// bench is the agent with everything around it that measures.
type bench struct {
	steps, size, windowTokens int
	redactor                  *redact.Redactor
	trace                     *trace.RunFile
	session                   *session.Session
	agent                     *agent.Agent
	counter                   *timedCounter

	asked   int
	entered time.Time // when the present step began
	present cost
	outside time.Duration // model and tool in the present step
	before  session.Cost
	costs   []cost
}

func (b *bench) open(ctx context.Context, store session.Store) error {
	entry, _ := catalog.Default().Lookup("gpt-5")
	text, _ := vocabulary.Text(entry)
	b.counter = &timedCounter{Counter: text, b: b}
	var err error
	b.session, err = session.Create(ctx, store, "soak", session.Info{ShownBytes: 16 << 10, Complete: true}, &session.Options{Redactor: b.redactor, Now: time.Now})
	if err != nil {
		return err
	}
	b.agent, err = agent.New(agent.Options{
		Model: b, Counter: tokencount.New(b.counter, tokencount.Profile{}), Prices: entry.Prices, Cache: entry.Cache, Session: b.session,
		Window: contextwindow.Options{Mode: contextwindow.Compact}, Trace: b, Observer: b.observe, Now: time.Now, Adapter: "soak", Forge: "soak",
	})
	return err
}

func (b *bench) run(ctx context.Context) (*agent.Result, error) {
	set, err := tool.NewSet(b.tool())
	if err != nil {
		return nil, err
	}
	rules, err := policy.New(policy.Safe, nil)
	if err != nil {
		return nil, err
	}
	return b.agent.Run(ctx, agent.Request{
		Prompt:       []message.Block{message.Text{Text: "Read all of it. Never touch internal/legacy/wire.go."}},
		Instructions: []message.Message{{ID: "i", Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: "Be brief."}}}},
		Tools:        set, Policy: rules, Run: "soak", Limits: agent.Limits{Steps: b.steps + 10, ToolCalls: b.steps + 10},
	})
}

// timedCounter measures counting.
type timedCounter struct {
	tokenizer.Counter
	b *bench
}

// Count counts.
func (c *timedCounter) Count(text string) int {
	start := time.Now()
	n := c.Counter.Count(text)
	c.b.present.counting += time.Since(start)
	c.b.present.counted += int64(len(text))
	return n
}

// Emit writes to the trace and counts its bytes.
func (b *bench) Emit(p trace.Payload) error {
	if data, err := json.Marshal(p); err == nil {
		b.present.traced += int64(len(data))
	}
	return b.trace.Emit(p)
}

func (b *bench) observe(e agent.Event) {
	if e, ok := e.(agent.Budgeted); ok {
		b.present.items += e.Fit.Visited
	}
}

// Capabilities are those of a small window.
func (b *bench) Capabilities() model.Capabilities {
	return model.Capabilities{Provider: "soak", Model: "gpt-5", WindowTokens: b.windowTokens, MaxOutputTokens: 8192, WindowSource: model.WindowFromUser}
}

// Stream answers with the next call, or ends.
func (b *bench) Stream(_ context.Context, _ model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		now := time.Now()
		if !b.entered.IsZero() { // the step ends where the next request begins
			at := b.session.Cost()
			b.present.rows = at.Rows + at.Records - b.before.Rows - b.before.Records
			b.present.hashed = at.HashedBytes - b.before.HashedBytes
			b.present.overhead = now.Sub(b.entered) - b.outside - b.present.counting - b.present.redaction
			b.costs = append(b.costs, b.present)
		}
		b.present, b.outside, b.before = cost{}, 0, b.session.Cost()
		b.asked++
		m := message.Message{Role: message.RoleAssistant, Blocks: []message.Block{message.Text{Text: "Done."}}}
		stop := model.StopEnd
		if b.asked <= b.steps {
			m.Blocks = []message.Block{message.ToolCall{ID: fmt.Sprint("c", b.asked), Name: "read", Arguments: fmt.Sprintf(`{"part":%d}`, b.asked)}}
			stop = model.StopToolCall
		}
		b.entered = time.Now()
		yield(model.Completed{Messages: []message.Message{m}, Stop: stop}, nil)
	}
}

// tool returns the tool that the run calls.
func (b *bench) tool() tool.Tool { return reader{b} }

type reader struct{ b *bench }

// Definition describes the tool.
func (reader) Definition() message.ToolDefinition {
	return message.ToolDefinition{Name: "read", Description: "Reads a part.", Parameters: json.RawMessage(`{"type":"object","properties":{"part":{"type":"integer"}},"required":["part"]}`)}
}

// Risk is that of reading.
func (reader) Risk() tool.Risk { return tool.RiskRead }

// Plan plans a call.
func (r reader) Plan(_ context.Context, arguments string) (tool.Plan, error) {
	var a struct {
		Part int `json:"part"`
	}
	if err := tool.Decode(arguments, &a); err != nil {
		return tool.Plan{}, err
	}
	return tool.Plan{Summary: fmt.Sprint("read ", a.Part), Run: func(context.Context) tool.Result {
		start := time.Now()
		text := listing(a.Part, r.b.size)
		redacting := time.Now()
		_, _ = r.b.redactor.Text(text) // what storing it will take again
		r.b.present.redaction = time.Since(redacting)
		r.b.outside += time.Since(start)
		return tool.Success(text)
	}}, nil
}

// listing is a text of n bytes as a tool prints them; each seed gives another.
func listing(seed, n int) string {
	var b strings.Builder
	b.Grow(n + 128)
	for line := 1; b.Len() < n; line++ {
		fmt.Fprintf(&b, "%6d\tif value%d, err := reader.Next(%d); err != nil { return fmt.Errorf(\"part %d of %d: %%w\", err) }\n", line, (seed*31+line*7)%997, line%64, seed, line)
	}
	return b.String()[:n]
}

// median returns the median of what f gives for the steps.
func median[T int | int64 | time.Duration](list []cost, f func(cost) T) T {
	values := make([]T, len(list))
	for i, c := range list {
		values[i] = f(c)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// mean returns the mean: it holds the steps in which the window was cleared,
// which a median leaves out.
func mean[T int | int64 | time.Duration](list []cost, f func(cost) T) float64 {
	sum := 0.0
	for _, c := range list {
		sum += float64(f(c))
	}
	return sum / float64(len(list))
}

// ends returns two thirds of the run, without the first steps in which the
// window fills up. Each holds several windows: from one checkpoint to the
// next, a step looks at more and more stand-ins.
func (s steps) ends() (early, late []cost) {
	n := len(s.list)
	return s.list[n/12 : n/2], s.list[n-n*5/12:]
}

// String shows the figures.
func (s steps) String() string {
	early, late := s.ends()
	var b strings.Builder
	fmt.Fprintf(&b, "%d steps of %d bytes: %d compactions, %d stand-ins\n", len(s.list), s.bytes, s.compactions, s.standIns)
	overhead := func(c cost) time.Duration { return c.overhead }
	a, z := median(early, overhead), median(late, overhead)
	fmt.Fprintf(&b, "overhead of a step: median %v early, %v late, %.2f ×; mean %.2f ms, %.2f ms\n", a, z, float64(z)/float64(max(a, 1)), mean(early, overhead)/1e6, mean(late, overhead)/1e6)
	for _, part := range []struct {
		name string
		of   func(cost) int64
	}{
		{"items visited", func(c cost) int64 { return int64(c.items) }}, {"rows read", func(c cost) int64 { return int64(c.rows) }},
		{"bytes hashed", func(c cost) int64 { return c.hashed }}, {"bytes counted", func(c cost) int64 { return c.counted }}, {"bytes of trace", func(c cost) int64 { return c.traced }},
	} {
		fmt.Fprintf(&b, "%s: median %d early, %d late; mean %.1f, %.1f\n", part.name, median(early, part.of), median(late, part.of), mean(early, part.of), mean(late, part.of))
	}
	speed := func(of func(cost) time.Duration, bytes func(cost) int64) float64 {
		return mean(s.list, bytes) / max(mean(s.list, of), 1) * 1e9 / (1 << 20)
	}
	fmt.Fprintf(&b, "redaction %.0f MB/s, counting %.0f MB/s", speed(func(c cost) time.Duration { return c.redaction }, func(cost) int64 { return int64(s.bytes) }),
		speed(func(c cost) time.Duration { return c.counting }, func(c cost) int64 { return c.counted }))
	return b.String()
}
