package tool_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
)

// dispatching stands for other tools; its arguments are NAME:ARGUMENTS.
type dispatching struct {
	fake
	tools []tool.Tool
}

func (d *dispatching) Tools() []tool.Tool { return d.tools }

func (d *dispatching) Dispatch(arguments string) (string, string, error) {
	name, inner, ok := strings.Cut(arguments, ":")
	if !ok {
		return "", "", tool.Argumentf("no colon")
	}
	return name, inner, nil
}

func behind(risk tool.Risk, tools ...tool.Tool) *dispatching {
	d := &dispatching{fake: *good("call_tool"), tools: tools}
	d.risk = risk
	return d
}

func risky(name string, risk tool.Risk) *fake {
	f := good(name)
	f.risk = risk
	return f
}

// A tool behind a dispatcher is planned as itself: a policy sees its name and
// risk, fixed since the set was made (F-RUN-07).
func TestDispatch(t *testing.T) {
	network, read := risky("net", tool.RiskNetwork), risky("look", tool.RiskRead)
	d := behind(tool.RiskNetwork, network, read)
	s, err := tool.NewSet(good("plain"), d)
	if err != nil {
		t.Fatal(err)
	}
	network.risk, d.tools = tool.RiskRead, []tool.Tool{good("late")}
	if got := strings.Join(s.Names(), " "); got != "plain call_tool" {
		t.Errorf("advertised: %s", got)
	}
	for _, tt := range []struct {
		arguments string
		name      string
		risk      tool.Risk
	}{{"net:x", "net", tool.RiskNetwork}, {"look:x", "look", tool.RiskRead}} {
		p, err := s.Plan(t.Context(), message.ToolCall{Name: "call_tool", Arguments: tt.arguments})
		if err != nil || p.Tool != tt.name || p.Risk != tt.risk || p.Via != "call_tool" {
			t.Errorf("%s: %+v, %v", tt.arguments, p, err)
			continue
		}
		if r := p.Run(t.Context()); r.Text != "ran x" {
			t.Errorf("%s: %+v", tt.arguments, r)
		}
		if r := p.Run(t.Context()); r.Outcome != message.OutcomeFailure {
			t.Errorf("%s ran twice", tt.arguments)
		}
	}
	if p, err := s.Plan(t.Context(), message.ToolCall{Name: "plain"}); err != nil || p.Via != "" {
		t.Errorf("plain: %+v, %v", p, err)
	}
	for _, c := range []message.ToolCall{
		{Name: "net", Arguments: "x"}, {Name: "call_tool", Arguments: "plain:x"}, {Name: "call_tool", Arguments: "call_tool:x"},
		{Name: "call_tool", Arguments: "late:x"}, {Name: "call_tool", Arguments: "x"},
	} {
		var call *tool.CallError
		if p, err := s.Plan(t.Context(), c); !errors.As(err, &call) || call.Tool != c.Name {
			t.Errorf("%+v: %+v, %v", c, p, err)
		}
	}
}

// No set lets a tool hide a larger risk, a second tool of a name or another
// dispatcher.
func TestDispatcherRefused(t *testing.T) {
	for name, tools := range map[string][]tool.Tool{
		"larger risk":     {behind(tool.RiskWrite, risky("net", tool.RiskNetwork))},
		"unknown risk":    {behind(tool.RiskNetwork, risky("net", "none"))},
		"same name":       {behind(tool.RiskRead, good("a"), good("a"))},
		"name of another": {good("a"), behind(tool.RiskRead, good("a"))},
		"later name":      {behind(tool.RiskRead, good("a")), good("a")},
		"own name":        {behind(tool.RiskRead, good("call_tool"))},
		"nil":             {behind(tool.RiskRead, nil)},
		"in each other":   {behind(tool.RiskRead, &dispatching{fake: *good("inner")})},
	} {
		if _, err := tool.NewSet(tools...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Arguments for somebody else's schema pass unchanged, or are refused.
func TestObject(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""}, {"{}", ""}, {` {"a": [1, {"b": null}], "c": 1e400} `, ""}, {`{"a":"\ud83d\ude00\u0000"}`, ""},
		{strings.Repeat(`{"a":`, 90) + "1" + strings.Repeat("}", 90), ""},
		{"[]", "one JSON object"}, {"null", "one JSON object"}, {`"a"`, "one JSON object"},
		{`{"a":1,}`, "not valid JSON"}, {`{"a" 1}`, "not valid JSON"}, {`{"a":1]`, "not valid JSON"}, {`{"a":1`, "in the middle"},
		{`{} {}`, "text after"}, {`{"a":1,"a":2}`, `"a" is given twice`}, {`{"a":1,"\u0061":2}`, `"a" is given twice`}, {`{"x":[{"a":1,"a":2}]}`, `"a" is given twice`},
		{strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200), "nested more than"},
		{strings.Repeat(`[`, 200), "one JSON object"}, {`{"a":` + strings.Repeat(`[`, 200), "nested more than"},
		{`{"a":"\ud83d"}`, "surrogate"}, {"{\"a\":\"\xff\"}", "UTF-8"},
		{`{"a":"` + strings.Repeat("a", tool.MaxArgumentBytes) + `"}`, "Split the call"},
	} {
		got, err := tool.Object(tt.text)
		var argument *tool.ArgumentError
		switch {
		case tt.want == "" && (err != nil || tt.text != "" && string(got) != tt.text):
			t.Errorf("%.60s: got %.60s, %v", tt.text, got, err)
		case tt.want != "" && (!errors.As(err, &argument) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%.60s: got %v, want %q", tt.text, err, tt.want)
		}
	}
}

func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[{"b":1}]}`, `{"a":1,"a":2}`, `{"a":"\ud83d"}`, "{\"\xff\":0}", `{"a":]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := tool.Object(text)
		if err != nil {
			var argument *tool.ArgumentError
			if !errors.As(err, &argument) || len(err.Error()) > 1000 {
				t.Fatalf("%T with %d bytes", err, len(err.Error()))
			}
			return
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(got, &object) != nil || object == nil || strings.TrimSpace(text) != "" && string(got) != text {
			t.Fatalf("let %q through as %q", text, got)
		}
	})
}
