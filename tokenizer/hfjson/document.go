package hfjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/tokenizer/bpe"
	"github.com/forge-agent/forge/tokenizer/internal/mergefile"
)

// A document is the part of a tokenizer.json that decides how text is counted.
type document struct {
	Model        model      `json:"model"`
	Normalizer   *component `json:"normalizer"`
	PreTokenizer *component `json:"pre_tokenizer"`
	AddedTokens  []added    `json:"added_tokens"`
}

// An added token is found in a text before anything else.
type added struct {
	Content    string `json:"content"`
	Special    bool   `json:"special"`
	Normalized bool   `json:"normalized"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
}

type model struct {
	Type                    string    `json:"type"`
	Vocab                   vocab     `json:"vocab"`
	Merges                  mergeList `json:"merges"`
	Dropout                 *float64  `json:"dropout"`
	ContinuingSubwordPrefix string    `json:"continuing_subword_prefix"`
	EndOfWordSuffix         string    `json:"end_of_word_suffix"`
	ByteFallback            bool      `json:"byte_fallback"`
	IgnoreMerges            bool      `json:"ignore_merges"`
}

// A vocab is the set of tokens, written with one character for each byte.
type vocab map[string]struct{}

// UnmarshalJSON reads an object of tokens and their numbers.
func (v *vocab) UnmarshalJSON(content []byte) error {
	if bytes.HasPrefix(content, []byte("[")) {
		return errors.New("the vocabulary is a list with scores, as Unigram models have: only BPE can be read")
	}
	r := reader{rest: content}
	if !r.skip('{') {
		return errors.New("the vocabulary is not an object of tokens")
	}
	tokens := vocab{}
	for !r.skip('}') {
		token, ok := r.text()
		if !ok || !r.skip(':') || !r.number() {
			return fmt.Errorf("token %.100q has no number", token)
		}
		if len(tokens) == maxTokens {
			return fmt.Errorf("the vocabulary has more than %d tokens", maxTokens)
		}
		tokens[token] = struct{}{}
		r.skip(',')
	}
	*v = tokens
	return nil
}

// A mergeList holds merges, each as two tokens or as one string with a space.
type mergeList [][2]string

// UnmarshalJSON reads a list of merges.
func (l *mergeList) UnmarshalJSON(content []byte) error {
	r := reader{rest: content}
	if !r.skip('[') {
		return errors.New("the merges are not a list")
	}
	var list mergeList
	for !r.skip(']') {
		if len(list) == maxTokens {
			return fmt.Errorf("the vocabulary has more than %d merges", maxTokens)
		}
		pair, err := readMerge(&r)
		if err != nil {
			return fmt.Errorf("merge %d: %w", len(list), err)
		}
		list = append(list, pair)
		r.skip(',')
	}
	*l = list
	return nil
}

func readMerge(r *reader) (pair [2]string, err error) {
	if joined, ok := r.text(); ok {
		left, right, found := strings.Cut(joined, " ")
		if !found || strings.Contains(right, " ") {
			return pair, fmt.Errorf("%.100q is not two tokens with a space between", joined)
		}
		return [2]string{left, right}, nil
	}
	if !r.skip('[') {
		return pair, errors.New("it is neither a string nor a pair")
	}
	var okLeft, okRight bool
	pair[0], okLeft = r.text()
	r.skip(',')
	pair[1], okRight = r.text()
	if !okLeft || !okRight || !r.skip(']') {
		return pair, errors.New("it is not a pair of tokens")
	}
	return pair, nil
}

// check refuses models that count in a way that is not known here.
func (m *model) check() error {
	switch {
	case m.Type == "" && len(m.Merges) == 0:
		return errors.New("the file has no BPE model: it is not a tokenizer.json")
	case m.Type != "BPE" && m.Type != "":
		return fmt.Errorf("the model is %s: only BPE can be read", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return errors.New("the model drops merges at random")
	case m.ContinuingSubwordPrefix != "" || m.EndOfWordSuffix != "":
		return errors.New("the model marks the parts of words: only byte-level BPE can be read")
	case len(m.Vocab) == 0:
		return errors.New("the vocabulary is empty")
	}
	return nil
}

// checkBytes checks that there is a token for each byte.
func (m *model) checkBytes() error {
	for b, r := range mergefile.ByteRunes() {
		if _, ok := m.Vocab[string(r)]; !ok {
			return fmt.Errorf("the vocabulary has no token for byte 0x%02x: it is not byte-level BPE", b)
		}
	}
	return nil
}

// merges gives each token a number and returns the merges by number. The
// tokens that no merge makes have theirs already.
func (m *model) merges(numbers *numbering) ([]bpe.Merge, error) {
	for i, pair := range m.Merges {
		result := pair[0] + pair[1]
		if _, ok := m.Vocab[result]; !ok {
			return nil, fmt.Errorf("merge %d makes %q, which is not in the vocabulary", i, result)
		}
		if numbers.add(result) < 256 {
			return nil, fmt.Errorf("merge %d makes %q, which is a byte", i, result)
		}
	}
	merges := make([]bpe.Merge, 0, len(m.Merges))
	for i, pair := range m.Merges {
		left, okLeft := numbers.of[pair[0]]
		right, okRight := numbers.of[pair[1]]
		if !okLeft || !okRight {
			return nil, fmt.Errorf("merge %d joins %q and %q, which the text cannot be made of", i, pair[0], pair[1])
		}
		merges = append(merges, bpe.Merge{Left: left, Right: right, Result: numbers.of[pair[0]+pair[1]]})
	}
	return merges, nil
}

// A numbering gives tokens the numbers that package bpe wants: the bytes their
// values, and the others 256 and up.
type numbering struct {
	of   map[string]uint32
	list []string // the token 256 first
}

func newNumbering() *numbering { return &numbering{of: map[string]uint32{}} }

func (n *numbering) set(token string, number uint32) { n.of[token] = number }

// add returns the number of a token, a new one if it has none.
func (n *numbering) add(token string) uint32 {
	number, ok := n.of[token]
	if !ok {
		number = uint32(256 + len(n.list))
		n.of[token] = number
		n.list = append(n.list, token)
	}
	return number
}

// bytes returns the bytes of the tokens, which are written in the characters
// of mergefile.ByteRunes.
func (n *numbering) bytes() ([]string, error) {
	values := byteValues()
	tokens := make([]string, 0, len(n.list))
	for _, token := range n.list {
		text, ok := decodeBytes(values, token)
		if !ok {
			return nil, fmt.Errorf("the token %q is not written in bytes", token)
		}
		tokens = append(tokens, text)
	}
	return tokens, nil
}

// byteValues is the inverse of mergefile.ByteRunes.
func byteValues() map[rune]byte {
	values := make(map[rune]byte, 256)
	for b, r := range mergefile.ByteRunes() {
		values[r] = byte(b)
	}
	return values
}

// decodeBytes returns the bytes of a token that is written in the characters
// of mergefile.ByteRunes.
func decodeBytes(values map[rune]byte, token string) (string, bool) {
	text := make([]byte, 0, len(token))
	for _, r := range token {
		value, ok := values[r]
		if !ok {
			return "", false
		}
		text = append(text, value)
	}
	return string(text), true
}

// pieces returns the bytes of each token that is written in bytes.
func (m *model) pieces() []string {
	values := byteValues()
	pieces := make([]string, 0, len(m.Vocab))
	for token := range m.Vocab {
		if piece, ok := decodeBytes(values, token); ok {
			pieces = append(pieces, piece)
		}
	}
	return pieces
}
