package bpe_test

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/bpe"
)

// mergeFile writes merges of single bytes and of earlier merges, which are
// given by their text.
func mergeFile(pairs ...[2]string) string {
	numbers := map[string]int{}
	for b := range 256 {
		numbers[string([]byte{byte(b)})] = b
	}
	var file strings.Builder
	for i, pair := range pairs {
		for _, text := range pair {
			n := numbers[text]
			file.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16)})
		}
		numbers[pair[0]+pair[1]] = 256 + i
	}
	return file.String()
}

func vocabulary(t testing.TB, file string) *bpe.Vocabulary {
	t.Helper()
	v, err := bpe.NewVocabulary(bpe.Definition{Name: "test", Pattern: bpe.PatternO200K, MergeFile: file})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNewVocabularyRefuses(t *testing.T) {
	good := mergeFile([2]string{"a", "b"}, [2]string{"ab", "c"})
	tests := []struct {
		name       string
		definition bpe.Definition
		want       string
	}{
		{"cut", bpe.Definition{Pattern: bpe.PatternO200K, MergeFile: good[:7]}, "whole number of records"},
		{"later part", bpe.Definition{Pattern: bpe.PatternO200K, MergeFile: good[6:] + good[:6]}, "no earlier merge makes"},
		{"too many", bpe.Definition{Pattern: bpe.PatternO200K, MergeFile: strings.Repeat(good[:6], bpe.MaxTokens)}, "more than"},
		{"no pattern", bpe.Definition{MergeFile: good}, "pattern 0"},
		{"unknown pattern", bpe.Definition{Pattern: 99, MergeFile: good}, "pattern 99"},
		{"both forms", bpe.Definition{Pattern: bpe.PatternO200K, MergeFile: good, Merges: []bpe.Merge{}}, "given twice"},
		{"token out of range", bpe.Definition{Pattern: bpe.PatternO200K, Merges: []bpe.Merge{{97, 98, bpe.MaxTokens}}}, "merge 0"},
		{"characters and another pattern", bpe.Definition{Pattern: bpe.PatternO200K, Characters: map[rune]uint32{'a': 256}}, "characters go with"},
		{"no characters", bpe.Definition{Pattern: bpe.PatternSentencePiece, Merges: []bpe.Merge{}}, "characters go with"},
		{"characters and NFC", bpe.Definition{Pattern: bpe.PatternSentencePiece, Characters: map[rune]uint32{'a': 256}, Merges: []bpe.Merge{}, NFC: true}, "neither NFC nor Whole"},
		{"no bytes of tokens", bpe.Definition{Pattern: bpe.PatternSentencePiece, Characters: map[rune]uint32{'a': 256}, Merges: []bpe.Merge{{256, 256, 257}}}, "needs the bytes of its tokens"},
		{"result is a byte", bpe.Definition{Pattern: bpe.PatternO200K, Merges: []bpe.Merge{{97, 98, 99}}}, "merge 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := bpe.NewVocabulary(test.definition)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
		})
	}
}

// Equal merges apply from left to right, earlier merges first.
func TestMergeOrder(t *testing.T) {
	v := vocabulary(t, mergeFile([2]string{"b", "c"}, [2]string{"a", "b"}, [2]string{"a", "a"}, [2]string{"aa", "a"}, [2]string{"ab", "ab"}))
	for text, want := range map[string]int{
		"a":      1,
		"abc":    2, // a bc: the earlier merge wins
		"ab":     1,
		"abab":   1,
		"ababc":  3, // ab a bc
		"aaa":    1, // aa a
		"aaaa":   2, // aa aa
		"aaaaa":  2, // aa aaa: left to right, then aa a at the end
		"aaaaaa": 3, // aa aa aa
		"xyz":    3,
	} {
		c := bpe.NewCounter(v)
		if got := c.CountShort(text); got != want {
			t.Errorf("short: Count(%q) = %d, want %d", text, got, want)
		}
		if got := c.CountLong(text); got != want {
			t.Errorf("long: Count(%q) = %d, want %d", text, got, want)
		}
	}
}

// vocabularies yields merge files that real texts were trained into and
// random ones over few letters, where every merge depends on others.
func randomMergeFile(random *rand.Rand, letters string, merges int) string {
	tokens := strings.Split(letters, "")
	made := map[string]bool{}
	var pairs [][2]string
	for range merges * 4 {
		left, right := tokens[random.IntN(len(tokens))], tokens[random.IntN(len(tokens))]
		if made[left+right] || len(left+right) > 12 || len(pairs) == merges {
			continue
		}
		made[left+right] = true
		tokens = append(tokens, left+right)
		pairs = append(pairs, [2]string{left, right})
	}
	return mergeFile(pairs...)
}

// slowCount is the definition of the encoding: the lowest merge first, the
// leftmost first, until none is left.
func slowCount(merges map[[2]int]int, text string) int {
	tokens := make([]int, 0, len(text))
	for i := range len(text) {
		tokens = append(tokens, int(text[i]))
	}
	for {
		best, at := -1, -1
		for i := range len(tokens) - 1 {
			if m, ok := merges[[2]int{tokens[i], tokens[i+1]}]; ok && (best < 0 || m < best) {
				best, at = m, i
			}
		}
		if best < 0 {
			return len(tokens)
		}
		tokens[at] = 256 + best
		tokens = append(tokens[:at+1], tokens[at+2:]...)
	}
}

func mergesOf(file string) map[[2]int]int {
	merges := map[[2]int]int{}
	for i := 0; len(file) > 0; i++ {
		left := int(file[0]) | int(file[1])<<8 | int(file[2])<<16
		right := int(file[3]) | int(file[4])<<8 | int(file[5])<<16
		if _, ok := merges[[2]int{left, right}]; !ok {
			merges[[2]int{left, right}] = i
		}
		file = file[6:]
	}
	return merges
}

// Short pieces, long pieces and long pieces in tiny chunks all give what the
// definition gives.
func TestMergeIsDefinition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		letters := rapid.SampledFrom([]string{"a", "ab", "abc", "abcdef"}).Draw(rt, "letters")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		file := randomMergeFile(random, letters, rapid.IntRange(0, 60).Draw(rt, "merges"))
		text := rapid.StringOfN(rapid.RuneFrom([]rune(letters+"z")), 1, 300, -1).Draw(rt, "text")
		compareMerges(rt, file, text)
	})
}

func TestRealMergeIsDefinition(t *testing.T) {
	file := string(tokentest.ReadFile(t, "../o200k/o200k.merges"))
	v, merges := vocabulary(t, file), mergesOf(file)
	random := rand.New(rand.NewPCG(8, 9))
	for _, kind := range tokentest.Kinds() {
		text := strings.ToValidUTF8(kind.Make(random, 900), "\ufffd")
		want := slowCount(merges, text)
		if got := heapCount(merges, text); got != want {
			t.Errorf("%s: the reference with a heap counts %d, want %d", kind.Name, got, want)
		}
		for _, chunk := range []int{0, 64, 200} {
			if got := bpe.NewCounterOfChunks(v, chunk).CountLong(text); got != want {
				t.Errorf("%s in chunks of %d: Count = %d, want %d", kind.Name, chunk, got, want)
			}
		}
	}
}

func compareMerges(t *rapid.T, file, text string) {
	v, err := bpe.NewVocabulary(bpe.Definition{Name: "test", Pattern: bpe.PatternO200K, MergeFile: file})
	if err != nil {
		t.Fatal(err)
	}
	want := slowCount(mergesOf(file), text)
	c := bpe.NewCounter(v)
	if got := c.CountLong(text); got != want {
		t.Errorf("long: Count(%q) = %d, want %d", text, got, want)
	}
	if len(text) <= bpe.ShortBytes {
		if got := c.CountShort(text); got != want {
			t.Errorf("short: Count(%q) = %d, want %d", text, got, want)
		}
	}
	for _, chunk := range []int{1, 2, 3, 8, 16, 40} {
		if got := bpe.NewCounterOfChunks(v, chunk).CountLong(text); got != want {
			t.Errorf("chunks of %d: Count(%q) = %d, want %d", chunk, text, got, want)
		}
	}
}

// Merges that name their result may come in any order and make a token twice.
func TestMergesIsDefinition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		merges := randomMerges(random, rapid.IntRange(0, 40).Draw(rt, "merges"), rapid.Bool().Draw(rt, "shuffled"))
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abcx")), 1, 200, -1).Draw(rt, "text")
		v, err := bpe.NewVocabulary(bpe.Definition{Name: "test", Pattern: bpe.PatternO200K, Merges: merges})
		if err != nil {
			rt.Fatal(err)
		}
		want := slowCountOf(merges, text)
		c := bpe.NewCounterOfChunks(v, 16)
		if got := c.CountLong(text); got != want {
			rt.Errorf("long: Count(%q) = %d, want %d", text, got, want)
		}
		if len(text) <= bpe.ShortBytes {
			if got := c.CountShort(text); got != want {
				rt.Errorf("short: Count(%q) = %d, want %d", text, got, want)
			}
		}
	})
}

// randomMerges returns merges in which a token may be made in several ways.
// Without shuffling, each comes after those that make its parts.
func randomMerges(random *rand.Rand, n int, shuffled bool) []bpe.Merge {
	numbers := map[string]uint32{"a": 'a', "b": 'b', "c": 'c'}
	texts := []string{"a", "b", "c"}
	var merges []bpe.Merge
	for range n {
		left, right := texts[random.IntN(len(texts))], texts[random.IntN(len(texts))]
		if len(left+right) > 10 {
			continue
		}
		if _, ok := numbers[left+right]; !ok {
			numbers[left+right] = uint32(1000 - len(texts))
			texts = append(texts, left+right)
		}
		merges = append(merges, bpe.Merge{Left: numbers[left], Right: numbers[right], Result: numbers[left+right]})
	}
	if shuffled {
		random.Shuffle(len(merges), func(i, j int) { merges[i], merges[j] = merges[j], merges[i] })
	}
	return merges
}

func slowCountOf(merges []bpe.Merge, text string) int {
	type pair struct{ left, right uint32 }
	ranks := map[pair]int{}
	for i, m := range merges {
		if _, ok := ranks[pair{m.Left, m.Right}]; !ok {
			ranks[pair{m.Left, m.Right}] = i
		}
	}
	var tokens []uint32
	for i := range len(text) {
		tokens = append(tokens, uint32(text[i]))
	}
	for {
		best, at := -1, -1
		for i := range len(tokens) - 1 {
			if rank, ok := ranks[pair{tokens[i], tokens[i+1]}]; ok && (best < 0 || rank < best) {
				best, at = rank, i
			}
		}
		if best < 0 {
			return len(tokens)
		}
		tokens[at] = merges[best].Result
		tokens = append(tokens[:at+1], tokens[at+2:]...)
	}
}

// A bad byte counts as U+FFFD, wherever the chunks are cut.
func TestBadBytes(t *testing.T) {
	v := vocabulary(t, string(tokentest.ReadFile(t, "../o200k/o200k.merges")))
	random := rand.New(rand.NewPCG(10, 11))
	for _, kind := range tokentest.Kinds() {
		for range 20 {
			text := kind.Make(random, 200)
			valid := string([]rune(text))
			if utf8.ValidString(text) != (text == valid) {
				t.Fatal("the texts do not test bad bytes")
			}
			for _, chunk := range []int{0, 32} {
				c := bpe.NewCounterOfChunks(v, chunk)
				if got, want := c.CountLong(text), c.CountLong(valid); got != want {
					t.Errorf("%s: Count(%q) = %d, want %d", kind.Name, text, got, want)
				}
				if got, want := c.Count(text), c.Count(valid); got != want {
					t.Errorf("%s: Count(%q) = %d, want %d", kind.Name, text, got, want)
				}
			}
		}
	}
}

// Hostile texts, each taken as one piece, are what a reference gives that is
// simple and not quadratic. FORGE_SOAK=1 makes them 1 MB long.
func TestHostilePieces(t *testing.T) {
	size := 17_000 // two chunks
	if os.Getenv("FORGE_SOAK") != "" {
		size = 1 << 20
	}
	file := string(tokentest.ReadFile(t, "../o200k/o200k.merges"))
	v, merges := vocabulary(t, file), mergesOf(file)
	random := rand.New(rand.NewPCG(12, 13))
	for _, kind := range tokentest.Hostile() {
		t.Run(kind.Name, func(t *testing.T) {
			text := kind.Make(random, size)
			if got, want := bpe.NewCounter(v).CountLong(text), heapCount(merges, string([]rune(text))); got != want {
				t.Errorf("Count = %d, want %d", got, want)
			}
		})
	}
}

// heapCount is slowCount with a heap of the pairs that may merge.
func heapCount(merges map[[2]int]int, text string) int {
	n := len(text)
	tokens, next, prev := make([]int, n), make([]int, n), make([]int, n)
	var waiting pairHeap
	for i := range n {
		tokens[i], next[i], prev[i] = int(text[i]), i+1, i-1
	}
	wait := func(at int) {
		if at >= 0 && next[at] < n {
			if m, ok := merges[[2]int{tokens[at], tokens[next[at]]}]; ok {
				heap.Push(&waiting, waitingPair{m, at, tokens[at], tokens[next[at]]})
			}
		}
	}
	for i := range n {
		wait(i)
	}
	count := n
	for len(waiting) > 0 {
		p := heap.Pop(&waiting).(waitingPair)
		if tokens[p.at] != p.left || next[p.at] >= n || tokens[next[p.at]] != p.right {
			continue
		}
		gone := next[p.at]
		tokens[p.at], tokens[gone] = 256+p.merge, -1
		next[p.at] = next[gone]
		if next[gone] < n {
			prev[next[gone]] = p.at
		}
		count--
		wait(p.at)
		wait(prev[p.at])
	}
	return count
}

type waitingPair struct{ merge, at, left, right int }

type pairHeap []waitingPair

func (h pairHeap) Len() int { return len(h) }
func (h pairHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].merge, h[j].merge), cmp.Compare(h[i].at, h[j].at)) < 0
}
func (h pairHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *pairHeap) Push(x any)   { *h = append(*h, x.(waitingPair)) }
func (h *pairHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func ExampleNewVocabulary() {
	// Two merges: a and b make token 256, which makes 257 with c.
	merges := "\x61\x00\x00\x62\x00\x00" + "\x00\x01\x00\x63\x00\x00"
	v, err := bpe.NewVocabulary(bpe.Definition{Name: "tiny", Pattern: bpe.PatternCL100K, MergeFile: merges})
	if err != nil {
		panic(err)
	}
	fmt.Println(bpe.NewCounter(v).Count("abc ab"))
	// Output: 3
}
