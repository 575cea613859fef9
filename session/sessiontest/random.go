package sessiontest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/transcript"
)

// machine is a session under random work, and what it must be.
type machine struct {
	t     *rapid.T
	open  func() session.Store
	s     *session.Session
	model transcript.Transcript
	n     int
}

// randomWork: whatever is done in whatever order, a session is what was
// acknowledged, opens, and verifies; forks and exports are equal to it.
func randomWork(t *testing.T, o Opener) {
	store := o.Open(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		s, err := session.Create(t.Context(), store, fmt.Sprintf("run-%d-%s", run, session.NewID()), session.Info{}, clock())
		if err != nil {
			rt.Fatal(err)
		}
		m := &machine{t: rt, open: func() session.Store { return store }, s: s}
		defer func() { m.s.Close() }()
		for range rapid.IntRange(1, 14).Draw(rt, "steps") {
			m.step()
		}
		m.check()
	})
}

func (m *machine) step() {
	ctx := m.t.Context()
	var err error
	switch rapid.IntRange(0, 9).Draw(m.t, "step") {
	case 0, 1, 2, 3:
		err = m.append()
	case 4:
		_, err = m.s.Finish(ctx, rapid.SampledFrom([]session.Status{session.Completed, session.Failed, session.Cancelled}).Draw(m.t, "status"))
	case 5:
		if base := m.s.Transcript().Base(); m.s.Transcript().Len() > 0 {
			through := rapid.IntRange(max(base, 1), m.s.Transcript().Len()).Draw(m.t, "through")
			err = m.s.AddCheckpoint(ctx, Checkpoint(m.t, m.s, through), map[string][]byte{"claims": []byte("x")})
		}
	case 6:
		n := rapid.IntRange(0, m.model.Len()).Draw(m.t, "truncate")
		if _, err = m.s.Truncate(ctx, n); err == nil {
			m.model = *first(&m.model, n)
		}
	case 7:
		n := rapid.IntRange(0, m.model.Len()).Draw(m.t, "fork")
		var id string
		if id, _, err = m.s.Fork(ctx, "", n); err == nil {
			m.s.Close()
			m.model = *first(&m.model, n)
			err = m.reopen(id)
		}
	case 8:
		m.s.Close()
		err = m.reopen(m.s.ID())
	case 9:
		err = m.copy()
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// first returns the first n messages of a transcript.
func first(t *transcript.Transcript, n int) *transcript.Transcript {
	out := &transcript.Transcript{}
	for i, msg := range t.All() {
		if i < n {
			_ = out.Append(msg) // it was taken before
		}
	}
	return out
}

func (m *machine) append() error {
	var ms []message.Message
	for range rapid.IntRange(1, 3).Draw(m.t, "messages") {
		m.n++
		id := fmt.Sprint("m", m.n)
		switch rapid.IntRange(0, 3).Draw(m.t, "kind") {
		case 0:
			ms = append(ms, User(id, rapid.String().Draw(m.t, "text")))
		case 1:
			ms = append(ms, Call(id, fmt.Sprint("k", rapid.IntRange(0, 3).Draw(m.t, "call"))))
		case 2:
			ms = append(ms, Result(id, fmt.Sprint("k", rapid.IntRange(0, 3).Draw(m.t, "answer")), "out"))
		case 3:
			ms = append(ms, Assistant(id, "ok"))
		}
	}
	whole := *first(&m.model, m.model.Len())
	var want error
	for _, msg := range ms {
		if want = whole.Append(msg); want != nil {
			break
		}
	}
	_, err := m.s.Append(m.t.Context(), ms...)
	if (err == nil) != (want == nil) {
		return fmt.Errorf("the session says %w, a transcript says %w", orNone(err), orNone(want))
	}
	if err == nil {
		m.model = whole
	}
	return nil
}

func orNone(err error) error {
	if err == nil {
		return errors.New("yes")
	}
	return err
}

// copy goes on with an import of the session's export.
func (m *machine) copy() error {
	var out bytes.Buffer
	if err := m.s.Export(m.t.Context(), &out); err != nil {
		return err
	}
	_, content, err := session.ReadExport(&out, false)
	if err != nil {
		return err
	}
	done, err := session.Import(m.t.Context(), m.open(), "", content, clock())
	if err != nil {
		return err
	}
	if len(done.Losses) > 0 {
		return fmt.Errorf("losses %v", done.Losses)
	}
	m.s.Close()
	return m.reopen(done.ID)
}

// reopen goes on with another session, or the same one again.
func (m *machine) reopen(id string) error {
	s, err := session.Open(m.t.Context(), m.open(), id, clock())
	if err != nil {
		return err
	}
	m.s = s
	return nil
}

func (m *machine) check() {
	ctx := m.t.Context()
	whole, _, err := m.s.Whole(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	if whole.Len() != m.model.Len() || whole.RangeHash(0, whole.Len()) != m.model.RangeHash(0, whole.Len()) || m.s.Header().Hash != whole.RangeHash(0, whole.Len()) {
		m.t.Fatalf("%d messages are stored, %d were acknowledged", whole.Len(), m.model.Len())
	}
	for i, msg := range m.model.All() {
		if whole.At(i).ID != msg.ID {
			m.t.Fatalf("message %d is %q, want %q", i, whole.At(i).ID, msg.ID)
		}
	}
	r, err := session.Verify(ctx, m.open(), m.s.ID())
	if err != nil || len(r.Findings) > 0 {
		m.t.Fatalf("%v %v", r.Findings, err)
	}
	v, err := session.View(ctx, m.open(), m.s.ID(), nil)
	if err != nil || v.Transcript().Len() != m.model.Len() {
		m.t.Fatalf("view: %v", err)
	}
}
