package estimate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/sessionfile/wirebody"
	"github.com/forge-agent/forge/tokencount"
)

// A Recorded is one recorded request with what its provider counted.
type Recorded struct {
	// TestCase is what was asked, without the model that was asked and
	// without the manner of delivery: "tool#1" is the second request of the
	// case "tool". The split goes by it.
	TestCase string
	// Source names the record.
	Source string
	// Route is the model and how it was reached.
	Route tokencount.Route
	// Request is what was sent, Reported its input tokens.
	Request  model.Request
	Reported int
	// Kind says what a local count cannot see; empty for a plain request.
	Kind string
}

// The kinds of requests that are not plain.
const (
	KindSealed       = "sealed reasoning"
	KindImage        = "image"
	KindAnswerSchema = "answer schema"
	KindProviderTool = "provider tool"
	// KindServerContent: the report counts content that the provider added on
	// its side, such as the results of its own web search.
	KindServerContent = "server content"
	// KindUncounted: the report leaves out sealed reasoning that the request
	// holds. Gemini 2.5 does that in answers that are not streamed.
	KindUncounted = "uncounted reasoning"
)

// InTest says whether a case belongs to the part that no fit sees: a quarter of
// the cases, drawn by a hash of the name, the same for all models.
func InTest(testCase string) bool {
	h := fnv.New32a()
	h.Write([]byte(testCase))
	return h.Sum32()%4 == 0
}

// line is one line of recorded-requests.jsonl.
type line struct {
	Source, URL, Model string
	Usage              json.RawMessage
	Request            json.RawMessage
}

// ReadRequests reads the recorded requests of a corpus.
func ReadRequests(corpus string, models *catalog.Catalog) ([]Recorded, error) {
	path := filepath.Join(corpus, "token-usage", "recorded-requests.jsonl")
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open recorded requests: %w", err)
	}
	defer f.Close()
	var out []Recorded
	s := bufio.NewScanner(f)
	s.Buffer(nil, 64<<20)
	for n := 1; s.Scan(); n++ {
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("read line %d of %s: %w", n, path, err)
		}
		r, err := readRecorded(l, models)
		if err != nil {
			return nil, fmt.Errorf("read line %d of %s: %w", n, path, err)
		}
		if r.Reported > 0 {
			out = append(out, r)
		}
	}
	return out, s.Err()
}

func readRecorded(l line, models *catalog.Catalog) (Recorded, error) {
	body, err := wirebody.Decode(l.Request)
	if err != nil {
		return Recorded{}, err
	}
	usage, err := wirebody.DecodeUsage(l.Usage)
	if err != nil || usage == nil {
		return Recorded{}, err
	}
	out := Recorded{TestCase: CaseName(l.Source), Source: l.Source, Request: body.Request(), Reported: usage.InputTokens}
	out.Route = tokencount.Route{Family: FamilyOf(l.Model, models), Model: l.Model, Wire: WireOf(l.URL, body.Dialect)}
	out.Kind = kindOf(out.Request)
	if out.Kind == KindSealed && body.Dialect == wirebody.Gemini && strings.Contains(l.Model, "gemini-2.5") && !strings.Contains(l.URL, "streamGenerateContent") {
		out.Kind = KindUncounted
	}
	if strings.HasPrefix(out.TestCase, "web_search") {
		out.Kind = KindServerContent
	}
	if len(body.AnswerSchema) > 0 {
		out.Kind = KindAnswerSchema
		if body.Dialect != wirebody.Gemini { // Gemini's models do not read it: those requests report the text alone
			out.Request.Instructions = append(out.Request.Instructions, message.Message{Role: message.RoleSystem,
				Blocks: []message.Block{message.Text{Text: answerSchema(body)}}})
		}
	}
	return out, nil
}

// CaseName takes the case out of a source such as
// "…/testdata/TestX/model/multi_tool_streaming.yaml#1".
func CaseName(source string) string {
	name := source[strings.LastIndexByte(source, '/')+1:]
	name, turn, _ := strings.Cut(name, "#")
	name = strings.TrimSuffix(name, ".yaml")
	for _, suffix := range []string{"_streaming", "-streaming", "-stream"} {
		name = strings.TrimSuffix(name, suffix)
	}
	switch {
	case strings.Contains(source, "ImageUpload"):
		name = "image"
	case strings.Contains(source, "WebSearch"):
		name = "web_search"
	}
	return name + "#" + turn
}

// FamilyOf returns the family of a model of the catalog, empty for one that it
// does not know.
func FamilyOf(id string, models *catalog.Catalog) string {
	if m, ok := models.Lookup(id); ok {
		return string(m.Family)
	}
	return ""
}

// WireOf tells the wire of a request by its address and dialect.
func WireOf(url string, d wirebody.Dialect) tokencount.Wire {
	switch d {
	case wirebody.Anthropic:
		return tokencount.WireMessages
	case wirebody.Responses:
		return tokencount.WireResponses
	case wirebody.Gemini:
		if strings.Contains(url, "aiplatform.") {
			return tokencount.WireVertex
		}
		return tokencount.WireGemini
	}
	return tokencount.WireChat
}

func kindOf(r model.Request) string {
	kind := ""
	for _, t := range r.Tools {
		if t.Description == "" && len(t.Parameters) == 0 {
			return KindProviderTool
		}
	}
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			kind = max(kind, KindOf(b))
		}
	}
	return kind
}

// KindOf says what of a block a local count cannot see; empty for nothing.
func KindOf(b message.Block) string {
	switch b := b.(type) {
	case message.Image:
		return KindImage
	case message.Opaque:
		return KindProviderTool
	case message.Reasoning:
		if len(b.Opaque) > 0 {
			return KindSealed
		}
	case message.ToolResult:
		for _, inner := range b.Content {
			if KindOf(inner) == KindImage {
				return KindImage
			}
		}
	}
	return ""
}

// answerSchema is an answer schema as a model is taken to read it: under a
// heading where chat completions carry it.
func answerSchema(body *wirebody.Body) string {
	var b bytes.Buffer
	if body.Dialect == wirebody.Chat {
		b.WriteString("# Response Formats\n\n## response_format\n\n")
	}
	if json.Compact(&b, body.AnswerSchema) != nil {
		b.Write(body.AnswerSchema)
	}
	return b.String()
}
