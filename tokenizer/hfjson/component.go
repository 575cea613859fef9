package hfjson

import (
	"errors"
	"fmt"

	"github.com/forge-agent/forge/tokenizer/bpe"
)

// A component is a normalizer or a pre-tokenizer, or a sequence of them.
type component struct {
	Type          string      `json:"type"`
	Normalizers   []component `json:"normalizers"`
	PreTokenizers []component `json:"pretokenizers"`

	// Of Split, and of Replace the pattern.
	Pattern struct {
		Regex  *string
		String *string
	} `json:"pattern"`
	Behavior string `json:"behavior"`
	Invert   bool   `json:"invert"`
	Content  string `json:"content"`

	// Of ByteLevel; a file without use_regex means true.
	AddPrefixSpace bool  `json:"add_prefix_space"`
	UseRegex       *bool `json:"use_regex"`
}

// normalization reports whether a text is brought to NFC first.
func normalization(c *component) (nfc bool, err error) {
	if c == nil {
		return false, nil
	}
	switch c.Type {
	case "NFC":
		return true, nil
	case "Sequence":
		for i := range c.Normalizers {
			one, err := normalization(&c.Normalizers[i])
			if err != nil {
				return false, err
			}
			nfc = nfc || one
		}
		return nfc, nil
	}
	return false, fmt.Errorf("the normalizer %q is not known: only NFC is", c.Type)
}

// The patterns of the pre-tokenizers as their publishers write them.
const (
	words     = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|`
	symbols   = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	cl100k    = words + `\p{N}{1,3}` + symbols
	qwen2     = words + `\p{N}` + symbols
	capitals  = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	smalls    = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	suffix    = `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
	o200k     = `[^\r\n\p{L}\p{N}]?` + capitals + `*` + smalls + `+` + suffix + `|[^\r\n\p{L}\p{N}]?` + capitals + `+` + smalls + `*` + suffix + `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	deepSeek1 = `\p{N}{1,3}`
	deepSeek2 = `[一-龥぀-ゟ゠-ヿ]+`
	deepSeek3 = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)

// knownPatterns lists the splits that package bpe has a scanner for.
func knownPatterns() map[string]bpe.Pattern {
	return map[string]bpe.Pattern{
		cl100k: bpe.PatternCL100K,
		qwen2:  bpe.PatternQwen2,
		o200k:  bpe.PatternO200K,
		deepSeek1 + "\n" + deepSeek2 + "\n" + deepSeek3: bpe.PatternDeepSeek,
	}
}

// pattern returns the scanner for a pre-tokenizer: splits by patterns and a
// ByteLevel that only writes bytes as characters.
func pattern(c *component) (bpe.Pattern, error) {
	if c == nil {
		return 0, errors.New("there is no pre-tokenizer, as in SentencePiece models: only byte-level BPE can be read")
	}
	steps := []component{*c}
	if c.Type == "Sequence" {
		steps = c.PreTokenizers
	}
	key := ""
	byteLevel := false
	for _, step := range steps {
		switch {
		case byteLevel:
			return 0, fmt.Errorf("the pre-tokenizer %q after ByteLevel is not known", step.Type)
		case step.Type == "ByteLevel":
			if step.AddPrefixSpace {
				return 0, errors.New("the pre-tokenizer adds a space before the text, which is not known")
			}
			if step.UseRegex == nil || *step.UseRegex {
				return 0, errors.New("the pre-tokenizer cuts by the pattern of GPT-2, which is not known")
			}
			byteLevel = true
		case step.Type != "Split":
			return 0, fmt.Errorf("the pre-tokenizer %q is not known: only Split and ByteLevel are", step.Type)
		case step.Pattern.Regex == nil || step.Behavior != "Isolated" || step.Invert:
			return 0, fmt.Errorf("a split that is not isolated by a regular expression is not known")
		default:
			if key != "" {
				key += "\n"
			}
			key += *step.Pattern.Regex
		}
	}
	if !byteLevel {
		return 0, errors.New("the pre-tokenizer has no ByteLevel: only byte-level BPE can be read")
	}
	known, ok := knownPatterns()[key]
	if !ok {
		return 0, fmt.Errorf("the pre-tokenizer cuts by a pattern that is not known: %.200q", key)
	}
	return known, nil
}
