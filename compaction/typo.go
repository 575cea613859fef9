package compaction

import "sync"

// slips are the cues that decide most and that people mistype most. A word with
// the same letters in another order, the first and the last in place, is read
// as the cue, and so is a long one that lacks a letter: "alwyas", "olny", "shoud".
var slips = sync.OnceValue(func() map[uint64]string {
	words := map[uint64]string{}
	for _, w := range []string{"never", "always", "must", "only", "don't", "dont", "avoid", "without", "before", "should", "please", "ensure",
		"instead", "unless", "until", "prefer", "keep", "cannot", "nothing", "remember", "anything", "whenever", "exactly", "nicht", "immer",
		"niemals", "bitte", "jamais", "toujours", "nunca", "siempre"} {
		words[letterSum([]byte(w))] = w
		if len(w) < 6 && w != "never" {
			continue // too much is a letter away from a short word
		}
		for i := 1; i < len(w)-1; i++ {
			words[letterSum([]byte(w[:i]+w[i+1:]))] = w
		}
	}
	return words
})

// letterSum is the same for words with the same letters.
func letterSum(word []byte) uint64 {
	sum := uint64(0)
	for _, c := range word {
		h := uint64(c) * 0x9e3779b97f4a7c15
		sum += h ^ h>>29
	}
	return sum
}

// mistyped returns the node of the cue that the word text[i:end] is a slip of,
// zero when it is none.
func (l *lexicon) mistyped(text []byte, i, end int) int32 {
	if end-i < 4 || end-i > 8 {
		return 0
	}
	cue, ok := slips()[letterSum(text[i:end])]
	if !ok || cue[0] != text[i] || cue[len(cue)-1] != text[end-1] {
		return 0
	}
	node, length := l.longest([]byte(cue), 0)
	if length != len(cue) {
		return 0
	}
	return node
}
