package tool

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/forge-agent/forge/message"
)

// DefaultShownBytes is how much of a result a model sees first: the seed's
// limit of a tool's output.
const DefaultShownBytes = 65_536

// MaxOutputBytes is how much of a call's output is kept: 16 MiB, as issue 6
// sets it. Beyond it the beginning and the end stay.
const MaxOutputBytes = 16 << 20

// minOutputBytes leaves room for the mark.
const minOutputBytes = 256

// An Output collects what a call writes in bounded memory: the beginning and
// the end, with a mark between them when something had to go. It takes no more
// memory than its bound and what a growing slice adds to it. The zero value
// keeps minOutputBytes; use NewOutput. It may be written by several
// goroutines.
type Output struct {
	mu       sync.Mutex
	maxBytes int
	head     []byte
	tail     []byte // a ring once it is full
	at       int    // where the ring begins
	total    int
}

// NewOutput returns an Output that keeps at most maxBytes, which are raised to
// 256.
func NewOutput(maxBytes int) *Output { return &Output{maxBytes: maxBytes} }

// markBytes is room for the mark with two numbers.
const markBytes = 96

// shares returns how many bytes of the beginning and of the end are kept once
// something is left out. Three quarters and one, as for shown output.
func (o *Output) shares() (head, tail int) {
	room := max(o.maxBytes, minOutputBytes) - markBytes
	return room - room/4, room / 4
}

// Write keeps what it can and always succeeds.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.write(p), nil
}

// WriteString is Write for a string.
func (o *Output) WriteString(s string) {
	const piece = 1 << 16 // so that no second copy of a long text is made
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(s) > 0 {
		n := min(piece, len(s))
		o.write([]byte(s[:n]))
		s = s[n:]
	}
}

func (o *Output) write(p []byte) int {
	n := len(p)
	o.total += n
	headShare, tailShare := o.shares()
	tailShare += markBytes // all of the bound while nothing is left out
	if room := headShare - len(o.head); room > 0 {
		k := min(room, len(p))
		o.head = append(o.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > tailShare {
		p = p[len(p)-tailShare:]
	}
	if room := tailShare - len(o.tail); room > 0 {
		k := min(room, len(p))
		o.tail = append(o.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(o.tail[o.at:], p)
		o.at = (o.at + k) % len(o.tail)
		p = p[k:]
	}
	return n
}

// TotalBytes is how much was written.
func (o *Output) TotalBytes() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

// Result returns what was kept, as valid UTF-8: bytes that are no text come
// out as U+FFFD, and no rune is cut.
func (o *Output) Result(outcome message.Outcome) Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := Result{Outcome: outcome}
	bound := max(o.maxBytes, minOutputBytes)
	if o.total <= bound {
		text := make([]byte, 0, o.total)
		text = append(append(text, o.head...), o.tail...)
		r.Text = validText(string(text))
		if len(r.Text) <= bound {
			return r
		}
		// More bytes than were written, since marks for bad bytes are longer.
		r.Text = cutMiddle(r.Text, r.Text, bound, o.total)
	} else {
		tail := append(append(make([]byte, 0, len(o.tail)), o.tail[o.at:]...), o.tail[:o.at]...)
		r.Text = cutMiddle(validText(string(wholeEnd(o.head))), validText(string(wholeStart(tail))), bound, o.total)
	}
	r.Truncated, r.OriginalBytes = true, o.total
	return r
}

// cutMiddle returns the beginning of head and the end of tail in at most bound
// bytes with a mark between them.
func cutMiddle(head, tail string, bound, total int) string {
	room := bound - markBytes
	headShare := min(room-room/4, len(head))
	tailShare := min(room/4, len(tail))
	for headShare > 0 && headShare < len(head) && !utf8.RuneStart(head[headShare]) {
		headShare--
	}
	from := len(tail) - tailShare
	for from < len(tail) && !utf8.RuneStart(tail[from]) {
		from++
	}
	mark := fmt.Sprintf("\n[… about %d of %d bytes were not kept …]\n", max(total-headShare-(len(tail)-from), 0), total)
	return head[:headShare] + mark + tail[from:]
}

// wholeEnd takes an unfinished rune off the end.
func wholeEnd(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// wholeStart takes the rest of a rune off the start.
func wholeStart(b []byte) []byte {
	for i := range min(utf8.UTFMax-1, len(b)) {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
