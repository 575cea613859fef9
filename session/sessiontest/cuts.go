package sessiontest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/transcript"
)

// B14, B31, P-CHN-02, P-CHN-04: forks and truncations keep each checkpoint
// that still has its range; what was cut off is kept aside.
func cuts(t *testing.T, o Opener) {
	s := create(t, o.Open(t), "cut")
	for i := range 8 {
		appendAll(t, s, User(fmt.Sprint("u", i), "x"), Assistant(fmt.Sprint("a", i), "y"))
		if i == 3 || i == 6 {
			if err := s.AddCheckpoint(t.Context(), Checkpoint(t, s, 2*i-1), map[string][]byte{"claims": []byte("1")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	first, second := 5, 11 // what the checkpoints cover
	for n := 0; n <= 16; n++ {
		id, dropped, err := s.Fork(t.Context(), fmt.Sprint("fork-", n), n)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, through := range []int{first, second} {
			if n >= through {
				want++
			}
		}
		r := verify(t, o.Open(t), id)
		f, err := session.View(t.Context(), o.Open(t), id, nil)
		if err != nil {
			t.Fatal(err)
		}
		active := f.Chain().Active(f.Transcript())
		if r.Checkpoints != want || len(dropped) != 2-want || (active != nil) != (want > 0) || r.Messages != n {
			t.Errorf("fork at %d: %d checkpoints, %d dropped, active %v, %d messages", n, r.Checkpoints, len(dropped), active != nil, r.Messages)
		}
		if f.Header().Info.Parent != "cut" || f.Header().Info.ForkedAt != n {
			t.Errorf("fork at %d: %+v", n, f.Header().Info)
		}
	}
	if _, _, err := s.Fork(t.Context(), "fork-3", 3); err == nil {
		t.Error("a fork took a taken id")
	}
	if _, _, err := s.Fork(t.Context(), "", 17); err == nil {
		t.Error("a fork beyond the end")
	}
	if _, err := s.Truncate(t.Context(), 12); err != nil {
		t.Fatal(err)
	}
	if s.Transcript().Len() != 12 || s.State("claims") != nil || s.Chain().Active(s.Transcript()) == nil {
		t.Errorf("%d messages, state %q", s.Transcript().Len(), s.State("claims"))
	}
	appendAll(t, s, User("u6", "again"))
	if dropped, err := s.Truncate(t.Context(), 7); err != nil || len(dropped) != 1 {
		t.Errorf("dropped %v: %v", dropped, err)
	}
	s = reopen(t, o, s)
	if r := verify(t, o.Open(t), "cut"); r.Messages != 7 || r.Checkpoints != 1 {
		t.Errorf("%+v", r)
	}
	removed := map[int]int{}
	for r, err := range s.Removed(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Row != nil {
			removed[r.Removal]++
		}
	}
	if diff := cmp.Diff(map[int]int{1: 4, 2: 6}, removed); diff != "" {
		t.Errorf("messages kept aside:\n%s", diff)
	}
}

// An export holds everything and reads back to the same hashes; exporting
// that again gives the same lines.
func exports(t *testing.T, o Opener) {
	s := create(t, o.Open(t), "ex")
	odd := Assistant("odd", "<b> & \u2028 text")
	odd.Blocks = append(odd.Blocks, message.Reasoning{Text: "why", Provider: "p", Opaque: []byte(`{ "a": "<x>" }`)}, message.Image{MediaType: "image/png", Data: []byte{0, 1, 255}})
	odd.Time = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	appendAll(t, s, User("u", "bytes \xff\x00"), odd, Call("c", "x"), Result("r", "x", "out"))
	if _, err := s.Finish(t.Context(), session.Cancelled); err != nil {
		t.Fatal(err)
	}
	if err := s.AddCheckpoint(t.Context(), Checkpoint(t, s, 2), map[string][]byte{"claims": []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddRequest(t.Context(), session.Request{At: 1, End: 2, Model: "m"}); err != nil {
		t.Fatal(err)
	}
	var out, again bytes.Buffer
	if err := s.Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	id, content, err := session.ReadExport(bytes.NewReader(out.Bytes()), false)
	if err != nil || id != "ex" {
		t.Fatalf("%q, %v", id, err)
	}
	s.Close()
	if _, err := session.Import(t.Context(), o.Open(t), id, content, nil); !errors.Is(err, session.ErrExists) {
		t.Fatalf("import over it: %v", err)
	}
	if id, content, err = session.ReadExport(bytes.NewReader(out.Bytes()), false); err != nil {
		t.Fatal(id, err)
	}
	done, err := session.Import(t.Context(), o.Open(t), "ex2", content, nil)
	if err != nil || done.Messages != 4 || done.Checkpoints != 1 || len(done.Losses) != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	verify(t, o.Open(t), "ex2")
	copied, err := session.View(t.Context(), o.Open(t), "ex2", nil)
	if err != nil {
		t.Fatal(err)
	}
	if copied.Header().Hash != s.Header().Hash {
		t.Error("the copy has another hash")
	}
	if err := copied.Export(t.Context(), &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Replace(out.String(), `"id":"ex"`, `"id":"ex2"`, 1), again.String()); diff != "" {
		t.Errorf("exports differ:\n%s", diff)
	}
}

func search(t *testing.T, o Opener) {
	s := create(t, o.Open(t), "find")
	appendAll(t, s, User("u", "Look at README.md, naïve ÄPFEL"), Assistant("a", "数据库连接失败 in pool"), Call("c", "x"), Result("r", "x", "exit status 137: out of MEMORY"))
	want := func(query string, ids ...string) {
		t.Helper()
		var got []string
		for e, err := range s.Search(t.Context(), query) {
			if err != nil {
				t.Fatal(query, err)
			}
			got = append(got, e.Message.ID)
		}
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Errorf("search %q:\n%s", query, diff)
		}
	}
	want("readme.md", "u")
	want("äpfel", "u")
	want("apfel")
	want("连接", "a")
	want("接连")
	want("memory 137", "r")
	want("memory pool")
	want(`"status*`, "r")
	appendAll(t, s, User("u2", "memory again"))
	want("memory", "u2", "r")
	if _, err := s.Truncate(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	want("memory", "r")
	appendAll(t, s, User("u3", "memory once more"))
	want("memory", "u3", "r")
	if e, err := s.Message(t.Context(), "a"); err != nil || e.Index != 1 {
		t.Errorf("by reference: %v, %v", e.Index, err)
	}
	if _, err := s.Message(t.Context(), "nobody"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("unknown reference: %v", err)
	}
	for _, err := range s.Search(t.Context(), "...") {
		if err == nil {
			t.Error("a query without words found something")
		}
	}
}

// Must reach 3: the work of opening and appending does not grow with what the
// active checkpoint stands for.
func openingIsFlat(t *testing.T, o Opener) {
	costs := map[int]session.Cost{}
	for _, n := range []int{40, 400} {
		s := create(t, o.Open(t), fmt.Sprint("flat-", n))
		var ms []message.Message
		for i := range n {
			ms = append(ms, User(fmt.Sprintf("u%06d", i), "question"), Assistant(fmt.Sprintf("a%06d", i), "answer"))
		}
		if _, err := s.Append(t.Context(), ms...); err != nil {
			t.Fatal(err)
		}
		if err := s.AddCheckpoint(t.Context(), Checkpoint(t, s, 2*n-10), nil); err != nil {
			t.Fatal(err)
		}
		s = reopen(t, o, s)
		if _, err := s.Append(t.Context(), User("next", "question")); err != nil {
			t.Fatal(err)
		}
		costs[n] = s.Cost()
	}
	if costs[40] != costs[400] {
		t.Errorf("opening 80 messages costs %+v, 800 %+v", costs[40], costs[400])
	}
}

// A call that waits before the active checkpoint can still be answered, and
// its id is not taken twice.
func lateResults(t *testing.T, o Opener) {
	s := create(t, o.Open(t), "late")
	appendAll(t, s, User("u", "x"), Call("c1", "k1"), Call("c2", "k2"), User("u2", "y"), Assistant("a", "z"))
	if err := s.AddCheckpoint(t.Context(), Checkpoint(t, s, 4), nil); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, o, s)
	if s.Transcript().Base() != 4 {
		t.Fatalf("base %d", s.Transcript().Base())
	}
	if _, err := s.Append(t.Context(), Call("c3", "k1")); !errors.Is(err, transcript.ErrDuplicateCall) {
		t.Errorf("a call under a waiting id: %v", err)
	}
	appendAll(t, s, Result("r1", "k1", "late"))
	if _, err := s.Append(t.Context(), Result("r2", "k1", "twice")); !errors.Is(err, transcript.ErrOrphanResult) {
		t.Errorf("a second result: %v", err)
	}
	if _, err := s.Append(t.Context(), User("u", "old id")); !errors.Is(err, transcript.ErrDuplicateID) {
		t.Errorf("an id that is taken before the checkpoint: %v", err)
	}
	appendAll(t, s, Call("c3", "k1"))
	s = reopen(t, o, s)
	if got := s.Transcript().Pending(); len(got) != 2 || got[0].ID != "k2" || got[1].ID != "k1" {
		t.Errorf("pending %v", got)
	}
	verify(t, o.Open(t), "late")
	if _, err := s.Truncate(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if got := s.Transcript().Pending(); len(got) != 2 || got[0].ID != "k1" {
		t.Errorf("after the result was cut off: pending %v", got)
	}
	verify(t, o.Open(t), "late")
}

func clockJumpsBack(t *testing.T, o Opener) {
	at := time.Date(2026, 5, 5, 0, 0, 0, 0, time.UTC)
	opts := &session.Options{Now: func() time.Time { at = at.Add(-time.Hour); return at }}
	s, err := session.Create(t.Context(), o.Open(t), "clock", session.Info{}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for i := range 5 {
		before := s.Header().Info.UpdatedAt
		appendAll(t, s, User(fmt.Sprint("u", i), "x"))
		if s.Header().Info.UpdatedAt.Before(before) {
			t.Fatal("UpdatedAt went back")
		}
	}
	verify(t, o.Open(t), "clock")
}
