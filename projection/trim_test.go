package projection_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/projection"
)

// F-RUN-01: output is cut when it is fresh: three quarters of head, one of
// tail, a mark, and the result says so.
func TestTrim(t *testing.T) {
	r := textResult(strings.Repeat("h", 5000)+strings.Repeat("t", 5000), message.OutcomeSuccess)
	got, ok := projection.Trim(r, projection.Bound{Bytes: 1000})
	text := got.Text()
	if !ok || len(text) > 1000 || len(text) < 980 {
		t.Fatalf("%d bytes left, %v", len(text), ok)
	}
	if h, tl := strings.Count(text, "h"), strings.Count(text, "t"); h < 2*tl || h < 650 || tl < 200 {
		t.Errorf("%d of the head and %d of the tail left", h, tl)
	}
	if !strings.Contains(text, "of 10000 bytes left out here") || !got.Truncated || got.OriginalBytes != 10000 {
		t.Errorf("the cut is not marked: %+v", got)
	}
	if r.Truncated || len(r.Text()) != 10000 {
		t.Error("the argument changed")
	}
}

func TestTrimKeepsWhatFits(t *testing.T) {
	r := textResult(strings.Repeat("x", 500), "")
	for _, b := range []projection.Bound{{}, {Bytes: 500}, {Bytes: 10_000}, {Tokens: 500, Count: func(s string) int { return len(s) }}, {Tokens: 1}} {
		if got, ok := projection.Trim(r, b); ok || got.Truncated {
			t.Errorf("%+v cuts a result that fits", b)
		}
	}
}

// The size before an earlier cut stays on record.
func TestTrimKeepsTheFirstSize(t *testing.T) {
	r := textResult(strings.Repeat("x", 5000), "")
	r.Truncated, r.OriginalBytes = true, 90_000
	if got, ok := projection.Trim(r, projection.Bound{Bytes: 700}); !ok || got.OriginalBytes != 90_000 {
		t.Errorf("original size %d, %v", got.OriginalBytes, ok)
	}
}

// Blocks that are no text stay in their places, and several texts are cut as
// one.
func TestTrimSeveralBlocks(t *testing.T) {
	image := message.Image{MediaType: "image/png"}
	r := message.ToolResult{CallID: "c", Content: []message.Block{
		message.Text{Text: strings.Repeat("a", 2000)}, image, message.Text{Text: strings.Repeat("b", 2000)}, message.Text{Text: strings.Repeat("c", 2000)},
	}}
	got, _ := projection.Trim(r, projection.Bound{Bytes: 1200})
	var kinds []message.Kind
	for _, b := range got.Content {
		kinds = append(kinds, b.Kind())
	}
	text := got.Text()
	if len(kinds) != 3 || kinds[1] != message.KindImage || strings.Contains(text, "bb") || !strings.HasPrefix(text, "aaa") || !strings.HasSuffix(text, "ccc") {
		t.Errorf("kinds %v, text %q", kinds, text)
	}
}

// bytesCount stands for a tokenizer.
func bytesCount(s string) int { return (len(s) + 3) / 4 }

func TestTrimProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r message.ToolResult
		for range rapid.IntRange(1, 3).Draw(t, "blocks") {
			r.Content = append(r.Content, message.Text{Text: outputs().Draw(t, "output")})
		}
		b := projection.Bound{Bytes: rapid.IntRange(0, 3000).Draw(t, "bytes"), Tokens: rapid.IntRange(0, 800).Draw(t, "tokens"), Count: bytesCount}
		before, whole := message.HashBlock(r), size(r)
		got, ok := projection.Trim(r, b)
		switch {
		case message.HashBlock(r) != before:
			t.Fatal("the argument changed")
		case !ok && message.HashBlock(got) != before:
			t.Fatal("it says that nothing is cut, and cut")
		case ok && (!got.Truncated || got.OriginalBytes != whole || size(got) >= whole):
			t.Fatalf("cut from %d to %d bytes: %v %d", whole, size(got), got.Truncated, got.OriginalBytes)
		case b.Bytes > 0 && size(got) > max(b.Bytes, 128):
			t.Fatalf("%d bytes left of at most %d", size(got), b.Bytes)
		case b.Tokens > 0 && tokens(got) > max(b.Tokens, 40):
			t.Fatalf("%d tokens left of at most %d", tokens(got), b.Tokens)
		case b.Tokens > 40 && ok && b.Bytes == 0 && tokens(got) < b.Tokens*8/10-40 && size(got) < b.Tokens*16-200:
			t.Fatalf("only %d tokens left of %d", tokens(got), b.Tokens)
		}
		if _, again := projection.Trim(got, b); again {
			t.Fatalf("trimming again cuts more")
		}
		if valid(r) && !valid(got) {
			t.Fatal("a rune was cut")
		}
	})
}

func size(r message.ToolResult) int {
	n := 0
	for _, b := range r.Content {
		if t, ok := b.(message.Text); ok {
			n += len(t.Text)
		}
	}
	return n
}

func tokens(r message.ToolResult) int {
	n := 0
	for _, b := range r.Content {
		if t, ok := b.(message.Text); ok {
			n += bytesCount(t.Text)
		}
	}
	return n
}

func valid(r message.ToolResult) bool {
	for _, b := range r.Content {
		if t, ok := b.(message.Text); ok && !utf8.ValidString(t.Text) {
			return false
		}
	}
	return true
}

// B2: four results that came at once, of 2,687, 90,920, 41,099 and 155,573
// characters, fit a boundary together, and the small one stays whole.
func TestTrimAllParallelResultsB2(t *testing.T) {
	var rs []message.ToolResult
	for i, n := range []int{2687, 90_920, 41_099, 155_573} {
		r := textResult(strings.Repeat(string(rune('a'+i)), n), message.OutcomeSuccess)
		r.CallID = string(rune('1' + i))
		rs = append(rs, r)
	}
	got, cut := projection.TrimAll(rs, 128_000)
	total := 0
	for i, r := range got {
		total += size(r)
		if r.CallID != rs[i].CallID {
			t.Errorf("result %d answers %q", i, r.CallID)
		}
	}
	if total > 128_000 || total < 126_000 || cut != 2 || got[0].Truncated || got[2].Truncated {
		t.Errorf("%d bytes in all, %d cut: %d %d %d %d", total, cut, size(got[0]), size(got[1]), size(got[2]), size(got[3]))
	}
	if again, cut := projection.TrimAll(got, 128_000); cut != 0 || len(again) != 4 {
		t.Errorf("trimming again cuts %d", cut)
	}
	if none, cut := projection.TrimAll(nil, 10); len(none) != 0 || cut != 0 {
		t.Error("nothing became something")
	}
}

func FuzzTrim(f *testing.F) {
	f.Add("日本語 text", 200, 30)
	f.Add("\xff\xfe\xfd", 130, 1)
	f.Fuzz(func(t *testing.T, text string, bytes, tokens int) {
		r := textResult(text, "")
		got, ok := projection.Trim(r, projection.Bound{Bytes: bytes, Tokens: tokens, Count: bytesCount})
		if ok && size(got) >= len(text) || bytes > 0 && size(got) > max(bytes, 128) || valid(r) && !valid(got) {
			t.Errorf("%d bytes of %d left", size(got), len(text))
		}
		if _, again := projection.Trim(got, projection.Bound{Bytes: bytes, Tokens: tokens, Count: bytesCount}); again {
			t.Error("trimming again cuts more")
		}
	})
}
