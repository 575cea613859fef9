package bpe

import (
	"encoding/binary"
	"math/bits"
)

// The pre-tokenizers cut ASCII text 63 bytes at a time. Each character class
// is a mask with one bit for a byte, and where pieces start follows from the
// masks by shifts and additions, without a branch for each character. What a
// window cannot decide, because the answer lies outside it or is rare, it
// leaves to the function that cuts one piece at a time; that function is the
// definition, and the tests compare the two.

const (
	// windowBytes is one less than the bits of a mask, so that a carry out of
	// the last byte stays in it.
	windowBytes = 63
	// windowReach is what a window reads from its start.
	windowReach = 64
)

// Lanes of asciiPlanes: one byte for each class of the patterns that the
// masks tell apart. A byte without a lane is a symbol.
const (
	planeUpper   uint64 = 1 << (8 * iota)
	planeLower          // letters
	planeNumber         // 0 to 9
	planeBlank          // white space without CR and LF
	planeNewline        // CR and LF
	planeSpace          // U+0020
	planeSlash
	planeQuote // the apostrophe
)

// planeControl marks the control characters that are no white space. Nothing
// else has both lanes, and where one of the two is asked for, a control
// character only makes the window less sure.
const planeControl = planeSlash | planeQuote

// asciiPlanes gives each ASCII character the lowest bit of its lanes.
var asciiPlanes = [128]uint64{
	0x00: planeControl, 0x01: planeControl, 0x02: planeControl, 0x03: planeControl, 0x04: planeControl, 0x05: planeControl,
	0x06: planeControl, 0x07: planeControl, 0x08: planeControl, 0x0e: planeControl, 0x0f: planeControl, 0x10: planeControl,
	0x11: planeControl, 0x12: planeControl, 0x13: planeControl, 0x14: planeControl, 0x15: planeControl, 0x16: planeControl,
	0x17: planeControl, 0x18: planeControl, 0x19: planeControl, 0x1a: planeControl, 0x1b: planeControl, 0x1c: planeControl,
	0x1d: planeControl, 0x1e: planeControl, 0x1f: planeControl, 0x7f: planeControl,
	'\t': planeBlank, '\n': planeNewline, '\v': planeBlank, '\f': planeBlank, '\r': planeNewline,
	' ': planeBlank | planeSpace, '/': planeSlash, '\'': planeQuote,
	'0': planeNumber, '1': planeNumber, '2': planeNumber, '3': planeNumber, '4': planeNumber,
	'5': planeNumber, '6': planeNumber, '7': planeNumber, '8': planeNumber, '9': planeNumber,
	'A': planeUpper, 'B': planeUpper, 'C': planeUpper, 'D': planeUpper, 'E': planeUpper,
	'F': planeUpper, 'G': planeUpper, 'H': planeUpper, 'I': planeUpper, 'J': planeUpper,
	'K': planeUpper, 'L': planeUpper, 'M': planeUpper, 'N': planeUpper, 'O': planeUpper,
	'P': planeUpper, 'Q': planeUpper, 'R': planeUpper, 'S': planeUpper, 'T': planeUpper,
	'U': planeUpper, 'V': planeUpper, 'W': planeUpper, 'X': planeUpper, 'Y': planeUpper,
	'Z': planeUpper,
	'a': planeLower, 'b': planeLower, 'c': planeLower, 'd': planeLower, 'e': planeLower,
	'f': planeLower, 'g': planeLower, 'h': planeLower, 'i': planeLower, 'j': planeLower,
	'k': planeLower, 'l': planeLower, 'm': planeLower, 'n': planeLower, 'o': planeLower,
	'p': planeLower, 'q': planeLower, 'r': planeLower, 's': planeLower, 't': planeLower,
	'u': planeLower, 'v': planeLower, 'w': planeLower, 'x': planeLower, 'y': planeLower,
	'z': planeLower,
}

// A window holds the classes of up to windowBytes ASCII characters, one mask
// each. Bits outside known are 0 in every mask.
type window struct {
	pattern Pattern

	upper, lower, number, blank, newline, space, slash, quote uint64

	known uint64 // the bytes before the first that is not ASCII
}

// load classifies windowReach bytes, of which the first n up to windowBytes
// are text.
func (w *window) load(text []byte, n int) {
	const high = 0x8080808080808080
	var planes [8]uint64
	known := uint64(1)<<n - 1
	for i := range planes {
		word := binary.LittleEndian.Uint64(text[8*i : 8*i+8])
		if word&high != 0 {
			first := uint(8*i + bits.TrailingZeros64(word&high)>>3)
			known &= 1<<first - 1
			planes[i] = classify(word)
			break
		}
		planes[i] = classify(word)
	}
	w.known = known
	w.transpose(&planes)
}

// classify puts the classes of eight bytes side by side: bit n of lane c says
// whether byte n is of class c.
func classify(word uint64) uint64 {
	return asciiPlanes[word&0x7f] |
		asciiPlanes[word>>8&0x7f]<<1 |
		asciiPlanes[word>>16&0x7f]<<2 |
		asciiPlanes[word>>24&0x7f]<<3 |
		asciiPlanes[word>>32&0x7f]<<4 |
		asciiPlanes[word>>40&0x7f]<<5 |
		asciiPlanes[word>>48&0x7f]<<6 |
		asciiPlanes[word>>56&0x7f]<<7
}

// transpose turns eight words of eight lanes into eight masks.
func (w *window) transpose(p *[8]uint64) {
	const (
		half   = 0x00000000ffffffff
		pair   = 0x0000ffff0000ffff
		single = 0x00ff00ff00ff00ff
	)
	a0, a4 := swap(p[0], p[4], 32, half)
	a1, a5 := swap(p[1], p[5], 32, half)
	a2, a6 := swap(p[2], p[6], 32, half)
	a3, a7 := swap(p[3], p[7], 32, half)
	a0, a2 = swap(a0, a2, 16, pair)
	a1, a3 = swap(a1, a3, 16, pair)
	a4, a6 = swap(a4, a6, 16, pair)
	a5, a7 = swap(a5, a7, 16, pair)
	a0, a1 = swap(a0, a1, 8, single)
	a2, a3 = swap(a2, a3, 8, single)
	a4, a5 = swap(a4, a5, 8, single)
	a6, a7 = swap(a6, a7, 8, single)
	w.upper, w.lower, w.number, w.blank = a0&w.known, a1&w.known, a2&w.known, a3&w.known
	w.newline, w.space, w.slash, w.quote = a4&w.known, a5&w.known, a6&w.known, a7&w.known
}

// swap exchanges the upper half of each lane of a with the lower half of b's.
func swap(a, b uint64, shift uint, mask uint64) (uint64, uint64) {
	t := (a>>shift ^ b) & mask
	return a ^ t<<shift, b ^ t
}

// starts returns where pieces start after the first, which starts at the
// window. It knows the pieces that end inside the window; the last start is
// that of a piece that it does not know the end of.
func (w *window) starts(text []byte) uint64 {
	letter := w.upper | w.lower
	white := w.blank | w.newline
	symbol := w.known &^ (letter | w.number | white)

	// A symbol run starts a piece, unless it continues a space. A run that
	// starts one may lend its only symbol to a word, as a blank does.
	symbolStart := symbol &^ (symbol<<1 | w.space<<1)
	wordStart := letter &^ (letter<<1 | (w.blank|symbolStart)<<1)

	// Line ends right after a symbol belong to it. What is left of a run of
	// white space is a piece up to its last line end; of the rest, the last
	// character is by itself or goes to what follows.
	tail := w.newline &^ (w.newline + w.newline&(symbol<<1))
	left := white &^ tail
	whiteStart := left &^ (left << 1)
	lastBlank := w.blank &^ (white >> 1)
	afterNewline := w.blank & ((w.newline &^ tail) << 1)
	sure := w.known >> 1 // a start looks at the next character

	// Blanks between two line ends are not the rest of their run.
	if wrong := (w.blank + afterNewline) &^ w.blank & (w.newline | ^w.known); wrong != 0 {
		before := afterNewline & (wrong&-wrong - 1)
		sure &= 1<<(bits.Len64(before)-1) - 1
	}

	starts := symbolStart | wordStart | whiteStart | lastBlank | afterNewline
	switch w.pattern {
	case PatternO200K:
		starts |= groupsOfThree(w.number) | w.upper&(w.lower<<1)
		sure = before(sure, w.slash&(tail<<1)) // slashes go on with a tail
		if quotes := w.quote & (letter << 1) & (letter >> 1); quotes != 0 {
			starts, sure = suffixContractions(text, quotes, starts, sure)
		}
	case PatternQwen2:
		starts |= w.number
		starts, sure = leadingContractions(text, w.quote&symbolStart&(letter>>1), starts, sure)
	case PatternDeepSeek:
		starts = starts&^(lastBlank&(w.number>>1)&^(whiteStart|afterNewline)) | groupsOfThree(w.number)
		sure = before(sure, w.slash&w.quote) // what no pattern matches
	default:
		starts |= groupsOfThree(w.number)
		starts, sure = leadingContractions(text, w.quote&symbolStart&(letter>>1), starts, sure)
	}
	return starts & sure &^ 1
}

// before cuts sure before the first bit of wrong.
func before(sure, wrong uint64) uint64 {
	if wrong == 0 {
		return sure
	}
	return sure & (wrong&-wrong - 1)
}

// groupsOfThree returns the start of each run and each third number after it.
func groupsOfThree(number uint64) uint64 {
	group := number &^ (number << 1)
	fourth := number & (number << 1) & (number << 2) & (number << 3)
	starts := group
	for fourth != 0 {
		group = group << 3 & fourth
		if group == 0 {
			break
		}
		starts |= group
	}
	return starts
}

// suffixContractions lets words end after their contraction.
func suffixContractions(text []byte, quotes, starts, sure uint64) (uint64, uint64) {
	lastEnd := -1
	for ; quotes != 0; quotes &= quotes - 1 {
		at := bits.TrailingZeros64(quotes)
		if at == lastEnd {
			continue // the word before ended in a contraction
		}
		length := contractionBytes(text[at : at+3])
		if length == 0 {
			continue
		}
		lastEnd = at + length
		if at > 0 && sure>>lastEnd == 0 {
			sure &= 1<<at - 1
			break
		}
		starts &^= (1<<length - 1) << at
		starts |= 1 << lastEnd
	}
	return starts, sure
}

// leadingContractions makes pieces of contractions that start one.
func leadingContractions(text []byte, quotes, starts, sure uint64) (uint64, uint64) {
	for ; quotes != 0; quotes &= quotes - 1 {
		at := bits.TrailingZeros64(quotes)
		length := contractionBytes(text[at : at+3])
		if length == 0 {
			continue
		}
		if sure>>(at+length) == 0 {
			sure &= 1<<at<<1 - 1
			break
		}
		starts |= 1 << (at + length)
	}
	return starts, sure
}

// contractionBytes returns the length of the contraction that three bytes
// begin with, or 0.
func contractionBytes(b []byte) int {
	if b[0] != '\'' {
		return 0
	}
	switch b[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if b[2]|0x20 == 'e' {
			return 3
		}
	case 'l':
		if b[2]|0x20 == 'l' {
			return 3
		}
	}
	return 0
}
