package tokencount_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

func families() []string {
	return []string{"openai", "claude", "claude-new", "gemini", "gemma", "deepseek", "grok", "mistral", "qwen", "kimi", "glm", "minimax", "llama", "unknown"}
}

// F-BUD-05: whatever a request holds, its categories are never negative and
// sum to the estimate, and the estimate is the sum of what its messages, tools
// and fixed framing weigh by themselves.
func TestCategoriesSumToTotal(t *testing.T) {
	counters := map[string]*tokencount.Counter{"zero": tokencount.New(words{}, tokencount.Profile{})}
	text := o200k.New()
	for _, f := range families() {
		counters[f] = tokencount.New(text, tokencount.ProfileFor(f))
	}
	rapid.Check(t, func(t *rapid.T) {
		r := genRequest(t)
		for name, c := range counters {
			got := c.Request(r)
			if got.Breakdown.Total() != got.Estimate.Tokens {
				t.Fatalf("%s: categories %v sum to %d, the estimate is %d", name, got.Breakdown, got.Breakdown.Total(), got.Estimate.Tokens)
			}
			for category, n := range got.Breakdown {
				if n < 0 {
					t.Fatalf("%s: %s is %d", name, budget.Category(category), n)
				}
			}
			sum := c.Fixed(len(r.Tools))
			if r.Reminder != "" {
				sum += c.Text(r.Reminder)
			}
			for _, m := range append(append([]message.Message(nil), r.Instructions...), r.Messages...) {
				sum += c.Message(m).Total()
			}
			for _, d := range r.Tools {
				sum += c.Tool(d)
			}
			if sum != got.Estimate.Tokens {
				t.Fatalf("%s: the items sum to %d, the request is %d", name, sum, got.Estimate.Tokens)
			}
		}
	})
}

// F-CLS-01, F-BUD-05: each kind of content has its category; schemas and
// instructions are counted apart from the conversation.
func TestRequestByCategory(t *testing.T) {
	c := tokencount.New(words{}, tokencount.Profile{RequestTokens: 2, MessageTokens: 10, ToolCallTokens: 100, ToolResultTokens: 200, ToolsTokens: 1000,
		Image: tokencount.ImageRule{TileTokens: 7}, Sealed: tokencount.SealedRule{BytesPerToken: 3}})
	say := func(role message.Role, origin message.Origin, blocks ...message.Block) message.Message {
		return message.Message{Role: role, Origin: origin, Blocks: blocks}
	}
	r := model.Request{
		Instructions: []message.Message{say(message.RoleSystem, "", text("be brief"))},
		Messages: []message.Message{
			say(message.RoleUser, message.OriginSummary, text("what was before")),
			say(message.RoleUser, "", text("old question")),
			say(message.RoleAssistant, "", text("old answer given")),
			say(message.RoleUser, message.OriginInjected, text("a reminder")),
			say(message.RoleUser, "", text("now do it please"), message.Image{}),
			say(message.RoleAssistant, "", message.Reasoning{Text: "hm so"}, message.Reasoning{Opaque: []byte(`"AAAABBBBCCCC"`)}, message.ToolCall{Name: "run", Arguments: "a b"}),
			say(message.RoleTool, "", message.ToolResult{Content: []message.Block{text("done well enough today"), message.Image{}}}),
		},
		Tools:    []message.ToolDefinition{{Name: "run", Description: "runs it"}},
		Reminder: "hurry up now",
	}
	want := budget.Breakdown{}
	want[budget.Instructions] = 2 + 2 + 3
	want[budget.Memory] = 3
	want[budget.Conversation] = 2 + 3
	want[budget.CurrentRequest] = 4
	want[budget.Images] = 7
	want[budget.Reasoning] = 2 + 3
	want[budget.ToolCalls] = 3
	want[budget.ToolResults] = 4 + 7
	want[budget.ToolSchemas] = 3
	want[budget.Framing] = 2 + 1000 + 6*10 + 100 + 200
	got := c.Request(r)
	if got.Breakdown != want {
		t.Errorf("got  %v\nwant %v", got.Breakdown, want)
	}
}

// F-CAP-02, resolution C21: the method follows from family and vocabulary; only
// plain text in the family's own public vocabulary is exact.
func TestMethodAndConfidence(t *testing.T) {
	for _, test := range []struct {
		family, vocabulary string
		method             model.Method
		exact              bool
	}{
		{"openai", "o200k_base", model.MethodProviderTokenizer, true},
		{"qwen", "qwen3", model.MethodProviderTokenizer, true},
		{"qwen", "o200k_base", model.MethodSDK, false},
		{"deepseek", "deepseek_v3", model.MethodProviderTokenizer, true},
		{"gemini", "gemma3", model.MethodProviderTokenizer, true},
		{"claude", "o200k_base", model.MethodSDK, false},
		{"kimi", "o200k_base", model.MethodSDK, false},
		{"unknown", "conservative", model.MethodConservativeFallback, false},
		{"unknown", "o200k_base", model.MethodConservativeFallback, false},
		{"nobody knows this one", "conservative", model.MethodConservativeFallback, false},
	} {
		c := tokencount.New(words{test.vocabulary}, tokencount.ProfileFor(test.family))
		r := c.Request(model.Request{Messages: []message.Message{{Role: message.RoleUser, Blocks: []message.Block{text("one two")}}}})
		if r.Estimate.Method != test.method || r.Estimate.Confidence != model.ConfidenceEstimated || r.Estimate.BandTokens <= 0 {
			t.Errorf("%s in %s: request %+v, want method %s, estimated, with a band", test.family, test.vocabulary, r.Estimate, test.method)
		}
		p := c.Plain("one two")
		if exact := p.Confidence == model.ConfidenceExact; exact != test.exact || exact != (p.BandTokens == 0) {
			t.Errorf("%s in %s: plain text %+v, want exact %v", test.family, test.vocabulary, p, test.exact)
		}
	}
}

// F-CAP-04, F-TST-02: with the same counter of text, a request to a model that
// nobody knows is never estimated below one to a known family, and its band is
// no narrower.
func TestUnknownModelIsConservative(t *testing.T) {
	unknown := tokencount.ProfileFor("something else")
	r := model.Request{
		Instructions: []message.Message{{Role: message.RoleSystem, Blocks: []message.Block{text("You help with code. Follow the rules of the project.")}}},
		Tools:        []message.ToolDefinition{{Name: "read", Description: "Reads a file.", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string","description":"The file."}},"required":["path"]}`)}},
	}
	for range 20 {
		r.Messages = append(r.Messages,
			message.Message{Role: message.RoleUser, Blocks: []message.Block{text("look at the file")}},
			message.Message{Role: message.RoleAssistant, Blocks: []message.Block{text("I look."), message.ToolCall{Name: "read", Arguments: `{"path":"a.go"}`}}},
			message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{Content: []message.Block{text("package a")}}}})
	}
	own := tokencount.New(words{}, unknown).Request(r).Estimate
	for _, f := range families() {
		known := tokencount.New(words{}, tokencount.ProfileFor(f)).Request(r).Estimate
		if own.Tokens < known.Tokens || own.BandTokens < known.BandTokens {
			t.Errorf("unknown %d ± %d, %s %d ± %d", own.Tokens, own.BandTokens, f, known.Tokens, known.BandTokens)
		}
	}
}

// F-BUD-06: text that a wrapper puts around a request is counted like any other.
// B32: instructions and tools are part of every count, also when the messages
// have been replaced by a summary.
func TestInstructionsAndToolsAlwaysCount(t *testing.T) {
	c := tokencount.New(words{}, tokencount.ProfileFor("openai"))
	r := model.Request{Messages: []message.Message{{Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{text("short memory")}}}}
	bare := c.Request(r).Breakdown
	r.Instructions = []message.Message{{Role: message.RoleSystem, Blocks: []message.Block{text("one two three four")}}}
	r.Tools = []message.ToolDefinition{{Name: "run", Description: "runs a command"}}
	whole := c.Request(r).Breakdown
	if whole[budget.Instructions] != 4 || whole[budget.ToolSchemas] == 0 || whole.Total() <= bare.Total()+4 {
		t.Errorf("without %v, with instructions and tools %v", bare, whole)
	}
}

// B33: scripts without spaces are not undercounted by a share of their bytes:
// every family counts at least one token for three Chinese characters.
func TestChineseIsNotUndercounted(t *testing.T) {
	const chinese = "上下文窗口里的每一个字都要算清楚，不能只看字节数。"
	n := len([]rune(chinese))
	for _, f := range families() {
		if got := tokencount.New(o200k.New(), tokencount.ProfileFor(f)).Text(chinese); got*3 < n {
			t.Errorf("%s: %d tokens for %d characters", f, got, n)
		}
	}
}

// Counting a text allocates nothing once the counter is warm.
func TestTextAllocatesNothing(t *testing.T) {
	const sample = "func (c *Counter) Text(text string) int { return round(c.weigh(text)) } // 你好, 12345\n"
	for _, f := range []string{"openai", "claude", "gemini"} {
		c := tokencount.New(o200k.New(), tokencount.ProfileFor(f))
		c.Text(sample)
		if n := testing.AllocsPerRun(100, func() { c.Text(sample) }); n != 0 {
			t.Errorf("%s: %v allocations", f, n)
		}
	}
}
