package config

import "strings"

// nearest returns the candidate that a word was probably meant to be, empty
// when none is near: at most a third of the letters may differ. Of two as near,
// the earlier one is taken. A candidate's last name counts too, so that a key
// in the wrong place is found.
func nearest(word string, candidates []string) string {
	const longest = 64 // a longer word is no misspelt key
	if len(word) > longest {
		return ""
	}
	w := []rune(strings.ToLower(word))
	best, distance := "", max(1, len(w)/3)+1
	for _, c := range candidates {
		last := c[strings.LastIndexByte(c, '.')+1:]
		for _, form := range []string{c, last} {
			if d := edits(w, []rune(strings.ToLower(form))); d < distance {
				best, distance = c, d
			}
		}
	}
	return best
}

// edits counts the letters to add, take away, change or swap with their
// neighbour to get from a to b.
func edits(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
