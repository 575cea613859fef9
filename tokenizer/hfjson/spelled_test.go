package hfjson_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/bpe"
	"github.com/forge-agent/forge/tokenizer/hfjson"
)

const gemmaSpaces = `{"type":"Replace","pattern":{"String":" "},"content":"▁"}`

// gemmaFile writes a vocabulary of characters in the form of Gemma's.
func gemmaFile(characters []string, merges [][2]string, added ...string) map[string]any {
	vocab := map[string]int{}
	for b := range 256 {
		vocab[fmt.Sprintf("<0x%02X>", b)] = len(vocab)
	}
	for _, character := range characters {
		vocab[character] = len(vocab)
	}
	for _, merge := range merges {
		if _, ok := vocab[merge[0]+merge[1]]; !ok {
			vocab[merge[0]+merge[1]] = len(vocab)
		}
	}
	addedTokens := []map[string]any{{"content": "<bos>", "special": true}}
	for _, text := range added {
		addedTokens = append(addedTokens, map[string]any{"content": text, "special": false, "normalized": false})
	}
	return map[string]any{
		"normalizer":    json.RawMessage(gemmaSpaces),
		"pre_tokenizer": json.RawMessage(`{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false}`),
		"added_tokens":  addedTokens,
		"model":         map[string]any{"type": "BPE", "byte_fallback": true, "vocab": vocab, "merges": merges},
	}
}

func readGemma(t tokentest.TB, file map[string]any) (*bpe.Vocabulary, error) {
	t.Helper()
	content, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return hfjson.Read(strings.NewReader(string(content)), "gemma")
}

// spelledReference counts by the definition: added tokens from left to right,
// the longest first; between them the lowest merge of characters first.
func spelledReference(characters []string, merges [][2]string, added []string) tokentest.Reference {
	known := map[string]bool{}
	for _, character := range characters {
		known[character] = true
	}
	ranks := map[[2]string]int{}
	for i, merge := range merges {
		if _, ok := ranks[merge]; !ok {
			ranks[merge] = i
		}
	}
	between := func(text string) int {
		var tokens []string
		for _, r := range strings.ReplaceAll(text, " ", "▁") {
			if known[string(r)] {
				tokens = append(tokens, string(r))
				continue
			}
			for _, b := range []byte(string(r)) {
				tokens = append(tokens, fmt.Sprintf("<0x%02X>", b))
			}
		}
		for {
			best, at := -1, -1
			for i := range len(tokens) - 1 {
				if rank, ok := ranks[[2]string{tokens[i], tokens[i+1]}]; ok && (best < 0 || rank < best) {
					best, at = rank, i
				}
			}
			if best < 0 {
				return len(tokens)
			}
			tokens[at] += tokens[at+1]
			tokens = append(tokens[:at+1], tokens[at+2:]...)
		}
	}
	return func(text string) int {
		count, start := 0, 0
		for i := 0; i < len(text); i++ {
			longest := 0
			for _, a := range added {
				if strings.HasPrefix(text[i:], a) {
					longest = max(longest, len(a))
				}
			}
			if longest > 0 {
				count += between(text[start:i]) + 1
				start = i + longest
				i = start - 1
			}
		}
		return count + between(text[start:])
	}
}

func TestReadGemma(t *testing.T) {
	characters := []string{"a", "b", "c", "▁", "\n", "中", "é", "<", ">", "/"}
	added := []string{"\n", "\n\n", "\n\n\n", "\t", "<b>", "</b>", "▁▁"}
	alphabet := []rune("abc \n中éz<>/▁\t\x00")
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		merges := characterMerges(random, characters, rapid.IntRange(0, 60).Draw(rt, "merges"))
		v, err := readGemma(t, gemmaFile(characters, merges, added...))
		if err != nil {
			rt.Fatal(err)
		}
		counter := bpe.NewCounter(v)
		text := rapid.StringOfN(rapid.RuneFrom(alphabet), 0, 200, -1).Draw(rt, "text")
		tokentest.Compare(rt, counter, spelledReference(characters, merges, added), text)
	})
}

// characterMerges returns merges in any order, some of which make one token.
func characterMerges(random *rand.Rand, characters []string, n int) [][2]string {
	tokens := slices.Clone(characters)
	merges := [][2]string{}
	for range n {
		merge := [2]string{tokens[random.IntN(len(tokens))], tokens[random.IntN(len(tokens))]}
		if len(merge[0])+len(merge[1]) < 16 {
			merges = append(merges, merge)
			tokens = append(tokens, merge[0]+merge[1])
		}
	}
	random.Shuffle(len(merges), func(i, j int) { merges[i], merges[j] = merges[j], merges[i] })
	return merges
}

func TestReadGemmaBadBytes(t *testing.T) {
	v, err := readGemma(t, gemmaFile([]string{"\ufffd", "a"}, [][2]string{{"\ufffd", "\ufffd"}}))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"\xff": 1, "\xff\xfe": 1, "a\xffa": 3, "é": 2, "": 0, "\xe4\xb8a": 2} {
		if got := bpe.NewCounter(v).Count(text); got != want {
			t.Errorf("Count(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestReadGemmaRefuses(t *testing.T) {
	edit := func(change func(file, model map[string]any)) map[string]any {
		file := gemmaFile([]string{"a", "b"}, [][2]string{{"a", "b"}}, "\n")
		change(file, file["model"].(map[string]any))
		return file
	}
	addedWith := func(field string) map[string]any {
		return edit(func(file, _ map[string]any) {
			file["added_tokens"] = []map[string]any{{"content": "x", field: true}}
		})
	}
	tests := []struct {
		name string
		file map[string]any
		want string
	}{
		{"no normalizer", edit(func(file, _ map[string]any) { delete(file, "normalizer") }), "others are not known"},
		{"space before the text", edit(func(file, _ map[string]any) {
			file["normalizer"] = json.RawMessage(`{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},` + gemmaSpaces + `]}`)
		}), "others are not known"},
		{"other pre-tokenizer", edit(func(file, _ map[string]any) {
			file["pre_tokenizer"] = json.RawMessage(`{"type":"Digits"}`)
		}), `"Digits" of a model of characters`},
		{"byte missing", edit(func(_, model map[string]any) { delete(model["vocab"].(map[string]int), "<0xFF>") }), "no token <0xFF>"},
		{"merge of a byte", gemmaFile([]string{"a"}, [][2]string{{"a", "<0x00>"}}), "merge 0 joins a byte"},
		{"merges ignored", edit(func(_, model map[string]any) { model["ignore_merges"] = true }), "ignores merges"},
		{"normalized added token", addedWith("normalized"), "found in a way"},
		{"added word", addedWith("single_word"), "found in a way"},
		{"added token with spaces", addedWith("lstrip"), "found in a way"},
		{"long added token", edit(func(file, _ map[string]any) {
			file["added_tokens"] = []map[string]any{{"content": strings.Repeat("x", 300)}}
		}), "more than 256 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := readGemma(t, test.file); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
		})
	}
}
