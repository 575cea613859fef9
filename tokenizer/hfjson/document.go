package hfjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/tokenizer/bpe"
)

// A document is the part of a tokenizer.json that decides how text is counted.
type document struct {
	Model        model      `json:"model"`
	Normalizer   *component `json:"normalizer"`
	PreTokenizer *component `json:"pre_tokenizer"`
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
	tokens := vocab{}
	decoder := json.NewDecoder(bytes.NewReader(content))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return errors.New("the vocabulary is not an object of tokens")
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("read vocabulary: %w", err)
		}
		text, _ := token.(string)
		number, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("read vocabulary: %w", err)
		}
		if _, ok := number.(float64); !ok {
			return fmt.Errorf("token %q has no number", text)
		}
		if len(tokens) == maxTokens {
			return fmt.Errorf("the vocabulary has more than %d tokens", maxTokens)
		}
		tokens[text] = struct{}{}
	}
	*v = tokens
	return nil
}

// A mergeList holds merges, each as two tokens or as one string with a space.
type mergeList [][2]string

// UnmarshalJSON reads a list of merges.
func (l *mergeList) UnmarshalJSON(content []byte) error {
	var list mergeList
	decoder := json.NewDecoder(bytes.NewReader(content))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('[') {
		return errors.New("the merges are not a list")
	}
	for decoder.More() {
		if len(list) == maxTokens {
			return fmt.Errorf("the vocabulary has more than %d merges", maxTokens)
		}
		pair, err := readMerge(decoder)
		if err != nil {
			return fmt.Errorf("merge %d: %w", len(list), err)
		}
		list = append(list, pair)
	}
	*l = list
	return nil
}

func readMerge(decoder *json.Decoder) (pair [2]string, err error) {
	token, err := decoder.Token()
	if err != nil {
		return pair, err
	}
	if joined, ok := token.(string); ok {
		left, right, found := strings.Cut(joined, " ")
		if !found || strings.Contains(right, " ") {
			return pair, fmt.Errorf("%q is not two tokens with a space between", joined)
		}
		return [2]string{left, right}, nil
	}
	if token != json.Delim('[') {
		return pair, errors.New("it is neither a string nor a pair")
	}
	for i := range pair {
		token, err := decoder.Token()
		if err != nil {
			return pair, err
		}
		text, ok := token.(string)
		if !ok {
			return pair, errors.New("it is not a pair of tokens")
		}
		pair[i] = text
	}
	if closing, err := decoder.Token(); err != nil || closing != json.Delim(']') {
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
	case m.ByteFallback:
		return errors.New("the model falls back to bytes, as SentencePiece models do: only byte-level BPE can be read")
	case m.Dropout != nil && *m.Dropout != 0:
		return errors.New("the model drops merges at random")
	case m.ContinuingSubwordPrefix != "" || m.EndOfWordSuffix != "":
		return errors.New("the model marks the parts of words: only byte-level BPE can be read")
	case len(m.Vocab) == 0:
		return errors.New("the vocabulary is empty")
	}
	for b, r := range byteRunes() {
		if _, ok := m.Vocab[string(r)]; !ok {
			return fmt.Errorf("the vocabulary has no token for byte 0x%02x: only byte-level BPE can be read", b)
		}
	}
	return nil
}

// merges gives tokens the numbers that package bpe wants: the bytes their
// values, and the others the order in which a merge first makes them.
func (m *model) merges() ([]bpe.Merge, error) {
	numbers := make(map[string]uint32, len(m.Vocab))
	for b, r := range byteRunes() {
		numbers[string(r)] = uint32(b)
	}
	results := make([]uint32, len(m.Merges))
	next := uint32(256)
	for i, pair := range m.Merges {
		result := pair[0] + pair[1]
		number, ok := numbers[result]
		if !ok {
			number = next
			next++
			numbers[result] = number
		}
		if number < 256 {
			return nil, fmt.Errorf("merge %d makes %q, which is a byte", i, result)
		}
		results[i] = number
	}
	merges := make([]bpe.Merge, 0, len(m.Merges))
	for i, pair := range m.Merges {
		if _, ok := m.Vocab[pair[0]+pair[1]]; !ok {
			return nil, fmt.Errorf("merge %d makes %q, which is not in the vocabulary", i, pair[0]+pair[1])
		}
		left, okLeft := numbers[pair[0]]
		right, okRight := numbers[pair[1]]
		if !okLeft || !okRight {
			return nil, fmt.Errorf("merge %d joins %q and %q, which are not both made by bytes or merges", i, pair[0], pair[1])
		}
		merges = append(merges, bpe.Merge{Left: left, Right: right, Result: results[i]})
	}
	return merges, nil
}

// byteRunes returns the character by which byte-level BPE writes each byte:
// printable characters of Latin-1 as themselves, the others as U+0100 and up
// in the order of their value.
func byteRunes() [256]rune {
	var runes [256]rune
	next := rune(0x100)
	for b := range runes {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			runes[b] = rune(b)
		default:
			runes[b] = next
			next++
		}
	}
	return runes
}

// pieces returns the bytes of each token that is written in the characters of
// byteRunes.
func (m *model) pieces() []string {
	values := make(map[rune]byte, 256)
	for b, r := range byteRunes() {
		values[r] = byte(b)
	}
	pieces := make([]string, 0, len(m.Vocab))
	var piece []byte
next:
	for token := range m.Vocab {
		piece = piece[:0]
		for _, r := range token {
			value, ok := values[r]
			if !ok {
				continue next
			}
			piece = append(piece, value)
		}
		pieces = append(pieces, string(piece))
	}
	return pieces
}
