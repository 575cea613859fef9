package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile/wirebody"
	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

// maxBodyBytes bounds a request.
const maxBodyBytes = 256 << 20

// read turns a request into values.
func read(hr *http.Request, d wirebody.Dialect, model string, count bool) (Request, error) {
	body, err := io.ReadAll(io.LimitReader(hr.Body, maxBodyBytes))
	if err != nil {
		return Request{}, fmt.Errorf("read request: %w", err)
	}
	inner := body
	if count && d == wirebody.Gemini {
		var outer struct {
			Request json.RawMessage `json:"generateContentRequest"`
		}
		if json.Unmarshal(body, &outer) == nil && len(outer.Request) > 0 {
			inner = outer.Request
		}
	}
	b, err := wirebody.Decode(inner)
	if err != nil {
		return Request{}, err
	}
	if b.Dialect != d && (b.Dialect != wirebody.Chat || d != wirebody.Anthropic) { // a body without system text and tools reads as either
		return Request{}, fmt.Errorf("the body reads as %s where %s is spoken", b.Dialect, d)
	}
	r := Request{Dialect: d, Model: b.Model, Instructions: b.Instructions, Messages: b.Messages, Tools: b.Tools, OutputCapTokens: b.OutputTokens, Body: body, Header: hr.Header.Clone()}
	if r.Model == "" {
		r.Model = model
	}
	return r, nil
}

// pieces lists the parts of a request in the order in which a prompt is made
// from them: tools, instructions, messages.
func pieces(r Request) []string {
	var out []string
	for _, t := range r.Tools {
		out = append(out, "tool "+t.Name+" "+t.Description+" "+string(t.Parameters))
	}
	for _, list := range [][]message.Message{r.Instructions, r.Messages} {
		for _, m := range list {
			for _, b := range m.Blocks {
				out = append(out, string(m.Role)+": "+blockText(b))
			}
		}
	}
	return out
}

// blockText is what a model reads of a block.
func blockText(b message.Block) string {
	switch b := b.(type) {
	case message.Text:
		return b.Text
	case message.Reasoning:
		return b.Text + string(b.Opaque)
	case message.Image:
		return fmt.Sprintf("[image %s %s %d bytes]", b.MediaType, b.URL, len(b.Data))
	case message.ToolCall:
		return b.Name + " " + b.Arguments
	case message.ToolResult:
		var parts []string
		for _, inner := range b.Content {
			parts = append(parts, blockText(inner))
		}
		return strings.Join(parts, "\n")
	case message.Opaque:
		return string(b.Data)
	}
	return ""
}

// weigher counts requests. A piece that came before is not counted again.
type weigher struct {
	counter tokenizer.Counter
	known   map[string]int
	last    []string
}

// maxKnown bounds what a weigher remembers.
const maxKnown = 4096

func newWeigher() weigher { return weigher{counter: o200k.New(), known: map[string]int{}} }

type weight struct{ total, cached int }

// weigh counts pieces. keep makes them what the next ones are compared with.
func (w *weigher) weigh(list []string, keep bool) weight {
	var out weight
	if len(w.known) > maxKnown {
		clear(w.known)
	}
	same := true
	for i, p := range list {
		n, ok := w.known[p]
		if !ok {
			n = w.counter.Count(p)
			w.known[p] = n
		}
		out.total += n
		if same = same && i < len(w.last) && w.last[i] == p; same {
			out.cached += n
		}
	}
	if keep {
		w.last = list
	}
	return out
}

// answer counts what a reply says.
func (w *weigher) answer(r Reply) int {
	n := w.counter.Count(r.Reasoning) + w.counter.Count(r.Text)
	for _, c := range r.Calls {
		n += w.counter.Count(c.Name) + w.counter.Count(c.Arguments)
	}
	return n
}
