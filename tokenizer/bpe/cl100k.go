package bpe

// nextCL100K returns the end of the piece that starts at s[i], by the pattern
// of cl100k_base, in this order:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// Qwen takes one number a piece, not three; moreNumbers says how many may
// follow the first.
func nextCL100K(s string, i, moreNumbers int) int {
	if end := contraction(s, i); end > i {
		return end
	}
	first, size := classAt(s, i)
	afterFirst := i + size
	switch {
	case first&anyLetter != 0:
		return runEnd(s, afterFirst, anyLetter)
	case first&classNumber != 0:
		return numberEnd(s, afterFirst, moreNumbers)
	case first&prefixable != 0:
		if end := runEnd(s, afterFirst, anyLetter); end > afterFirst {
			return end
		}
	}
	if end := symbolEnd(s, i, afterFirst, first, false); end >= 0 {
		return end
	}
	return spaceEnd(s, i)
}
