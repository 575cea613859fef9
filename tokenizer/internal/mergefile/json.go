package mergefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// FromTokenizerJSON converts a Hugging Face tokenizer.json with a byte-level
// BPE model in which each token is made by one merge.
func FromTokenizerJSON(source []byte) ([]byte, error) {
	var document struct {
		Model struct {
			Type   string            `json:"type"`
			Vocab  map[string]int    `json:"vocab"`
			Merges []json.RawMessage `json:"merges"`
		} `json:"model"`
	}
	if err := json.Unmarshal(source, &document); err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	if document.Model.Type != "BPE" {
		return nil, fmt.Errorf("the model is %q, want BPE", document.Model.Type)
	}
	numbers := make(map[string]uint32, len(document.Model.Merges)+byteTokens)
	for b, r := range ByteRunes() {
		numbers[string(r)] = uint32(b)
	}
	file := make([]byte, 0, mergeBytes*len(document.Model.Merges))
	for i, raw := range document.Model.Merges {
		left, right, err := parseMerge(raw)
		if err != nil {
			return nil, fmt.Errorf("merge %d: %w", i, err)
		}
		l, okLeft := numbers[left]
		r, okRight := numbers[right]
		if !okLeft || !okRight {
			return nil, fmt.Errorf("merge %d joins %q and %q, which no earlier merge makes", i, left, right)
		}
		if _, twice := numbers[left+right]; twice {
			return nil, fmt.Errorf("merge %d makes %q, which an earlier merge makes", i, left+right)
		}
		if _, ok := document.Model.Vocab[left+right]; !ok {
			return nil, fmt.Errorf("merge %d makes %q, which is not in the vocabulary", i, left+right)
		}
		numbers[left+right] = uint32(byteTokens + i)
		file = appendMerge(file, l, r)
	}
	return file, nil
}

func parseMerge(raw json.RawMessage) (left, right string, err error) {
	var pair []string
	if json.Unmarshal(raw, &pair) == nil && len(pair) == 2 {
		return pair[0], pair[1], nil
	}
	var joined string
	if err := json.Unmarshal(raw, &joined); err != nil {
		return "", "", fmt.Errorf("parse: %w", err)
	}
	left, right, ok := strings.Cut(joined, " ")
	if !ok {
		return "", "", errors.New("no space between its two tokens")
	}
	return left, right, nil
}

// ByteRunes returns the character by which byte-level BPE writes each byte:
// printable bytes of Latin-1 as themselves, the others as U+0100 and up in
// the order of their value.
func ByteRunes() [256]rune {
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
