package bpe

// nextO200K returns the end of the piece that starts at s[i], by the pattern
// of o200k_base, in this order:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// A piece depends on what follows its start, never on what came before. Here
// (?i:'s) does not match U+017F, as in some engines it does: no token holds
// that letter beside another, so that the count is the same.
func nextO200K(s string, i int) int {
	first, size := classAt(s, i)
	afterFirst := i + size
	switch {
	case first&(anyLetter|prefixable) != 0:
		if end := wordO200K(s, i, afterFirst, first); end >= 0 {
			return contraction(s, end)
		}
	case first&classNumber != 0:
		return numberEnd(s, afterFirst, 2)
	}
	if end := symbolEnd(s, i, afterFirst, first, true); end >= 0 {
		return end
	}
	return spaceEnd(s, i)
}

// wordO200K matches the first two alternatives without the contraction. It
// returns -1 if no word starts at s[i].
func wordO200K(s string, i, afterFirst int, first class) int {
	if first&prefixable != 0 && afterFirst < len(s) {
		if end := mixedWord(s, afterFirst); end >= 0 {
			return end
		}
	}
	if first&(upperRun|lowerRun) != 0 {
		if end := mixedWord(s, i); end >= 0 {
			return end
		}
	}
	if first&prefixable != 0 && afterFirst < len(s) {
		if end := runEnd(s, afterFirst, upperRun); end > afterFirst {
			return end
		}
	}
	if first&upperRun != 0 {
		return runEnd(s, i, upperRun)
	}
	return -1
}

// mixedWord matches upper* lower+ at s[i]. Where nothing lower follows the
// upper run, the run gives back characters until its last one that is also
// lower, and ends there. It returns -1 without a match.
func mixedWord(s string, i int) int {
	lastLower := -1
	for i < len(s) {
		c, size := classAt(s, i)
		if c&upperRun == 0 {
			if c&lowerRun != 0 {
				return runEnd(s, i, lowerRun)
			}
			return lastLower
		}
		i += size
		if c&lowerRun != 0 {
			lastLower = i
		}
	}
	return lastLower
}
