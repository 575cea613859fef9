package baseline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// A Unit is a piece of text that a policy keeps of one message.
type Unit struct {
	// MessageID is the message that it comes from.
	MessageID string
	// Text is what is kept of it.
	Text string
}

// A Reading is a transcript as the policies see it: counted and cut into
// sentences once, for every policy and every budget. It belongs to one
// goroutine.
type Reading struct {
	// Tokens is the weight of the whole transcript.
	Tokens   int
	counter  *tokencount.Counter
	messages []reading
	// sentences are those of what person and model said, in order.
	sentences []sentence
	// ranked and covered are filled when first asked for.
	ranked, covered, userCovered []int
}

// reading is one message.
type reading struct {
	id        string
	role      message.Role
	authored  bool
	tokens    int
	text      string // what was said
	textToken int    // weight of that
	all       string // with arguments and results
	results   int    // how many tool results it holds
	calls     []string
	answers   []string
}

// sentence is a piece of what was said.
type sentence struct {
	message int
	text    string
	tokens  int
	terms   []int32
}

// Read counts a transcript.
func Read(t *transcript.Transcript, counter *tokencount.Counter) *Reading {
	r := &Reading{counter: counter}
	words := map[string]int32{}
	for i, m := range t.All() {
		one := reading{id: m.ID, role: m.Role, authored: m.Authored(), tokens: counter.Message(m).Total(), text: m.Text()}
		var all strings.Builder
		for _, b := range m.Blocks {
			one.block(&all, b)
		}
		one.all = all.String()
		if one.text != "" {
			one.textToken = counter.Text(one.text)
		}
		r.Tokens += one.tokens
		r.messages = append(r.messages, one)
		if m.Role != message.RoleUser && m.Role != message.RoleAssistant || m.Role == message.RoleUser && !one.authored {
			continue
		}
		for _, text := range sentences(one.text) {
			r.sentences = append(r.sentences, sentence{message: i, text: text, tokens: counter.Text(text) + 1, terms: terms(text, words)})
		}
	}
	return r
}

func (m *reading) block(all *strings.Builder, b message.Block) {
	switch b := b.(type) {
	case message.Text:
		all.WriteString(b.Text)
	case message.ToolCall:
		m.calls = append(m.calls, b.ID)
		all.WriteString(b.Name + " " + b.Arguments)
	case message.ToolResult:
		m.answers = append(m.answers, b.CallID)
		m.results++
		all.WriteString(b.Text())
	}
	all.WriteByte('\n')
}

// sentences cuts a text at line ends and after sentence marks.
func sentences(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for line != "" {
			end := sentenceEnd(line)
			if s := strings.TrimSpace(line[:end]); s != "" {
				out = append(out, s)
			}
			line = line[end:]
		}
	}
	return out
}

// sentenceEnd returns where the first sentence of a line ends.
func sentenceEnd(line string) int {
	for i, c := range line {
		next := i + utf8.RuneLen(c)
		if strings.ContainsRune("。！？", c) {
			return next
		}
		if strings.ContainsRune(".!?", c) && (next == len(line) || line[next] == ' ') {
			return next
		}
	}
	return len(line)
}

// terms returns the numbers of the words of a text: runs of letters and
// digits, and pairs of characters where a script has no spaces.
func terms(text string, words map[string]int32) []int32 {
	var out []int32
	seen := map[int32]bool{}
	add := func(word string) {
		n, ok := words[word]
		if !ok {
			n = int32(len(words))
			words[word] = n
		}
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	start, last := -1, rune(0)
	lower := strings.ToLower(text)
	for i, c := range lower + " " {
		wide := unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
		if wide && last != 0 {
			add(string(last) + string(c))
		}
		last = 0
		if wide {
			last = c
		}
		inside := !wide && (unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_')
		switch {
		case inside && start < 0:
			start = i
		case !inside && start >= 0:
			add(lower[start:min(i, len(lower))])
			start = -1
		}
	}
	return out
}
