// Package hfjson reads the vocabulary of a model from a tokenizer.json file,
// the form in which models are published on Hugging Face.
//
// It reads byte-level BPE (DeepSeek V3 and R1, Qwen 2 and 3, Llama 3, gpt-oss
// and what else cuts text by one of their patterns) and the BPE of characters
// that Gemma 2 and 3 use. The vocabulary of DeepSeek V3 is read so because the
// licence of that release restricts use, those of Llama and Gemma because of
// their terms. What would change the count and is not understood, such as
// Unigram models, is refused with an error that says so.
//
// Special tokens such as <|im_start|> have no meaning in a text: what is
// counted is text that somebody wrote. For Gemma the other added tokens count:
// runs of line ends and tabs and some HTML tags are one token by them.
package hfjson

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/forge-agent/forge/tokenizer/bpe"
	"github.com/forge-agent/forge/tokenizer/internal/mergefile"
)

// MaxBytes bounds the size of a tokenizer.json. The largest known ones have
// 33 MB.
const MaxBytes = 64 << 20

// maxTokens bounds a vocabulary and its merges. The largest known ones have
// 262,144 tokens and 514,906 merges.
const maxTokens = 1 << 20

// Read reads a tokenizer.json. The name is what the counters of the vocabulary
// return as theirs. A file that is too large, is no tokenizer.json, or counts
// in a way that this package does not know, gives an error.
func Read(r io.Reader, name string) (*bpe.Vocabulary, error) {
	v, err := read(r, name)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer.json: %w", err)
	}
	return v, nil
}

func read(r io.Reader, name string) (*bpe.Vocabulary, error) {
	content, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(content) > MaxBytes {
		return nil, fmt.Errorf("the file is larger than %d MB", MaxBytes>>20)
	}
	var d document
	if err := json.Unmarshal(content, &d); err != nil {
		return nil, err
	}
	if err := d.Model.check(); err != nil {
		return nil, err
	}
	if d.Model.ByteFallback {
		return spelled(&d, name)
	}
	if err := d.Model.checkBytes(); err != nil {
		return nil, err
	}
	definition := bpe.Definition{Name: name}
	if definition.NFC, err = normalization(d.Normalizer); err != nil {
		return nil, err
	}
	if definition.Pattern, err = pattern(d.PreTokenizer); err != nil {
		return nil, err
	}
	numbers := newNumbering()
	for b, r := range mergefile.ByteRunes() {
		numbers.set(string(r), uint32(b))
	}
	if definition.Merges, err = d.Model.merges(numbers); err != nil {
		return nil, err
	}
	if definition.Tokens, err = numbers.bytes(); err != nil {
		return nil, err
	}
	if d.Model.IgnoreMerges {
		definition.Whole = d.Model.pieces()
	}
	return bpe.NewVocabulary(definition)
}
