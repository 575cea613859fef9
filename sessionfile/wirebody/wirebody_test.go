package wirebody_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []sessionfile.Format{wirebody.Format()}

func TestGolden(t *testing.T) {
	importertest.Golden(t, "testdata/*.txtar", formats, *update)
}

func TestCutAnywhere(t *testing.T) {
	for _, name := range []string{"anthropic.txtar", "gemini.txtar"} {
		importertest.CutDocument(t, importertest.Input(t, name), formats)
	}
}

func TestDecode(t *testing.T) {
	for _, test := range []struct {
		name, body string
		dialect    wirebody.Dialect
		messages   int
		complete   bool
	}{
		{"chat", `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}`, wirebody.Chat, 2, true},
		{"chat with an answer schema", `{"model":"m","messages":[{"role":"user","content":"u"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}}`, wirebody.Chat, 1, false},
		{"anthropic by its tools", `{"model":"m","messages":[{"role":"user","content":"u"}],"tools":[{"name":"t","input_schema":{}}]}`, wirebody.Anthropic, 1, true},
		{"anthropic by a result", `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]}`, wirebody.Anthropic, 1, true},
		{"responses", `{"model":"m","input":"hi"}`, wirebody.Responses, 1, true},
		{"responses with a stored prompt", `{"model":"m","input":"hi","prompt":{"id":"p"}}`, wirebody.Responses, 1, false},
		{"gemini", `{"contents":[{"parts":[{"text":"hi"}]}]}`, wirebody.Gemini, 1, true},
		{"gemini with cached content", `{"contents":[{"parts":[{"text":"hi"}]}],"cachedContent":"c/1"}`, wirebody.Gemini, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			body, err := wirebody.Decode([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if body.Dialect != test.dialect || len(body.Messages) != test.messages || body.Complete != test.complete {
				t.Errorf("got %s, %d messages, complete %v", body.Dialect, len(body.Messages), body.Complete)
			}
			if !body.Complete && len(body.Losses) == 0 {
				t.Error("incomplete, and no loss says why")
			}
			if r := body.Request(); len(r.Messages) != test.messages {
				t.Errorf("the request has %d messages", len(r.Messages))
			}
		})
	}
	for _, bad := range []string{"", "[]", "{}", `{"messages":[]}`, `{"messages":"x"}`, `{"input":[]}`, `{"input":[{"a":1}],"model":"m"}`, "nonsense"} {
		if _, err := wirebody.Decode([]byte(bad)); err == nil {
			t.Errorf("%q was decoded", bad)
		}
	}
}

// The parts of a usage are contained in its wholes, whatever the provider
// means by its fields (FORMATS: xAI and Vercel leave the reasoning out, GLM
// proxies the cached tokens).
func TestDecodeUsage(t *testing.T) {
	for _, test := range []struct {
		name, usage string
		want        message.Usage
	}{
		{"chat", `{"prompt_tokens":100,"completion_tokens":30,"total_tokens":130,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":10}}`,
			message.Usage{InputTokens: 100, CachedInputTokens: 64, OutputTokens: 30, ReasoningTokens: 10}},
		{"DeepSeek", `{"prompt_tokens":100,"completion_tokens":30,"total_tokens":130,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}`,
			message.Usage{InputTokens: 100, CachedInputTokens: 64, OutputTokens: 30}},
		{"xAI: the total tells that reasoning is left out", `{"prompt_tokens":100,"completion_tokens":30,"total_tokens":140,"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":10}}`,
			message.Usage{InputTokens: 100, CachedInputTokens: 5, OutputTokens: 40, ReasoningTokens: 10}},
		{"Vercel: more reasoning than completion", `{"prompt_tokens":61,"completion_tokens":10,"total_tokens":71,"completion_tokens_details":{"reasoning_tokens":96}}`,
			message.Usage{InputTokens: 61, OutputTokens: 106, ReasoningTokens: 96}},
		{"GLM proxy: cached part left out", `{"prompt_tokens":20,"completion_tokens":30,"total_tokens":130,"prompt_tokens_details":{"cached_tokens":80}}`,
			message.Usage{InputTokens: 100, CachedInputTokens: 80, OutputTokens: 30}},
		{"GLM proxy without the cached field", `{"prompt_tokens":20,"completion_tokens":30,"total_tokens":130}`,
			message.Usage{InputTokens: 100, OutputTokens: 30}},
		{"cached beside the prompt, without a total", `{"prompt_tokens":20,"completion_tokens":30,"prompt_tokens_details":{"cached_tokens":80}}`,
			message.Usage{InputTokens: 100, CachedInputTokens: 80, OutputTokens: 30}},
		{"Anthropic", `{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":7}`,
			message.Usage{InputTokens: 123, CachedInputTokens: 100, CacheWriteInputTokens: 20, OutputTokens: 7}},
		{"Anthropic with details of the output", `{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":7,"output_tokens_details":{"reasoning_tokens":5}}`,
			message.Usage{InputTokens: 123, CachedInputTokens: 100, CacheWriteInputTokens: 20, OutputTokens: 7, ReasoningTokens: 5}},
		{"Anthropic, all cached", `{"input_tokens":0,"cache_read_input_tokens":100,"output_tokens":0}`,
			message.Usage{InputTokens: 100, CachedInputTokens: 100}},
		{"Responses", `{"input_tokens":100,"input_tokens_details":{"cached_tokens":64},"output_tokens":30,"output_tokens_details":{"reasoning_tokens":10},"total_tokens":130}`,
			message.Usage{InputTokens: 100, CachedInputTokens: 64, OutputTokens: 30, ReasoningTokens: 10}},
		{"Gemini", `{"promptTokenCount":100,"cachedContentTokenCount":40,"toolUsePromptTokenCount":8,"candidatesTokenCount":20,"thoughtsTokenCount":10,"totalTokenCount":138}`,
			message.Usage{InputTokens: 108, CachedInputTokens: 40, OutputTokens: 30, ReasoningTokens: 10}},
		{"an empty list for no details", `{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":300,"input_tokens_details":[]}`,
			message.Usage{InputTokens: 310, CachedInputTokens: 300, OutputTokens: 5}},
		{"numbers with a point, with an exponent and in quotes", `{"prompt_tokens":100.0,"completion_tokens":"30","total_tokens":1.3e2,"prompt_cache_hit_tokens":"","completion_tokens_details":[],"prompt_tokens_details":{"cached_tokens":6.4e1}}`,
			message.Usage{InputTokens: 100, CachedInputTokens: 64, OutputTokens: 30}},
	} {
		got, err := wirebody.DecodeUsage([]byte(test.usage))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	for _, empty := range []string{"null", "{}", `{"prompt_tokens":0,"completion_tokens":0}`} {
		if got, err := wirebody.DecodeUsage([]byte(empty)); got != nil || err != nil {
			t.Errorf("DecodeUsage(%s) = %v, %v, want nothing", empty, got, err)
		}
	}
	for _, bad := range []string{"", "[]", `{"prompt_tokens":-1}`, `{"prompt_tokens":-1.0}`, `{"prompt_tokens":1.0} and more`, `{"prompt_tokens":true}`, `{"prompt_tokens":1,"prompt_tokens_details":"x"}`, `{"prompt_tokens":"` + strings.Repeat("9", 1<<20) + `"}`, `{"prompt_tokens":1.5}`, `{"prompt_tokens":"NaN"}`, `{"prompt_tokens":"0x1p4"}`, `{"prompt_tokens":1e30}`, `{"prompt_tokens":"many"}`, `{"prompt_tokens":9000000000000000000}`} {
		if got, err := wirebody.DecodeUsage([]byte(bad)); err == nil {
			t.Errorf("DecodeUsage(%.80s) = %v, want an error", bad, got)
		} else if len(err.Error()) > 200 {
			t.Errorf("DecodeUsage(%.80s): an error of %d bytes", bad, len(err.Error()))
		}
	}
}

func FuzzDecode(f *testing.F) {
	importertest.AddInputs(f)
	f.Add([]byte(`{"model":"m","messages":[{"role":"assistant","tool_calls":[{}]},{"role":"tool"}],"tools":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		importertest.Read(t, data, formats)
		body, err := wirebody.Decode(data)
		if err == nil && body.Dialect == "" {
			t.Error("decoded, and of no dialect")
		}
		if u, err := wirebody.DecodeUsage(data); err == nil && u != nil && (u.CachedInputTokens+u.CacheWriteInputTokens > u.InputTokens || u.ReasoningTokens > u.OutputTokens) {
			t.Errorf("parts are not contained in the whole: %+v", *u)
		}
	})
}

// Over the recorded requests: each decodes in its dialect without loss of
// text, and each usage holds what the provider reported.
func TestCorpus(t *testing.T) {
	f, err := os.Open(filepath.Join(filepath.Dir(importertest.Corpus(t, "token-usage")[0]), "recorded-requests.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dialects := map[wirebody.Dialect]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		var row struct {
			Model          string
			Request, Usage json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		body, err := wirebody.Decode(row.Request)
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		dialects[body.Dialect]++
		var request any
		if err := json.Unmarshal(row.Request, &request); err != nil {
			t.Fatal(err)
		}
		said := allText(body)
		for _, text := range wireTexts(request, "") {
			if !strings.Contains(said, text) {
				t.Errorf("line %d (%s): a text is not in the body: %.80q", n, body.Dialect, text)
			}
		}
		for _, l := range body.Losses {
			if !known(l.What) {
				t.Errorf("line %d (%s): %s", n, body.Dialect, l.What)
			}
		}
		u, err := wirebody.DecodeUsage(row.Usage)
		if err != nil || u == nil || u.InputTokens == 0 || u.CachedInputTokens+u.CacheWriteInputTokens > u.InputTokens || u.ReasoningTokens > u.OutputTokens {
			t.Errorf("line %d: usage %+v, %v of %s", n, u, err, row.Usage)
		}
	}
	want := map[wirebody.Dialect]int{wirebody.Chat: 295, wirebody.Anthropic: 60, wirebody.Responses: 78, wirebody.Gemini: 76}
	if diff := cmp.Diff(want, dialects); diff != "" {
		t.Errorf("dialects (-want +got):\n%s", diff)
	}
}

// known are the losses that the recorded requests are known to have.
func known(loss string) bool {
	for _, part := range []string{"the schema of the answer", "is defined by the provider"} {
		if strings.Contains(loss, part) {
			return true
		}
	}
	return false
}

// wireTexts collects what people, models and tools said in a body.
func wireTexts(v any, key string) (out []string) {
	switch v := v.(type) {
	case string:
		switch key {
		case "text", "content", "arguments", "output", "thinking", "reasoning", "reasoning_content", "instructions", "result":
			return []string{v}
		}
	case []any:
		for _, e := range v {
			out = append(out, wireTexts(e, key)...)
		}
	case map[string]any:
		for k, e := range v {
			if k == "tools" || k == "reasoning" && key == "" || k == "text" && key == "" || k == "args" || k == "input" && v["type"] == "tool_use" {
				continue
			}
			out = append(out, wireTexts(e, k)...)
		}
	}
	return out
}

// allText joins everything that a body says.
func allText(b *wirebody.Body) string {
	var out strings.Builder
	var add func(message.Block)
	add = func(block message.Block) {
		switch b := block.(type) {
		case message.Text:
			out.WriteString(b.Text)
		case message.Reasoning:
			out.WriteString(b.Text)
			out.Write(b.Opaque)
		case message.ToolCall:
			out.WriteString(b.Arguments)
		case message.ToolResult:
			for _, c := range b.Content {
				add(c)
			}
		case message.Opaque:
			out.Write(b.Data)
		}
		out.WriteString("\x00")
	}
	for _, m := range append(b.Instructions, b.Messages...) {
		for _, block := range m.Blocks {
			add(block)
		}
	}
	return out.String()
}
