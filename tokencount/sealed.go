package tokencount

// A SealedRule estimates content that only its provider can read from the
// size of its base64 text. The zero rule says that such content costs nothing.
type SealedRule struct {
	// HeaderBytes are decoded bytes that carry no content: keys, checksums
	// and padding.
	HeaderBytes float64
	// BytesPerToken is how many decoded bytes after the header make a token;
	// zero switches the rule off.
	BytesPerToken float64
	// Replaces says that the sealed part is counted although the reasoning
	// has a visible text, which is then a summary.
	Replaces bool
}

// unread is the rule for items that are carried whole and unread. A token of
// text is about four bytes.
var unread = SealedRule{BytesPerToken: 4}

// tokens returns the tokens of a sealed payload of this many base64
// characters: four of them carry three bytes.
func (r SealedRule) tokens(characters int) int {
	if r.BytesPerToken <= 0 {
		return 0
	}
	return round((float64(characters)*3/4 - r.HeaderBytes) / r.BytesPerToken)
}
