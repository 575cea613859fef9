package message

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// A Hash is a SHA-256 digest. It prints as 64 lower-case hex digits.
type Hash [sha256.Size]byte

// String returns the hex form.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the hex form.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the hex form.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("read hash: want %d hex digits, got %d characters", hex.EncodedLen(len(h)), len(text))
	}
	if _, err := hex.Decode(h[:], text); err != nil {
		return fmt.Errorf("read hash: %w", err)
	}
	return nil
}

// Hash returns the digest of the message's canonical encoding: what was said,
// by whom, and nothing else. ID, time and model are left out, so a forked or
// re-imported message keeps its hash.
func (m Message) Hash() Hash {
	h := sha256.New()
	var e encoder
	e.write = func(p []byte) { h.Write(p) }
	e.message(m)
	e.flush()
	return Hash(h.Sum(nil))
}

// AppendCanonical appends the canonical encoding of m to dst.
//
// The encoding is a sequence of fields, so that two different messages never
// share one. A field is an unsigned varint length followed by that many
// bytes; a number is an unsigned varint. A message is
//
//	"forge.message/1" role origin blockCount block…
//
// and a block is its kind followed by
//
//	text         text
//	reasoning    text provider opaque
//	image        mediaType data url detail width height
//	tool-call    id name arguments
//	tool-result  callID name outcome truncated(0|1) originalBytes blockCount block…
//	opaque       provider type data
func (m Message) AppendCanonical(dst []byte) []byte {
	var e encoder
	e.write = func(p []byte) { dst = append(dst, p...) }
	e.message(m)
	e.flush()
	return dst
}

// HashBlock returns the digest of one block's canonical encoding.
func HashBlock(b Block) Hash {
	h := sha256.New()
	var e encoder
	e.write = func(p []byte) { h.Write(p) }
	e.block(b)
	e.flush()
	return Hash(h.Sum(nil))
}

// encoder collects short fields in a buffer and hands long ones on in pieces,
// so that hashing a large block needs no second copy of it.
type encoder struct {
	write func([]byte)
	buf   [512]byte
	n     int
}

func (e *encoder) flush() {
	if e.n > 0 {
		e.write(e.buf[:e.n])
		e.n = 0
	}
}

func (e *encoder) number(v int) {
	if e.n+binary.MaxVarintLen64 > len(e.buf) {
		e.flush()
	}
	e.n += binary.PutUvarint(e.buf[e.n:], uint64(max(v, 0)))
}

func (e *encoder) text(s string) {
	e.number(len(s))
	for len(s) > 0 {
		if e.n == len(e.buf) {
			e.flush()
		}
		k := copy(e.buf[e.n:], s)
		e.n += k
		s = s[k:]
	}
}

func (e *encoder) bytes(p []byte) {
	e.number(len(p))
	e.flush()
	if len(p) > 0 {
		e.write(p)
	}
}

func (e *encoder) message(m Message) {
	e.text("forge.message/1")
	e.text(string(m.Role))
	e.text(string(m.Origin))
	e.blocks(m.Blocks)
}

func (e *encoder) blocks(bs []Block) {
	e.number(len(bs))
	for _, b := range bs {
		e.block(b)
	}
}

func (e *encoder) block(b Block) {
	e.text(string(b.Kind()))
	switch b := b.(type) {
	case Text:
		e.text(b.Text)
	case Reasoning:
		e.text(b.Text)
		e.text(b.Provider)
		e.bytes(b.Opaque)
	case Image:
		e.text(b.MediaType)
		e.bytes(b.Data)
		e.text(b.URL)
		e.text(b.Detail)
		e.number(b.WidthPixels)
		e.number(b.HeightPixels)
	case ToolCall:
		e.text(b.ID)
		e.text(b.Name)
		e.text(b.Arguments)
	case ToolResult:
		e.text(b.CallID)
		e.text(b.Name)
		e.text(string(b.Outcome))
		truncated := 0
		if b.Truncated {
			truncated = 1
		}
		e.number(truncated)
		e.number(b.OriginalBytes)
		e.blocks(b.Content)
	case Opaque:
		e.text(b.Provider)
		e.text(b.Type)
		e.bytes(b.Data)
	}
}
