package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/redact"
	"github.com/forge-agent/forge/transcript"
)

// titleRunes is how much of the first request becomes the title.
const titleRunes = 80

// apply stores a change and takes it into the header.
func (s *Session) apply(ctx context.Context, c Change) error {
	if s.writer == nil {
		return fmt.Errorf("change session %s: %w: it was opened for reading, or is closed", s.header.ID, ErrReadOnly)
	}
	if s.stale {
		return fmt.Errorf("change session %s: %w: an earlier change did not go through; reload it first", s.header.ID, ErrConflict)
	}
	c.Version = s.header.Version
	info := s.header.Info
	if now := s.opts.Now().UTC(); now.After(info.UpdatedAt) {
		info.UpdatedAt = now // a clock that jumps back leaves it as it is
	}
	c.Info = info
	if err := s.writer.Apply(ctx, c); err != nil {
		// Whether it was stored may not be known: find out before going on.
		s.stale = true
		return err
	}
	s.header.Version++
	s.header.Info = info
	return nil
}

// Reload reads the session again after a change that did not go through. What
// was acknowledged is there; what was not may be.
func (s *Session) Reload(ctx context.Context) error { return s.load(ctx) }

// Append admits messages: secrets are taken out, then they are stored, all or
// none, with the status Admitted, and only then does Append return. It returns
// the messages as they were stored.
//
// The errors of transcript.Append refuse a message and change nothing. A
// message that is the last one already, with the same content, is taken as
// admitted: the caller of a store whose answer got lost can just repeat.
func (s *Session) Append(ctx context.Context, ms ...message.Message) ([]message.Message, error) {
	if s.stale {
		if err := s.Reload(ctx); err != nil {
			return nil, err
		}
	}
	stored, _ := s.opts.Redactor.Messages(ms)
	stored = slices.Clone(stored)
	for i := range stored {
		stored[i] = clean(stored[i])
	}
	fresh := s.repeated(stored)
	entries, err := s.admit(stored[fresh:])
	if err != nil || len(entries) == 0 {
		return stored, err
	}
	rows := make([]Row, len(entries))
	for i, e := range entries {
		rows[i] = newRow(e)
		rows[i].Answers = s.answers(entries[:i+1])
		s.cost.HashedBytes += int64(len(rows[i].Body))
	}
	info := s.header.Info
	s.describe(stored)
	if err := s.apply(ctx, Change{Rows: rowsOf(rows)}); err != nil {
		s.header.Info = info
		return nil, fmt.Errorf("admit message %q: %w", stored[fresh].ID, s.taken(ctx, stored[fresh:], err))
	}
	for _, e := range entries {
		if err := s.tr.AppendHeld(s.held(e.Message), e.Hash); err != nil {
			s.stale = true // cannot be: admit has checked
			return nil, err
		}
		s.statuses = append(s.statuses, e.Status)
	}
	s.header.Messages, s.header.Hash = s.tr.Len(), s.tr.RangeHash(0, s.tr.Len())
	return stored, nil
}

// taken adds what a conflict means when an id stands in front of the messages
// that are held.
func (s *Session) taken(ctx context.Context, ms []message.Message, err error) error {
	if !errors.Is(err, ErrConflict) {
		return err
	}
	for _, m := range ms {
		if at, missing := s.store.Locate(ctx, s.header.ID, m.ID); missing == nil && at < s.tr.Len() {
			return fmt.Errorf("%q: %w: %w", m.ID, transcript.ErrDuplicateID, err)
		}
	}
	return err
}

// repeated returns how many of ms, from the first on, are the newest messages
// of the session already.
func (s *Session) repeated(ms []message.Message) int {
	for n := min(len(ms), s.tr.Len()-s.tr.Base()); n > 0; n-- {
		same := true
		for i, m := range ms[:n] {
			at := s.tr.Len() - n + i
			same = same && s.tr.At(at).ID == m.ID && s.tr.Hash(at) == m.Hash()
		}
		if same {
			return n
		}
	}
	return 0
}

// admit checks messages against the transcript, and each against those before
// it, without changing it.
func (s *Session) admit(ms []message.Message) ([]Entry, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	var out []Entry
	t := s.tr
	if len(ms) > 1 {
		var err error
		if t, err = transcript.Resume(s.tr.PrefixAt(s.tr.Len())); err != nil {
			return nil, err
		}
	}
	hash := s.tr.RangeHash(0, s.tr.Len())
	for i, m := range ms {
		if _, taken := s.tr.Index(m.ID); taken {
			return nil, fmt.Errorf("append message %q: %w", m.ID, transcript.ErrDuplicateID)
		}
		if err := t.Check(m); err != nil {
			return nil, err
		}
		if t != s.tr {
			if err := t.Append(m); err != nil {
				return nil, err
			}
		}
		h := m.Hash()
		hash = transcript.Chain(hash, h)
		out = append(out, Entry{Index: s.tr.Len() + i, Status: Admitted, Message: m, Hash: h, Prefix: hash})
	}
	return out, nil
}

// answers returns the calls that the results of the last entry answer; they
// stand in the transcript or among the entries before it.
func (s *Session) answers(entries []Entry) []transcript.Ref {
	last := entries[len(entries)-1].Message
	if last.Role != message.RoleTool {
		return nil
	}
	waiting := map[string]transcript.Ref{}
	for _, c := range s.tr.PrefixAt(s.tr.Len()).Pending {
		waiting[c.Call.ID] = c.Ref
	}
	var out []transcript.Ref
	for _, e := range entries {
		for i, b := range e.Message.Blocks {
			switch b := b.(type) {
			case message.ToolCall:
				waiting[b.ID] = transcript.Ref{Message: e.Index, Block: i}
			case message.ToolResult:
				if e.Index == entries[len(entries)-1].Index {
					out = append(out, waiting[b.CallID])
				}
			}
		}
	}
	return out
}

// describe keeps title and model of the session up to date.
func (s *Session) describe(ms []message.Message) {
	info := &s.header.Info
	for _, m := range ms {
		if info.Title == "" && m.Authored() {
			info.Title = Title(m.Text())
		}
		if m.Model != "" {
			info.Model = m.Model
		}
	}
}

// AskedAt notes who answers from now on: the provider, and the endpoint when it
// is one of the user's own. It is stored with the next message.
func (s *Session) AskedAt(provider, endpoint string) {
	info := s.header.Info
	info.Provider, info.Endpoint = provider, endpoint
	s.header.Info = s.redactInfo(info)
}

// Title shortens the first request of a session to its title.
func Title(text string) string {
	runes := []rune(strings.Join(strings.Fields(cleanName(text)), " "))
	if len(runes) > titleRunes {
		return string(runes[:titleRunes-1]) + "…"
	}
	return string(runes)
}

// Finish ends the newest turn: every message of it that is only admitted gets
// the status. It says how many those were.
func (s *Session) Finish(ctx context.Context, status Status) (int, error) {
	if !status.valid() || status == Admitted {
		return 0, fmt.Errorf("finish turn of session %s: %q is no end of a turn", s.header.ID, status)
	}
	from := s.tr.Base()
	if n := s.tr.TurnCount(); n > 0 {
		from = s.tr.Turn(n - 1).Start
	}
	to := s.tr.Len()
	for from < to && s.Status(from) != Admitted {
		from++
	}
	if from == to {
		return 0, nil
	}
	old := s.header.Info.LastRun
	s.header.Info.LastRun = status
	if err := s.apply(ctx, Change{Statuses: []StatusRange{{from, to, status}}}); err != nil {
		s.header.Info.LastRun = old
		return 0, fmt.Errorf("finish turn: %w", err)
	}
	for i := from; i < to; i++ {
		s.statuses[i-s.tr.Base()] = status
	}
	return to - from, nil
}

// Uncompleted yields the held messages that no view may show once a new turn
// has begun (resolution C16): those of a turn that failed, was cancelled, or
// never ended, the newest turn aside.
func (s *Session) Uncompleted(yield func(int) bool) {
	end := s.tr.Base()
	if n := s.tr.TurnCount(); n > 0 {
		end = s.tr.Turn(n - 1).Start
	}
	for i := s.tr.Base(); i < end; i++ {
		if s.Status(i) != Completed && !yield(i) {
			return
		}
	}
}

// AddCheckpoint stores the newest record of the chain, with the states that
// belong to the window that it begins, in one step (F-CKP-06). When it fails,
// the chain is as it was stored before (F-CKP-08).
func (s *Session) AddCheckpoint(ctx context.Context, c *checkpoint.Checkpoint, states map[string][]byte) error {
	held := false
	for other := range s.chain.All() {
		held = held || other.ID == c.ID
	}
	if !held {
		if err := s.chain.Add(c, s.tr); err != nil {
			return err
		}
	} else if c.Generation <= s.header.Checkpoints {
		return nil
	}
	rec, err := checkpointRecord(c)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, Change{Records: []Record{rec}, States: states}); err != nil {
		return errors.Join(fmt.Errorf("store checkpoint %s: %w", c.ID, err), s.Reload(ctx))
	}
	s.header.Checkpoints++
	s.keepStates(states)
	return nil
}

func checkpointRecord(c *checkpoint.Checkpoint) (Record, error) {
	body, err := c.Encode()
	if err != nil {
		return Record{}, err
	}
	r := Record{Kind: KindCheckpoint, At: c.SourceMessageCount, Body: body}
	r.Sum = checksum(r.Kind, fmt.Sprint(r.At), string(body))
	return r, nil
}

// SetStates stores named states: claims of reminders, projections. An empty
// value removes one.
func (s *Session) SetStates(ctx context.Context, states map[string][]byte) error {
	if err := s.apply(ctx, Change{States: states}); err != nil {
		return fmt.Errorf("store state: %w", err)
	}
	s.keepStates(states)
	return nil
}

func (s *Session) keepStates(states map[string][]byte) {
	if s.states == nil {
		s.states = map[string][]byte{}
	}
	for name, body := range states {
		if len(body) == 0 {
			delete(s.states, name)
			continue
		}
		s.states[name] = slices.Clone(body)
	}
}

// AddRequest stores what a model request took.
func (s *Session) AddRequest(ctx context.Context, r Request) error {
	r.Failed, _ = s.opts.Redactor.Text(r.Failed)
	return s.addRecord(ctx, KindRequest, r.End, r)
}

func (s *Session) addRecord(ctx context.Context, kind string, at int, v any) error {
	rec, err := NewRecord(kind, at, v)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, Change{Records: []Record{rec}}); err != nil {
		return fmt.Errorf("store %s: %w", kind, err)
	}
	return nil
}

// redactInfo takes secrets out of the description.
func (s *Session) redactInfo(info Info) Info { return redactInfo(s.opts.Redactor, info) }

func redactInfo(r *redact.Redactor, info Info) Info {
	for _, text := range []*string{&info.Title, &info.Workspace, &info.Directory, &info.Provider, &info.Model, &info.Endpoint, &info.UsageSynthetic} {
		*text, _ = r.Text(cleanName(*text))
	}
	if info.Source != nil {
		source := *info.Source
		for _, text := range []*string{&source.Format, &source.Version, &source.ID, &source.File} {
			*text, _ = r.Text(cleanName(*text))
		}
		info.Source = &source
	}
	return info
}
