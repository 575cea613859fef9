package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
)

type fake struct {
	name, description, parameters string
	risk                          tool.Risk
	plan                          func(arguments string) (tool.Plan, error)
}

func (f *fake) Definition() message.ToolDefinition {
	return message.ToolDefinition{Name: f.name, Description: f.description, Parameters: json.RawMessage(f.parameters)}
}
func (f *fake) Risk() tool.Risk { return f.risk }
func (f *fake) Plan(_ context.Context, arguments string) (tool.Plan, error) {
	if f.plan == nil {
		return tool.Plan{Run: func(context.Context) tool.Result { return tool.Success("ran " + arguments) }}, nil
	}
	return f.plan(arguments)
}

func good(name string) *fake {
	return &fake{name: name, description: "Does it.", parameters: `{"type":"object"}`, risk: tool.RiskRead}
}

func TestNewSetRefuses(t *testing.T) {
	for name, tools := range map[string][]tool.Tool{
		"nil":            {nil},
		"same name":      {good("a"), good("a")},
		"no name":        {good("")},
		"odd name":       {good("a b")},
		"long name":      {good(strings.Repeat("a", 65))},
		"no description": {&fake{name: "a", risk: tool.RiskRead, description: " "}},
		"broken schema":  {&fake{name: "a", risk: tool.RiskRead, description: "d", parameters: "{"}},
		"schema null":    {&fake{name: "a", risk: tool.RiskRead, description: "d", parameters: "null"}},
		"no risk":        {&fake{name: "a", description: "d"}},
	} {
		if _, err := tool.NewSet(tools...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// F-RUN-07: the list of a run is fixed. What a tool says later of its name,
// schema or risk, and what a caller does with the returned definitions, changes
// nothing.
func TestSetIsFixed(t *testing.T) {
	a, b := good("b_tool"), good("a_tool")
	list := []tool.Tool{a, b}
	s, err := tool.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	list[0] = good("other")
	a.risk, a.name, a.parameters = tool.RiskNetwork, "renamed", `{"x":1}`
	definitions := s.Definitions()
	definitions[0].Name = "changed"
	definitions[0].Parameters[0] = 'x'
	if got := s.Names(); !slices.Equal(got, []string{"b_tool", "a_tool"}) {
		t.Errorf("names %v", got)
	}
	if got := string(s.Definitions()[0].Parameters); got != `{"type":"object"}` {
		t.Errorf("parameters %s", got)
	}
	plan, err := s.Plan(t.Context(), message.ToolCall{Name: "b_tool", Arguments: "x"})
	if err != nil || plan.Risk != tool.RiskRead || plan.Tool != "b_tool" {
		t.Fatalf("plan %+v, %v", plan, err)
	}
	if got := plan.Run(t.Context()); got.Text != "ran x" || got.Outcome != message.OutcomeSuccess {
		t.Errorf("result %+v", got)
	}
}

// A plan runs once, however often and by however many it is asked for
// (F-SEC-10), and not in a run that has ended.
func TestPlanRunsOnce(t *testing.T) {
	var count atomic.Int32
	counting := good("count")
	counting.plan = func(string) (tool.Plan, error) {
		return tool.Plan{Run: func(context.Context) tool.Result {
			count.Add(1)
			return tool.Result{Text: "a\xff", Outcome: message.OutcomeSuccess}
		}}, nil
	}
	s, err := tool.NewSet(counting)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan(t.Context(), message.ToolCall{Name: "count"})
	if err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if r := plan.Run(done); r.Outcome != message.OutcomeFailure || count.Load() != 0 {
		t.Errorf("ran in a run that has ended: %+v", r)
	}
	var wait sync.WaitGroup
	var succeeded atomic.Int32
	for range 16 {
		wait.Go(func() {
			if r := plan.Run(t.Context()); r.Outcome == message.OutcomeSuccess {
				succeeded.Add(1)
				if r.Text != "a\uFFFD" {
					t.Errorf("text %q", r.Text)
				}
			}
		})
	}
	wait.Wait()
	if count.Load() != 1 || succeeded.Load() != 1 {
		t.Errorf("ran %d times, %d successes", count.Load(), succeeded.Load())
	}
}

func TestPlanErrors(t *testing.T) {
	broken := good("broken")
	broken.plan = func(string) (tool.Plan, error) { return tool.Plan{}, nil }
	s, err := tool.NewSet(good("read_file"), broken)
	if err != nil {
		t.Fatal(err)
	}
	var call *tool.CallError
	_, err = s.Plan(t.Context(), message.ToolCall{Name: "readfile\xff"})
	if !errors.As(err, &call) || !call.Unknown || !strings.Contains(err.Error(), "read_file, broken") {
		t.Errorf("unknown tool: %v", err)
	}
	if r := call.Result(); r.Outcome != message.OutcomeFailure || !utf8.ValidString(r.Text) {
		t.Errorf("result %+v", r)
	}
	if _, err = s.Plan(t.Context(), message.ToolCall{Name: "broken"}); !errors.As(err, &call) || call.Unknown {
		t.Errorf("tool without a plan: %v", err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = s.Plan(done, message.ToolCall{Name: "read_file"}); !errors.Is(err, context.Canceled) || errors.As(err, &call) {
		t.Errorf("done context: %v", err)
	}
}

type arguments struct {
	Path  string   `json:"path"`
	Count *int     `json:"count"`
	Deep  bool     `json:"deep"`
	List  []string `json:"list"`
}

// Broken arguments are errors that name what to change, and nothing of them is
// taken over in silence.
func TestDecode(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"white space", " \n", ""},
		{"all", `{"path":"a","count":3,"deep":true,"list":["x","y"]}`, ""},
		{"an emoji in halves", `{"path":"\ud83d\ude00"}`, ""},
		{"an escaped backslash before u", `{"path":"\\ud83d"}`, ""},
		{"not JSON", `path=a`, "not valid JSON"},
		{"cut", `{"path":"a`, "in the middle"},
		{"only a brace", `{`, "in the middle"},
		{"array", `["a"]`, "one JSON object"},
		{"string", `"a"`, "one JSON object"},
		{"null", `null`, "one JSON object"},
		{"two objects", `{"path":"a"} {"path":"b"}`, "text after"},
		{"unknown member", `{"file":"a"}`, `no member "file". The members are: path, count, deep, list`},
		{"other case", `{"Path":"a"}`, `no member "Path"`},
		{"twice", `{"path":"a","path":"b"}`, `"path" is given twice`},
		{"null member", `{"path":null}`, `"path" is null`},
		{"number for string", `{"path":7}`, `"path" must be a string`},
		{"string for number", `{"count":"7"}`, `"count" must be a whole number`},
		{"object for bool", `{"deep":{}}`, `"deep" must be true or false`},
		{"string for list", `{"list":"a"}`, `"list" must be a list, each entry a string`},
		{"number in list", `{"list":["a",1]}`, `"list" must be a string`},
		{"fraction", `{"count":1.5}`, `"count" must be a whole number`},
		{"huge", `{"count":1e999}`, `"count" must be a whole number`},
		{"too many digits", `{"count":99999999999999999999}`, `"count" must be a whole number`},
		{"NUL", `{"path":"a\u0000b"}`, "NUL"},
		{"NUL in list", `{"list":["a","\u0000"]}`, `"list[1]" holds a NUL`},
		{"half a pair", `{"path":"\ud83d"}`, "half of a surrogate pair"},
		{"second half", `{"path":"\udc00x"}`, "half of a surrogate pair"},
		{"half, then another escape", `{"path":"\ud83d\u0041"}`, "half of a surrogate pair"},
		{"not UTF-8", "{\"path\":\"\xff\"}", "not valid UTF-8"},
		{"too long", `{"path":"` + strings.Repeat("a", tool.MaxArgumentBytes) + `"}`, "Split the call"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var a arguments
			err := tool.Decode(tt.text, &a)
			if tt.want == "" {
				if err != nil {
					t.Errorf("unexpected: %v", err)
				}
				return
			}
			var argument *tool.ArgumentError
			if !errors.As(err, &argument) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want something with %q", err, tt.want)
			}
		})
	}
}

func TestWhole(t *testing.T) {
	number := func(n int) *int { return &n }
	for _, tt := range []struct {
		given      *int
		want       int
		wrong      bool
		least, top int
	}{
		{nil, 7, false, 1, 9}, {number(1), 1, false, 1, 9}, {number(9), 9, false, 1, 9},
		{number(0), 0, true, 1, 9}, {number(10), 0, true, 1, 9}, {number(math.MinInt), 0, true, 1, math.MaxInt},
	} {
		got, err := tool.Whole("n", tt.given, 7, tt.least, tt.top)
		if got != tt.want || (err != nil) != tt.wrong {
			t.Errorf("%+v: got %d, %v", tt, got, err)
		}
	}
}

// F-RUN-01: whatever is written, in whatever pieces, memory and text stay
// within the bound; the beginning and the end are there; no rune is cut.
func TestOutputIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.IntRange(256, 2000).Draw(t, "bound")
		o := tool.NewOutput(bound)
		var all strings.Builder
		for _, piece := range rapid.SliceOf(rapid.OneOf(
			rapid.StringOfN(rapid.RuneFrom([]rune("aé漢😀\n")), 0, 900, -1),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 200), func(b []byte) string { return string(b) }),
		)).Draw(t, "pieces") {
			all.WriteString(piece)
			if rapid.Bool().Draw(t, "as string") {
				o.WriteString(piece)
			} else if n, err := o.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatalf("wrote %d, %v", n, err)
			}
		}
		r := o.Result(message.OutcomeSuccess)
		whole := strings.ToValidUTF8(all.String(), "\uFFFD")
		switch {
		case len(r.Text) > bound:
			t.Fatalf("%d bytes, bound %d", len(r.Text), bound)
		case !utf8.ValidString(r.Text):
			t.Fatal("not UTF-8")
		case o.TotalBytes() != all.Len():
			t.Fatalf("counted %d of %d", o.TotalBytes(), all.Len())
		case !r.Truncated && r.Text != whole:
			t.Fatalf("changed in silence: %q, want %q", r.Text, whole)
		case !r.Truncated:
			return
		}
		head, tail, ok := strings.Cut(r.Text, "\n[… about ")
		_, tail, end := strings.Cut(tail, " were not kept …]\n")
		if !ok || !end || !strings.HasPrefix(whole, head) || r.OriginalBytes != all.Len() {
			t.Fatalf("cut badly: %q", r.Text)
		}
		if utf8.ValidString(all.String()) && (!strings.HasSuffix(whole, tail) || len(head)+len(tail) < bound-128) {
			t.Fatalf("cut badly: %q of %q", r.Text, whole)
		}
	})
}

// F-RUN-01 and F-RUN-05: 40 MiB of output are kept as one text of at most
// 16 MiB; what is shown is derived from it and at most 65,536 bytes long, and
// deriving it leaves the stored result as it was.
func TestStoredOnceAndShown(t *testing.T) {
	o := tool.NewOutput(tool.MaxOutputBytes)
	line := strings.Repeat("0123456789abcdef", 64)
	for range 40 << 10 {
		o.WriteString(line)
	}
	call := message.ToolCall{ID: "1", Name: "run_command"}
	stored := o.Result(message.OutcomeFailure).Message(call)
	if n := len(stored.Text()); n > tool.MaxOutputBytes || n < tool.MaxOutputBytes-1024 || !stored.Truncated || stored.OriginalBytes != 40<<20 {
		t.Fatalf("stored %d bytes of %d", n, stored.OriginalBytes)
	}
	before := stored.Text()
	shown := tool.Shown(stored, 0)
	if n := len(shown.Text()); n > tool.DefaultShownBytes || !shown.Truncated || shown.OriginalBytes != 40<<20 || shown.CallID != "1" || shown.Outcome != message.OutcomeFailure {
		t.Errorf("shown %d bytes: %+v", n, shown.OriginalBytes)
	}
	if stored.Text() != before || len(stored.Content) != 1 {
		t.Error("the stored result changed")
	}
	small := tool.Success("short").Message(call)
	if got := tool.Shown(small, 10); got.Text() != "short" || got.Truncated {
		t.Errorf("short result: %+v", got)
	}
	if got := tool.Success(strings.Repeat("é", tool.MaxOutputBytes)); len(got.Text) > tool.MaxOutputBytes || !got.Truncated {
		t.Errorf("a text that is too long was kept: %d bytes", len(got.Text))
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"path":"a","count":1,"deep":false,"list":["b"]}`, `{"path":"\ud83d\ude00\u0000"}`, `[1e400]`, "{\"\xff\":0}", `{"count":-1}{`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a arguments
		err := tool.Decode(text, &a)
		if err == nil {
			for _, s := range append(a.List, a.Path) {
				if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
					t.Fatalf("let %q through", s)
				}
			}
			return
		}
		var argument *tool.ArgumentError
		if !errors.As(err, &argument) || len(err.Error()) > 1000 {
			t.Fatalf("%T with %d bytes", err, len(err.Error()))
		}
	})
}
