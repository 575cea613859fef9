package journey

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/forge-agent/forge/internal/scripted"
	"github.com/forge-agent/forge/internal/seeded"
)

// steps answers the requests of a run one after the other; when they are over,
// the last one stays.
func steps(replies ...func(scripted.Request) scripted.Reply) func(scripted.Request) scripted.Reply {
	n := 0
	return func(r scripted.Request) scripted.Reply {
		i := min(n, len(replies)-1)
		n++
		return replies[i](r)
	}
}

// says answers with a text and ends the turn.
func says(format string, args ...any) func(scripted.Request) scripted.Reply {
	return func(scripted.Request) scripted.Reply { return scripted.Reply{Text: fmt.Sprintf(format, args...)} }
}

// calls answers with a tool call.
func calls(name string, arguments map[string]any) func(scripted.Request) scripted.Reply {
	data, err := json.Marshal(arguments)
	return func(scripted.Request) scripted.Reply {
		if err != nil {
			return scripted.Reply{Fault: scripted.Unscripted}
		}
		return scripted.Reply{Calls: []scripted.Call{{Name: name, Arguments: string(data)}}}
	}
}

func fails(f scripted.Fault) func(scripted.Request) scripted.Reply {
	return func(scripted.Request) scripted.Reply { return scripted.Reply{Fault: f} }
}

func reads(path string) func(scripted.Request) scripted.Reply {
	return calls("read_file", map[string]any{"path": path})
}

func creates(path, content string) func(scripted.Request) scripted.Reply {
	return calls("create_file", map[string]any{"path": path, "content": content})
}

func runs(command ...string) func(scripted.Request) scripted.Reply {
	return calls("run_command", map[string]any{"command": command})
}

// A seed is a rule that the user states, with the words that must be left of
// it in one line of a request.
type seed struct {
	text string
	keys []string
}

// keptIn reports whether one unit holds all words.
func (x seed) keptIn(units []string) bool {
	for _, u := range units {
		u = strings.ToLower(u)
		all := true
		for _, k := range x.keys {
			all = all && strings.Contains(u, strings.ToLower(k))
		}
		if all {
			return true
		}
	}
	return false
}

// plan draws what a fixture brings, the same each time.
type plan struct {
	r       *rand.Rand
	wording seeded.Wording
	used    map[string]bool
}

// seedSet is the set of phrasings: one that the rules of compaction were not
// tuned with.
const seedSet = "heldout"

func newPlan(number uint64) (*plan, error) {
	w, err := seeded.Read(seedSet, "")
	return &plan{r: rand.New(rand.NewPCG(number, 8)), wording: w, used: map[string]bool{}}, err
}

// rule draws a rule that was not drawn before and needs no earlier statement.
func (p *plan) rule() seed {
	for {
		ph := p.wording.Phrases[p.r.IntN(len(p.wording.Phrases))]
		if len(ph.Texts) != 1 {
			continue
		}
		text, keys := seeded.Fill(p.r, ph.Texts[0])
		if !p.used[text] && len(keys) > 0 {
			p.used[text] = true
			return seed{text, keys}
		}
	}
}

// talk draws a text that states no rule.
func (p *plan) talk() string {
	for {
		text, _ := seeded.Fill(p.r, p.wording.Chatter[p.r.IntN(len(p.wording.Chatter))].Text)
		if !strings.Contains(text, "\n") {
			return text
		}
	}
}

var words = strings.Fields("the order record keeps its own number and state while a worker reads rows from the queue checks each against the limit " +
	"writes what it found into the table and hands the rest to the next stage which counts them again before the batch is closed " +
	"errors go to a log file with the time of day and the name of the shard so that an operator can find the row later")

// document makes a file of some lines of prose.
func (p *plan) document(title string, lines int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", title)
	for i := range lines {
		fmt.Fprintf(&b, "%s-%d", strings.ToLower(strings.ReplaceAll(title, " ", "-")), i)
		for range 12 + p.r.IntN(6) {
			b.WriteByte(' ')
			b.WriteString(words[p.r.IntN(len(words))])
		}
		b.WriteString(".\n")
	}
	return b.String()
}
