package sessionfile_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/sessionfile"
)

func TestSaysOverflow(t *testing.T) {
	for text, want := range map[string]bool{
		"Prompt is too long": true,
		`{"error":{"code":"context_length_exceeded","message":"…"}}`:                    true,
		"litellm.ContextWindowExceededError: too big":                                   true,
		"The input token count (12) exceeds the maximum number of tokens allowed (10).": true,
		"Overloaded":           false,
		"Request was aborted.": false,
		"Rate limit reached on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443.":         false,
		"`max_completion_tokens` must be less than or equal to `16384`, less than the `context_window`": false,
		"": false,
	} {
		if got := sessionfile.SaysOverflow(text); got != want {
			t.Errorf("SaysOverflow(%q) = %v, want %v", text, got, want)
		}
	}
}

// F-OVF-01 for files: every recorded overflow text is known, and no other
// error is taken for one.
func TestSaysOverflowOnRecordedErrors(t *testing.T) {
	corpus := os.Getenv("FORGE_CORPUS")
	if corpus == "" {
		t.Skip("FORGE_CORPUS is unset: needs the shared session files")
	}
	f, err := os.Open(filepath.Join(corpus, "overflow-errors", "bodies.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := 0
	for lines := bufio.NewScanner(f); lines.Scan(); rows++ {
		var row struct {
			Provider, Body string
			Overflow       bool
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(row.Body, "(no ") {
			continue // nothing was said
		}
		if got := sessionfile.SaysOverflow(row.Body); got != row.Overflow {
			t.Errorf("%s: SaysOverflow = %v, want %v: %.120s", row.Provider, got, row.Overflow, row.Body)
		}
	}
	if rows < 40 {
		t.Errorf("%d rows, want at least 40", rows)
	}
}
