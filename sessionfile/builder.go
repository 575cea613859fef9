package sessionfile

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// A Builder assembles a Session. It repairs messages that a Transcript would
// refuse, and names each repair as a Loss. Make one with NewBuilder.
type Builder struct {
	// Session is what is being built. An importer sets its plain fields
	// (ID, Version, Model, …) directly; messages, requests, marks and losses
	// go through the methods.
	Session *Session

	src     *Source
	losses  losses
	adopted []*losses
	waiting map[string][]call // pending calls by the id in the file, oldest first
	pending map[string]bool   // their ids in the transcript
	filed   map[string]string // id in the transcript → id in the file, where they differ

	seed     maphash.Seed
	expected []expectedText  // texts that should be there
	said     map[uint64]bool // texts that are there in another form
}

// expectedText is a text that a message should hold.
type expectedText struct {
	line int
	hash uint64
	what string
}

// call is a pending call as the transcript knows it.
type call struct {
	id, name string
}

// NewBuilder starts a session of the named format that is read from src. The
// losses that src finds become part of it.
func NewBuilder(src *Source, format string) *Builder {
	return &Builder{
		Session: &Session{Format: format, Transcript: &transcript.Transcript{}},
		src:     src,
		waiting: map[string][]call{},
		pending: map[string]bool{},
		filed:   map[string]string{},
		seed:    maphash.MakeSeed(),
		said:    map[uint64]bool{},
	}
}

// Len returns the number of messages so far: the At of what comes next.
func (b *Builder) Len() int { return b.Session.Transcript.Len() }

// NextID returns the id that a message without one gets: its number, counted
// from 1, so that the same file always gives the same ids. Formats whose
// messages have no ids set it themselves and so name no loss.
func (b *Builder) NextID() string { return fmt.Sprintf("m%d", b.Len()+1) }

// Lose names a loss on a line, zero for the whole file. Losses with the same
// text are listed once, with their number and the first line: keep varying
// parts (ids, sizes) out of what, and kinds in.
func (b *Builder) Lose(line int, what string) { b.losses.add(line, what) }

// Losef is Lose with formatting.
func (b *Builder) Losef(line int, format string, args ...any) {
	b.losses.add(line, fmt.Sprintf(format, args...))
}

// Adopt takes over the losses of another file of the session, each with the
// file's name.
func (b *Builder) Adopt(other *Source) {
	named := &losses{}
	for _, c := range other.losses.list {
		named.list = append(named.list, lossCount{
			Loss:  Loss{What: fmt.Sprintf("%s, line %d: %s", other.path, c.Line, c.What)},
			times: c.times,
		})
	}
	b.adopted = append(b.adopted, named)
}

// Request records a model request and returns its index. At and End are
// brought into 0 ≤ At ≤ End ≤ Len, and At is not below that of the request
// before. The caller may change the fields of Session.Requests[index] as it
// reads on.
func (b *Builder) Request(r Request) int {
	low := 0
	if n := len(b.Session.Requests); n > 0 {
		low = b.Session.Requests[n-1].At
	}
	r.At = min(max(r.At, low), b.Len())
	r.End = min(max(r.End, r.At), b.Len())
	b.Session.Requests = append(b.Session.Requests, r)
	return len(b.Session.Requests) - 1
}

// Mark records a mark. At, and KeepFrom of a compaction, are brought into
// 0 ≤ KeepFrom ≤ At ≤ Len; Change.At is set to At. Messages of a replacement
// that have no content are left out and named.
func (b *Builder) Mark(m Mark) {
	m.At = min(max(m.At, 0), b.Len())
	m.TokensBefore, m.TokensAfter = max(m.TokensBefore, 0), max(m.TokensAfter, 0)
	if c := m.Change; c != nil {
		c.At = m.At
		c.KeepFrom = min(max(c.KeepFrom, 0), m.At)
		kept := make([]message.Message, 0, len(c.Replacement))
		for i, r := range c.Replacement {
			if r.Blocks = withoutEmpty(r.Blocks); len(r.Blocks) == 0 {
				b.Lose(m.Line, "a message without content in what a compaction left")
				continue
			}
			if r.ID == "" {
				r.ID = fmt.Sprintf("replacement-%d-%d", len(b.Session.Marks)+1, i+1)
			}
			kept = append(kept, r)
		}
		c.Replacement = kept
	}
	b.Session.Marks = append(b.Session.Marks, m)
}

// Expect names what as a loss when the session is finished and no message
// holds the text: for lines that repeat on a user's screen what stands
// elsewhere as a message. White space around the text does not count.
func (b *Builder) Expect(line int, text, what string) {
	if text = strings.TrimSpace(text); text != "" {
		b.expected = append(b.expected, expectedText{line, maphash.String(b.seed, text), what})
	}
}

// Said notes that the session holds a text in another form, for example as a
// part of a longer one, so that Expect does not miss it.
func (b *Builder) Said(text string) { b.said[maphash.String(b.seed, strings.TrimSpace(text))] = true }

func (b *Builder) checkExpected() {
	if len(b.expected) == 0 {
		return
	}
	for _, m := range b.Session.Transcript.All() {
		b.Said(m.Text())
		for _, block := range m.Blocks {
			switch block := block.(type) {
			case message.Text:
				b.Said(block.Text)
			case message.Reasoning:
				b.Said(block.Text)
			}
		}
	}
	for _, e := range b.expected {
		if !b.said[e.hash] {
			b.Lose(e.line, e.what)
		}
	}
}

// Finish returns the session: marks and losses in order, usage whose parts
// are contained in the wholes, without zeros and checked for signs that no
// provider reported it (UsageSynthetic), Model from the last request when it
// is not set.
func (b *Builder) Finish() *Session {
	s := b.Session
	slices.SortStableFunc(s.Marks, func(x, y Mark) int { return cmp.Compare(x.At, y.At) })
	for i := len(s.Requests) - 1; i >= 0 && s.Model == ""; i-- {
		s.Model = s.Requests[i].Model
	}
	b.repairUsage()
	zero := dropZeroUsage(s)
	if s.UsageSynthetic == "" {
		s.UsageSynthetic = syntheticUsage(s, zero)
	}
	b.checkExpected()
	all := append([]*losses{&b.losses}, b.adopted...)
	if b.src != nil {
		all = append(all, &b.src.losses)
	}
	s.Losses = merged(all...)
	return s
}

// Refs returns where the results of the calls with these ids (as the file
// has them) stand, in transcript order. For an id that is used more than
// once it is the newest result.
func (b *Builder) Refs(callIDs []string) []transcript.Ref {
	wanted := map[string]bool{}
	for _, id := range callIDs {
		wanted[id] = true
	}
	var out []transcript.Ref
	t := b.Session.Transcript
	for i := t.Len() - 1; i >= 0 && len(wanted) > 0; i-- {
		for k, block := range t.At(i).Blocks {
			r, ok := block.(message.ToolResult)
			if !ok {
				continue
			}
			id := r.CallID
			if filed, differs := b.filed[id]; differs {
				id = filed
			}
			if wanted[id] {
				delete(wanted, id)
				out = append(out, transcript.Ref{Message: i, Block: k})
			}
		}
	}
	slices.Reverse(out)
	return out
}
