package tokencount_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recorder keeps the texts that it is asked to count.
type recorder struct{ texts []string }

func (r *recorder) Count(s string) int { r.texts = append(r.texts, s); return 1 }
func (*recorder) Name() string         { return "recorder" }

// What the model reads of a tool, in both rendered forms.
func TestSchemaForms(t *testing.T) {
	path := filepath.Join("testdata", "schemas.txtar")
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		name, ok := strings.CutSuffix(f.Name, ".tool")
		if !ok {
			continue
		}
		var d message.ToolDefinition
		var raw struct {
			Name, Description string
			Parameters        json.RawMessage
		}
		if err := json.Unmarshal(f.Data, &raw); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		d.Name, d.Description, d.Parameters = raw.Name, raw.Description, raw.Parameters
		out.Files = append(out.Files, f)
		for _, form := range []tokencount.SchemaForm{tokencount.SchemaTypeScript, tokencount.SchemaJSON, tokencount.SchemaWords} {
			var r recorder
			tokencount.New(&r, tokencount.Profile{Schema: form}).Tool(d)
			out.Files = append(out.Files, txtar.File{Name: name + "." + string(form), Data: []byte(strings.Join(r.texts, "\n") + "\n")})
		}
	}
	got := txtar.Format(out)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := txtar.Format(archive); string(got) != string(want) {
		t.Errorf("rendered schemas differ from %s; run the test with -update and look at the difference\n%s", path, got)
	}
}

// What OpenAI's Responses API reported for these two lists of tools in the
// recorded requests, give or take one token for rounded framing.
func TestTypeScriptFormMatchesReports(t *testing.T) {
	number := `{"type": "integer", "description": "%s number"}`
	two := json.RawMessage(`{"type": "object", "properties": {"a": ` + strings.Replace(number, "%s", "first", 1) + `, "b": ` + strings.Replace(number, "%s", "second", 1) + `}, "required": ["a", "b"]}`)
	weather := message.ToolDefinition{Name: "weather", Description: "Get weather information for a location",
		Parameters: json.RawMessage(`{"type": "object", "properties": {"location": {"type": "string", "description": "the city"}}, "required": ["location"]}`)}
	c := tokencount.New(o200k.New(), tokencount.ProfileOf(tokencount.Route{Family: "openai", Model: "gpt-5", Wire: tokencount.WireResponses}))
	one := c.Tool(weather) + c.Fixed(1) - c.Fixed(0)
	if one < 39 || one > 41 { // 63 for the request, 23 for the same without tools
		t.Errorf("one tool weighs %d tokens, 40 were reported", one)
	}
	pair := c.Tool(message.ToolDefinition{Name: "add", Description: "Add two numbers", Parameters: two}) +
		c.Tool(message.ToolDefinition{Name: "multiply", Description: "Multiply two numbers", Parameters: two}) + c.Fixed(2) - c.Fixed(0)
	if pair < 71 || pair > 73 {
		t.Errorf("two tools weigh %d tokens, 72 were reported", pair)
	}
}

// A tool of which only the name is known stands for text that the provider
// supplies.
func TestProviderTool(t *testing.T) {
	c := tokencount.New(words{}, tokencount.Profile{ProviderToolTokens: 1300, ToolTokens: 5})
	if got := c.Tool(message.ToolDefinition{Name: "computer"}); got != 1301 {
		t.Errorf("a provider's tool weighs %d tokens, want 1301", got)
	}
	if got := c.Tool(message.ToolDefinition{Name: "own", Description: "does it"}); got != 8 {
		t.Errorf("an own tool weighs %d tokens, want 8", got)
	}
}

// A schema that is no JSON, or deeper than any real one, is counted as the
// text that it is, in bounded time.
func TestSchemaThatCannotBeRead(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	for name, raw := range map[string]string{"cut": `{"type": "object", "prop`, "deep": deep, "trailing": `{} nonsense`} {
		for _, form := range []tokencount.SchemaForm{tokencount.SchemaParts, tokencount.SchemaJSON, tokencount.SchemaTypeScript, tokencount.SchemaWords} {
			var r recorder
			tokencount.New(&r, tokencount.Profile{Schema: form}).Tool(message.ToolDefinition{Name: "n", Description: "d", Parameters: json.RawMessage(raw)})
			if seen := strings.Join(r.texts, "\n"); !strings.Contains(seen, raw) {
				t.Errorf("%s as %q: the text was not counted", name, form)
			}
		}
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	f.Add(`{"properties":{"a":{"enum":["x",1,null]},"b":{"items":{}}}}`)
	f.Add(`[[[[`)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, form := range []tokencount.SchemaForm{tokencount.SchemaParts, tokencount.SchemaJSON, tokencount.SchemaTypeScript, tokencount.SchemaWords} {
			c := tokencount.New(words{}, tokencount.Profile{Schema: form, PropertyTokens: 1})
			d := message.ToolDefinition{Name: "n", Description: "d", Parameters: json.RawMessage(raw)}
			if a, b := c.Tool(d), c.Tool(d); a != b || a < 0 {
				t.Fatalf("%q counted %d and %d", raw, a, b)
			}
		}
	})
}
