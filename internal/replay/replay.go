// Package replay plays a recorded session back through the one gate that live
// runs use: for each request that the agent made, Fit, the recorded answer,
// Reconcile. It is how Forge tells what filled another agent's window.
//
// It makes no decision about context itself, and it talks to no provider.
package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/provider/recorded"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/wirebody"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/trace"
	"github.com/forge-agent/forge/transcript"
)

// Options say how a session is played back.
type Options struct {
	// Model overrides the model that the file names; empty for the file's.
	Model string
	// WindowTokens overrides the window; zero for the file's, else the
	// catalog's, else the fallback.
	WindowTokens int
	// Mode is off, warn or compact; empty means warn. Off and warn count the
	// view that the source agent sent; compact derives Forge's own view from
	// the whole transcript.
	Mode contextwindow.Mode
	// Budget holds the reserves; the zero value means the defaults.
	Budget budget.Settings
	// Catalog tells windows and prices.
	Catalog *catalog.Catalog
	// Counter makes the counter for a model and the route to it.
	Counter func(catalog.Model, tokencount.Route) *tokencount.Counter
	// Trace takes the events of the replay; nil for nobody. An error ends the
	// replay.
	Trace trace.Sink
	// Clock is set to the session's own time as it is played back; nil for
	// nobody.
	Clock *Clock
	// Next looks at one more request after the recorded ones: the one that
	// would come next. It shows what is in the window at the end of the
	// session, and is no part of the report's counts.
	Next bool
	// Forge is the version that the trace names.
	Forge string
}

// A Clock tells the time of the session that is played back: that of the
// request in hand, zero while it is unknown. A trace takes its times from it.
type Clock struct{ now time.Time }

// Now returns the session's time.
func (c *Clock) Now() time.Time { return c.now }

// step is one request as it was played back.
type step struct {
	request sessionfile.Request
	fit     *contextwindow.Fit
	usage   *message.Usage
	// billed says that usage is there and is a provider's own.
	billed bool
	// reconciliation compares estimate and usage; nil without usable usage.
	reconciliation *contextwindow.Reconciliation
	// compared says that the estimate of this request can be judged: usage is
	// real, and either everything the provider saw is in the file or the
	// request grew out of one whose usage is known.
	compared bool
	// bytesTokens is what a count of bytes/4 would have estimated, on the
	// same footing.
	bytesTokens int
	// growthTokens is the reported growth since the last usage, when judged
	// by growth.
	growthTokens int
	// costUSD is nil when a price or the usage is not known.
	costUSD *float64
}

// Setup is what a replay works with, settled before the first request.
type Setup struct {
	// Model is the catalog's entry, or the fallback's.
	Model catalog.Model
	// Capabilities hold the window and where it comes from.
	Capabilities model.Capabilities
	// Counter counts for the model.
	Counter *tokencount.Counter
}

// Prepare settles model, window and counter for a session.
func Prepare(s *sessionfile.Session, o Options) (Setup, error) {
	id := o.Model
	if id == "" {
		id = s.Model
	}
	m, found := o.Catalog.Lookup(id)
	if !found {
		m = catalog.Fallback(id)
	}
	c := m.Capabilities()
	c.Model = id
	if s.WindowTokens >= budget.MinWindowTokens {
		c.WindowTokens, c.WindowSource = s.WindowTokens, model.WindowFromFile
		c.MaxInputTokens = 0 // stated for the catalog's window
	}
	switch {
	case o.WindowTokens < 0:
		return Setup{}, fmt.Errorf("the window is %d tokens; give a positive number", o.WindowTokens)
	case o.WindowTokens > 0:
		c.WindowTokens, c.WindowSource, c.MaxInputTokens = o.WindowTokens, model.WindowFromUser, 0
	}
	return Setup{Model: m, Capabilities: c, Counter: o.Counter(m, tokencount.Route{Model: id, Wire: wireOf(s)})}, nil
}

// wireOf returns the wire that the session's requests went over, where its
// format or provider tells.
func wireOf(s *sessionfile.Session) tokencount.Wire {
	switch s.Format {
	case string(wirebody.Responses), "codex":
		return tokencount.WireResponses
	case string(wirebody.Anthropic), "claude-code":
		return tokencount.WireMessages
	case string(wirebody.Gemini), "gemini-cli":
		return tokencount.WireGemini
	case string(wirebody.Chat), "chat", "mini-swe-agent", "swe-agent", "tau-bench":
		return tokencount.WireChat
	}
	switch s.Provider {
	case "openrouter", "vercel":
		return tokencount.WireGateway
	case "google-vertex", "vertex":
		return tokencount.WireVertex
	}
	return ""
}

// Run plays the session back. The file's name is for the report and the
// trace.
func Run(ctx context.Context, file string, s *sessionfile.Session, o Options) (*Report, error) {
	setup, err := Prepare(s, o)
	if err != nil {
		return nil, err
	}
	calibrations := map[string]*tokencount.Calibration{}
	manager, err := contextwindow.New(setup.Capabilities, setup.Counter, &contextwindow.Options{Mode: o.Mode, Budget: o.Budget, Calibrations: calibrations,
		Compaction: contextwindow.Compaction{Prices: setup.Model.Prices, Cache: setup.Model.Cache}})
	if err != nil {
		return nil, err
	}
	p := &player{options: o, setup: setup, session: s, manager: manager, report: newReport(file, s, setup), lastUsage: map[string]lastUsage{}}
	p.report.budget(manager.Budget(), p.started().Mode)
	p.model = recorded.New(setup.Capabilities, p.reply)
	if o.Mode == contextwindow.Compact {
		if p.compactor, err = newCompactor(setup, o, calibrations); err != nil {
			return nil, err
		}
		p.report.CompactReport = p.compactor.report
	}
	if err := p.play(ctx); err != nil {
		return nil, fmt.Errorf("replay request %d of %q: %w", p.next+1, file, err)
	}
	return p.report, nil
}

func (p *player) play(ctx context.Context) error {
	if err := p.emit(p.started()); err != nil {
		return err
	}
	for p.next = range p.session.Requests {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.step(ctx); err != nil {
			return err
		}
	}
	p.next = len(p.session.Requests)
	p.report.finish(p.session.Complete)
	if p.compactor != nil {
		p.report.CostUSD, p.report.CostAppendOnlyUSD = p.compactor.cost.total(), p.compactor.append.total()
	}
	if p.options.Next {
		if err := p.lookAhead(ctx); err != nil {
			return err
		}
	}
	return p.emit(p.report.completed())
}

// player holds the state of one replay.
type player struct {
	options    Options
	setup      Setup
	session    *sessionfile.Session
	manager    *contextwindow.Manager
	model      *recorded.Model
	transcript transcript.Transcript
	changes    []activeview.Change
	marks      int
	next       int           // index of the request being played
	idle       time.Duration // since the request before
	report     *Report
	compactor  *compactor // nil unless the mode is compact
	lastUsage  map[string]lastUsage
	bytes      int // text bytes of all messages so far
}

// lastUsage is where the last usage of a model stands, for judging growth.
type lastUsage struct {
	known        bool
	inputTokens  int
	bytes        int
	restructured int
}

func (p *player) step(ctx context.Context) error {
	r := p.session.Requests[p.next]
	p.idle = 0
	if p.next > 0 {
		if last := p.session.Requests[p.next-1].Time; !last.IsZero() && r.Time.After(last) {
			p.idle = r.Time.Sub(last)
		}
	}
	if p.options.Clock != nil && !r.Time.IsZero() {
		p.options.Clock.now = r.Time
	}
	fit, in, err := p.fit(ctx, r.At, r.Model)
	if err != nil {
		return err
	}
	st := step{request: r, fit: fit}
	if st.usage, err = p.ask(ctx, in); err != nil {
		return err
	}
	st.billed = st.usage != nil && p.session.UsageSynthetic == ""
	switch {
	case p.compactor != nil:
		err = p.observe(ctx, in, st)
	case st.billed && !r.Compaction:
		err = p.judge(&st)
	}
	if err != nil {
		return err
	}
	p.price(&st)
	p.report.add(st)
	return p.emitAnswer(st)
}

// fit brings transcript and view up to a message index and weighs the request
// that sees it.
func (p *player) fit(ctx context.Context, at int, model string) (*contextwindow.Fit, contextwindow.Input, error) {
	if err := p.extend(at); err != nil {
		return nil, contextwindow.Input{}, err
	}
	if err := p.takeMarks(at); err != nil {
		return nil, contextwindow.Input{}, err
	}
	in := contextwindow.Input{Instructions: p.session.Instructions, Tools: p.session.Tools, Transcript: &p.transcript,
		Changes: p.changes, Model: model, Idle: p.idle, Complete: p.session.Complete}
	fit, err := p.manager.Fit(ctx, in)
	var limit *contextwindow.LimitError
	if err != nil && !errors.As(err, &limit) {
		return nil, in, err
	}
	if fit.Restructured {
		p.report.restructured++
	}
	return fit, in, p.emitFit(fit)
}

// lookAhead weighs the request that would come next.
func (p *player) lookAhead(ctx context.Context) error {
	last := p.session.Model
	if n := len(p.session.Requests); n > 0 && p.session.Requests[n-1].Model != "" {
		last = p.session.Requests[n-1].Model
	}
	_, _, err := p.fit(ctx, p.session.Transcript.Len(), last)
	return err
}

// extend appends the recorded messages up to index end.
func (p *player) extend(end int) error {
	for i := p.transcript.Len(); i < end; i++ {
		m := p.session.Transcript.At(i)
		if err := p.transcript.Append(m); err != nil {
			return err
		}
		p.bytes += textBytes(m.Blocks)
	}
	return nil
}

// takeMarks traces the marks up to a message index and queues their effects.
func (p *player) takeMarks(at int) error {
	for ; p.marks < len(p.session.Marks) && p.session.Marks[p.marks].At <= at; p.marks++ {
		m := p.session.Marks[p.marks]
		if m.Change != nil {
			p.changes = append(p.changes, *m.Change)
		}
		if err := p.emit(markEvent(m, p.next+1)); err != nil {
			return err
		}
	}
	return nil
}

// ask sends the request to the recorded model and takes the reply in.
func (p *player) ask(ctx context.Context, in contextwindow.Input) (*message.Usage, error) {
	for event, err := range p.model.Stream(ctx, p.manager.Request(in)) {
		if failed := (*model.Error)(nil); errors.As(err, &failed) {
			return nil, nil // recorded as failed; the session went on
		}
		if err != nil {
			return nil, err
		}
		done, ok := event.(model.Completed)
		if !ok {
			continue
		}
		for _, m := range done.Messages {
			if err := p.transcript.Append(m); err != nil {
				return nil, err
			}
			p.bytes += textBytes(m.Blocks)
		}
		return done.Usage, nil
	}
	return nil, nil
}

// reply hands the recorded model its next answer.
func (p *player) reply() (recorded.Reply, bool) {
	r := p.session.Requests[p.next]
	if r.Failed != "" {
		return recorded.Reply{Err: &model.Error{Provider: p.session.Provider, Model: r.Model, Message: r.Failed}}, true
	}
	ms := make([]message.Message, 0, r.End-r.At)
	for i := r.At; i < r.End; i++ {
		ms = append(ms, p.session.Transcript.At(i))
	}
	return recorded.Reply{Messages: ms, Usage: r.Usage}, true
}

// price works out what a request cost at list prices.
func (p *player) price(st *step) {
	if !st.billed {
		return
	}
	m, ok := p.priced(st.request.Model)
	if !ok {
		return
	}
	if usd, ok := m.Cost(*st.usage, &catalog.CostOptions{LongCacheWriteTokens: st.request.LongCacheWriteTokens}); ok {
		st.costUSD = &usd
	}
}

// priced returns the model whose prices hold for a request.
func (p *player) priced(id string) (catalog.Model, bool) {
	if id == "" || p.options.Model != "" {
		return p.setup.Model, p.setup.Model.Origin != catalog.OriginFallback
	}
	return p.options.Catalog.Lookup(id)
}

// judge compares the estimate with real usage.
func (p *player) judge(st *step) error {
	u := *st.usage
	rec, err := p.manager.Reconcile(u)
	if err != nil {
		return err
	}
	st.reconciliation = &rec
	last := p.lastUsage[st.fit.Model]
	sent := p.bytes - textBytesOf(p.session.Transcript, st.request.At, st.request.End)
	switch {
	case u.InputTokens <= 0:
		return nil
	case p.session.Complete:
		st.compared = true
		st.bytesTokens = (sent + instructionBytes(p.session)) / 4
	case last.known && last.restructured == p.report.restructured:
		st.compared = true
		st.bytesTokens = last.inputTokens + (sent-last.bytes)/4
		st.growthTokens = u.InputTokens - last.inputTokens
	}
	p.lastUsage[st.fit.Model] = lastUsage{known: true, inputTokens: u.InputTokens, bytes: sent, restructured: p.report.restructured}
	return nil
}
