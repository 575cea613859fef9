// Package redact takes secrets out of text before anything is hashed, stored
// or traced (F-SEC-07, resolution C18).
//
// It knows two things: values that the user has configured, which are found
// wherever they stand, and the forms of well-known keys and tokens, which are
// found by their prefixes. It is not a scanner for repositories: it prefers a
// rule that is never wrong about ordinary source code to one that finds every
// secret, since what it takes out is lost to the conversation.
//
// Redacting what is redacted changes nothing.
package redact

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// MinValueBytes is the length below which a configured value is ignored: a
// shorter one would be found in ordinary words.
const MinValueBytes = 6

// A Value is a secret that is known: a configured key, a password from the
// environment.
type Value struct {
	// Name says what it is; it stands in the mark. Only letters, digits, '-'
	// and '_' of it are used.
	Name string
	// Text is the secret.
	Text string
}

// Options are the settings of a Redactor. Nil and the zero value mean: no
// known values, marks of their own length.
type Options struct {
	// Values are known secrets.
	Values []Value
	// SameLength makes every mark as long in bytes as what it stands for, for
	// text whose offsets other data refers to.
	SameLength bool
}

// A Hit is one secret that was found.
type Hit struct {
	// Rule is the rule's name, "value:NAME" for a configured value.
	Rule string
	// Start and End are byte offsets in the text that was searched.
	Start, End int
}

// A Redactor finds and replaces secrets. It does not change after New and may
// be shared by goroutines.
type Redactor struct {
	rules      []rule
	anchors    *anchorTable
	values     []literal
	ignored    []string
	sameLength bool
}

// literal is one spelling of a configured value.
type literal struct{ rule, text string }

// New returns a Redactor. opts may be nil.
func New(opts *Options) *Redactor {
	r := &Redactor{rules: rules()}
	r.anchors = newAnchorTable(r.rules)
	if opts == nil {
		return r
	}
	r.sameLength = opts.SameLength
	for _, v := range opts.Values {
		text := strings.TrimSpace(v.Text)
		if len(text) < MinValueBytes {
			if text != "" {
				r.ignored = append(r.ignored, v.Name)
			}
			continue
		}
		r.values = append(r.values, spellings("value:"+word(v.Name), text)...)
	}
	// The longer one first: a value may be the beginning of another.
	slices.SortStableFunc(r.values, func(a, b literal) int { return cmp.Compare(len(b.text), len(a.text)) })
	return r
}

// Ignored returns the names of configured values that are too short to be
// searched for (MinValueBytes).
func (r *Redactor) Ignored() []string { return slices.Clone(r.ignored) }

// spellings are the forms in which a value is written besides JSON escapes,
// which find decodes.
func spellings(rule, text string) []literal {
	forms := []string{text, url.QueryEscape(text), url.PathEscape(text)}
	if len(text) >= 12 { // the encoding of a short value is too common a string
		forms = append(forms, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(text)), "="),
			base64.RawURLEncoding.EncodeToString([]byte(text)))
	}
	slices.Sort(forms)
	var out []literal
	for _, f := range slices.Compact(forms) {
		out = append(out, literal{rule, f})
	}
	return out
}

func word(name string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 && (isAlnum(byte(c)) || c == '-' || c == '_') {
			return c
		}
		return -1
	}, name)
}

// Text returns s with a mark in place of every secret, and what was found, in
// order. Without a hit it is s itself.
func (r *Redactor) Text(s string) (string, []Hit) {
	hits := r.find(s)
	if len(hits) == 0 {
		return s, nil
	}
	return r.replace(s, hits), hits
}

// Find returns the secrets in s, in order and without overlap.
func (r *Redactor) Find(s string) []Hit { return r.find(s) }

// maxLayers is how often escapes are decoded: JSON inside JSON inside JSON.
const maxLayers = 3

// find searches the text as it stands, and as it reads once its escapes are
// decoded.
func (r *Redactor) find(s string) []Hit {
	hits := r.search(s)
	layer, origin := s, []int(nil)
	for range maxLayers {
		next, at := unescape(layer)
		if at == nil {
			break
		}
		if origin != nil {
			for i := range at {
				at[i] = origin[at[i]]
			}
		}
		layer, origin = next, at
		for _, h := range r.search(layer) {
			hits = append(hits, Hit{h.Rule, origin[h.Start], origin[h.End]})
		}
	}
	return merge(hits)
}

// search looks at one text, without decoding.
func (r *Redactor) search(s string) []Hit {
	var hits []Hit
	for _, v := range r.values {
		for from := 0; ; {
			i := strings.Index(s[from:], v.text)
			if i < 0 {
				break
			}
			hits = append(hits, Hit{v.rule, from + i, from + i + len(v.text)})
			from += i + len(v.text)
		}
	}
	passed := make([]int, len(r.rules)) // where the last hit of a rule ended
	for i := 0; i+1 < len(s); i++ {
		for _, a := range r.anchors.at(s[i], s[i+1]) {
			rule := &r.rules[a.rule]
			if i < passed[a.rule] || !rule.has(s[i:], a.text) {
				continue
			}
			start, end := rule.match(s, i, i+len(a.text))
			passed[a.rule] = max(passed[a.rule], end)
			if end > start && !marked(s[start:end]) {
				hits = append(hits, Hit{rule.name, start, end})
			}
		}
	}
	return merge(hits)
}

// Marked reports whether a text holds a whole mark that stands for a secret,
// such as "[redacted:aws-key]".
func Marked(s string) bool {
	for {
		_, rest, found := strings.Cut(s, markStart+":")
		if !found {
			return false
		}
		rule := strings.TrimLeftFunc(rest, func(r rune) bool { return r < utf8.RuneSelf && (isWord(byte(r)) || r == '-' || r == '*') })
		if len(rule) < len(rest) && strings.HasPrefix(rule, "]") {
			return true
		}
		s = rest
	}
}

// marked reports whether a text is a mark, or the rest of one.
func marked(s string) bool {
	return strings.Contains(s, markStart) || strings.Trim(s, "*") == ""
}

// merge sorts hits and joins those that overlap; the rule of the first stays.
func merge(hits []Hit) []Hit {
	if len(hits) < 2 {
		return hits
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	out := hits[:1]
	for _, h := range hits[1:] {
		last := &out[len(out)-1]
		if h.Start < last.End {
			last.End = max(last.End, h.End)
			continue
		}
		out = append(out, h)
	}
	return out
}

const markStart = "[redacted"

// replace puts the marks in.
func (r *Redactor) replace(s string, hits []Hit) string {
	var b strings.Builder
	from := 0
	for _, h := range hits {
		b.WriteString(s[from:h.Start])
		b.WriteString(r.mark(h.Rule, h.End-h.Start))
		from = h.End
	}
	b.WriteString(s[from:])
	return b.String()
}

// mark returns the mark of a rule for n bytes.
func (r *Redactor) mark(rule string, n int) string {
	full := fmt.Sprintf("%s:%s]", markStart, rule)
	switch {
	case !r.sameLength:
		return full
	case n >= len(full):
		return full[:len(full)-1] + strings.Repeat("*", n-len(full)) + "]"
	case n > len(markStart):
		return markStart + strings.Repeat("*", n-len(markStart)-1) + "]"
	}
	return strings.Repeat("*", n)
}

// anchorTable finds the anchors that begin with two given bytes, so that a
// text is passed over once, however many rules there are.
type anchorTable struct {
	first [1 << 16]uint8 // two bytes → index in lists, zero for none
	lists [][]anchor
}

type anchor struct {
	rule int
	text string
}

func (t *anchorTable) at(a, b byte) []anchor { return t.lists[t.first[int(a)<<8|int(b)]] }

func newAnchorTable(rules []rule) *anchorTable {
	t := &anchorTable{lists: make([][]anchor, 1)}
	add := func(a, b byte, entry anchor) {
		i := &t.first[int(a)<<8|int(b)]
		if *i == 0 {
			*i = uint8(len(t.lists))
			t.lists = append(t.lists, nil)
		}
		t.lists[*i] = append(t.lists[*i], entry)
	}
	for i, r := range rules {
		for _, text := range r.anchors {
			add(text[0], text[1], anchor{i, text})
			if r.fold {
				a, b := text[0]-'a'+'A', text[1]-'a'+'A'
				add(a, text[1], anchor{i, text})
				add(text[0], b, anchor{i, text})
				add(a, b, anchor{i, text})
			}
		}
	}
	return t
}

// has reports whether s begins with the anchor.
func (r *rule) has(s, anchor string) bool {
	if !r.fold {
		return strings.HasPrefix(s, anchor)
	}
	return len(s) >= len(anchor) && lowerASCII(s[:len(anchor)]) == anchor
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
