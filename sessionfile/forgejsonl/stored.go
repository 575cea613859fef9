package forgejsonl

import (
	"context"
	"fmt"

	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/sessionfile"
)

// FromStore returns a stored session in the form of a session file, so that
// whatever takes files takes it too.
func FromStore(ctx context.Context, store session.Store, id string) (*sessionfile.Session, error) {
	s, err := session.View(ctx, store, id, nil)
	if err != nil {
		return nil, err
	}
	out := &sessionfile.Session{Format: Name, ID: id}
	if out.Transcript, _, err = s.Whole(ctx); err != nil {
		return nil, err
	}
	f := facts{info: s.Header().Info}
	for rec, err := range store.Records(ctx, id, "", false) {
		if err == nil {
			err = rec.Check()
		}
		if err == nil {
			err = f.add(rec.Kind, rec.Body, 0)
		}
		if err != nil {
			return nil, fmt.Errorf("read session %s: %w", id, err)
		}
	}
	f.apply(out)
	out.Requests, out.Marks, out.Losses = f.requests, f.sorted(), f.losses
	return out, nil
}

// Content returns a session that was read from a file in the form in which
// session.Import takes it: marks of the other agent stay marks.
func Content(s *sessionfile.Session, file string) session.Content {
	info := session.Info{Source: &session.Source{Format: s.Format, Version: s.Version, ID: s.ID, File: file},
		Provider: s.Provider, Model: s.Model, WindowTokens: s.WindowTokens, Complete: s.Complete, UsageSynthetic: s.UsageSynthetic}
	for _, m := range s.Transcript.All() {
		if info.Title == "" && m.Authored() {
			info.Title = session.Title(m.Text())
		}
		if info.CreatedAt.IsZero() {
			info.CreatedAt = m.Time
		}
	}
	return session.Content{Info: info,
		Messages: func(yield func(session.Said, error) bool) {
			for _, m := range s.Transcript.All() {
				if !yield(session.Said{Message: m, Status: session.Completed}, nil) {
					return
				}
			}
		},
		Records: func() ([]session.Record, map[string][]byte, error) {
			records, err := recordsOf(s)
			return records, nil, err
		}}
}

func recordsOf(s *sessionfile.Session) ([]session.Record, error) {
	var out []session.Record
	add := func(kind string, at int, v any) error {
		rec, err := session.NewRecord(kind, at, v)
		out = append(out, rec)
		return err
	}
	if len(s.Instructions) > 0 {
		if err := add(session.KindInstructions, 0, s.Instructions); err != nil {
			return nil, err
		}
	}
	if len(s.Tools) > 0 {
		if err := add(session.KindTools, 0, s.Tools); err != nil {
			return nil, err
		}
	}
	for _, r := range s.Requests {
		if err := add(session.KindRequest, r.End, session.Request{At: r.At, End: r.End, Model: r.Model, Usage: (*session.Usage)(r.Usage), Time: r.Time,
			Compaction: r.Compaction, Failed: r.Failed}); err != nil {
			return nil, err
		}
	}
	for _, m := range s.Marks {
		if err := add(session.KindMark, m.At, session.Mark{At: m.At, Kind: string(m.Kind), Line: m.Line, Trigger: m.Trigger,
			TokensBefore: m.TokensBefore, TokensAfter: m.TokensAfter, Detail: m.Detail, Change: m.Change}); err != nil {
			return nil, err
		}
	}
	for _, l := range s.Losses {
		if err := add(session.KindLoss, s.Transcript.Len(), session.Loss{Line: l.Line, What: l.What}); err != nil {
			return nil, err
		}
	}
	return out, nil
}
