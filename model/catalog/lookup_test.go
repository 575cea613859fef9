package catalog_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/forge-agent/forge/model/catalog"
)

func TestLookup(t *testing.T) {
	for _, test := range []struct {
		name, want string
		match      catalog.Match
	}{
		{"gpt-5", "gpt-5", catalog.MatchExact},
		{" GPT-5 ", "gpt-5", catalog.MatchExact},
		{"gpt-5.6", "gpt-5.6-sol", catalog.MatchAlias},
		{"claude-sonnet-4.5", "claude-sonnet-4-5", catalog.MatchAlias},
		{"claude-sonnet-4-5-20250929", "claude-sonnet-4-5", catalog.MatchAlias},
		{"claude-sonnet-4-20250514", "claude-sonnet-4", catalog.MatchAlias},
		{"claude-3-7-sonnet-20250219", "claude-3-7-sonnet", catalog.MatchSnapshot},
		{"claude-opus-5-5-20261103", "claude-opus-5-5", catalog.MatchSnapshot},
		{"claude-3-7-sonnet-latest", "claude-3-7-sonnet", catalog.MatchSnapshot},
		{"gpt-5-2025-08-07", "gpt-5", catalog.MatchSnapshot},
		{"gpt-4o-2024-11-20", "gpt-4o", catalog.MatchSnapshot},
		// A snapshot with other values has an entry of its own.
		{"gpt-4o-2024-05-13", "gpt-4o-2024-05-13", catalog.MatchExact},
		{"anthropic/claude-haiku-4.5", "claude-haiku-4-5", catalog.MatchDecorated},
		{"openrouter/anthropic/claude-sonnet-4.5:free", "claude-sonnet-4-5", catalog.MatchDecorated},
		{"claude-opus-4-6[1m]", "claude-opus-4-6", catalog.MatchDecorated},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5", catalog.MatchDecorated},
		{"anthropic.claude-opus-4-6-v1", "claude-opus-4-6", catalog.MatchDecorated},
		{"global.anthropic.claude-opus-5", "claude-opus-5", catalog.MatchDecorated},
		{"arn:aws:bedrock:us-east-1:0:inference-profile/eu.anthropic.claude-3-7-sonnet-20250219-v1:0", "claude-3-7-sonnet", catalog.MatchDecorated},
		{"claude-sonnet-4-5@20250929", "claude-sonnet-4-5", catalog.MatchDecorated},
		{"publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro", catalog.MatchDecorated},
		{"models/gemini-3.1-pro-preview", "gemini-3.1-pro-preview", catalog.MatchDecorated},
		{"moonshotai/Kimi-K2-Instruct-0905:groq", "kimi-k2-instruct-0905", catalog.MatchDecorated},
		{"azure/gpt-4.1-2025-04-14", "gpt-4.1", catalog.MatchDecorated},
		{"MiniMax-M2.7", "minimax-m2.7", catalog.MatchExact},
		{"zai-org/GLM-4.6", "glm-4.6", catalog.MatchDecorated},
		{"x-ai/grok-4.1-fast", "grok-4-1-fast", catalog.MatchDecorated},
		{"deepseek-ai/DeepSeek-R1-0528", "deepseek-r1-0528", catalog.MatchDecorated},
	} {
		m, match := catalog.Default().Resolve(test.name)
		if m.ID != test.want || match != test.match {
			t.Errorf("Resolve(%q) = %s, %s, want %s, %s", test.name, m.ID, match, test.want, test.match)
		}
		if found, ok := catalog.Default().Lookup(test.name); !ok || found.ID != test.want {
			t.Errorf("Lookup(%q) = %s, %t, want %s", test.name, found.ID, ok, test.want)
		}
	}
}

// A name that is only similar is unknown: guessing a window is worse than the
// small fallback.
func TestLookupNeverGuesses(t *testing.T) {
	for _, name := range []string{
		"", "/", "gpt", "gpt-5-turbo", "gpt-55", "gpt-5o", "my-gpt-5", "gpt-5 (proxy)", "claude", "claude-sonnet", "claude-opus-4-5-fast",
		"claude-sonnet-4-5-2025", "claude-sonnet-4-5-20259929", "claude-sonnet-4-5@2025", "claude-sonnet-4-5@20259999", "aide-gpt-5", "codex-auto-review", "fake-model",
		// A fine-tune has prices of its own.
		"ft:gpt-4o-2024-08-06:acme::abc123",
		// Ollama's tag names a size, and often another model (a distillation).
		"deepseek-r1:14b", "gpt-oss:20b", "qwen3:32b",
		// A server on the user's own machine chooses the window itself.
		"ollama/gpt-oss-20b", "lmstudio/qwen3-32b", "hosted_vllm/qwen3-32b", "openrouter/ollama/gpt-oss-20b",
		strings.Repeat("x/", 200) + "gpt-5",
	} {
		if m, ok := catalog.Default().Lookup(name); ok {
			t.Errorf("Lookup(%q) finds %s", name, m.ID)
		}
	}
}

func FuzzLookup(f *testing.F) {
	for _, seed := range []string{"gpt-5", "a/b/claude-opus-4-5-20251101", "us.anthropic.x-v1:0", "x@20250101", "[1m]", "é/ø", "\xff/gpt-4o", "////"} {
		f.Add(seed)
	}
	c := catalog.Default()
	f.Fuzz(func(t *testing.T, name string) {
		m, ok := c.Lookup(name)
		again, match := c.Resolve(name)
		if ok != (match != catalog.MatchNone) {
			t.Fatalf("Lookup says %t, Resolve %s", ok, match)
		}
		if !ok {
			if again.Origin != catalog.OriginFallback || again.ID != name {
				t.Fatalf("fallback of %q is %+v", name, again)
			}
			return
		}
		// Whatever was taken off, what is left is one of the model's names,
		// whole.
		lower := strings.ToLower(name)
		if !slices.ContainsFunc(append(m.Aliases, m.ID), func(known string) bool { return strings.Contains(lower, known) }) {
			t.Fatalf("%q became %s", name, m.ID)
		}
	})
}

// Names in the shared session files that no public source describes.
var unknownOnPurpose = []string{"aide-gpt-5", "codex-auto-review", "fake-model"}

// Every model that the shared session files name is known, or unknown on
// purpose.
func TestCorpusModelsResolve(t *testing.T) {
	root := os.Getenv("FORGE_CORPUS")
	if root == "" {
		t.Skip("FORGE_CORPUS is unset: needs the shared session files")
	}
	field := regexp.MustCompile(`"(?:model|modelId|modelID|model_name)":\s*("(?:[^"\\]|\\.){1,120}")`)
	files := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range field.FindAllSubmatch(data, -1) {
			var name string
			if json.Unmarshal(found[1], &name) == nil && !slices.Contains(files[name], filepath.Base(path)) {
				files[name] = append(files[name], filepath.Base(path))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 40 {
		t.Errorf("found only %d model names: has the format changed?", len(files))
	}
	for name, where := range files {
		_, ok := catalog.Default().Lookup(name)
		if onPurpose := slices.Contains(unknownOnPurpose, name); ok == onPurpose {
			t.Errorf("%q (in %v): known %t, unknown on purpose %t", name, where, ok, onPurpose)
		}
	}
}
