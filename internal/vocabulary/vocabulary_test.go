package vocabulary_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/tokencount"
)

// F-CAP-02, F-CAP-04, F-TST-02, C21: a public vocabulary is exact for plain
// text, a known family without one is estimated, an unknown model is counted
// conservatively.
func TestText(t *testing.T) {
	for id, want := range map[string]struct {
		name  string
		exact bool
	}{
		"gpt-5":             {"o200k_base", true},
		"gpt-4":             {"cl100k_base", true},
		"claude-sonnet-4-5": {"o200k_base", false},
		"nobody-knows":      {"conservative", false},
	} {
		m, _ := catalog.Default().Resolve(id)
		c, exact := vocabulary.Text(m)
		if c.Name() != want.name || exact != want.exact {
			t.Errorf("%s: %s, exact: %t", id, c.Name(), exact)
		}
		r := vocabulary.Counter(m, tokencount.Route{}).Request(model.Request{Messages: []message.Message{
			{ID: "u", Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "How long is a context window?"}}}}})
		if conservative := r.Estimate.Method == model.MethodConservativeFallback; conservative != (want.name == "conservative") {
			t.Errorf("%s: method %s", id, r.Estimate.Method)
		}
		if r.Estimate.Confidence != model.ConfidenceEstimated || r.Estimate.BandTokens <= 0 {
			t.Errorf("%s: a request is %s ± %d", id, r.Estimate.Confidence, r.Estimate.BandTokens)
		}
	}
}

// A file that is missing, or that is no tokenizer, is refused with its name.
func TestOpenRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	for _, content := range []string{"", "{}", `{"model":{"type":"Unigram"}}`} {
		if content != "" {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := vocabulary.Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", content, err)
		}
	}
}
