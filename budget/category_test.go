package budget_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/budget"
)

func drawBreakdown(t *rapid.T, name string) budget.Breakdown {
	var b budget.Breakdown
	for i := range b {
		b[i] = rapid.IntRange(-1_000_000, 10_000_000).Draw(t, name)
	}
	return b
}

func TestCategoriesAreComplete(t *testing.T) {
	want := []string{"instructions", "memory", "conversation", "currentRequest", "reasoning", "toolCalls", "toolResults", "toolSchemas", "images", "framing", "wrapper"}
	all := budget.Categories()
	if len(all) != len(want) || budget.CategoryCount != len(want) {
		t.Fatalf("%d categories, CategoryCount %d, want %d", len(all), budget.CategoryCount, len(want))
	}
	for i, c := range all {
		if c.String() != want[i] || int(c) != i {
			t.Errorf("category %d is %s, want %s", i, c, want[i])
		}
		parsed, err := budget.ParseCategory(want[i])
		if err != nil || parsed != c {
			t.Errorf("ParseCategory(%s) = %v, %v", want[i], parsed, err)
		}
		text, err := c.MarshalText()
		var back budget.Category
		if err != nil || back.UnmarshalText(text) != nil || back != c {
			t.Errorf("%s reads back as %s (%v)", c, back, err)
		}
	}
}

func TestUnknownCategoriesAreRefused(t *testing.T) {
	for _, name := range []string{"", "Instructions", "history", "tool_calls", "category(3)", "framing "} {
		if c, err := budget.ParseCategory(name); !errors.Is(err, budget.ErrInvalid) {
			t.Errorf("ParseCategory(%q) = %v, %v", name, c, err)
		}
		c := budget.ToolCalls
		if err := c.UnmarshalText([]byte(name)); !errors.Is(err, budget.ErrInvalid) || c != budget.ToolCalls {
			t.Errorf("UnmarshalText(%q) = %v, left %v", name, err, c)
		}
	}
	for _, c := range []budget.Category{-1, budget.Category(budget.CategoryCount), 1 << 40} {
		if text, err := c.MarshalText(); !errors.Is(err, budget.ErrInvalid) {
			t.Errorf("MarshalText of %d = %s, %v", int(c), text, err)
		}
		if c.String() == "" {
			t.Errorf("category %d has no text", int(c))
		}
	}
	if s := budget.Category(12).String(); s != "category(12)" {
		t.Errorf("String = %q", s)
	}
}

func TestBreakdownJSON(t *testing.T) {
	var b budget.Breakdown
	b[budget.Memory] = 7
	b[budget.Framing] = -1
	if got, err := json.Marshal(budget.Breakdown{budget.Wrapper: 3}); err != nil || !strings.HasSuffix(string(got), `,"framing":0,"wrapper":3}`) {
		t.Errorf("json.Marshal = %s, %v", got, err)
	}
	const want = `{"instructions":0,"memory":7,"conversation":0,"currentRequest":0,"reasoning":0,"toolCalls":0,"toolResults":0,"toolSchemas":0,"images":0,"framing":-1}`
	got, err := json.Marshal(b)
	if err != nil || string(got) != want {
		t.Errorf("json.Marshal = %s, %v, want %s", got, err, want)
	}
	var partial budget.Breakdown
	if err := json.Unmarshal([]byte(`{"toolResults": 5}`), &partial); err != nil || partial[budget.ToolResults] != 5 || partial.Total() != 5 {
		t.Errorf("absent categories: %v, %v", partial, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := drawBreakdown(t, "tokens")
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var back budget.Breakdown
		if err := json.Unmarshal(data, &back); err != nil || back != b {
			t.Fatalf("%v reads back as %v (%v)", b, back, err)
		}
	})
}

func TestBrokenBreakdownJSONChangesNothing(t *testing.T) {
	for _, data := range []string{`{"history":1}`, `{"memory":1,"tools":2}`, `{"memory":1.5}`, `{"memory":"1"}`, `{"memory":1e400}`, `[1]`, `7`, `"memory"`} {
		b := budget.Breakdown{1, 2, 3}
		if err := json.Unmarshal([]byte(data), &b); !errors.Is(err, budget.ErrInvalid) || b != (budget.Breakdown{1, 2, 3}) {
			t.Errorf("Unmarshal(%s) = %v, left %v", data, err, b)
		}
	}
}

// The total is the sum of the parts, and sums and differences keep it so.
func TestBreakdownAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawBreakdown(t, "a"), drawBreakdown(t, "b")
		sum := 0
		for _, c := range budget.Categories() {
			sum += a[c]
		}
		if a.Total() != sum {
			t.Fatalf("total %d, sum %d", a.Total(), sum)
		}
		if got := a.Plus(b).Total(); got != a.Total()+b.Total() {
			t.Fatalf("total of the sum is %d", got)
		}
		if a.Plus(b) != b.Plus(a) || a.Plus(b).Minus(b) != a || a.Minus(a) != (budget.Breakdown{}) {
			t.Fatalf("%v and %v do not add up", a, b)
		}
	})
}

func FuzzBreakdownJSON(f *testing.F) {
	f.Add([]byte(`{"memory":7,"framing":-1}`))
	f.Add([]byte(`{"memory":7,"memory":8}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"":0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b budget.Breakdown
		if b.UnmarshalJSON(data) != nil {
			if b != (budget.Breakdown{}) {
				t.Fatalf("an error left %v", b)
			}
			return
		}
		out, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var back budget.Breakdown
		if err := back.UnmarshalJSON(out); err != nil || back != b {
			t.Fatalf("%v reads back as %v (%v)", b, back, err)
		}
	})
}
