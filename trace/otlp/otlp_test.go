package otlp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/trace"
	"github.com/forge-agent/forge/trace/otlp"
)

func clock() func() time.Time {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return func() time.Time { at = at.Add(time.Second); return at }
}

func emit(t *testing.T, s *otlp.Sink) {
	t.Helper()
	var categories budget.Breakdown
	categories[budget.Conversation] = 90
	for _, p := range []trace.Payload{
		&trace.RunStarted{Run: "r", Session: "s", Provider: "anthropic", Model: "m", Mode: "warn", WindowTokens: 1000},
		&trace.ContextBudgeted{Request: 1, Attempt: 1, Model: "m", WindowTokens: 1000, OutputTokens: 50, Categories: categories, Estimate: model.Estimate{Tokens: 90},
			Ledger: trace.LedgerChange{Whole: true, Added: []activeview.Line{{ID: "secret-looking-id", Label: "label"}}}},
		&trace.RequestCompleted{Request: 1, Attempt: 1, Outcome: trace.OutcomeAnswered, Usage: &trace.Usage{InputTokens: 100, CachedInputTokens: 40, OutputTokens: 7, ReasoningTokens: 3}},
		&trace.ContextBudgeted{Request: 2, Attempt: 1, Model: "m"},
		&trace.ContextOverflow{Request: 2, Attempt: 1, UsedTokens: 2000, LimitTokens: 1000},
		&trace.RequestCompleted{Request: 2, Attempt: 1, Outcome: trace.OutcomeFailed},
		&trace.CompactionCompleted{Request: 3, TokensBefore: 9, TokensAfter: 4, Mark: trace.CompactionMark{ID: "ckpt"}},
		&trace.RunCompleted{Status: trace.StatusLimitReached, Requests: 2},
	} {
		if err := s.Emit(p); err != nil {
			t.Fatal(err)
		}
	}
}

func find(list []attribute.KeyValue, key attribute.Key) attribute.Value {
	for _, a := range list {
		if a.Key == key {
			return a.Value
		}
	}
	return attribute.Value{}
}

// Behaviour 4: a run is a span with one child for each request, named and
// attributed as the conventions say; what fails is an error; no label or id of
// an item goes out (F-EVT-03).
func TestSpans(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	s := otlp.New(exporter, "1.2.3", clock())
	emit(t, s)
	// Close empties the exporter: what it took is looked at before.
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := exporter.GetSpans()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	first, second, run := spans[0], spans[1], spans[2]
	if first.Name != "chat m" || run.Name != "invoke_agent forge" || first.Parent.SpanID() != run.SpanContext.SpanID() || !first.EndTime.After(first.StartTime) {
		t.Errorf("%s below %s", first.Name, run.Name)
	}
	for key, want := range map[attribute.Key]int64{semconv.GenAIUsageInputTokensKey: 100, semconv.GenAIUsageOutputTokensKey: 7,
		semconv.GenAIUsageCacheReadInputTokensKey: 40, semconv.GenAIUsageReasoningOutputTokensKey: 3, semconv.GenAIRequestMaxTokensKey: 50,
		"forge.category.conversation": 90, "forge.estimate_tokens": 90} {
		if got := find(first.Attributes, key); got.AsInt64() != want {
			t.Errorf("%s is %v, want %d", key, got.AsInterface(), want)
		}
	}
	for key, want := range map[attribute.Key]string{semconv.GenAIOperationNameKey: "chat", semconv.GenAIProviderNameKey: "anthropic",
		semconv.GenAIRequestModelKey: "m", semconv.GenAIConversationIDKey: "s"} {
		if got := find(first.Attributes, key); got.AsString() != want {
			t.Errorf("%s is %v, want %s", key, got.AsInterface(), want)
		}
	}
	if second.Status.Code != codes.Error || len(second.Events) != 1 || second.Events[0].Name != string(trace.TypeContextOverflow) {
		t.Errorf("the refused request: %v, %v", second.Status, second.Events)
	}
	if run.Status.Code != codes.Error || len(run.Events) != 1 {
		t.Errorf("the run: %v, %v", run.Status, run.Events)
	}
	for _, span := range spans {
		for _, a := range span.Attributes {
			if text := a.Value.AsString(); text == "secret-looking-id" || text == "label" {
				t.Errorf("%s carries %s", span.Name, text)
			}
		}
	}
}

// The collector gets the spans at the standard path, with the headers; one
// that is away is named at the end and fails nothing before.
func TestConnect(t *testing.T) {
	var requests atomic.Int32
	var answer atomic.Value
	answer.Store("{}")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano string
						Kind                                                   int
						Attributes                                             []struct {
							Key   string
							Value struct{ IntValue, StringValue string }
						}
						Status struct{ Code int }
					}
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
			return
		}
		spans := body.ResourceSpans[0].ScopeSpans[0].Spans
		chat, run := spans[0], spans[len(spans)-1]
		ok := len(chat.TraceID) == 32 && len(chat.SpanID) == 16 && chat.ParentSpanID == run.SpanID && chat.Kind == 3 && run.Kind == 1 &&
			chat.StartTimeUnixNano == "1767225602000000000" && run.Status.Code == 2
		if ok && r.URL.Path == "/v1/traces" && r.Header.Get("X-Team") == "a" && r.Header.Get("Content-Type") == "application/json" {
			requests.Add(1)
		}
		w.Write([]byte(answer.Load().(string)))
	}))
	defer server.Close()
	s, err := otlp.Connect(server.URL, map[string]string{"X-Team": "a"}, "1", clock())
	if err != nil {
		t.Fatal(err)
	}
	emit(t, s)
	if err := s.Close(t.Context()); err != nil || requests.Load() == 0 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
	answer.Store(`{"partialSuccess":{"rejectedSpans":"3","errorMessage":"full"}}`)
	if s, err = otlp.Connect(server.URL, nil, "1", clock()); err != nil {
		t.Fatal(err)
	}
	emit(t, s)
	if err := s.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "left 3 spans out") {
		t.Errorf("rejected spans: %v", err)
	}
	server.Close()
	if s, err = otlp.Connect(server.URL, nil, "1", clock()); err != nil {
		t.Fatal(err)
	}
	emit(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); err == nil {
		t.Error("a collector that is away was not named")
	}
	for _, bad := range []string{"", "localhost:4318", "ftp://x", "http://"} {
		if _, err := otlp.Connect(bad, nil, "1", nil); err == nil {
			t.Errorf("%q was taken for a collector", bad)
		}
	}
}
