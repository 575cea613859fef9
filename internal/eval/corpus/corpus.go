// Package corpus reads the sessions that an evaluation works on, and joins
// them to longer ones.
//
// What it returns is named by format and number, never by file: reports must
// not tell what a user's files are called.
package corpus

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/formats"
	"github.com/forge-agent/forge/transcript"
)

// A Named is a session with the name that reports use.
type Named struct {
	// Name is the format and a number, such as "pi 2".
	Name string
	// Session is what the file told, or what was joined.
	Session *sessionfile.Session
}

// A Corpus is a folder of sessions.
type Corpus struct {
	// Sessions are in the order of their paths.
	Sessions []Named
	// Skipped is how many files no importer reads.
	Skipped int
}

// Load reads every session file below dir that an importer knows, and that
// holds at least minMessages messages.
func Load(dir string, minMessages int) (*Corpus, error) {
	c := &Corpus{}
	numbers := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		s, err := sessionfile.Open(path, formats.All(), nil)
		if err != nil || len(s.Requests) == 0 || s.Transcript.Len() < minMessages {
			c.Skipped++
			return nil
		}
		numbers[s.Format]++
		c.Sessions = append(c.Sessions, Named{fmt.Sprintf("%s %d", s.Format, numbers[s.Format]), s})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	if len(c.Sessions) == 0 {
		return nil, fmt.Errorf("no session files with model requests in %s: name a folder with files that \"forge replay\" reads", dir)
	}
	return c, nil
}

// Messages returns the messages of each session up to its first call without
// a result, so that others can follow.
func (c *Corpus) Messages() [][]message.Message {
	var out [][]message.Message
	for _, n := range c.Sessions {
		if ms := closed(n.Session); len(ms) >= 4 {
			out = append(out, ms)
		}
	}
	return out
}

// closed returns the messages before the first call without a result.
func closed(s *sessionfile.Session) []message.Message {
	t := s.Transcript
	var out []message.Message
	for i, m := range t.All() {
		for b, block := range m.Blocks {
			if _, ok := block.(message.ToolCall); !ok {
				continue
			}
			if _, answered := t.Result(transcript.Ref{Message: i, Block: b}); !answered {
				return out
			}
		}
		out = append(out, m)
	}
	return out
}

// Long joins sessions in n random orders, each to a weight that is drawn
// between least and most tokens. weigh returns the tokens of a message.
func (c *Corpus) Long(n int, seed uint64, least, most int, weigh func(message.Message) int) ([]Named, error) {
	var out []Named
	for i := range n {
		r := rand.New(rand.NewPCG(seed+uint64(i), 140))
		s, err := c.join(r, least+r.IntN(most-least+1), weigh)
		if err != nil {
			return nil, fmt.Errorf("join sessions: %w", err)
		}
		out = append(out, Named{fmt.Sprintf("long %d", i+1), s})
	}
	return out, nil
}

// join concatenates sessions in a random order until they weigh target tokens,
// and ends with the request that reaches it.
func (c *Corpus) join(r *rand.Rand, target int, weigh func(message.Message) int) (*sessionfile.Session, error) {
	out := &sessionfile.Session{Format: "joined", Transcript: &transcript.Transcript{}}
	total := 0
	for round := 0; total < target; round++ {
		before := total
		for _, k := range r.Perm(len(c.Sessions)) {
			s := c.Sessions[k].Session
			ms := closed(s)
			prefix := fmt.Sprintf("s%d.%d-", round, k)
			base := out.Transcript.Len()
			end := 0 // messages of s that are taken
			for end < len(ms) && (total < target || midStep(s, ms, end)) {
				m := rename(ms[end], prefix)
				if err := out.Transcript.Append(m); err != nil {
					return nil, err
				}
				total += weigh(m)
				end++
			}
			for _, q := range s.Requests {
				if q.End <= end && q.End > q.At && q.Failed == "" && !q.Compaction {
					out.Requests = append(out.Requests, sessionfile.Request{At: base + q.At, End: base + q.End})
				}
			}
			if total >= target {
				break
			}
		}
		if total == before {
			return nil, fmt.Errorf("the sessions hold no messages to join")
		}
	}
	return out, nil
}

// midStep reports whether a session cannot be cut before message at: a call
// before it waits for its result.
func midStep(s *sessionfile.Session, ms []message.Message, at int) bool {
	return at > 0 && (ms[at].Role == message.RoleTool || ms[at].Role == message.RoleAssistant && ms[at-1].Role == message.RoleAssistant)
}

// rename gives a message and its calls ids of their own.
func rename(m message.Message, prefix string) message.Message {
	m.ID = prefix + m.ID
	m.Blocks = slices.Clone(m.Blocks)
	for i, b := range m.Blocks {
		switch b := b.(type) {
		case message.ToolCall:
			b.ID = prefix + b.ID
			m.Blocks[i] = b
		case message.ToolResult:
			b.CallID = prefix + b.CallID
			m.Blocks[i] = b
		}
	}
	return m
}
