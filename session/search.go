package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/forge-agent/forge/message"
)

// maxIndexedBytes bounds what of one message goes into the word index.
const maxIndexedBytes = 256 << 10

// indexBatch is how many messages are indexed in one step.
const indexBatch = 500

// Search yields the messages of the session that hold every word of query,
// newest first. Case does not matter; a run of Chinese, Japanese or Korean
// characters matches wherever it stands. The word index is brought up to date
// first; where it cannot be written, the messages are read.
func (s *Session) Search(ctx context.Context, query string) iter.Seq2[Entry, error] {
	words := wordsOf(query)
	return func(yield func(Entry, error) bool) {
		if len(words) == 0 {
			yield(Entry{}, fmt.Errorf("search session %s: the query %.40q holds no word", s.header.ID, query))
			return
		}
		if err := s.updateIndex(ctx); err != nil {
			if !errors.Is(err, ErrReadOnly) && !errors.Is(err, ErrNoSpace) && !errors.Is(err, ErrLocked) {
				yield(Entry{}, err)
				return
			}
			s.scan(ctx, words, yield)
			return
		}
		var found []int // the rows are read after the query is closed
		for at, err := range s.store.WithWords(ctx, s.header.ID, slices.Compact(slices.Sorted(slices.Values(words)))) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			found = append(found, at)
		}
		for _, at := range found {
			if at >= s.header.Messages {
				continue
			}
			e, err := s.entry(ctx, at)
			if err != nil {
				yield(e, err)
				return
			}
			if holds(searchText(e.Message), words) && !yield(e, nil) {
				return
			}
		}
	}
}

// scan searches without an index.
func (s *Session) scan(ctx context.Context, words []string, yield func(Entry, error) bool) {
	var found []Entry
	for e, err := range s.All(ctx) {
		if err != nil {
			yield(Entry{}, err)
			return
		}
		if holds(searchText(e.Message), words) {
			found = append(found, e)
		}
	}
	for _, e := range slices.Backward(found) {
		if !yield(e, nil) {
			return
		}
	}
}

func (s *Session) updateIndex(ctx context.Context) error {
	for {
		from, err := s.store.Indexed(ctx, s.header.ID)
		if err != nil || from >= s.header.Messages {
			return err
		}
		var texts []string
		for r, err := range s.store.Rows(ctx, s.header.ID, from, min(from+indexBatch, s.header.Messages)) {
			if err != nil {
				return err
			}
			e, _ := r.entry() // a damaged message has no words
			texts = append(texts, strings.Join(unique(wordsOf(searchText(e.Message))), " "))
		}
		if len(texts) == 0 {
			return nil
		}
		if err := s.store.AddWords(ctx, s.header.ID, from, texts); err != nil {
			return err
		}
	}
}

func unique(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// searchText is what of a message can be searched: the first maxIndexedBytes
// of its plain text.
func searchText(m message.Message) string {
	s := PlainText(m)
	if len(s) > maxIndexedBytes {
		s = strings.ToValidUTF8(s[:maxIndexedBytes], "")
	}
	return s
}

// PlainText is what a message says, block by block: text, reasoning, calls with
// their arguments, and results.
func PlainText(m message.Message) string {
	var b strings.Builder
	var add func([]message.Block)
	add = func(bs []message.Block) {
		for _, block := range bs {
			switch block := block.(type) {
			case message.Text:
				b.WriteString(block.Text)
			case message.Reasoning:
				b.WriteString(block.Text)
			case message.ToolCall:
				b.WriteString(block.Name + " " + block.Arguments)
			case message.ToolResult:
				add(block.Content)
			}
			b.WriteByte('\n')
		}
	}
	add(m.Blocks)
	return b.String()
}

// wordsOf cuts text into lower-case words of letters and digits; a character
// of a script without spaces is a word of its own.
func wordsOf(text string) []string {
	var out []string
	start := -1
	text = strings.ToLower(text)
	for i, r := range text {
		alone := spaceless(r)
		inside := !alone && (unicode.IsLetter(r) || unicode.IsNumber(r))
		if start >= 0 && !inside {
			out = append(out, text[start:i])
			start = -1
		}
		switch {
		case alone:
			out = append(out, string(r))
		case inside && start < 0:
			start = i
		}
	}
	if start >= 0 {
		out = append(out, text[start:])
	}
	return out
}

func spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// holds reports whether text has every word; neighbours of a script without
// spaces must stand together, as they do in the query.
func holds(text string, query []string) bool {
	have := wordsOf(text)
	set := map[string]bool{}
	for _, w := range have {
		set[w] = true
	}
	joined := ""
	for i := 0; i < len(query); i++ {
		if !set[query[i]] {
			return false
		}
		if r := []rune(query[i]); !spaceless(r[0]) {
			continue
		}
		run := query[i]
		for i+1 < len(query) && spaceless([]rune(query[i+1])[0]) {
			i++
			run += query[i]
		}
		if joined == "" {
			joined = strings.Join(have, "")
		}
		if !strings.Contains(joined, run) {
			return false
		}
	}
	return true
}
