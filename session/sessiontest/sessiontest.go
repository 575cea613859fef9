// Package sessiontest is the suite that every session.Store passes. A store's
// own tests call Run; what only one store can do is tested beside it.
package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/transcript"
)

// Opener opens a handle on one and the same store; each call is like another
// process. The suite closes what it opens.
type Opener func(t testing.TB) session.Store

// Run runs the suite. fresh makes an empty store and returns how to open it.
func Run(t *testing.T, fresh func(t testing.TB) Opener) {
	for name, test := range map[string]func(*testing.T, Opener){
		"Lifecycle": lifecycle, "Refusals": refusals, "OneWriter": oneWriter, "Conflict": conflict,
		"AllOrNothing": allOrNothing, "CheckpointAndStates": checkpointAndStates, "CutsKeepCheckpoints": cuts,
		"Exports": exports, "Search": search, "OpeningIsFlat": openingIsFlat, "LateResults": lateResults,
		"ClockJumpsBack": clockJumpsBack, "RandomWork": randomWork, "DamageIsNamed": damageIsNamed,
	} {
		t.Run(name, func(t *testing.T) { test(t, fresh(t)) })
	}
}

// Open opens a handle and closes it with the test.
func (o Opener) Open(t testing.TB) session.Store {
	t.Helper()
	s := o(t)
	t.Cleanup(func() { s.Close() })
	return s
}

// User and Assistant make plain messages, Call and Result a pair.
func User(id, text string) message.Message {
	return message.Message{ID: id, Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: text}}}
}

// Assistant makes an answer.
func Assistant(id, text string) message.Message {
	return message.Message{ID: id, Role: message.RoleAssistant, Model: "test-1", Blocks: []message.Block{message.Text{Text: text}}}
}

// Call makes a message with a tool call.
func Call(id, call string) message.Message {
	return message.Message{ID: id, Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: call, Name: "run", Arguments: "{}"}}}
}

// Result makes the answer to a call.
func Result(id, call, text string) message.Message {
	return message.Message{ID: id, Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: call, Content: []message.Block{message.Text{Text: text}}}}}
}

// Checkpoint makes the next checkpoint of a session, over its first messages.
func Checkpoint(t interface{ Fatal(...any) }, s *session.Session, through int) *checkpoint.Checkpoint {
	tr := s.Transcript()
	parent, generation := s.Chain().Next()
	c, err := checkpoint.New(checkpoint.Checkpoint{
		Parent: parent, Generation: generation, Strategy: checkpoint.ForgeSummary, Method: checkpoint.MethodExtractive,
		SummarizedThroughMessageIndex: through, RetainedTailStartIndex: through, SourceMessageCount: tr.Len(),
		SourceHash: tr.RangeHash(0, through), RetainedTailHash: tr.RangeHash(through, tr.Len()),
		Anchors: checkpoint.AnchorsOf(tr, through, tr.Len()), Summary: fmt.Sprintf("%d messages, <&> more", through),
	}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(t testing.TB, store session.Store, id string) *session.Session {
	t.Helper()
	s, err := session.Create(t.Context(), store, id, session.Info{Workspace: "w"}, clock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// clock gives options with a clock that steps a second with each look.
func clock() *session.Options {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &session.Options{Now: func() time.Time { at = at.Add(time.Second); return at }}
}

func appendAll(t testing.TB, s *session.Session, ms ...message.Message) {
	t.Helper()
	for _, m := range ms {
		if _, err := s.Append(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
}

func reopen(t testing.TB, o Opener, s *session.Session) *session.Session {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := session.Open(t.Context(), o.Open(t), s.ID(), clock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	return again
}

func verify(t testing.TB, store session.Store, id string) session.Report {
	t.Helper()
	r, err := session.Verify(context.Background(), store, id)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) > 0 {
		t.Fatalf("session %s: %v", id, r.Findings)
	}
	return r
}

// F-CKP-01, F-E2E-06, resolution C16, B20, weak spot 15: every admitted message is there
// after a restart, whatever became of its turn, and uncompleted turns are
// known.
func lifecycle(t *testing.T, o Opener) {
	s := create(t, o.Open(t), "life")
	appendAll(t, s, User("u1", "hello\x00 \xff there"), Assistant("a1", "hi"))
	if n, err := s.Finish(t.Context(), session.Completed); err != nil || n != 2 {
		t.Fatalf("Finish: %d, %v", n, err)
	}
	appendAll(t, s, User("u2", "do it"))
	if _, err := s.Finish(t.Context(), session.Failed); err != nil {
		t.Fatal(err)
	}
	appendAll(t, s, User("u2b", "again"), Call("c1", "x"))
	whole := s.Header()
	s = reopen(t, o, s)
	if diff := cmp.Diff(whole, s.Header()); diff != "" {
		t.Errorf("header (-before +after):\n%s", diff)
	}
	var statuses []session.Status
	for i := range s.Transcript().Len() {
		statuses = append(statuses, s.Status(i))
	}
	if diff := cmp.Diff([]session.Status{session.Completed, session.Completed, session.Failed, session.Admitted, session.Admitted}, statuses); diff != "" {
		t.Error(diff)
	}
	if got := s.Transcript().At(0); got.Text() != "hello\x00 \xff there" {
		t.Errorf("the text came back as %q", got.Text())
	}
	appendAll(t, s, Result("r1", "x", "done"), Assistant("a2", "ok"), User("u3", "next"))
	if diff := cmp.Diff([]int{2, 3, 4, 5, 6}, slices.Collect(iter.Seq[int](s.Uncompleted))); diff != "" {
		t.Error(diff)
	}
	if err := s.AddRequest(t.Context(), session.Request{At: 1, End: 2, Usage: &session.Usage{InputTokens: 7}}); err != nil {
		t.Fatal(err)
	}
	requests, err := s.Requests(t.Context())
	if err != nil || len(requests) != 1 || requests[0].Usage.InputTokens != 7 {
		t.Errorf("requests %v, %v", requests, err)
	}
	if s.Header().Info.Title != "hello\x00 � there" && s.Header().Info.Title == "" {
		t.Errorf("title %q", s.Header().Info.Title)
	}
	verify(t, o.Open(t), s.ID())
	if id, err := session.Find(t.Context(), o.Open(t), "li"); err != nil || id != "life" {
		t.Errorf("Find by prefix: %q, %v", id, err)
	}
}

func refusals(t *testing.T, o Opener) {
	store := o.Open(t)
	s := create(t, store, "ab-1")
	appendAll(t, s, User("u", "x"))
	before := s.Header()
	for name, c := range map[string]struct {
		ms   []message.Message
		want error
	}{
		"invalid":       {[]message.Message{{ID: "n", Role: message.RoleUser}}, transcript.ErrInvalidMessage},
		"orphan":        {[]message.Message{Result("r", "nobody", "")}, transcript.ErrOrphanResult},
		"second of two": {[]message.Message{Assistant("a", "x"), Assistant("a", "y")}, transcript.ErrDuplicateID},
		"taken id":      {[]message.Message{User("u", "other")}, transcript.ErrDuplicateID},
	} {
		if _, err := s.Append(t.Context(), c.ms...); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if diff := cmp.Diff(before, s.Header()); diff != "" {
		t.Errorf("a refused message changed the session:\n%s", diff)
	}
	if _, err := s.Append(t.Context(), User("u", "x")); err != nil || s.Header().Messages != 1 {
		t.Errorf("the last message again: %v, %d messages", err, s.Header().Messages)
	}
	if _, err := session.Create(t.Context(), store, "ab-1", session.Info{}, nil); !errors.Is(err, session.ErrLocked) {
		t.Errorf("create while it is open: %v", err)
	}
	s.Close()
	if _, err := s.Append(t.Context(), Assistant("a", "x")); !errors.Is(err, session.ErrReadOnly) {
		t.Errorf("append after Close: %v", err)
	}
	if _, err := session.Create(t.Context(), store, "ab-1", session.Info{}, nil); !errors.Is(err, session.ErrExists) {
		t.Errorf("create again: %v", err)
	}
	create(t, store, "ab-2")
	if _, err := session.Find(t.Context(), store, "ab"); !errors.Is(err, session.ErrAmbiguous) {
		t.Errorf("ambiguous prefix: %v", err)
	}
	for _, id := range []string{"zz", "ab-", "../x", "a%", ""} {
		if _, err := session.View(t.Context(), store, id, nil); err == nil {
			t.Errorf("session %q was opened", id)
		}
	}
	if _, err := session.View(t.Context(), store, "zz", nil); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("unknown session: %v", err)
	}
	if _, err := session.Create(t.Context(), store, "a/b", session.Info{}, nil); err == nil {
		t.Error("an id with a slash was taken")
	}
}

// Must reach 2: the second writer is refused, whoever it is; readers are not.
func oneWriter(t *testing.T, o Opener) {
	s := create(t, o.Open(t), "one")
	appendAll(t, s, User("u", "x"))
	for range 3 {
		other := o.Open(t)
		if _, err := session.Open(t.Context(), other, "one", nil); !errors.Is(err, session.ErrLocked) {
			t.Fatalf("second writer: %v", err)
		}
		v, err := session.View(t.Context(), other, "one", nil)
		if err != nil || v.Transcript().Len() != 1 {
			t.Fatalf("reader: %v", err)
		}
		if _, err := v.Append(t.Context(), Assistant("a", "x")); !errors.Is(err, session.ErrReadOnly) {
			t.Fatalf("a reader writes: %v", err)
		}
	}
	create(t, o.Open(t), "another") // another session is another lock
	s = reopen(t, o, s)
	appendAll(t, s, Assistant("a", "y"))
}

// B13: a change that is based on an old state is refused, so that no message
// can be lost or doubled even without the lock.
func conflict(t *testing.T, o Opener) {
	store := o.Open(t)
	s := create(t, store, "c")
	appendAll(t, s, User("u", "x"))
	h := s.Header()
	s.Close()
	w, err := store.Acquire(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, version := range []int64{h.Version - 1, h.Version + 1, 99} {
		if err := w.Apply(t.Context(), session.Change{Version: version, Info: h.Info}); !errors.Is(err, session.ErrConflict) {
			t.Errorf("change at version %d of %d: %v", version, h.Version, err)
		}
	}
	if err := w.Apply(t.Context(), session.Change{Info: h.Info}); !errors.Is(err, session.ErrExists) {
		t.Errorf("a new session under a taken id: %v", err)
	}
	if err := w.Apply(t.Context(), session.Change{Version: h.Version, Info: h.Info, Truncate: &session.Truncation{Messages: 1}}); !errors.Is(err, session.ErrConflict) {
		t.Errorf("truncation at another hash: %v", err)
	}
	if got, err := store.Header(t.Context(), "c"); err != nil || got.Version != h.Version {
		t.Errorf("a refused change was counted: %d, %v", got.Version, err)
	}
}

// F-CKP-06: an error in the middle undoes all.
func allOrNothing(t *testing.T, o Opener) {
	store := o.Open(t)
	s := create(t, store, "atom")
	appendAll(t, s, User("u", "x"))
	h := s.Header()
	s.Close()
	w, err := store.Acquire(t.Context(), "atom")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	boom := errors.New("boom")
	rows := func(yield func(session.Row, error) bool) {
		_ = yield(session.Row{Index: 1, ID: "n", Status: session.Admitted, Body: []byte("x")}, nil) && yield(session.Row{}, boom)
	}
	rec, err := session.NewRecord(session.KindLoss, 1, session.Loss{What: "x"})
	if err != nil {
		t.Fatal(err)
	}
	c := session.Change{Version: h.Version, Info: session.Info{Title: "changed"}, Rows: rows, Records: []session.Record{rec}, States: map[string][]byte{"a": []byte("b")}}
	if err := w.Apply(t.Context(), c); !errors.Is(err, boom) {
		t.Fatalf("Apply: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Apply(ctx, session.Change{Version: h.Version, Info: session.Info{Title: "changed"}}); err == nil {
		t.Error("a cancelled change went through")
	}
	if got, err := store.Header(t.Context(), "atom"); err != nil || !cmp.Equal(got, h) {
		t.Errorf("half a change: %s %v", cmp.Diff(h, got), err)
	}
	v, err := session.View(t.Context(), store, "atom", nil)
	if err != nil || v.State("a") != nil {
		t.Errorf("%v", err)
	}
	verify(t, store, "atom")
}

// F-CKP-06, F-CKP-08, B6, B34, P-CHN-01: checkpoint and states are stored in
// one step and are there after a restart.
func checkpointAndStates(t *testing.T, o Opener) {
	s := create(t, o.Open(t), "ck")
	for i := range 6 {
		appendAll(t, s, User(fmt.Sprint("u", i), "x"), Assistant(fmt.Sprint("a", i), "y"))
	}
	c := Checkpoint(t, s, 8)
	if err := s.AddCheckpoint(t.Context(), c, map[string][]byte{"claims": []byte(`{"first":true}`)}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddCheckpoint(t.Context(), c, nil); err != nil || s.Header().Checkpoints != 1 {
		t.Errorf("the same checkpoint again: %v, %d", err, s.Header().Checkpoints)
	}
	bad := *c
	bad.ID, bad.Summary = "ckpt-0", "another"
	if err := s.AddCheckpoint(t.Context(), &bad, nil); err == nil {
		t.Error("a checkpoint with a wrong id was stored")
	}
	s = reopen(t, o, s)
	if s.Transcript().Base() != 8 || s.Transcript().Len() != 12 || s.Chain().Active(s.Transcript()).ID != c.ID {
		t.Errorf("base %d of %d", s.Transcript().Base(), s.Transcript().Len())
	}
	if string(s.State("claims")) != `{"first":true}` {
		t.Errorf("state %q", s.State("claims"))
	}
	appendAll(t, s, User("u9", "z"), Assistant("a9", "w"))
	second := Checkpoint(t, s, 12)
	if err := s.AddCheckpoint(t.Context(), second, map[string][]byte{"claims": nil}); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, o, s)
	if s.Transcript().Base() != 12 || s.State("claims") != nil || second.Generation != 2 {
		t.Errorf("base %d, state %q", s.Transcript().Base(), s.State("claims"))
	}
	if r := verify(t, o.Open(t), "ck"); r.Checkpoints != 2 || r.Messages != 14 {
		t.Errorf("%+v", r)
	}
	users, err := s.RetainedUsers(t.Context(), 1<<20)
	if err != nil || len(users) != 6 || users[0].Message.ID != "u5" {
		t.Errorf("%d users: %v", len(users), err)
	}
}
