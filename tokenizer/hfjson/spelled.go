package hfjson

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/forge-agent/forge/tokenizer/bpe"
)

// spelled reads a BPE of characters with bytes to fall back to, as Gemma has
// it: a space is written as U+2581, and nothing cuts the text.
func spelled(d *document, name string) (*bpe.Vocabulary, error) {
	if d.Model.IgnoreMerges {
		return nil, errors.New("a model of characters that ignores merges is not known")
	}
	if err := checkSpaces(d.Normalizer, d.PreTokenizer); err != nil {
		return nil, err
	}
	numbers := newNumbering()
	for b := range uint32(256) {
		token := fmt.Sprintf("<0x%02X>", b)
		if _, ok := d.Model.Vocab[token]; !ok {
			return nil, fmt.Errorf("the vocabulary has no token %s to fall back to", token)
		}
		numbers.set(token, b)
	}
	characters := map[rune]uint32{}
	for token := range d.Model.Vocab {
		if r, size := utf8.DecodeRuneInString(token); size == len(token) && size > 0 {
			characters[r] = numbers.add(token)
		}
	}
	merges, err := d.Model.merges(numbers)
	if err != nil {
		return nil, err
	}
	for i, merge := range merges {
		if min(merge.Left, merge.Right) < 256 {
			return nil, fmt.Errorf("merge %d joins a byte to fall back to, which is not known", i)
		}
	}
	added, err := addedTexts(d.AddedTokens)
	if err != nil {
		return nil, err
	}
	return bpe.NewVocabulary(bpe.Definition{
		Name:       name,
		Pattern:    bpe.PatternSentencePiece,
		Merges:     merges,
		Tokens:     numbers.list,
		Characters: characters,
		Added:      added,
	})
}

// checkSpaces accepts a normalizer that writes a space as U+2581 and does
// nothing else, and a pre-tokenizer that finds no space after it.
func checkSpaces(normalizer, preTokenizer *component) error {
	if normalizer == nil || normalizer.Type != "Replace" || normalizer.Content != "▁" ||
		normalizer.Pattern.String == nil || *normalizer.Pattern.String != " " {
		return errors.New("the normalizer of a model of characters does not only write a space as U+2581, as Gemma's does: others are not known")
	}
	if preTokenizer != nil && (preTokenizer.Type != "Split" ||
		preTokenizer.Pattern.String == nil || *preTokenizer.Pattern.String != " ") {
		return fmt.Errorf("the pre-tokenizer %q of a model of characters is not known", preTokenizer.Type)
	}
	return nil
}

// addedTexts returns the added tokens that a text may hold by itself.
func addedTexts(tokens []added) ([]string, error) {
	var texts []string
	for _, token := range tokens {
		switch {
		case token.Special:
		case token.Normalized || token.SingleWord || token.LStrip || token.RStrip:
			return nil, fmt.Errorf("the added token %.100q is found in a way that is not known", token.Content)
		case len(token.Content) > maxAddedBytes:
			return nil, fmt.Errorf("the added token %.100q has more than %d bytes", token.Content, maxAddedBytes)
		default:
			texts = append(texts, token.Content)
		}
	}
	return texts, nil
}

// maxAddedBytes bounds the lengths that are tried at each character. The
// longest of Gemma has 93.
const maxAddedBytes = 256
