package tokentest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/dlclark/regexp2"
	tiktoken "github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/pkoukk/tiktoken-go-loader/assets"
	"golang.org/x/text/unicode/norm"
)

// Patterns of the pre-tokenizers as their publishers write them.
const (
	CL100KPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	Qwen2Pattern  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// Tiktoken returns the reference for one of OpenAI's vocabularies:
// github.com/pkoukk/tiktoken-go with its offline vocabulary files.
func Tiktoken(tb TB, name string) Reference {
	tb.Helper()
	setLoader()
	encoding, err := tiktoken.GetEncoding(name)
	if err != nil {
		tb.Fatal(err)
	}
	return func(text string) int { return len(encoding.EncodeOrdinary(text)) }
}

var setLoader = sync.OnceFunc(func() { tiktoken.SetBpeLoader(loader.NewOfflineLoader()) })

// TiktokenFile returns the published file of one of OpenAI's vocabularies.
func TiktokenFile(tb TB, name string) []byte {
	tb.Helper()
	content, err := assets.Assets.ReadFile(name + ".tiktoken")
	if err != nil {
		tb.Fatal(err)
	}
	return content
}

// Qwen2 returns a reference for the vocabularies of the Qwen 2 and 3 family,
// given as a merge file.
func Qwen2(tb TB, mergeFile string) Reference {
	tb.Helper()
	encode := Interpreted(tb, Ranks(mergeFile), Qwen2Pattern)
	return func(text string) int {
		return encode(composed(string([]rune(text))))
	}
}

// composed is the normal form C of text without the joiner U+034F that norm
// inserts after 30 combining characters. The normal form has none of its own.
func composed(text string) string {
	const joiner = "\u034f"
	normal := norm.NFC.String(text)
	if strings.Contains(text, joiner) {
		return normal
	}
	return strings.ReplaceAll(normal, joiner, "")
}

// deepSeekPatterns are the steps of the pre-tokenizer of DeepSeek V3.
var deepSeekPatterns = []string{
	`\p{N}{1,3}`,
	`[一-龥぀-ゟ゠-ヿ]+`,
	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
}

// DeepSeek returns a reference for the pre-tokenizer of DeepSeek V3 and the
// vocabulary of a merge file.
func DeepSeek(tb TB, mergeFile string) Reference {
	tb.Helper()
	encode := Interpreted(tb, Ranks(mergeFile), `[\s\S]+`)
	var steps []*regexp2.Regexp
	for _, pattern := range deepSeekPatterns {
		steps = append(steps, regexp2.MustCompile(pattern, regexp2.None))
	}
	return func(text string) int {
		segments := []string{string([]rune(text))}
		for _, step := range steps {
			var next []string
			for _, segment := range segments {
				next = append(next, isolate(step, segment)...)
			}
			segments = next
		}
		count := 0
		for _, segment := range segments {
			count += encode(segment)
		}
		return count
	}
}

// isolate cuts a text into what a pattern matches and what is between.
func isolate(pattern *regexp2.Regexp, text string) []string {
	runes := []rune(text)
	var segments []string
	last := 0
	match, err := pattern.FindRunesMatch(runes)
	for ; match != nil; match, err = pattern.FindNextMatch(match) {
		if match.Index > last {
			segments = append(segments, string(runes[last:match.Index]))
		}
		last = match.Index + match.Length
		segments = append(segments, string(runes[match.Index:last]))
	}
	if err != nil {
		panic(err) // there is no time limit
	}
	if last < len(runes) {
		segments = append(segments, string(runes[last:]))
	}
	return segments
}

// Interpreted returns a reference that cuts by an interpreted regular
// expression and merges by rank.
func Interpreted(tb TB, ranks map[string]int, pattern string) Reference {
	tb.Helper()
	// An empty set of special tokens makes NewCoreBPE match everywhere.
	special := map[string]int{"<|never|>": len(ranks)}
	core, err := tiktoken.NewCoreBPE(ranks, special, pattern)
	if err != nil {
		tb.Fatal(err)
	}
	encoding := tiktoken.NewTiktoken(core, &tiktoken.Encoding{SpecialTokens: special}, map[string]any{"<|never|>": nil})
	return func(text string) int { return len(encoding.EncodeOrdinary(text)) }
}

// Ranks returns the tokens of a merge file with their ranks.
func Ranks(mergeFile string) map[string]int {
	const recordBytes = 6
	tokens := make([]string, 0, 256+len(mergeFile)/recordBytes)
	for b := range 256 {
		tokens = append(tokens, string([]byte{byte(b)}))
	}
	for record := mergeFile; record != ""; record = record[recordBytes:] {
		left := int(record[0]) | int(record[1])<<8 | int(record[2])<<16
		right := int(record[3]) | int(record[4])<<8 | int(record[5])<<16
		tokens = append(tokens, tokens[left]+tokens[right])
	}
	ranks := make(map[string]int, len(tokens))
	for rank, text := range tokens {
		ranks[text] = rank
	}
	if len(ranks) != len(tokens) {
		panic(fmt.Sprintf("merge file makes %d tokens twice", len(tokens)-len(ranks)))
	}
	return ranks
}
