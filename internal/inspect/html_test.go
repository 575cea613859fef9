package inspect_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/trace"
)

func pageOf(t testing.TB, r *inspect.Run) string {
	t.Helper()
	return string(written(t, r.WriteHTML))
}

var (
	scripts = regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`)
	style   = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
)

// structure is a page without its two large parts and without its data.
func structure(page string) string {
	page = style.ReplaceAllString(page, "<style>…</style>")
	page = scripts.ReplaceAllString(page, "<script$1>…</script>")
	return regexp.MustCompile(`sha256-[A-Za-z0-9+/=]+`).ReplaceAllString(html.UnescapeString(page), "sha256-…")
}

// F-EVT-04: everything that a page says without its script: the numbers that
// matter, the notes, the text alternative of the chart.
func TestPageStructure(t *testing.T) {
	r := fixture(t)
	r.Problems = append(r.Problems, "the trace <b>lacks</b> & an event")
	page := pageOf(t, r)
	golden(t, "page.txtar", "page.html", "F-EVT-04: the page without style, scripts and data.", []byte(structure(page)))
	if again := pageOf(t, r); again != page {
		t.Error("two renderings of one run differ")
	}
	if strings.Contains(page, "<b>lacks</b>") {
		t.Error("a note became markup")
	}
}

// The page loads nothing: no address in any tag or style, and a policy that
// forbids it.
func TestPageIsSelfContained(t *testing.T) {
	page := pageOf(t, fixture(t))
	markup := scripts.ReplaceAllString(page, "")
	for _, banned := range []string{"src=", "href=", "http:", "https:", "@import", "url(", "<link", "<img", "<iframe", "onclick=", "onload="} {
		if strings.Contains(markup, banned) {
			t.Errorf("the page has %q outside its scripts", banned)
		}
	}
	for _, m := range scripts.FindAllStringSubmatch(page, -1) {
		for _, banned := range []string{"fetch(", "XMLHttpRequest", "WebSocket", "importScripts", "eval(", "innerHTML =", "document.write"} {
			if strings.Contains(m[2], banned) && !strings.Contains(m[2], "uPlot=function") {
				t.Errorf("a script has %q", banned)
			}
		}
	}
}

// The policy names exactly what the page runs.
func TestPagePolicy(t *testing.T) {
	page := pageOf(t, fixture(t))
	m := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no policy")
	}
	policy := html.UnescapeString(m[1])
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	all := scripts.FindAllStringSubmatch(page, -1)
	if len(all) != 3 || !strings.Contains(all[0][1], "application/json") {
		t.Fatalf("%d scripts, the first is%s", len(all), all[0][1])
	}
	want := fmt.Sprintf("default-src 'none'; style-src %s; script-src %s %s; base-uri 'none'; form-action 'none'",
		hash(style.FindStringSubmatch(page)[1]), hash(all[1][2]), hash(all[2][2]))
	if policy != want {
		t.Errorf("policy %s\nwant   %s", policy, want)
	}
}

// hostileRun has markup, script ends, line separators and direction marks
// wherever a trace holds text.
func hostileRun(t testing.TB) *inspect.Run {
	const bad = "</script><script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">\u2028\u202e<!--"
	line := activeview.Line{ID: bad + "#0", Label: bad, Category: budget.ToolResults, Tokens: 700, Decision: activeview.Decision(bad), Reason: bad}
	one, two := budgeted(1, 900, line), budgeted(2, 950)
	one.Model, two.Model, one.WindowSource = bad, bad+"2", "odd'\"<>"
	two.Ledger.Hash.Add(line)
	r, err := inspect.Load(eventsOf(&trace.RunStarted{File: bad, Format: bad, Model: bad, Vocabulary: bad, Forge: bad},
		&trace.ContextMark{Request: 1, Kind: "compaction", Trigger: bad}, one,
		&trace.ContextOverflow{Request: 1, Attempt: 1, Code: bad, Provider: bad}, two, completed(2, 940, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// F-SEC-12: text of a trace never becomes markup or program.
func TestPageEscapes(t *testing.T) {
	page := pageOf(t, hostileRun(t))
	if n := strings.Count(strings.ToLower(page), "<script"); n != 3 {
		t.Errorf("%d script tags, want 3", n)
	}
	if strings.Contains(page, "<img") || strings.ContainsRune(page, '\u2028') || strings.ContainsRune(page, '\u202e') {
		t.Error("foreign markup or marks in the page")
	}
	data := scripts.FindStringSubmatch(page)[2]
	if strings.ContainsAny(data, "<>&") {
		t.Error("the data is not free of markup characters")
	}
	var d struct{ Lines struct{ ID []string } }
	if err := json.Unmarshal([]byte(data), &d); err != nil || !strings.HasPrefix(d.Lines.ID[0], "</script><script>") {
		t.Errorf("the data reads as %q, error %v", d.Lines.ID, err)
	}
	runs := rapid.Custom(arbitrary)
	for seed := range 15 {
		page := pageOf(t, runs.Example(seed))
		all := scripts.FindAllStringSubmatch(page, -1)
		if len(all) != 3 || strings.Count(strings.ToLower(page), "<script") != 3 || !json.Valid([]byte(all[0][2])) {
			t.Fatalf("seed %d: %d scripts, or data that is not JSON", seed, len(all))
		}
	}
}

// F-EVT-03, F-SEC-12: no form of a run holds anything that was said.
func TestNoContentIsShown(t *testing.T) {
	c := newConversation(t, 16_000)
	c.in.Instructions[0].Blocks = []message.Block{message.Text{Text: "markermarker system"}}
	c.in.Tools[0].Description = "markermarker tool"
	c.start("session.jsonl")
	c.add(message.Message{Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "markermarker request"}}})
	c.add(message.Message{Role: message.RoleAssistant, Blocks: []message.Block{message.Reasoning{Text: "markermarker", Opaque: []byte(`"markermarker"`)},
		message.ToolCall{ID: "c", Name: "Read", Arguments: `{"path":"markermarker"}`}}})
	c.add(message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: "c", Content: []message.Block{message.Text{Text: "markermarker"}}}}})
	c.request(100)
	c.request(100)
	r := c.load()
	for name, write := range map[string]func(io.Writer) error{
		"page":     r.WriteHTML,
		"overview": func(w io.Writer) error { return r.WriteText(w, inspect.Style{}, inspect.TextOptions{}) },
		"ledger":   func(w io.Writer) error { return r.WriteLedger(w, 0, inspect.LedgerFilter{}, inspect.Style{}) },
		"json":     func(w io.Writer) error { return inspect.WriteJSON(w, r.LedgerDocument(1)) },
	} {
		if out := written(t, write); bytes.Contains(out, []byte("markermarker")) {
			t.Errorf("%s holds content", name)
		}
	}
}

// A page grows with its requests and lines only, and slowly.
func TestPageSize(t *testing.T) {
	small, large := len(pageOf(t, session(t, 100).load())), len(pageOf(t, session(t, 1100).load()))
	if each := (large - small) / 1000; each > 1200 {
		t.Errorf("%d bytes for each further request", each)
	}
}

// The foreign files are the ones that their README names.
func TestAssetsAreUnchanged(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("assets", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	sums := regexp.MustCompile(`([0-9a-f]{64})  (\S+)`).FindAllStringSubmatch(string(readme), -1)
	entries, err := os.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	if len(sums) != len(entries)-1 {
		t.Errorf("%d checksums for %d files", len(sums), len(entries)-1)
	}
	for _, m := range sums {
		data, err := os.ReadFile(filepath.Join("assets", m[2]))
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != m[1] {
			t.Errorf("%s has the checksum %s", m[2], sum)
		}
	}
}

// Opaque replacements appear with their weight and their mark alone.
//
// F-NAT-03
func TestOpaqueCompaction(t *testing.T) {
	c := newConversation(t, 16_000)
	c.start("session.jsonl")
	c.user(100)
	c.request(300)
	at := c.in.Transcript.Len()
	c.in.Changes = append(c.in.Changes, activeview.Change{At: at, Kind: activeview.ChangeCompaction, KeepFrom: at, Opaque: true,
		Replacement: []message.Message{{ID: "o", Role: message.RoleUser, Blocks: []message.Block{message.Opaque{Provider: "example", Type: "compaction", Data: []byte(`"c2VjcmV0c2VjcmV0c2VjcmV0"`)}}}}})
	c.emit(&trace.ContextMark{Request: 2, Kind: "compaction", Opaque: true, TokensBefore: 900})
	c.request(300)
	r := c.load()
	text := string(written(t, func(w io.Writer) error { return r.WriteText(w, inspect.Style{Width: 100}, inspect.TextOptions{}) }))
	if !strings.Contains(text, "the agent compacted at 900 tokens, encrypted by the provider") {
		t.Errorf("the mark is missing:\n%s", text)
	}
	if page := pageOf(t, r); strings.Contains(page, "c2VjcmV0") {
		t.Error("the page holds the opaque item")
	}
}
