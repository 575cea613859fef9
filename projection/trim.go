package projection

import (
	"fmt"
	"slices"

	"github.com/forge-agent/forge/message"
)

// A Bound is the most that a fresh tool result may weigh when it is first
// sent (F-RUN-01). Trimming then costs no cache, so it comes before
// everything else.
type Bound struct {
	// Bytes is the longest text, zero for no bound.
	Bytes int
	// Tokens is the heaviest text, zero for no bound; Count counts for it.
	Tokens int
	// Count returns the tokens of a text; it must be set with Tokens.
	Count func(text string) int
}

// minTrimBytes is the shortest text that a trimmed result is cut down to, so
// that there is room for the mark.
const minTrimBytes = 128

// Trim returns the result cut down to the bound: the first three quarters and
// the last quarter of what the bound allows, with a mark between them that
// says how much is gone. No rune is cut, blocks that are no text stay. The
// result says that it is truncated and how long it was; Truncated and
// OriginalBytes of an earlier cut are kept.
//
// It reports false, and returns the result as it is, when it fits. Trimming
// again changes nothing. A bound below 128 bytes counts as 128. The argument
// is not changed.
func Trim(r message.ToolResult, b Bound) (message.ToolResult, bool) {
	total := textBytes(r)
	keep := total
	if b.Bytes > 0 {
		keep = min(keep, max(b.Bytes, minTrimBytes))
	}
	if b.Tokens > 0 && b.Count != nil {
		keep = fitTokens(r, keep, b)
	}
	if keep >= total {
		return r, false
	}
	out := r
	out.Content = cutBlocks(r, keep)
	out.OriginalBytes = max(r.OriginalBytes, total)
	out.Truncated = true
	return out, true
}

// maxTokenBytes is the longest text that is counted at once for each token of
// a bound. Runs of white space are the only text that has more bytes to a
// token.
const maxTokenBytes = 16

// fitTokens returns how many bytes of text the token bound leaves. The count
// of a text is no sum over its parts, so the answer is found by trying.
func fitTokens(r message.ToolResult, keep int, b Bound) int {
	total := textBytes(r)
	fits := func(n int) bool {
		tokens := 0
		content := r.Content
		if n < total {
			content = cutBlocks(r, n)
		}
		for _, block := range content {
			if t, ok := block.(message.Text); ok {
				tokens += b.Count(t.Text)
			}
		}
		return tokens <= b.Tokens
	}
	if most := b.Tokens * maxTokenBytes; most/maxTokenBytes == b.Tokens {
		keep = min(keep, max(most, minTrimBytes))
	}
	if fits(keep) {
		return keep
	}
	low, high := minTrimBytes, keep // low is taken whether it fits or not
	for high-low > max(low/32, 1) {
		middle := low + (high-low)/2
		if fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return min(low, keep)
}

func textBytes(r message.ToolResult) int {
	total := 0
	for _, b := range r.Content {
		if t, ok := b.(message.Text); ok {
			total += len(t.Text)
		}
	}
	return total
}

// cutBlocks returns the content with at most keep bytes of text, mark
// included.
func cutBlocks(r message.ToolResult, keep int) []message.Block {
	total := textBytes(r)
	room := keep - len(trimMark(total, total))
	first := room * headShare / 100
	last := total - (room - first) // text from here on stays
	var out []message.Block
	at, marked := 0, false
	for _, block := range r.Content {
		t, ok := block.(message.Text)
		if !ok {
			out = append(out, block)
			continue
		}
		start, end := at, at+len(t.Text)
		at = end
		if end <= first || start >= last {
			out = append(out, block)
			continue
		}
		text := head(t.Text, first-start)
		if !marked {
			marked = true
			text += trimMark(last-first, total)
		}
		text += tail(t.Text, end-last)
		if text != "" {
			out = append(out, message.Text{Text: text})
		}
	}
	return out
}

func trimMark(gone, total int) string {
	return fmt.Sprintf("\n[… about %d of %d bytes left out here …]\n", gone, total)
}

// TrimAll trims the results of one step so that their texts weigh at most
// totalBytes together (B2: several large results that come at once). Small
// results stay whole, and the large ones share what is left evenly. It
// returns a new slice and how many results were cut.
func TrimAll(rs []message.ToolResult, totalBytes int) ([]message.ToolResult, int) {
	sizes := make([]int, len(rs))
	for i, r := range rs {
		sizes[i] = textBytes(r)
	}
	share := evenShare(sizes, totalBytes)
	out, cut := slices.Clone(rs), 0
	for i, r := range rs {
		if sizes[i] <= share {
			continue
		}
		trimmed, ok := Trim(r, Bound{Bytes: max(share, 1)})
		out[i] = trimmed
		if ok {
			cut++
		}
	}
	return out, cut
}

// evenShare returns the size that, as an upper bound for each, makes the sizes
// sum to at most total.
func evenShare(sizes []int, total int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	left := total
	for i, size := range sorted {
		share := left / (len(sorted) - i)
		if size > share {
			return share
		}
		left -= size
	}
	return total
}
