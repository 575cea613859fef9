package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/internal/inspect"
)

// shown opens a page in a headless browser and returns what stands in it once
// its script has run. Without a browser the test is skipped.
func shown(t *testing.T, r *inspect.Run, address string) string {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: the page is not tried in a browser")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte(pageOf(t, r)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--no-first-run", "--enable-logging=stderr", "--v=0", "--window-size=1400,1000", "--virtual-time-budget=1000",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--dump-dom", "file://"+file+address)
	var messages strings.Builder
	cmd.Stderr = &messages
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("%v\n%s", err, messages.String())
	}
	for _, line := range strings.Split(messages.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the browser says: %s", line)
		}
	}
	return string(out)
}

// plain is a piece of a page as text, one line for each block.
func plain(t *testing.T, page, open, end string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, open)
	if !found {
		t.Fatalf("the page has no %s", open)
	}
	part, _, _ := strings.Cut(rest, end)
	part = regexp.MustCompile(`</(td|th|small|i|span|b)>`).ReplaceAllString(part, " ")
	part = regexp.MustCompile(`</(tr|li|p|h2|h3|h4|option)>`).ReplaceAllString(part, "\n")
	part = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(part, ""))
	var lines []string
	for _, l := range strings.Split(part, "\n") {
		if l = strings.Join(strings.Fields(l), " "); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

// F-EVT-04: in a browser the page draws its charts and says of every request
// what the run says: its items, its ledger, and how two requests differ. The
// page's own arithmetic in JavaScript agrees with the one in Go.
func TestPageInABrowser(t *testing.T) {
	r := fixture(t)
	page := shown(t, r, "#request=11&compare=12")

	if n := strings.Count(page, "<canvas"); n != 4 {
		t.Errorf("%d charts are drawn, want 4", n)
	}
	for _, bad := range []string{"NaN", "undefined", "[object"} {
		if rest := scripts.ReplaceAllString(page, ""); strings.Contains(rest, bad) {
			t.Errorf("%s stands in the page", bad)
		}
	}
	golden(t, "browser.txtar", "detail", "F-EVT-04: what the page's script writes.", []byte(plain(t, page, `<aside id="detail"`, "</aside>")))
	golden(t, "browser.txtar", "compare", "", []byte(plain(t, page, `<section id="compare"`, "</section>")))
	golden(t, "browser.txtar", "ledger", "", []byte(plain(t, page, `<section id="ledger"`, "</section>")))
	golden(t, "browser.txtar", "requests", "", []byte(plain(t, page, `<section id="requests"`, "</section>")))

	d := r.Diff(10, 11)
	compare := plain(t, page, `<section id="compare"`, "</section>")
	for _, want := range []string{
		fmt.Sprintf("%s tokens before that place are shared, %s after it are lost", inspect.Tokens(d.Prefix.SharedTokens), "10,453"),
		fmt.Sprintf("Added %d lines", len(d.Added)), fmt.Sprintf("Changed %d lines", len(d.Changed)), fmt.Sprintf("%d lines the same in both", d.Same),
	} {
		if !strings.Contains(compare, want) {
			t.Errorf("the comparison lacks %q:\n%s", want, compare)
		}
	}
	if d.Prefix.LostTokens != 10453 {
		t.Errorf("%d tokens are lost", d.Prefix.LostTokens)
	}
	ledger := plain(t, page, `<section id="ledger"`, "</section>")
	if want := fmt.Sprintf("%d lines of %d", r.Requests[10].LedgerLines, r.Requests[10].LedgerLines); !strings.Contains(ledger, want) {
		t.Errorf("the ledger lacks %q:\n%s", want, ledger)
	}
}

// F-SEC-12: a hostile trace cannot run anything, and is still shown.
func TestHostilePageInABrowser(t *testing.T) {
	page := shown(t, hostileRun(t), "")
	if regexp.MustCompile(`(?i)<title>hacked`).MatchString(page) || strings.Contains(scripts.ReplaceAllString(page, ""), "<img") {
		t.Error("foreign markup came alive")
	}
	if detail := plain(t, page, `<aside id="detail"`, "</aside>"); !strings.Contains(detail, "</script><script>") {
		t.Errorf("the label is not shown as text:\n%s", detail)
	}
}

// The page takes runs of any length, one request included.
func TestPageSizesInABrowser(t *testing.T) {
	for _, n := range []int{1, 700} {
		r := session(t, n).load()
		page := shown(t, r, "")
		if got := strings.Count(page, "<canvas"); got != 4 {
			t.Errorf("%d requests: %d charts", n, got)
		}
		var d struct{ Requests struct{ Number []int } }
		if err := json.Unmarshal([]byte(scripts.FindStringSubmatch(page)[2]), &d); err != nil || len(d.Requests.Number) != n {
			t.Errorf("%d requests in the data of %d, error %v", len(d.Requests.Number), n, err)
		}
		if want := fmt.Sprintf("Request %d", r.Summary.PeakRequest); !strings.Contains(plain(t, page, `<aside id="detail"`, "</aside>"), want) {
			t.Errorf("%d requests: the panel does not show the peak", n)
		}
	}
}
