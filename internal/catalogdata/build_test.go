package catalogdata_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/forge-agent/forge/internal/catalogdata"
)

func TestDataFileIsUpToDate(t *testing.T) {
	want, err := catalogdata.Build()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../model/catalog/data.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("model/catalog/data.json is out of date: run go generate ./model/catalog")
	}
	again, err := catalogdata.Build()
	if err != nil || !bytes.Equal(again, want) {
		t.Errorf("two builds of the same inputs differ (%v)", err)
	}
}

// Statements of the built file, by model.
func built(t *testing.T, dump, overrides string) map[string]map[string]any {
	t.Helper()
	data, err := catalogdata.BuildFrom([]byte(dump), []byte(overrides))
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, s := range list {
		out[s["id"].(string)] = s
	}
	return out
}

func dumpOf(provider, models string) string {
	return `{"module":"charm.land/catwalk","version":"v1.2.3","date":"2026-01-02","providers":[{"id":"` + provider + `","models":[` + models + `]}]}`
}

// What catwalk's two cached prices mean, provider by provider; what does not
// fit its meaning is unknown rather than guessed.
func TestCachedPricesGetTheirMeaning(t *testing.T) {
	for _, test := range []struct {
		provider, id             string
		in, out, inC, outC       string
		wantRead, wantWrite, why any
	}{
		{"anthropic", "claude-x", "5", "25", "6.25", "0.5", 0.5, 6.25, "in is the write, out the read"},
		{"openai", "gpt-5.6-x", "5", "30", "6.25", "0.5", 0.5, 6.25, "the same since GPT-5.6"},
		{"openai", "gpt-5.5", "5", "30", "0.5", "0", 0.5, nil, "in is the read"},
		{"openai", "gpt-5.1", "1.25", "10", "0.125", "0.125", 0.125, nil, "both are the read"},
		{"openai", "gpt-4o", "2.5", "10", "0", "1.25", 1.25, nil, "out is the read"},
		{"openai", "gpt-5.5-pro", "30", "180", "0", "0", nil, nil, "zero is unknown"},
		{"gemini", "gemini-3.7-flash", "0.75", "3.75", "0.075", "3.75", 0.075, nil, "out repeats the output price"},
		{"gemini", "gemini-3.5-flash", "1.5", "9", "0", "1", nil, nil, "1 is the price of an hour's storage"},
		{"gemini", "gemini-odd", "1", "9", "0.2", "0.1", nil, nil, "two reads that differ: which one?"},
		{"deepseek", "deepseek-x", "0.14", "0.28", "0.0028", "0", 0.0028, nil, "in is the read"},
		{"xai", "grok-x", "2", "6", "0", "0.3", 0.3, nil, "out is the read"},
		{"moonshot", "kimi-x", "3", "15", "0.3", "0", 0.3, nil, "in is the read"},
		{"zai", "glm-a", "0.6", "2.2", "0.11", "0", 0.11, nil, "either is the read"},
		{"zai", "glm-b", "1.4", "4.4", "0", "0.26", 0.26, nil, "either is the read"},
		{"minimax", "minimax-x", "0.3", "1.2", "0.06", "0.375", 0.06, 0.375, "in is the read, out the write"},
		{"minimax", "minimax-fast", "0.6", "2.4", "0.06", "0.375", 0.06, nil, "a write is not cheaper than the input"},
		{"anthropic", "claude-odd", "5", "25", "0", "4", nil, nil, "a read is not this dear"},
	} {
		models := `{"id":"` + test.id + `","cost_per_1m_in":` + test.in + `,"cost_per_1m_out":` + test.out +
			`,"cost_per_1m_in_cached":` + test.inC + `,"cost_per_1m_out_cached":` + test.outC + `,"context_window":1000}`
		prices, _ := built(t, dumpOf(test.provider, models), "[]")[test.id]["prices"].(map[string]any)
		if prices["cachedInputUSDPerMillion"] != test.wantRead || prices["cacheWriteUSDPerMillion"] != test.wantWrite {
			t.Errorf("%s %s (%s): %v, want read %v, write %v", test.provider, test.id, test.why, prices, test.wantRead, test.wantWrite)
		}
	}
}

func TestModelWithoutPricesStatesNone(t *testing.T) {
	s := built(t, dumpOf("zai", `{"id":"glm-x","context_window":1000,"default_max_tokens":77}`), "[]")["glm-x"]
	if s["prices"] != nil || s["maxOutputTokens"] != nil || s["windowTokens"] != 1000.0 {
		t.Errorf("statement %v: a zero price and a default output are unknown", s)
	}
	if s["source"] != "charm.land/catwalk v1.2.3, table zai" || s["date"] != "2026-01-02" {
		t.Errorf("statement %v does not say where it comes from", s)
	}
}

func TestNoiseOfMultipliedPricesIsRounded(t *testing.T) {
	s := built(t, dumpOf("openai", `{"id":"gpt-4.1-mini","cost_per_1m_in":0.39999999999999997,"cost_per_1m_out":1.5999999999999999,"cost_per_1m_out_cached":0.09999999999999999}`), "[]")
	prices := s["gpt-4.1-mini"]["prices"].(map[string]any)
	if prices["inputUSDPerMillion"] != 0.4 || prices["outputUSDPerMillion"] != 1.6 || prices["cachedInputUSDPerMillion"] != 0.1 {
		t.Errorf("prices %v", prices)
	}
}

func TestDatedNameBecomesAnAlias(t *testing.T) {
	s := built(t, dumpOf("anthropic", `{"id":"claude-opus-4-5-20251101","default_max_tokens":64000}`), "[]")["claude-opus-4-5"]
	if aliases, _ := s["aliases"].([]any); len(aliases) != 1 || aliases[0] != "claude-opus-4-5-20251101" || s["maxOutputTokens"] != 64000.0 {
		t.Errorf("statement %v", s)
	}
}

// F-CAP-04: of several hosts the smallest window counts, and none of their
// prices.
func TestOpenModelGetsTheSmallestWindowAndNoPrice(t *testing.T) {
	host := func(id, name, window string) string {
		return `{"id":"` + id + `","models":[{"id":"` + name + `","cost_per_1m_in":1,"cost_per_1m_out":2,"context_window":` + window + `}]}`
	}
	dump := func(hosts ...string) string {
		return `{"module":"m","version":"v","date":"2026-01-02","providers":[` + strings.Join(hosts, ",") + `]}`
	}
	groq, cerebras, router := host("groq", "openai/gpt-oss-120b", "131072"), host("cerebras", "gpt-oss-120b", "65536"), host("openrouter", "openai/gpt-oss-120b", "262144")
	for _, order := range []string{dump(groq, cerebras, router), dump(router, cerebras, groq)} {
		s := built(t, order, "[]")["gpt-oss-120b"]
		if s["windowTokens"] != 65536.0 || s["prices"] != nil || s["source"] != "m v, table cerebras" || s["family"] != "openai" {
			t.Errorf("statement %v", s)
		}
	}
}

func TestHostsOfManyMakersGiveOnlyWhatIsListed(t *testing.T) {
	s := built(t, dumpOf("openrouter", `{"id":"anthropic/claude-opus-4.5","context_window":1},{"id":"google/gemma-4-31b-it:free","context_window":1},
		{"id":"meta-llama/llama-3.3-70b-instruct","context_window":2},{"id":"qwen/qwen3-32b","context_window":3}`), "[]")
	if len(s) != 2 || s["llama-3.3-70b-instruct"] == nil || s["qwen3-32b"] == nil {
		t.Errorf("statements %v", s)
	}
}

func TestHandKeptStatementsComeLastAndSayTheirSource(t *testing.T) {
	dump := dumpOf("xai", `{"id":"grok-x","context_window":1}`)
	data, err := catalogdata.BuildFrom([]byte(dump), []byte(`[ {"id": "grok-x", "source": "s", "date": "2026-01-03", "windowTokens": 2} ]`))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	if len(lines) != 5 || !strings.Contains(lines[1], `"windowTokens":1`) || lines[2] != `{"id":"grok-x","source":"s","date":"2026-01-03","windowTokens":2}` {
		t.Errorf("built:\n%s", data)
	}
	for overrides, want := range map[string]string{
		`[{"id":"x","date":"2026-01-01"}]`:                               "state source and date",
		`[{"id":"x","source":"s"}]`:                                      "state source and date",
		`[{"id":"x","source":"s","date":"2026-01-01","windowToken":1}]`:  "unknown field",
		`[{"id":"x","source":"s","date":"yesterday"}]`:                   "YYYY-MM-DD",
		`[{"id":"x","source":"s","date":"2026-01-01","windowTokens":0}]`: "windowTokens is 0",
		`{`: "read overrides.json",
	} {
		if _, err := catalogdata.BuildFrom([]byte(dump), []byte(overrides)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("BuildFrom(%s) = %v, want an error with %q", overrides, err, want)
		}
	}
	if _, err := catalogdata.BuildFrom([]byte("x"), []byte("[]")); err == nil || !strings.Contains(err.Error(), "read catwalk.json") {
		t.Errorf("BuildFrom with a broken dump = %v", err)
	}
}

func TestReduceKeepsTheNumbers(t *testing.T) {
	files := fstest.MapFS{}
	for _, id := range []string{"alibaba-singapore", "anthropic", "cerebras", "deepseek", "gemini", "groq", "minimax", "moonshot", "openai", "openrouter", "xai", "zai"} {
		files["internal/providers/configs/"+id+".json"] = &fstest.MapFile{Data: []byte(`{"name":"N","id":"other","models":[
			{"id":"b","name":"B","cost_per_1m_in":0.39999999999999997,"cost_per_1m_in_cached":null,"context_window":1000,"default_max_tokens":10,"can_reason":true},{"id":"a"}]}`)}
	}
	dump, err := catalogdata.Reduce(files, "m", "v1", "2026-01-02")
	if err != nil {
		t.Fatal(err)
	}
	data, err := dump.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var again catalogdata.Dump
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if len(again.Providers) != 12 || again.Module != "m" || again.Version != "v1" || again.Date != "2026-01-02" {
		t.Fatalf("dump %+v", again)
	}
	anthropic := again.Providers[1]
	want := catalogdata.RawModel{ID: "b", In: 0.39999999999999997, WindowTokens: 1000, MaxOutputTokens: 10}
	if anthropic.ID != "anthropic" || len(anthropic.Models) != 2 || anthropic.Models[0].ID != "a" || anthropic.Models[1] != want {
		t.Errorf("table %+v", anthropic)
	}
	delete(files, "internal/providers/configs/xai.json")
	if _, err := catalogdata.Reduce(files, "m", "v1", ""); err == nil || !strings.Contains(err.Error(), "read table of xai") {
		t.Errorf("Reduce without a table = %v", err)
	}
	files["internal/providers/configs/xai.json"] = &fstest.MapFile{Data: []byte("{")}
	if _, err := catalogdata.Reduce(files, "m", "v1", ""); err == nil || !strings.Contains(err.Error(), "decode table of xai") {
		t.Errorf("Reduce with a broken table = %v", err)
	}
}
