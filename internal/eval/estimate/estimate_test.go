package estimate_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/corpustest"
	"github.com/forge-agent/forge/internal/eval/estimate"
)

// Issue behaviour 5: estimates are compared with what providers reported, by
// family and by kind of file, beside a fourth and a third of the bytes
// (F-EST-01). Here with a made-up recording of 18 tokens.
func TestEvaluate(t *testing.T) {
	dir := t.TempDir()
	if err := corpustest.Write(dir, 2, 1); err != nil {
		t.Fatal(err)
	}
	c, err := corpus.Load(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := estimate.Evaluate(context.Background(), dir, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Requests) != 0 || len(r.Growth) != 0 {
		t.Errorf("compared without usage: %+v", r)
	}
	line := `{"source":"x/testdata/TestA/m/simple.yaml#0","url":"https://api.openai.com/v1/chat/completions","model":"gpt-5",` +
		`"usage":{"prompt_tokens":18,"completion_tokens":3,"total_tokens":21},"request":{"model":"gpt-5","messages":[{"role":"user","content":"Say hi in Portuguese, and nothing else at all please."}]}}` + "\n"
	path := filepath.Join(dir, "token-usage", "recorded-requests.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err = estimate.Evaluate(context.Background(), dir, c, nil); err != nil {
		t.Fatal(err)
	}
	if len(r.Requests) != 1 || r.Requests[0].Group != "openai" || r.Requests[0].Compared != 1 || r.Requests[0].Forge != 0 {
		t.Errorf("%+v", r.Requests)
	}
}
