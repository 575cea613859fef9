package seeded

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// A Seed is a planted rule.
type Seed struct {
	// Family and Language are those of its phrase.
	Family, Language string
	// Text is the rule as it was stated.
	Text string
	// Naming is "named" or "plain": with made-up names, or in everyday words.
	Naming string
	// MessageID is the message that states it.
	MessageID string
	// Keys are the discriminative words, all of which must be kept.
	Keys []string
	// Replaced is the message of the statement that a correction replaces,
	// empty for none.
	Replaced string
	// Position is where in the range it stands, 0 to 1.
	Position float64
}

// A Range is a transcript with rules planted in it.
type Range struct {
	// Transcript holds the sessions and all that was planted.
	Transcript *transcript.Transcript
	// Seeds are the planted rules.
	Seeds []Seed
	// RangeTokens is the weight of the transcript, SeedTokens that of the
	// rules, ChatterTokens that of the small talk, UserTokens that of all
	// messages that a person wrote.
	RangeTokens   int
	SeedTokens    int
	ChatterTokens int
	UserTokens    int
}

// insertion is a message, or a call with its result, to be put between two
// messages of a base.
type insertion struct {
	at       int
	messages []message.Message
	seed     int // index of the seed, or -1
}

// Plant builds a range of at least minTokens out of sessions, in an order of
// its own, and plants rules in it, chatter that weighs small times a
// checkpoint of 2 %, and look-alikes in tool output. The same generator gives
// the same range.
func Plant(r *rand.Rand, sessions [][]message.Message, w Wording, counter *tokencount.Counter, minTokens, small int) (*Range, error) {
	base, baseTokens := Concatenate(r, sessions, counter, minTokens)
	target := baseTokens / 50
	p := &Range{}
	places := QuietPlaces(base)
	var in []insertion
	add := func(at int, seedIndex int, ms ...message.Message) {
		in = append(in, insertion{at, ms, seedIndex})
	}
	number := 0
	user := func(text string) message.Message {
		number++
		return message.Message{ID: fmt.Sprintf("planted-%d", number), Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: text}}}
	}
	used := map[string]bool{} // a rule without a fresh value is planted once
	for tries := 0; p.SeedTokens < target*28/100 && tries < 4000; tries++ {
		ph := pick(r, w.Phrases)
		if !strings.Contains(ph.Texts[0], "{") {
			if used[ph.Texts[0]] {
				continue
			}
			used[ph.Texts[0]] = true
		}
		s := Seed{Family: ph.Family, Language: ph.Language, Naming: "plain"}
		if strings.Contains(strings.Join(ph.Texts, ""), "{") {
			s.Naming = "named"
		}
		at := pick(r, places)
		var rule string
		if len(ph.Texts) == 2 {
			first, second, keys := fillPair(r, ph.Texts)
			m := user(dress(r, w, first))
			add(at, -1, m)
			p.SeedTokens += counter.Text(first)
			s.Replaced, rule, s.Keys = m.ID, second, keys
			later := places[slices.Index(places, at)+1:]
			if len(later) == 0 {
				continue
			}
			at = pick(r, later)
		} else {
			rule, s.Keys = Fill(r, ph.Texts[0])
		}
		m := user(dress(r, w, rule))
		s.Text, s.MessageID, s.Position = rule, m.ID, float64(at)/float64(len(base))
		p.SeedTokens += counter.Text(rule)
		add(at, len(p.Seeds), m)
		p.Seeds = append(p.Seeds, s)
	}
	for p.ChatterTokens < small*target {
		text, _ := Fill(r, pick(r, w.Chatter).Text)
		p.ChatterTokens += counter.Text(text)
		add(pick(r, places), -1, user(text))
	}
	for i := range 12 {
		id := fmt.Sprintf("decoy-%d", i)
		add(pick(r, places), -1,
			message.Message{ID: id + "-call", Role: message.RoleAssistant, Blocks: []message.Block{
				message.ToolCall{ID: id, Name: "Read", Arguments: fmt.Sprintf(`{"file_path":%q}`, pathName(r))}}},
			message.Message{ID: id + "-result", Role: message.RoleTool, Blocks: []message.Block{
				message.ToolResult{CallID: id, Content: []message.Block{message.Text{Text: lookAlike(r, w)}}}}})
	}
	return p, p.assemble(base, in, counter)
}

// dress puts a rule into a message as people do: alone, with small talk around
// it, or before or after something pasted.
func dress(r *rand.Rand, w Wording, rule string) string {
	switch r.IntN(9) {
	case 0:
		return pick(r, []string{"thanks! ", "ok, next thing. ", "looks good so far. ", "hi again. "}) + rule
	case 1:
		return ended(rule) + pick(r, []string{" thanks", " How is it going otherwise?", "\n\nAnything new?"})
	case 2:
		return pastedLog(r) + "\n\n" + rule
	case 4:
		return talk(r, w, 3) + " " + ended(rule) + " " + talk(r, w, 2)
	case 5:
		return "Today:\n- " + talk(r, w, 1) + "\n- " + rule + "\n- " + talk(r, w, 1)
	case 3:
		return rule + "\n\n" + "```\n" + lookAlike(r, w) + "```"
	}
	return rule
}

// talk is n pieces of small talk on one line.
func talk(r *rand.Rand, w Wording, n int) string {
	var parts []string
	for len(parts) < n {
		text, _ := Fill(r, pick(r, w.Chatter).Text)
		if !strings.Contains(text, "\n") {
			parts = append(parts, ended(text))
		}
	}
	return strings.Join(parts, " ")
}

// ended ends a sentence that another one follows.
func ended(text string) string {
	last, _ := utf8.DecodeLastRuneInString(text)
	if strings.ContainsRune(".?!。？！।؟", last) {
		return text
	}
	return text + "."
}

// assemble puts the insertions between the messages of base.
func (p *Range) assemble(base []message.Message, in []insertion, counter *tokencount.Counter) error {
	slices.SortStableFunc(in, func(a, b insertion) int { return a.at - b.at })
	t := &transcript.Transcript{}
	put := func(m message.Message) error {
		n := counter.Message(m).Total()
		p.RangeTokens += n
		if m.Authored() {
			p.UserTokens += n
		}
		return t.Append(m)
	}
	for i := 0; i <= len(base); i++ {
		for len(in) > 0 && in[0].at == i {
			for _, m := range in[0].messages {
				if err := put(m); err != nil {
					return err
				}
			}
			in = in[1:]
		}
		if i < len(base) {
			if err := put(base[i]); err != nil {
				return err
			}
		}
	}
	p.Transcript = t
	return nil
}

// Concatenate joins sessions in a random order until they weigh minTokens.
func Concatenate(r *rand.Rand, sessions [][]message.Message, counter *tokencount.Counter, minTokens int) ([]message.Message, int) {
	var out []message.Message
	total := 0
	for round := 0; total < minTokens; round++ {
		for _, k := range r.Perm(len(sessions)) {
			for _, m := range sessions[k] {
				m.ID = fmt.Sprintf("s%d.%d-%s", round, k, m.ID)
				m.Blocks = ownCalls(m.Blocks, fmt.Sprintf("s%d.%d-", round, k))
				total += counter.Message(m).Total()
				out = append(out, m)
			}
			if total >= minTokens {
				break
			}
		}
	}
	return out, total
}

// ownCalls gives calls and results ids of their own, so that sessions can be
// joined.
func ownCalls(blocks []message.Block, prefix string) []message.Block {
	out := slices.Clone(blocks)
	for i, b := range out {
		switch b := b.(type) {
		case message.ToolCall:
			b.ID = prefix + b.ID
			out[i] = b
		case message.ToolResult:
			b.CallID = prefix + b.CallID
			out[i] = b
		}
	}
	return out
}

// QuietPlaces returns where a user message can stand: where no call waits.
func QuietPlaces(base []message.Message) []int {
	places := []int{0}
	waiting := map[string]bool{}
	for i, m := range base {
		for _, b := range m.Blocks {
			switch b := b.(type) {
			case message.ToolCall:
				waiting[b.ID] = true
			case message.ToolResult:
				delete(waiting, b.CallID)
			}
		}
		if len(waiting) == 0 {
			places = append(places, i+1)
		}
	}
	return places
}

// Kept reports whether one retained unit of the right message holds all keys.
// The units are given by message id.
func (s Seed) Kept(units map[string][]string) bool {
	for _, line := range units[s.MessageID] {
		all := true
		for _, k := range s.Keys {
			all = all && strings.Contains(strings.ToLower(line), strings.ToLower(k))
		}
		if all {
			return true
		}
	}
	return false
}
