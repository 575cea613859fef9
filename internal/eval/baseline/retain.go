package baseline

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/forge-agent/forge/message"
)

// noticeTokens is what a fixed notice in place of a cleared tool result
// weighs.
const noticeTokens = 10

// A kept collects units under a budget.
type kept struct {
	reading *Reading
	units   []Unit
	left    int
	taken   map[int]bool // messages that are kept whole
}

func (r *Reading) keep(budget int) *kept {
	return &kept{reading: r, left: budget, taken: map[int]bool{}}
}

// whole keeps a message as it is, if it fits.
func (k *kept) whole(i int) bool {
	m := k.reading.messages[i]
	if m.tokens > k.left {
		return false
	}
	k.left -= m.tokens
	k.taken[i] = true
	k.units = append(k.units, Unit{m.id, m.all})
	return true
}

// tail keeps the newest messages that weigh at most tokens together, and never
// begins with a tool result.
func (k *kept) tail(tokens int, weigh func(i int) (int, string)) {
	ms := k.reading.messages
	used, start := 0, len(ms)
	for i := len(ms) - 1; i >= 0; i-- {
		n, _ := weigh(i)
		if used+n > min(tokens, k.left) {
			break
		}
		used += n
		if ms[i].role != message.RoleTool {
			start = i
		}
	}
	for i := start; i < len(ms); i++ {
		n, text := weigh(i)
		k.left -= n
		k.taken[i] = true
		k.units = append(k.units, Unit{ms[i].id, text})
	}
}

// asIs weighs a message as it is.
func (k *kept) asIs(i int) (int, string) {
	m := k.reading.messages[i]
	return m.tokens, m.all
}

// cutTo weighs messages whose tool results are cut to a number of characters.
func (k *kept) cutTo(chars int) func(i int) (int, string) {
	return func(i int) (int, string) {
		m := k.reading.messages[i]
		if m.results == 0 || len(m.all) <= chars*m.results {
			return m.tokens, m.all
		}
		text := head(m.all, chars*m.results)
		return share(m.tokens, len(text), len(m.all)), text
	}
}

// users keeps what persons said, newest first, within a number of tokens; the
// last one that does not fit is cut.
func (k *kept) users(tokens int) {
	tokens = min(tokens, k.left)
	for i := len(k.reading.messages) - 1; i >= 0 && tokens > 0; i-- {
		m := k.reading.messages[i]
		if !m.authored || k.taken[i] {
			continue
		}
		n, text := m.textToken+4, m.text
		if n > tokens {
			text = head(text, len(text)*tokens/n)
			n = tokens
		}
		tokens -= n
		k.left -= n
		k.units = append(k.units, Unit{m.id, text})
	}
}

// extract keeps sentences in the order given, those that fit.
func (k *kept) extract(tokens int, sentences []int) {
	tokens = min(tokens, k.left)
	for _, i := range sentences {
		s := k.reading.sentences[i]
		if k.taken[s.message] || s.tokens > tokens {
			continue
		}
		tokens -= s.tokens
		k.left -= s.tokens
		k.units = append(k.units, Unit{k.reading.messages[s.message].id, s.text})
	}
}

// masked keeps the newest messages with the results of all but the newest tool
// uses replaced by a notice.
func (k *kept) masked(newest int) {
	old := len(k.reading.messages)
	for seen := 0; old > 0 && seen < newest; old-- {
		seen += k.reading.messages[old-1].results
	}
	k.tail(k.left, func(i int) (int, string) {
		m := k.reading.messages[i]
		if m.results > 0 && i < old {
			return noticeTokens * m.results, ""
		}
		return m.tokens, m.all
	})
}

// names keeps every path, name and number once, those of the newest messages
// first.
func (k *kept) names(count func(text string) int) {
	seen := map[string]bool{}
	for i := len(k.reading.messages) - 1; i >= 0; i-- {
		m := k.reading.messages[i]
		found := map[string]bool{}
		References(m.all, found)
		var list []string
		for _, name := range slices.Sorted(maps.Keys(found)) {
			n := count(" " + name)
			if seen[name] || n > k.left {
				continue
			}
			seen[name] = true
			k.left -= n
			list = append(list, name)
		}
		if len(list) > 0 {
			k.units = append(k.units, Unit{m.id, strings.Join(list, " ")})
		}
	}
}

// head returns the beginning of a text, at most n bytes, no rune cut.
func head(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:max(n, 0)]
}

func share(tokens, part, whole int) int {
	if whole == 0 {
		return tokens
	}
	return max(1, tokens*part/whole)
}
