package bpe

// The parts that the patterns share. Each takes the position where it starts
// and returns the position where it ends.

// runEnd returns the end of the run of characters of a set that starts at s[i].
func runEnd(s string, i int, set class) int {
	for i < len(s) {
		c, size := classAt(s, i)
		if c&set == 0 {
			break
		}
		i += size
	}
	return i
}

// numberEnd matches up to more numbers at s[i].
func numberEnd(s string, i, more int) int {
	for ; more > 0 && i < len(s); more-- {
		c, size := classAt(s, i)
		if c&classNumber == 0 {
			break
		}
		i += size
	}
	return i
}

// symbolEnd matches " ?[^\s\p{L}\p{N}]+[\r\n]*", with slash also "/" in the
// tail. It returns -1 without a match.
func symbolEnd(s string, i, afterFirst int, first class, slash bool) int {
	if first&symbol == 0 {
		if s[i] != ' ' || afterFirst == len(s) {
			return -1
		}
		c, size := classAt(s, afterFirst)
		if c&symbol == 0 {
			return -1
		}
		afterFirst += size
	}
	end := runEnd(s, afterFirst, symbol)
	for end < len(s) && (s[end] == '\n' || s[end] == '\r' || slash && s[end] == '/') {
		end++
	}
	return end
}

// spaceEnd matches "\s*[\r\n]+|\s+(?!\S)|\s+" at a start that is a space: up
// to the last line end of the run; in a run without one, all of it at the end
// of the text, else all but its last character if that leaves any.
func spaceEnd(s string, start int) int {
	return spaceEndBefore(s, start, func(s string, i int) bool { return i == len(s) })
}

// spaceEndBefore is spaceEnd where textEnds says where the text ends.
func spaceEndBefore(s string, start int, textEnds func(s string, i int) bool) int {
	afterNewline, last, end := -1, start, start
	for end < len(s) {
		c, size := classAt(s, end)
		if c&anySpace == 0 {
			break
		}
		last = end
		end += size
		if c&classNewline != 0 {
			afterNewline = end
		}
	}
	switch {
	case afterNewline >= 0:
		return afterNewline
	case last == start || textEnds(s, end):
		return end
	}
	return last
}

// contraction matches "(?i:'s|'t|'re|'ve|'m|'ll|'d)?" at s[i].
func contraction(s string, i int) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return i
	}
	switch s[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		if i+2 < len(s) && s[i+2]|0x20 == 'e' {
			return i + 3
		}
	case 'l':
		if i+2 < len(s) && s[i+2]|0x20 == 'l' {
			return i + 3
		}
	}
	return i
}
