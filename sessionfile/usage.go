package sessionfile

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/forge-agent/forge/message"
)

// maxTokens is beyond what any request can weigh; a larger count is an error
// or an overflow of a sum.
const maxTokens = 1 << 40

// repairUsage drops usage with impossible counts, and brings parts that
// exceed their whole down to it.
func (b *Builder) repairUsage() {
	for i := range b.Session.Requests {
		r := &b.Session.Requests[i]
		u := r.Usage
		if u == nil {
			r.LongCacheWriteTokens = 0
			continue
		}
		for _, n := range []int{u.InputTokens, u.CachedInputTokens, u.CacheWriteInputTokens, u.OutputTokens, u.ReasoningTokens} {
			if n < 0 || n > maxTokens {
				b.Lose(r.Line, "usage with impossible counts, left out")
				r.Usage = nil
				break
			}
		}
		if r.Usage == nil {
			r.LongCacheWriteTokens = 0
			continue
		}
		if u.CachedInputTokens+u.CacheWriteInputTokens > u.InputTokens || u.ReasoningTokens > u.OutputTokens {
			b.Lose(r.Line, "usage whose parts are more than the whole, brought down to it")
			repaired := *u
			repaired.CachedInputTokens = min(u.CachedInputTokens, u.InputTokens)
			repaired.CacheWriteInputTokens = min(u.CacheWriteInputTokens, u.InputTokens-repaired.CachedInputTokens)
			repaired.ReasoningTokens = min(u.ReasoningTokens, u.OutputTokens)
			r.Usage = &repaired
		}
		if n := min(max(r.LongCacheWriteTokens, 0), r.Usage.CacheWriteInputTokens); n != r.LongCacheWriteTokens {
			b.Lose(r.Line, "a part of the cache writes that is no part of them, brought down to them")
			r.LongCacheWriteTokens = n
		}
	}
}

// dropZeroUsage removes usage in which every number is zero: nothing was
// reported. It returns how many it removed of requests that had a reply.
func dropZeroUsage(s *Session) int {
	zero := 0
	for i := range s.Requests {
		r := &s.Requests[i]
		if r.Usage != nil && *r.Usage == (message.Usage{}) {
			r.Usage = nil
			if r.End > r.At {
				zero++
			}
		}
	}
	return zero
}

// syntheticUsage looks for signs that no provider reported the usage in the
// file, and returns the reason, empty for none. It errs on the side of
// belief: a sign must be one that real usage does not show.
func syntheticUsage(s *Session, zero int) string {
	var with []Request
	for _, r := range s.Requests {
		if r.Usage != nil {
			with = append(with, r)
		}
	}
	if zero > 0 && zero >= len(with) {
		return fmt.Sprintf("usage is zero for %d of %d replies", zero, zero+len(with))
	}
	if len(with) == 0 {
		return ""
	}
	for _, name := range []string{s.Provider, s.Model} {
		if isStandIn(name) {
			return fmt.Sprintf("the name %q says that it stands in for a provider", name)
		}
	}
	if roundNumbers(with) {
		return "every token count is a round number"
	}
	if sameNumbers(with) {
		return "the same token counts again and again"
	}
	if belowText(s, with) {
		return "fewer input tokens than half the words in the conversation"
	}
	return ""
}

// isStandIn reports whether a provider's or model's name says that it is
// none.
func isStandIn(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(w string) bool {
		return w == "fake" || w == "mock" || w == "dummy" || w == "stub"
	})
}

// roundNumbers reports whether every input count is a multiple of 100 and the
// trailing zeros of all counts together would come up by chance less than
// once in ten thousand files.
func roundNumbers(with []Request) bool {
	zeros := 0
	for _, r := range with {
		z := trailingZeros(r.Usage.InputTokens)
		if z < 2 {
			return false
		}
		zeros += z + trailingZeros(r.Usage.OutputTokens)
	}
	return zeros >= 4
}

func trailingZeros(n int) int {
	z := 0
	for ; n > 0 && n%10 == 0 && z < 3; n /= 10 {
		z++
	}
	return z
}

// sameNumbers reports whether at least half of four or more input counts
// repeat another: a conversation grows with every request.
func sameNumbers(with []Request) bool {
	distinct := map[int]bool{}
	for _, r := range with {
		distinct[r.Usage.InputTokens] = true
	}
	return len(with) >= 4 && 2*len(distinct) <= len(with)
}

// belowText reports whether the first requests, up to five and before the
// agent changed its context, all claim fewer input tokens than half the words
// that stood before them. Vocabularies split text at word boundaries, so a
// token holds at most one word.
func belowText(s *Session, with []Request) bool {
	limit := s.Transcript.Len()
	for _, m := range s.Marks {
		if m.Change != nil {
			limit = min(limit, m.At)
		}
	}
	words, at, checked := 0, 0, 0
	for _, m := range s.Instructions {
		words += countWords(m.Text())
	}
	for _, r := range with {
		if r.At > limit || checked == 5 {
			break
		}
		for ; at < r.At; at++ {
			for _, block := range s.Transcript.At(at).Blocks {
				words += blockWords(block)
			}
		}
		if 2*r.Usage.InputTokens >= words {
			return false
		}
		checked++
	}
	return checked > 0
}

func blockWords(block message.Block) int {
	switch block := block.(type) {
	case message.Text:
		return countWords(block.Text)
	case message.ToolResult:
		n := 0
		for _, b := range block.Content {
			n += blockWords(b)
		}
		return n
	}
	return 0
}

// countWords counts runs of ASCII letters, which is less than the words of
// any language.
func countWords(s string) int {
	n, inside := 0, false
	for i := range len(s) {
		letter := 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z'
		if letter && !inside {
			n++
		}
		inside = letter
	}
	return n
}
