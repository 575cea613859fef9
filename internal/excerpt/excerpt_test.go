package excerpt_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/excerpt"
)

func TestMake(t *testing.T) {
	key := "ghp_" + strings.Repeat("a1B2", 9)
	for name, tt := range map[string]struct {
		data  string
		total int64
		want  string
		notes string
	}{
		"as it is":         {"rules\n", 6, "rules\n", ""},
		"empty":            {"", 0, "", ""},
		"byte order mark":  {"\uFEFFrules", 8, "rules", ""},
		"bad bytes":        {"a\xff\xfeb", 4, "a\uFFFDb", "bytes that are not UTF-8, shown as \uFFFD: 2"},
		"NUL":              {"a\x00b", 3, "a\uFFFDb", "bytes that are not UTF-8, shown as \uFFFD: 1"},
		"hidden letters":   {"a\U000E0068\U000E0069b\u202Ec", 13, "a\uFFFD\uFFFDb\uFFFDc", "characters that are not visible, shown as \uFFFD: 3"},
		"a flag, a family": {"🏴\U000E0067\U000E0062\U000E007F 👩\u200D👧 \u2067עברית\u2069", 45, "🏴\U000E0067\U000E0062\U000E007F 👩\u200D👧 \u2067עברית\u2069", ""},
		"U+FFFD itself":    {"a\uFFFDb", 5, "a\uFFFDb", ""},
	} {
		e := excerpt.Make([]byte(tt.data), tt.total, 1000, nil)
		if e.Text != tt.want || strings.Join(e.Notes(), "; ") != tt.notes {
			t.Errorf("%s: %q, %q", name, e.Text, e.Notes())
		}
	}
	e := excerpt.Make([]byte("token: "+key+"\n"), 48, 1000, nil)
	if strings.Contains(e.Text, key) || e.Secrets != 1 || len(e.Notes()) != 1 {
		t.Errorf("F-SEC-07: %q, %q", e.Text, e.Notes())
	}
	// A secret that the cut goes through is taken out whole.
	data := strings.Repeat("é", 80) + " " + key
	e = excerpt.Make([]byte(data), int64(len(data)), 170, nil)
	if !e.Cut || strings.Contains(e.Text, "ghp_a") || !strings.Contains(e.Text, "cut here") {
		t.Errorf("%q", e.Text)
	}
}

// Whatever the bytes: valid, bounded, and a cut is never without its mark.
func TestMakeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 600), rapid.Map(rapid.StringN(0, 300, 600), func(s string) []byte { return []byte(s) })).Draw(t, "data")
		more := rapid.Int64Range(0, 5000).Draw(t, "more")
		limit := rapid.IntRange(0, 700).Draw(t, "limit")
		e := excerpt.Make(data, int64(len(data))+more, limit, nil)
		if !utf8.ValidString(e.Text) || strings.ContainsRune(e.Text, 0) || len(e.Text) > max(limit, 128) {
			t.Fatalf("%d bytes of at most %d: %q", len(e.Text), limit, e.Text)
		}
		if e.Cut != strings.Contains(e.Text, "[… cut here: about ") || more > 0 && !e.Cut {
			t.Fatalf("cut %t, but %q", e.Cut, e.Text)
		}
		if !e.Cut && e.BadBytes == 0 && e.Secrets == 0 && e.Hidden == 0 && e.Text != strings.TrimPrefix(string(data), "\uFEFF") {
			t.Fatalf("changed in silence: %q to %q", data, e.Text)
		}
		line := excerpt.Line(string(data), limit)
		if strings.ContainsAny(line, "\n\r\x1b") || !utf8.ValidString(line) || len(line) > max(limit, 3) {
			t.Fatalf("line of %d: %q", limit, line)
		}
	})
}
