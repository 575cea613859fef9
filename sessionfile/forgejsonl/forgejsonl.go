// Package forgejsonl reads what "forge sessions export" writes, as any other
// session file: so that a session of Forge, or one that was imported into it,
// can be replayed, inspected and compacted from its export.
//
// Reading it back into a store is package session's ReadExport, which is
// strict about hashes; this importer, as every other, takes what is there and
// names the rest.
package forgejsonl

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/sessionfile"
)

// Name is the format's name.
const Name = "forge-jsonl"

// Format returns the importer.
func Format() sessionfile.Format { return format{} }

type format struct{}

func (format) Name() string { return Name }

// Match looks for the header of an export, or for its messages where the
// header is gone.
func (format) Match(h sessionfile.Head) bool {
	if h.Array {
		return false
	}
	for _, o := range h.Objects {
		if o.Text("forge") == "session" && o.Has("v", "info") ||
			o.Text("type") == session.LineMessage && o.Has("n", "status", "hash", "message") {
			return true
		}
	}
	return false
}

func (format) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	b := sessionfile.NewBuilder(src, Name)
	x := &importer{b: b}
	for v, err := range src.Objects() {
		if err != nil {
			return nil, err
		}
		x.line(v)
	}
	if !x.ended {
		b.Lose(0, "the export ends before its last line")
	}
	x.facts.apply(b.Session)
	x.place()
	return b.Finish(), nil
}

// importer reads one export.
type importer struct {
	b     *sessionfile.Builder
	facts facts
	ended bool
}

func (x *importer) line(v sessionfile.Value) {
	var l session.Line
	if err := v.Decode(&l); err != nil {
		if !v.Cut {
			x.b.Lose(v.Line, "a line that cannot be read")
		}
		return
	}
	switch {
	case l.Forge == "session" && l.Info != nil:
		x.b.Session.ID = l.ID
		x.facts.info = *l.Info
	case l.Type == session.LineMessage && l.Message != nil:
		x.message(v, l)
	case l.Type == session.LineRecord, l.Type == session.LineLoss:
		kind := l.Kind
		if l.Type == session.LineLoss {
			kind = session.KindLoss
		}
		if err := x.facts.add(kind, l.Body, v.Line); err != nil {
			x.b.Losef(v.Line, "a %s that cannot be read", kind)
		}
	case l.Type == session.LineState: // the state of a window, no content
	case l.Type == session.LineRemoved:
		x.b.Lose(v.Line, "something that a truncation had taken out of the session")
	case l.Type == session.LineEnd:
		x.ended = true
	default:
		x.b.Lose(v.Line, "a line of an unknown type")
	}
}

func (x *importer) message(v sessionfile.Value, l session.Line) {
	m := *l.Message
	if len(l.Canonical) > 0 {
		if exact, err := message.ParseCanonical(l.Canonical); err == nil {
			exact.ID, exact.Time, exact.Model = m.ID, m.Time, m.Model
			m = exact
		}
	}
	if l.Hash != nil && m.Hash() != *l.Hash {
		x.b.Lose(v.Line, "a message whose content does not have the hash beside it")
	}
	x.b.Append(v.Line, m)
}

// place puts requests and marks where they belong, through the builder, which
// keeps them inside the transcript.
func (x *importer) place() {
	for _, r := range x.facts.requests {
		x.b.Request(r)
	}
	for _, m := range x.facts.sorted() {
		x.b.Mark(m)
	}
	for _, l := range x.facts.losses {
		x.b.Lose(0, l.What)
	}
}

// facts are what stands beside the messages of a stored session.
type facts struct {
	info         session.Info
	requests     []sessionfile.Request
	marks        []sessionfile.Mark
	losses       []sessionfile.Loss
	instructions []message.Message
	tools        []message.ToolDefinition
}

// add takes a record in.
func (f *facts) add(kind string, body []byte, line int) error {
	switch kind {
	case session.KindRequest:
		var r session.Request
		if err := json.Unmarshal(body, &r); err != nil {
			return err
		}
		f.requests = append(f.requests, sessionfile.Request{At: r.At, End: r.End, Model: r.Model, Usage: (*message.Usage)(r.Usage), Time: r.Time,
			Line: line, Compaction: r.Compaction, Failed: r.Failed})
	case session.KindMark:
		var m session.Mark
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		f.marks = append(f.marks, sessionfile.Mark{At: m.At, Kind: sessionfile.MarkKind(m.Kind), Line: line, Trigger: m.Trigger,
			TokensBefore: m.TokensBefore, TokensAfter: m.TokensAfter, Detail: m.Detail, Change: m.Change})
	case session.KindLoss:
		var l session.Loss
		if err := json.Unmarshal(body, &l); err != nil {
			return err
		}
		f.losses = append(f.losses, sessionfile.Loss{Line: l.Line, What: l.What})
	case session.KindInstructions:
		return json.Unmarshal(body, &f.instructions)
	case session.KindTools:
		return json.Unmarshal(body, &f.tools)
	case session.KindCheckpoint:
		c, err := checkpoint.Decode(body)
		if err != nil {
			return err
		}
		f.marks = append(f.marks, checkpointMark(c, line))
	}
	return nil
}

// checkpointMark is what a checkpoint of Forge did to the view.
func checkpointMark(c *checkpoint.Checkpoint, line int) sessionfile.Mark {
	memory := message.Message{ID: c.ID, Role: message.RoleUser, Origin: message.OriginSummary, Time: c.CreatedAt,
		Blocks: []message.Block{message.Text{Text: c.Summary}}}
	if c.Strategy == checkpoint.ProviderNative {
		memory.Blocks = []message.Block{message.Opaque{Provider: c.Provider, Type: "compaction", Data: c.OpaqueProviderItem}}
	}
	return sessionfile.Mark{At: c.SourceMessageCount, Kind: sessionfile.MarkCompaction, Line: line, TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter,
		Detail: fmt.Sprintf("%s checkpoint %s", c.Method, c.ID),
		Change: &activeview.Change{At: c.SourceMessageCount, Kind: activeview.ChangeCompaction, Replacement: []message.Message{memory},
			KeepFrom: c.RetainedTailStartIndex, Opaque: c.Strategy == checkpoint.ProviderNative}}
}

// sorted returns the marks in transcript order.
func (f *facts) sorted() []sessionfile.Mark {
	slices.SortStableFunc(f.marks, func(a, b sessionfile.Mark) int { return cmp.Compare(a.At, b.At) })
	return f.marks
}

// apply sets the plain fields of a session.
func (f *facts) apply(s *sessionfile.Session) {
	if source := f.info.Source; source != nil && source.Format != "" {
		s.Format, s.Version = source.Format, source.Version
	}
	s.Provider, s.Model, s.WindowTokens = f.info.Provider, f.info.Model, f.info.WindowTokens
	s.Complete, s.UsageSynthetic = f.info.Complete, f.info.UsageSynthetic
	s.Instructions, s.Tools = f.instructions, f.tools
}
