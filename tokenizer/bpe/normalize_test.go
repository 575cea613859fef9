package bpe_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/bpe"
)

// Package norm departs from normalization form C after 30 combining
// characters; the expected forms are from another implementation.
func TestNormalize(t *testing.T) {
	content, err := os.ReadFile("testdata/nfc.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		text, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		// The text stands between others, so that its ends matter.
		for _, around := range []string{"", "x", "\n", "中"} {
			got := bpe.Normalize(around + unquote(t, text) + around)
			if want := around + unquote(t, want) + around; got != want {
				t.Errorf("normal form of %s between %q = %+q, want %+q", text, around, got, want)
			}
		}
	}
}

func unquote(t *testing.T, s string) string {
	t.Helper()
	text, err := strconv.Unquote(`"` + s + `"`)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestNormalizeIsNorm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := tokentest.Text().Draw(rt, "text")
		want := norm.NFC.String(text)
		if strings.Contains(want, "\u034f") && !strings.Contains(text, "\u034f") {
			rt.Skip("norm has inserted a joiner")
		}
		if got := bpe.Normalize(text); got != want {
			rt.Errorf("normal form of %+q = %+q, want %+q", text, got, want)
		}
		if got := bpe.Normalize(text); bpe.IsNormal(text) && got != text {
			rt.Errorf("%+q is called normal and becomes %+q", text, got)
		}
	})
}
