package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/trace"
	"github.com/forge-agent/forge/transcript"
)

// quarter counts a token for four bytes.
type quarter struct{}

func (quarter) Count(text string) int { return (len(text) + 3) / 4 }
func (quarter) Name() string          { return "quarter" }

// conversation plays a made-up agent session through a Manager: the same
// path that a replay and a live run take.
type conversation struct {
	t       testing.TB
	random  *rand.Rand
	list    trace.List
	manager *contextwindow.Manager
	in      contextwindow.Input
	now     time.Time
	made    int
	marks   int
	before  int
	cached  int
	cut     int // the first message that the last compaction kept
	priced  bool
}

func newConversation(t testing.TB, windowTokens int) *conversation {
	c := &conversation{t: t, random: rand.New(rand.NewPCG(7, uint64(windowTokens))), priced: true,
		now: time.Date(2026, 3, 3, 14, 2, 0, 0, time.UTC)}
	capabilities := model.Capabilities{Provider: "example", Model: "example-large", WindowTokens: windowTokens, WindowSource: model.WindowFromCatalog, MaxOutputTokens: 16000}
	profile := tokencount.Profile{Family: "example", Method: model.MethodSDK, MessageTokens: 4, RequestTokens: 3, ToolTokens: 7, ToolsTokens: 300, BandFraction: 0.012, BandTokens: 40}
	m, err := contextwindow.New(capabilities, tokencount.New(quarter{}, profile), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.manager = m
	c.in = contextwindow.Input{Transcript: &transcript.Transcript{}, Instructions: []message.Message{c.message("system", c.text(windowTokens/40))}}
	for _, name := range []string{"Read", "Edit", "Bash", "Grep", "WebFetch"} {
		c.in.Tools = append(c.in.Tools, message.ToolDefinition{Name: name, Description: c.text(windowTokens / 300)})
	}
	return c
}

// text returns a text of about so many tokens.
func (c *conversation) text(tokens int) string { return strings.Repeat("word", max(1, tokens)) }

func (c *conversation) message(id, content string) message.Message {
	return message.Message{ID: id, Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: content}}}
}

func (c *conversation) emit(p trace.Payload) {
	c.list.Clock = func() time.Time { return c.now }
	if err := c.list.Emit(p); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) add(m message.Message) {
	c.made++
	m.ID = fmt.Sprintf("msg_%05d", c.made)
	if err := c.in.Transcript.Append(m); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) user(tokens int) {
	c.add(message.Message{Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: c.text(tokens)}}})
}

// request makes one model request and takes the answer in: reasoning, a tool
// call and its result of so many tokens.
func (c *conversation) request(resultTokens int) {
	c.now = c.now.Add(23 * time.Second)
	f, err := c.manager.Fit(context.Background(), c.in)
	var limit *contextwindow.LimitError
	if err != nil && !errors.As(err, &limit) {
		c.t.Fatal(err)
	}
	c.emit(trace.Budgeted(f, trace.Details{Adapter: "recorded", BufferTokens: 8192}))
	if w := trace.Warning(f); w != nil {
		c.emit(w)
	}
	if limit != nil {
		c.emit(trace.Limit(f))
		return
	}
	c.answer(f)
	names := []string{"Read", "Edit", "Bash", "Grep", "Read", "Bash", "WebFetch"}
	name, id := names[c.random.IntN(len(names))], fmt.Sprintf("call_%d", c.made)
	c.add(message.Message{Role: message.RoleAssistant, Blocks: []message.Block{
		message.Reasoning{Text: c.text(resultTokens / 9)}, message.Text{Text: c.text(resultTokens / 20)},
		message.ToolCall{ID: id, Name: name, Arguments: c.text(resultTokens / 15)}}})
	content := []message.Block{message.Text{Text: c.text(resultTokens)}}
	if name == "WebFetch" {
		c.add(message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: id, Content: content}}})
		c.add(message.Message{Role: message.RoleUser, Origin: message.OriginInjected, Blocks: []message.Block{message.Image{WidthPixels: 900, HeightPixels: 900}}})
		return
	}
	c.add(message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: id, Content: content}}})
}

// answer reports the usage of a request: the provider counts a little more
// than is known here, and reads what it has seen before from its cache.
func (c *conversation) answer(f *contextwindow.Fit) {
	reported := int(float64(f.CountedTokens)*(1+0.01*(c.random.Float64()-0.35))) + 900
	cached := 0
	if !f.Restructured && f.Step > 1 {
		cached = min(c.cached, reported)
	}
	u := message.Usage{InputTokens: reported, CachedInputTokens: cached, CacheWriteInputTokens: reported - cached, OutputTokens: 180 + c.random.IntN(700)}
	r, err := c.manager.Reconcile(u)
	if err != nil {
		c.t.Fatal(err)
	}
	var usd *float64
	if c.priced {
		cost := (float64(u.CacheWriteInputTokens)*3.75 + float64(cached)*0.30 + float64(u.OutputTokens)*15) / 1e6
		usd = &cost
	}
	c.emit(trace.Completed(f.Step, &r, &u, usd))
	c.cached, c.before = reported, reported
}

// compact does what another agent does at its threshold: it puts a summary in
// the place of everything but the newest messages.
func (c *conversation) compact(summaryTokens int) {
	at := c.in.Transcript.Len()
	keep := max(0, at-2)
	for keep > 0 && c.in.Transcript.At(keep).Role == message.RoleTool {
		keep--
	}
	c.in.Changes = append(c.in.Changes, activeview.Change{At: at, Kind: activeview.ChangeCompaction, KeepFrom: keep,
		Replacement: []message.Message{{ID: "summary", Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{message.Text{Text: c.text(summaryTokens)}}}}})
	c.marks, c.cut = c.marks+1, keep
	c.emit(&trace.ContextMark{Request: 1, Kind: "compaction", Line: 100 + c.made, Trigger: "auto", TokensBefore: c.before, TokensAfter: summaryTokens})
}

// clear puts stand-ins in the place of all but the newest tool results.
func (c *conversation) clear() {
	at := c.in.Transcript.Len()
	change := activeview.Change{At: at, Kind: activeview.ChangeProjection, StandIn: "[cleared]"}
	for i := c.cut; i < at-6; i++ {
		if c.in.Transcript.At(i).Role == message.RoleTool {
			change.Results = append(change.Results, transcript.Ref{Message: i})
		}
	}
	c.in.Changes = append(c.in.Changes, change)
	c.emit(&trace.ContextMark{Request: 1, Kind: "projection", Line: 100 + c.made})
}

func (c *conversation) start(file string) {
	c.emit(&trace.RunStarted{Session: "5d0c9e4e", File: file, Format: "claude-code", FormatVersion: "2.0.14", Provider: "example", Model: "example-large",
		Mode: "warn", WindowTokens: 200000, WindowSource: model.WindowFromCatalog, Vocabulary: "quarter", Profile: "example", Turns: 4})
}

func (c *conversation) events() iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for _, e := range c.list.Events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (c *conversation) load() *inspect.Run {
	c.t.Helper()
	r, err := inspect.Load(c.events())
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// session plays n requests with everything that can happen: compactions when
// the window is nearly full, cleared tool output, a refused request.
func session(t testing.TB, n int) *conversation {
	const window = 200_000
	c := newConversation(t, window)
	c.start("session.jsonl")
	c.user(300)
	weight := max(150, min(9000, window*14/10/max(n, 20)))
	if n > 500 {
		weight = 900
	}
	refused := false
	for i := range n {
		if i > 0 && i%17 == 0 {
			c.user(60 + c.random.IntN(500))
		}
		switch {
		case c.before > 176_000 && !refused:
			refused = true
			c.emit(&trace.ContextMark{Request: i + 1, Kind: "overflow", Line: 100 + c.made, TokensBefore: 201_300})
			c.compact(6_000)
		case c.before > 170_000 && refused:
			c.compact(4_000 + c.random.IntN(4_000))
		case c.before > 90_000 && i%97 == 60:
			c.clear()
		}
		c.request(weight/2 + c.random.IntN(weight))
	}
	c.emit(&trace.RunCompleted{Status: trace.StatusCompleted, Requests: n})
	return c
}
