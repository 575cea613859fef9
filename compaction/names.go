package compaction

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// names are the paths, identifiers and numbers of a transcript's messages. They
// are read on the first compaction that has room to list them, each message
// once. The texts are pieces of the messages'.
type names struct {
	ids  map[string]int32
	text []string
	post []posting // in the order of messages
	last []int32   // by name: its newest posting
	seen int       // messages read
}

// posting says that a message holds a name.
type posting struct {
	name, message int32
	where         nameSource
	times         uint8 // in the message, at most 255
}

// nameSource is what part of a message holds a name, as bits.
type nameSource uint8

const (
	inCall nameSource = 1 << iota
	inUser
	inOutput
	inAnswer
)

// extend reads the messages up to through. Instructions, summaries and system
// messages are no source: the first are in the window anyway, the second are
// somebody's words about other messages.
func (n *names) extend(t *transcript.Transcript, through int) {
	if n.ids == nil {
		n.ids = map[string]int32{}
	}
	for i, m := range t.From(n.seen) {
		if i >= through {
			break
		}
		n.seen = i + 1
		if m.Origin != message.OriginAuthored && m.Role != message.RoleTool || m.Role == message.RoleSystem {
			continue
		}
		for _, b := range m.Blocks {
			switch b := b.(type) {
			case message.Text:
				from := inAnswer
				if m.Role == message.RoleUser {
					from = inUser
				}
				n.read(i, from, b.Text, false)
			case message.ToolCall:
				n.read(i, inCall, b.Arguments, strings.HasPrefix(strings.TrimLeft(b.Arguments, " \n"), "{"))
			case message.ToolResult:
				for _, part := range b.Content {
					if text, ok := part.(message.Text); ok {
						n.read(i, inOutput, text.Text, false)
					}
				}
			}
		}
	}
}

// read takes in the names of a text. In escaped text, such as JSON, a backslash
// and what it escapes stand for a separator.
func (n *names) read(i int, where nameSource, text string, escaped bool) {
	for name := range namesIn(text, escaped) {
		id, ok := n.ids[name]
		if !ok {
			id = int32(len(n.text))
			n.ids[name] = id
			n.text, n.last = append(n.text, name), append(n.last, -1)
		}
		if at := n.last[id]; at >= 0 && int(n.post[at].message) == i {
			p := &n.post[at]
			p.where |= where
			p.times = min(p.times, 254) + 1
			continue
		}
		n.last[id] = int32(len(n.post))
		n.post = append(n.post, posting{id, int32(i), where, 1})
	}
}

// nameJoints are the marks that join the parts of a name, besides "_".
const nameJoints = "./-@"

// longestName is the longest name in bytes that is taken: what is longer is
// data.
const longestName = 160

// namesIn yields the paths, identifiers and numbers of a text, in order.
func namesIn(text string, escaped bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i < len(text); {
			start := i
			for i < len(text) {
				size := namePart(text[i:])
				if size == 0 {
					break
				}
				i += size
			}
			if i-start >= 3 && i-start <= longestName {
				if name := trimName(text[start:i]); isHardName(name) && !(escaped && isKey(text, start, i)) && !yield(name) {
					return
				}
			}
			switch {
			case i >= len(text):
			case escaped && text[i] == '\\' && i+1 < len(text) && text[i+1] == 'u':
				i += 6
			case escaped && text[i] == '\\':
				i += 2
			default:
				i++
			}
		}
	}
}

// isKey reports whether text[start:end] is the key of a JSON field: it belongs
// to a tool's form, not to what it was called with.
func isKey(text string, start, end int) bool {
	return start > 0 && text[start-1] == '"' && (start < 2 || text[start-2] != '\\') && strings.HasPrefix(text[end:], "\":")
}

// namePart returns the length of the letter, digit or joint that s begins with,
// zero when it begins with something else. Letters of scripts without spaces
// end a name: the words around it are glued to it.
func namePart(s string) int {
	c := s[0]
	if c < utf8.RuneSelf {
		if c >= 'a' && c <= 'z' || c >= '-' && c <= '9' || c >= 'A' && c <= 'Z' || c == '_' || c == '@' {
			return 1 // "-" to "9" are "-./" and the digits
		}
		return 0
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError || spaceless(r) || !unicode.IsLetter(r) {
		return 0
	}
	return size
}

// trimName takes the joints off the ends of a name; the mark of an absolute
// path stays.
func trimName(s string) string {
	trimmed := strings.Trim(s, nameJoints)
	if len(trimmed) < len(s) && s[0] == '/' && strings.HasPrefix(s[1:], trimmed) && strings.Contains(trimmed, "/") {
		return s[:1+len(trimmed)]
	}
	return trimmed
}

// isHardName reports whether a word is a name that nobody guesses: a path, an
// identifier of several parts, a number of three digits and more, a hash. Times,
// measures, addresses in memory and what looks drawn at random are none.
func isHardName(s string) bool {
	if len(s) < 3 {
		return false
	}
	if len(s) >= leastRandom && holdsRandom(s) {
		return false
	}
	digits, letters, slashes, dots, inner, lower, hex := 0, 0, 0, 0, false, false, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
			hex++
			lower = false
		case c >= 'a' && c <= 'z' || c >= utf8.RuneSelf:
			letters++
			if c <= 'f' {
				hex++
			}
			lower = true
		case c >= 'A' && c <= 'Z':
			letters++
			inner = inner || lower
			lower = false
		case c == '/':
			slashes++
		case c == '.':
			dots++
			inner = true
		case c == '_':
			inner = true
		}
	}
	switch {
	case letters == 0:
		return digits == len(s) && digits <= 12 || dots >= 2 && digits+dots == len(s)
	case s[0] == '0' && s[1] == 'x' && hex >= 7:
		return false
	case s[0] == 'v' && letters == 1 && dots > 0 && len(s) > 4:
		return true // a version
	case slashes > 0:
		return len(s) >= 6 && letters >= 2
	case hex == len(s) && len(s) >= 7 && len(s) <= 64 && digits >= 2 && letters >= 2:
		return true
	case s[0] >= '0' && s[0] <= '9' && letters <= 3:
		return false // 12.5ms, 01.123Z
	}
	return inner && len(s) >= 6 && letters >= 2
}

// leastRandom is the length from which letters and digits without a joint can
// be data, such as a key or encoded bytes, rather than a name.
const leastRandom = 24

// holdsRandom reports whether a part of a name mixes small and capital letters
// and digits over such a length.
func holdsRandom(s string) bool {
	length, digits, upper, lower := 0, 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		default:
			length, digits, upper, lower = 0, 0, 0, 0
			continue
		}
		if length++; length >= leastRandom && digits >= 3 && upper >= 2 && lower >= 2 {
			return true
		}
	}
	return false
}
