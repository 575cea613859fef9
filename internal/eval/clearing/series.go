// Package clearing replays the token counts of sessions while old tool output
// is cleared, by the scheduler of package projection and by other rules, and
// finds the best clearing with the future known.
//
// A replay changes nothing but the counts: what it cannot show is whether an
// agent would have read things again.
package clearing

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/formats"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// A Series is a session as its tokens come in.
type Series struct {
	// Name says which session it is.
	Name string
	// Front is the weight of what stands before the conversation, in tokens.
	Front int
	// Items are the pieces of the conversation in order.
	Items []Item
	// Steps are the requests: each sees the items before its index.
	Steps []Step
}

// An Item is a piece of the conversation: a tool result or anything else.
type Item struct {
	// Tokens is its weight.
	Tokens int
	// Result is the observation of a tool result, nil for anything else.
	Result *projection.Observation
}

// A Step is one request.
type Step struct {
	// Items is how many items it sees.
	Items int
	// Idle is the time since the last request; zero unless pauses count.
	Idle time.Duration
	// Pause is the same as the file has it, zero when it does not say.
	Pause time.Duration
	// Ends is true when a person spoke next, or nothing came any more: where
	// a session can be expected to stop.
	Ends bool
}

// Load reads the session files named, or those of FORGE_CORPUS.
func Load(files []string) ([]*Series, error) {
	if len(files) == 0 {
		var err error
		if files, err = CorpusFiles(); err != nil {
			return nil, err
		}
	}
	var out []*Series
	for _, file := range files {
		session, err := sessionfile.Open(file, formats.All(), nil)
		if err != nil {
			return nil, err
		}
		s, err := NewSeries(filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file)), session)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// CorpusFiles lists the session files of FORGE_CORPUS.
func CorpusFiles() ([]string, error) {
	root := os.Getenv("FORGE_CORPUS")
	if root == "" {
		return nil, fmt.Errorf("FORGE_CORPUS is unset: it names the folder with session files")
	}
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if folder := filepath.Base(filepath.Dir(path)); folder != "token-usage" && folder != "overflow-errors" {
			out = append(out, path)
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

// NewSeries counts a session with the counter of its own model.
func NewSeries(name string, session *sessionfile.Session) (*Series, error) {
	m, known := catalog.Default().Lookup(session.Model)
	if !known {
		m.Family = catalog.FamilyOpenAI // an ordinary vocabulary instead of bytes
	}
	return Count(name, session, vocabulary.Counter(m, tokencount.Route{}))
}

// Count makes a series of a session with a counter of the caller's.
func Count(name string, session *sessionfile.Session, c *tokencount.Counter) (*Series, error) {
	s := &Series{Name: name, Front: c.Fixed(len(session.Tools))}
	for _, m := range session.Instructions {
		s.Front += c.Message(m).Total()
	}
	for _, d := range session.Tools {
		s.Front += c.Tool(d)
	}
	t := session.Transcript
	starts := make([]int, t.Len()+1)
	for i, m := range t.All() {
		starts[i] = len(s.Items)
		if err := s.add(t, i, m, c); err != nil {
			return nil, err
		}
	}
	starts[t.Len()] = len(s.Items)
	var last time.Time
	for i, r := range session.Requests {
		if r.Failed != "" || r.Compaction {
			continue
		}
		st := Step{Items: starts[r.At], Ends: spokenNext(session, i)}
		if !last.IsZero() && r.Time.After(last) {
			st.Pause = r.Time.Sub(last)
		}
		last = r.Time
		s.Steps = append(s.Steps, st)
	}
	return s, nil
}

func (s *Series) add(t *transcript.Transcript, index int, m message.Message, c *tokencount.Counter) error {
	count := c.Message(m)
	s.Items = append(s.Items, Item{Tokens: count.FramingTokens})
	for b := range m.Blocks {
		it := Item{Tokens: count.BlockTokens[b]}
		if m.Role == message.RoleTool {
			o, err := projection.Observe(t, transcript.Ref{Message: index, Block: b}, it.Tokens, c.Text, projection.Targets{})
			if err != nil {
				return err
			}
			it.Result = &o
		}
		s.Items = append(s.Items, it)
	}
	return nil
}

// spokenNext reports whether a person spoke between a request and the next
// one, or there is no next one.
func spokenNext(s *sessionfile.Session, request int) bool {
	if request+1 == len(s.Requests) {
		return true
	}
	for i := s.Requests[request].At; i < s.Requests[request+1].At; i++ {
		if s.Transcript.At(i).Role == message.RoleUser {
			return true
		}
	}
	return false
}

// Clearable leaves out the sessions in which nothing can be cleared.
func Clearable(all []*Series) []*Series {
	return slices.DeleteFunc(slices.Clone(all), func(s *Series) bool {
		old := 0
		for _, it := range s.Items {
			if it.Result != nil {
				old++
			}
		}
		return old <= KeepNewest
	})
}

// Scaled returns the series with every tool result's tokens multiplied, and
// the front made larger: the same session with another harness.
func (s *Series) Scaled(share float64, frontTokens int) *Series {
	out := *s
	out.Front += frontTokens
	out.Items = slices.Clone(s.Items)
	for i, it := range out.Items {
		if it.Result == nil {
			continue
		}
		o := *it.Result
		o.Tokens = int(share * float64(o.Tokens))
		o.StandInTokens = min(o.StandInTokens, o.Tokens)
		out.Items[i] = Item{Tokens: o.Tokens, Result: &o}
	}
	return &out
}

// WithPauses returns the series with the pauses that people made.
func (s *Series) WithPauses() *Series {
	out := *s
	out.Steps = slices.Clone(s.Steps)
	for i := range out.Steps {
		out.Steps[i].Idle = out.Steps[i].Pause
	}
	return &out
}

// Until returns the series as it was after this many requests.
func (s *Series) Until(requests int) *Series {
	out := *s
	out.Steps = s.Steps[:requests]
	return &out
}
