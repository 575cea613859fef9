package sdkoracle

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider"
)

// cases is how many requests and how many streams each provider is checked
// with.
const cases = 120

// recorder stands for the network: it keeps what is sent and answers with a
// stream or a document.
type recorder struct {
	body   []byte
	stream string
	// document is answered instead where it is set.
	document string
}

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	var err error
	if q.Body != nil {
		if r.body, err = io.ReadAll(q.Body); err != nil {
			return nil, err
		}
	}
	kind, answer := "text/event-stream", r.stream
	if r.document != "" {
		kind, answer = "application/json", r.document
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(answer)), Request: q}, nil
}

func (r *recorder) client() *http.Client { return &http.Client{Transport: r} }

// connection leads an adapter to the recorder.
func (r *recorder) connection() provider.Connection {
	return provider.Connection{Endpoint: "https://api.example.com", Client: r.client(), Retry: provider.Retry{Attempts: 1}}
}

// drawn are requests, the same in each run.
func drawn(t *testing.T, reasoning func(string) message.Reasoning, each func(t *testing.T, r model.Request)) {
	e := adaptertest.Encoder{Reasoning: reasoning}
	requests := rapid.Custom(e.Draw)
	for seed := range cases {
		each(t, requests.Example(seed))
		if t.Failed() {
			t.Fatalf("with request %d", seed)
		}
	}
}

// same compares two JSON texts by value.
func same(t *testing.T, sdk, ours []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(sdk, &a); err != nil {
		t.Fatalf("%v: %s", err, sdk)
	}
	if err := json.Unmarshal(ours, &b); err != nil {
		t.Fatalf("%v: %s", err, ours)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("bodies differ (-SDK +ours):\n%s", diff)
	}
}

// reading is what an answer says, as both sides see it.
type reading struct {
	Text, Reasoning string
	Calls           []message.ToolCall
	Sealed          []string
	Input, Output   int
}

// ours reads a stream with the adapter.
func ours(t *testing.T, m model.Model) (reading, model.StopReason) {
	t.Helper()
	var out reading
	var stop model.StopReason
	for e, err := range m.Stream(t.Context(), model.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		c, ok := e.(model.Completed)
		if !ok {
			continue
		}
		stop = c.Stop
		if c.Usage != nil {
			out.Input, out.Output = c.Usage.InputTokens, c.Usage.OutputTokens
		}
		for _, m := range c.Messages {
			for _, b := range m.Blocks {
				switch b := b.(type) {
				case message.Text:
					out.Text += b.Text
				case message.Reasoning:
					out.Reasoning += b.Text
					if len(b.Opaque) > 0 {
						out.Sealed = append(out.Sealed, string(b.Opaque))
					}
				case message.ToolCall:
					out.Calls = append(out.Calls, b)
				}
			}
		}
	}
	return out, stop
}

// script is an answer to be written in every dialect.
type script struct {
	Parts         []piece
	Input, Output int
	Stop          int // which of the dialect's reasons
}

// piece is a text, a thought or a call, in the bits that it comes in.
type piece struct {
	Kind string // text, thought, call
	ID   string
	Bits []string
}

func (p piece) whole() string { return strings.Join(p.Bits, "") }

// scripts are answers, the same in each run.
func scripts(t *testing.T, each func(t *testing.T, s script)) {
	bit := rapid.StringMatching(`[a-zé日🌍"\\<&>\n ]{1,9}`)
	gen := rapid.Custom(func(t *rapid.T) script {
		s := script{Input: rapid.IntRange(1, 1<<20).Draw(t, "input"), Output: rapid.IntRange(1, 1<<16).Draw(t, "output"), Stop: rapid.IntRange(0, 1).Draw(t, "stop")}
		if rapid.Bool().Draw(t, "thinks") {
			s.Parts = append(s.Parts, piece{Kind: "thought", Bits: rapid.SliceOfN(bit, 1, 4).Draw(t, "thought")})
		}
		if rapid.Bool().Draw(t, "speaks") {
			s.Parts = append(s.Parts, piece{Kind: "text", Bits: rapid.SliceOfN(bit, 1, 5).Draw(t, "text")})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
			arguments, _ := json.Marshal(map[string]string{"path": bit.Draw(t, "argument")})
			cut := rapid.IntRange(0, len(arguments)).Draw(t, "cut")
			for cut > 0 && cut < len(arguments) && arguments[cut]&0xC0 == 0x80 {
				cut-- // never inside a character: an event is text
			}
			s.Parts = append(s.Parts, piece{Kind: "call", ID: "call_" + string(rune('a'+i)), Bits: []string{string(arguments[:cut]), string(arguments[cut:])}})
		}
		return s
	})
	for seed := range cases {
		each(t, gen.Example(seed))
		if t.Failed() {
			t.Fatalf("with script %d", seed)
		}
	}
}

// expected is what both sides must find, but for what a dialect seals.
func (s script) expected() reading {
	out := reading{Input: s.Input, Output: s.Output}
	for _, p := range s.Parts {
		switch p.Kind {
		case "text":
			out.Text += p.whole()
		case "thought":
			out.Reasoning += p.whole()
		default:
			out.Calls = append(out.Calls, message.ToolCall{ID: p.ID, Name: "read_file", Arguments: p.whole()})
		}
	}
	return out
}

func (s script) calls() bool { return len(s.expected().Calls) > 0 }

// agree compares script, SDK and adapter.
func agree(t *testing.T, want, sdk, ours reading) {
	t.Helper()
	want.Sealed, sdk.Sealed = ours.Sealed, ours.Sealed
	if diff := cmp.Diff(want, sdk); diff != "" {
		t.Errorf("the SDK reads otherwise (-script +SDK):\n%s", diff)
	}
	if diff := cmp.Diff(want, ours); diff != "" {
		t.Errorf("the adapter reads otherwise (-script +adapter):\n%s", diff)
	}
}

// events writes values as server-sent events, with their type as the name
// where they have one.
func events(values ...map[string]any) string {
	var b bytes.Buffer
	for _, v := range values {
		data, _ := json.Marshal(v)
		if name, ok := v["type"].(string); ok {
			b.WriteString("event: " + name + "\n")
		}
		b.WriteString("data: " + string(data) + "\n\n")
	}
	return b.String()
}

type object = map[string]any

// blocks of messages, by kind, for the translations into the SDKs' values.
func textOf(m message.Message) string { return m.Text() }

func schemaOf(t *testing.T, d message.ToolDefinition) map[string]any {
	t.Helper()
	var schema map[string]any
	if err := json.Unmarshal(d.Parameters, &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}
