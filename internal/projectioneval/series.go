package main

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

// A series is a session as its tokens come in.
type series struct {
	name  string
	front int
	items []item
	// steps are the requests: each sees the items before its index.
	steps []step
}

// item is a piece of the conversation: a tool result or anything else.
type item struct {
	tokens int
	// result is the observation of a tool result, nil for anything else.
	result *projection.Observation
}

// step is one request.
type step struct {
	items int
	// idle is the time since the last request; zero unless pauses count.
	idle time.Duration
	// pause is the same as the file has it, zero when it does not say.
	pause time.Duration
	// ends is true when a person spoke next, or nothing came any more: where
	// a session can be expected to stop.
	ends bool
}

// load reads the session files named, or those of FORGE_CORPUS.
func load(files []string) ([]*series, error) {
	if len(files) == 0 {
		var err error
		if files, err = corpusFiles(); err != nil {
			return nil, err
		}
	}
	var out []*series
	for _, file := range files {
		session, err := sessionfile.Open(file, formats.All(), nil)
		if err != nil {
			return nil, err
		}
		s, err := newSeries(filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file)), session)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func corpusFiles() ([]string, error) {
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

// newSeries counts a session with the counter of its own model.
func newSeries(name string, session *sessionfile.Session) (*series, error) {
	m, known := catalog.Default().Lookup(session.Model)
	if !known {
		m.Family = catalog.FamilyOpenAI // an ordinary vocabulary instead of bytes
	}
	c := vocabulary.Counter(m, tokencount.Route{})
	s := &series{name: name, front: c.Fixed(len(session.Tools))}
	for _, m := range session.Instructions {
		s.front += c.Message(m).Total()
	}
	for _, d := range session.Tools {
		s.front += c.Tool(d)
	}
	t := session.Transcript
	starts := make([]int, t.Len()+1)
	for i, m := range t.All() {
		starts[i] = len(s.items)
		if err := s.add(t, i, m, c); err != nil {
			return nil, err
		}
	}
	starts[t.Len()] = len(s.items)
	var last time.Time
	for i, r := range session.Requests {
		if r.Failed != "" || r.Compaction {
			continue
		}
		st := step{items: starts[r.At], ends: spokenNext(session, i)}
		if !last.IsZero() && r.Time.After(last) {
			st.pause = r.Time.Sub(last)
		}
		last = r.Time
		s.steps = append(s.steps, st)
	}
	return s, nil
}

func (s *series) add(t *transcript.Transcript, index int, m message.Message, c *tokencount.Counter) error {
	count := c.Message(m)
	s.items = append(s.items, item{tokens: count.FramingTokens})
	for b := range m.Blocks {
		it := item{tokens: count.BlockTokens[b]}
		if m.Role == message.RoleTool {
			o, err := projection.Observe(t, transcript.Ref{Message: index, Block: b}, it.tokens, c.Text, projection.Targets{})
			if err != nil {
				return err
			}
			it.result = &o
		}
		s.items = append(s.items, it)
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

// clearable leaves out the sessions in which nothing can be cleared.
func clearable(all []*series) []*series {
	return slices.DeleteFunc(slices.Clone(all), func(s *series) bool {
		old := 0
		for _, it := range s.items {
			if it.result != nil {
				old++
			}
		}
		return old <= projection.DefaultKeepNewest
	})
}

// scaled returns the series with every tool result's tokens multiplied, and
// the front made larger: the same session with another harness.
func (s *series) scaled(share float64, frontTokens int) *series {
	out := *s
	out.front += frontTokens
	out.items = slices.Clone(s.items)
	for i, it := range out.items {
		if it.result == nil {
			continue
		}
		o := *it.result
		o.Tokens = int(share * float64(o.Tokens))
		o.StandInTokens = min(o.StandInTokens, o.Tokens)
		out.items[i] = item{tokens: o.Tokens, result: &o}
	}
	return &out
}

// withPauses returns the series with the pauses that people made.
func (s *series) withPauses() *series {
	out := *s
	out.steps = slices.Clone(s.steps)
	for i := range out.steps {
		out.steps[i].idle = out.steps[i].pause
	}
	return &out
}

// until returns the series as it was after this many requests.
func (s *series) until(requests int) *series {
	out := *s
	out.steps = s.steps[:requests]
	return &out
}
