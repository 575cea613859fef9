package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// exporter sends spans in the JSON form of OTLP over HTTP, which every
// collector takes. The official exporter brings gRPC and protobuf along: with
// it the program was 6 MB larger.
type exporter struct {
	url     string
	host    string
	headers map[string]string
	client  http.Client
}

// maxAnswerBytes bounds what is read of a collector's answer.
const maxAnswerBytes = 64 << 10

// ExportSpans implements sdk.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := json.Marshal(request(spans))
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send spans to %s: %w", e.host, err)
	}
	for name, value := range e.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.client.Do(req)
	if err != nil {
		return fmt.Errorf("send spans to %s: %w", e.host, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes))
	if err != nil {
		return fmt.Errorf("send spans to %s: %w", e.host, err)
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("send spans to %s: the collector answers %s", e.host, res.Status)
	}
	return rejected(answer)
}

// rejected says what a collector that answers well has left out.
func rejected(answer []byte) error {
	var a struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"`
			ErrorMessage  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return nil // an answer in another form
	}
	if n := a.PartialSuccess.RejectedSpans; n != "" && n != "0" {
		return fmt.Errorf("the collector left %s spans out: %.200q", n, a.PartialSuccess.ErrorMessage)
	}
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// The JSON form of an export request (OTLP 1.x, JSON protobuf encoding: ids are
// hex, 64-bit integers are strings).
type (
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributed   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	attributed struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []span `json:"spans"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		ParentID   string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []keyValue  `json:"attributes"`
		Events     []spanEvent `json:"events,omitempty"`
		Status     spanStatus  `json:"status"`
	}
	spanEvent struct {
		Time       string     `json:"timeUnixNano"`
		Name       string     `json:"name"`
		Attributes []keyValue `json:"attributes,omitempty"`
	}
	spanStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

func request(spans []sdk.ReadOnlySpan) exportRequest {
	if len(spans) == 0 {
		return exportRequest{}
	}
	var scope scopeSpans
	scope.Scope.Name = spans[0].InstrumentationScope().Name
	for _, s := range spans {
		scope.Spans = append(scope.Spans, newSpan(s))
	}
	return exportRequest{[]resourceSpans{{Resource: attributed{keyValues(spans[0].Resource().Attributes())}, ScopeSpans: []scopeSpans{scope}}}}
}

func newSpan(s sdk.ReadOnlySpan) span {
	out := span{TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(),
		Kind: kindOf(s.SpanKind()), Start: nanos(s.StartTime()), End: nanos(s.EndTime()), Attributes: keyValues(s.Attributes())}
	if s.Parent().HasSpanID() {
		out.ParentID = s.Parent().SpanID().String()
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, spanEvent{Time: nanos(e.Time), Name: e.Name, Attributes: keyValues(e.Attributes)})
	}
	switch s.Status().Code { // the protocol numbers them otherwise than the client
	case codes.Ok:
		out.Status = spanStatus{Code: 1}
	case codes.Error:
		out.Status = spanStatus{Code: 2, Message: s.Status().Description}
	}
	return out
}

func kindOf(k api.SpanKind) int {
	if k == api.SpanKindClient {
		return 3
	}
	return 1 // internal
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func keyValues(list []attribute.KeyValue) []keyValue {
	out := make([]keyValue, 0, len(list))
	for _, a := range list {
		v := map[string]any{}
		switch a.Value.Type() {
		case attribute.INT64:
			v["intValue"] = strconv.FormatInt(a.Value.AsInt64(), 10)
		case attribute.FLOAT64:
			v["doubleValue"] = a.Value.AsFloat64()
		case attribute.BOOL:
			v["boolValue"] = a.Value.AsBool()
		default:
			v["stringValue"] = a.Value.String()
		}
		out = append(out, keyValue{string(a.Key), v})
	}
	return out
}
