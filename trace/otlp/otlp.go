// Package otlp sends traces of runs to an OpenTelemetry collector: one span for
// each run and one for each model request, with the attributes of the
// semantic conventions for generative AI and Forge's own counts beside them.
//
// It is a trace.Sink beside the file, never instead of it, and nothing uses it
// unless it is asked for. As a trace, it carries decisions, counts and names,
// and no content.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/trace"
)

// A Sink turns events into spans. It belongs to one goroutine. Make one with
// New or Connect, and close it.
type Sink struct {
	provider *sdk.TracerProvider
	tracer   api.Tracer
	clock    func() time.Time
	run      api.Span
	runCtx   context.Context
	request  api.Span
	started  *trace.RunStarted
}

// Connect returns a Sink that sends to a collector over HTTP. endpoint is its
// base URL, for example "http://localhost:4318"; headers go with every
// request. It does not wait for the collector: what cannot be delivered is
// named by Close.
func Connect(endpoint string, headers map[string]string, version string, clock func() time.Time) (*Sink, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("send traces: give the collector as a URL, for example http://localhost:4318")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return New(&exporter{url: u.String(), host: u.Host, headers: headers}, version, clock), nil
}

// New returns a Sink that hands spans to an exporter. clock gives the time of
// an event; nil means the system's.
func New(exporter sdk.SpanExporter, version string, clock func() time.Time) *Sink {
	if clock == nil {
		clock = time.Now
	}
	p := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(resource.NewSchemaless(
		attribute.String(keyServiceName, "forge"), attribute.String(keyServiceVersion, version))))
	return &Sink{provider: p, tracer: p.Tracer("github.com/forge-agent/forge/trace/otlp"), clock: clock, runCtx: context.Background()}
}

// Close ends open spans and delivers what is left, for at most as long as ctx
// lasts.
func (s *Sink) Close(ctx context.Context) error {
	s.endRequest(nil)
	s.endRun()
	if err := s.Flush(ctx); err != nil {
		return errors.Join(err, s.provider.Shutdown(ctx))
	}
	if err := s.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	return nil
}

// Flush delivers the spans that have ended.
func (s *Sink) Flush(ctx context.Context) error {
	if err := s.provider.ForceFlush(ctx); err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	return nil
}

// Emit implements trace.Sink. It never fails: a collector that is away must
// not stop a run.
func (s *Sink) Emit(p trace.Payload) error {
	switch p := p.(type) {
	case *trace.RunStarted:
		s.startRun(p)
	case *trace.ContextBudgeted:
		s.startRequest(p)
	case *trace.RequestCompleted:
		s.endRequest(p)
	case *trace.ContextOverflow:
		s.event(p.Type(), attribute.Int(keyUsed, p.UsedTokens), attribute.Int(keyLimit, p.LimitTokens), attribute.Int(keyEstimate, p.EstimatedTokens))
		s.fail(string(trace.TypeContextOverflow))
	case *trace.LimitReached:
		s.event(p.Type(), attribute.String(keyReason, string(p.Reason)), attribute.String(keyLargest, p.Largest.String()))
		s.fail(string(p.Reason))
	case *trace.ContextWarning:
		s.event(p.Type(), attribute.String(keyReason, string(p.Code)))
	case *trace.CompactionCompleted:
		s.event(p.Type(), attribute.String(keyCheckpoint, p.Mark.ID), attribute.Int(keyBefore, p.TokensBefore), attribute.Int(keyAfter, p.TokensAfter))
	case *trace.CompactionFailed:
		s.event(p.Type(), attribute.String(keyReason, p.Code))
	case *trace.RunCompleted:
		s.finishRun(p)
	}
	return nil
}

func (s *Sink) startRun(p *trace.RunStarted) {
	s.endRequest(nil)
	s.endRun()
	s.started = p
	s.runCtx, s.run = s.tracer.Start(context.Background(), "invoke_agent forge", api.WithTimestamp(s.clock()), api.WithAttributes(present(
		attribute.String(keyOperation, "invoke_agent"), attribute.String(keyAgentName, "forge"), attribute.String(keyProvider, p.Provider),
		attribute.String(keyRequestModel, p.Model), attribute.String(keyConversation, p.Session), attribute.String(keyRun, p.Run),
		attribute.String(keyMode, p.Mode), attribute.Int(keyWindow, p.WindowTokens))...))
}

func (s *Sink) startRequest(p *trace.ContextBudgeted) {
	s.endRequest(nil)
	provider, session := "", ""
	if s.started != nil {
		provider, session = s.started.Provider, s.started.Session
	}
	attributes := present(attribute.String(keyOperation, "chat"), attribute.String(keyProvider, provider), attribute.String(keyRequestModel, p.Model),
		attribute.String(keyConversation, session), attribute.Int(keyMaxTokens, p.OutputTokens), attribute.Int(keyRequest, p.Request), attribute.Int(keyAttempt, p.Attempt),
		attribute.Int(keyWindow, p.WindowTokens), attribute.Int(keyReserve, p.ReserveTokens), attribute.Int(keyAvailable, p.AvailableTokens),
		attribute.Int(keyEstimate, p.Estimate.Tokens), attribute.Int(keyBand, p.Estimate.BandTokens), attribute.Int(keyMandatory, p.MandatoryTokens),
		attribute.String(keyVerdict, string(p.Verdict)), attribute.String(keyAction, string(p.Action)))
	for c, n := range p.Categories {
		if n > 0 {
			attributes = append(attributes, attribute.Int(keyCategory+budget.Category(c).String(), n))
		}
	}
	name := "chat"
	if p.Model != "" {
		name += " " + p.Model
	}
	_, s.request = s.tracer.Start(s.runCtx, name, api.WithTimestamp(s.clock()), api.WithSpanKind(api.SpanKindClient), api.WithAttributes(attributes...))
}

func (s *Sink) endRequest(p *trace.RequestCompleted) {
	if s.request == nil {
		return
	}
	if p != nil {
		if u := p.Usage; u != nil {
			s.request.SetAttributes(attribute.Int(keyInput, u.InputTokens), attribute.Int(keyOutput, u.OutputTokens), attribute.Int(keyCacheRead, u.CachedInputTokens),
				attribute.Int(keyCacheWrite, u.CacheWriteInputTokens), attribute.Int(keyReasoning, u.ReasoningTokens))
		}
		if c := p.Comparison; c != nil {
			s.request.SetAttributes(attribute.Int(keyError, c.ErrorTokens()), attribute.Bool(keyWithinBand, c.WithinBand()))
		}
		if p.CostUSD != nil {
			s.request.SetAttributes(attribute.Float64(keyCost, *p.CostUSD))
		}
		if p.Outcome != trace.OutcomeAnswered {
			s.fail(string(p.Outcome))
		}
	}
	s.request.End(api.WithTimestamp(s.clock()))
	s.request = nil
}

func (s *Sink) finishRun(p *trace.RunCompleted) {
	s.endRequest(nil)
	if s.run == nil {
		return
	}
	s.run.SetAttributes(attribute.Int(keyRequests, p.Requests), attribute.Int(keyOver, p.OverBudgetRequests), attribute.Int(keyPeak, p.PeakInputTokens),
		attribute.Int(keyInput, p.TotalInputTokens), attribute.Int(keyOutput, p.OutputTokens), attribute.Int(keyCacheRead, p.CachedInputTokens), attribute.Int(keyCompactions, p.Compactions))
	if p.Status != trace.StatusCompleted {
		s.run.SetAttributes(attribute.String(keyErrorType, string(p.Status)))
		s.run.SetStatus(codes.Error, string(p.Status))
	}
	s.endRun()
}

func (s *Sink) endRun() {
	if s.run != nil {
		s.run.End(api.WithTimestamp(s.clock()))
	}
	s.run, s.runCtx, s.started = nil, context.Background(), nil
}

// event stands in the span of the request, or of the run between requests.
func (s *Sink) event(name trace.Type, attributes ...attribute.KeyValue) {
	span := s.request
	if span == nil {
		span = s.run
	}
	if span != nil {
		span.AddEvent(string(name), api.WithTimestamp(s.clock()), api.WithAttributes(attributes...))
	}
}

func (s *Sink) fail(kind string) {
	if s.request != nil {
		s.request.SetAttributes(attribute.String(keyErrorType, kind))
		s.request.SetStatus(codes.Error, kind)
	}
}

// present leaves empty strings out.
func present(list ...attribute.KeyValue) []attribute.KeyValue {
	var out []attribute.KeyValue
	for _, a := range list {
		if a.Value.Type() != attribute.STRING || a.Value.AsString() != "" {
			out = append(out, a)
		}
	}
	return out
}
