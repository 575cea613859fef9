package sessionfile_test

import (
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
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
	for _, r := range adaptertest.Refusals(t) {
		if strings.HasPrefix(r.Body, "(no ") {
			continue // nothing was said
		}
		if got := sessionfile.SaysOverflow(r.Body); got != r.Overflow {
			t.Errorf("%s: SaysOverflow = %v, want %v: %.120s", r.Provider, got, r.Overflow, r.Body)
		}
	}
}
