package compaction

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed lexicon.txt
var lexiconText string

// family is a group of cues that mean the same to the classifier.
type family uint8

const (
	prohibit family = iota
	oblige
	wish
	condition
	guard
	prefer
	bound
	correct
	decide
	keep
	order
	grant
	grantAlways
	permit
	limit
	claim
	claimAlways
	doubt
	chatter
	narrate
	ask
	reason
	choose
	report
	back
	word
	task
	contrast
	test
	success
	waive
	consult
	need
	shield
	down
	trouble
	know
	polite
	familyCount
)

var familyNames = [familyCount]string{"prohibit", "oblige", "wish", "condition", "guard", "prefer", "bound", "correct",
	"decide", "keep", "order", "grant", "grant!", "permit", "limit", "claim", "claim!", "doubt", "chatter", "narrate", "ask", "reason",
	"choose", "report", "back", "word", "task", "contrast", "test", "success",
	"waive", "consult", "need", "shield", "down", "trouble", "know", "polite"}

// maxLanguages is how many languages a lexicon may have: a set of them is kept
// in one word.
const maxLanguages = 64

// lexicon is a trie over folded bytes. Nodes stand in one slice; a node's
// children are a linked list in byte order, and the root's are a table.
type lexicon struct {
	nodes     []trieNode
	root      [256]int32
	languages []string
}

type trieNode struct {
	child, next int32
	symbol      byte
	prefix      bool // the phrase may go on as a longer word
	senses      []sense
}

// sense is one meaning of a phrase.
type sense struct {
	language uint8
	family   family
}

var cues = sync.OnceValue(func() *lexicon {
	l, err := parseLexicon(lexiconText)
	if err != nil {
		panic(err) // the embedded file is checked by a test
	}
	return l
})

func parseLexicon(text string) (*lexicon, error) {
	l := &lexicon{nodes: make([]trieNode, 1, 1<<14)}
	for number, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("read lexicon: line %d has %d fields", number+1, len(fields))
		}
		f := slices.Index(familyNames[:], fields[0])
		if f < 0 {
			return nil, fmt.Errorf("read lexicon: line %d: unknown family %q", number+1, fields[0])
		}
		language := slices.Index(l.languages, fields[1])
		if language < 0 {
			if len(l.languages) == maxLanguages {
				return nil, fmt.Errorf("read lexicon: line %d: more than %d languages", number+1, maxLanguages)
			}
			language = len(l.languages)
			l.languages = append(l.languages, fields[1])
		}
		for phrase := range strings.SplitSeq(fields[2], "|") {
			phrase, prefix := strings.CutSuffix(phrase, "*")
			if folded := appendFolded(nil, phrase); len(folded) > 0 {
				l.add(folded, prefix, sense{uint8(language), family(f)})
			}
		}
	}
	l.inherit()
	return l, nil
}

// inherit gives every cue the senses of the prefixes that it begins with.
// Children stand behind their parents, so one pass is enough.
func (l *lexicon) inherit() {
	passed := make([][]sense, len(l.nodes))
	for i := range l.nodes {
		n := &l.nodes[i]
		for _, s := range passed[i] {
			if len(n.senses) > 0 && !slices.Contains(n.senses, s) {
				n.senses = append(n.senses, s)
			}
		}
		down := passed[i]
		if n.prefix {
			down = n.senses
		}
		for child := n.child; child != 0; child = l.nodes[child].next {
			passed[child] = down
		}
	}
}

func (l *lexicon) add(phrase []byte, prefix bool, s sense) {
	at := int32(0)
	for _, c := range phrase {
		at = l.extend(at, c)
	}
	n := &l.nodes[at]
	n.prefix = n.prefix || prefix
	if !slices.Contains(n.senses, s) {
		n.senses = append(n.senses, s)
	}
}

// extend returns the child of node at for c, making it when it is not there.
func (l *lexicon) extend(at int32, c byte) int32 {
	if next := l.step(at, c); next != 0 {
		return next
	}
	made := int32(len(l.nodes))
	l.nodes = append(l.nodes, trieNode{symbol: c, next: l.nodes[at].child})
	l.nodes[at].child = made
	if at == 0 {
		l.root[c] = made
	}
	return made
}

func (l *lexicon) step(at int32, c byte) int32 {
	if at == 0 {
		return l.root[c]
	}
	next := l.nodes[at].child
	for next != 0 && l.nodes[next].symbol != c {
		next = l.nodes[next].next
	}
	return next
}

// longest returns the node of the longest cue that begins at text[i], and
// where it ends; zero when none does.
func (l *lexicon) longest(text []byte, i int) (node int32, end int) {
	at := int32(0)
	for j := i; j < len(text); j++ {
		at = l.step(at, text[j])
		if at == 0 {
			break
		}
		if n := &l.nodes[at]; len(n.senses) > 0 && (n.prefix || endsWord(text, j+1)) {
			node, end = at, j+1
		}
	}
	return node, end
}

// endsWord reports whether a word may end before text[j].
func endsWord(text []byte, j int) bool {
	if j == len(text) || !wordByte(text[j]) || !wordByte(text[j-1]) {
		return true
	}
	before, _ := utf8.DecodeLastRune(text[:j])
	if spaceless(before) {
		return true
	}
	after, _ := utf8.DecodeRune(text[j:])
	return spaceless(after)
}

// hit is a cue found in a text.
type hit struct {
	node       int32
	start, end int32
}

// scan appends the cues of folded text to hits, longest first at each word and
// never overlapping. Bytes in the masked spans are passed over.
func (l *lexicon) scan(hits []hit, text []byte, masked []span) []hit {
	for i := 0; i < len(text); {
		if len(masked) > 0 && i >= masked[0].start {
			i, masked = max(i, masked[0].end), masked[1:]
			continue
		}
		if c := text[i]; c == ' ' || c < utf8.RuneSelf && !wordByte(c) && l.root[c] == 0 {
			i++
			continue
		}
		name := nameEnd(text, i)
		if node, end := l.longest(text, i); node != 0 && end >= name {
			hits = append(hits, hit{node, int32(i), int32(end)})
			i = end
			continue
		}
		next := max(name, nextWord(text, i))
		if name == 0 {
			end := next
			for end > i && !wordByte(text[end-1]) {
				end--
			}
			if node := l.mistyped(text, i, end); node != 0 {
				hits = append(hits, hit{node, int32(i), int32(end)})
			}
		}
		i = next
	}
	return hits
}

// nameEnd returns where the path, identifier or compound that begins at text[i]
// ends, zero when a plain word begins there. What stands inside a name is no
// cue.
func nameEnd(text []byte, i int) int {
	joints, j := 0, i
	for j < len(text) {
		c := text[j]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text[j:])
			if spaceless(r) {
				break
			}
			j += size
			continue
		}
		if !wordByte(c) {
			if j == i || j+1 >= len(text) || !wordByte(text[j+1]) && text[j+1] != '/' || bytes.IndexByte([]byte("/_.-:@#\\"), c) < 0 {
				break
			}
			joints++
		}
		j++
	}
	if joints == 0 {
		return 0
	}
	return j
}

// nextWord returns the next place after i where a cue may begin.
func nextWord(text []byte, i int) int {
	if c := text[i]; c < utf8.RuneSelf {
		if !wordByte(c) {
			return i + 1
		}
	} else if r, size := utf8.DecodeRune(text[i:]); spaceless(r) {
		return i + size
	}
	for i < len(text) && wordByte(text[i]) {
		if text[i] >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text[i:])
			if spaceless(r) {
				return i
			}
			i += size
			continue
		}
		i++
	}
	if i < len(text) && text[i] == '\'' {
		i++
	}
	return i
}
