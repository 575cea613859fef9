package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sessiontest"
	"github.com/forge-agent/forge/session/sqlitestore"
	"github.com/forge-agent/forge/tokencount"
)

// bytesCounter counts a token for four bytes.
type bytesCounter struct{}

func (bytesCounter) Count(text string) int { return (len(text) + 3) / 4 }
func (bytesCounter) Name() string          { return "bytes" }

// fillStore stores a session of n messages of 5,000 bytes whose active view is
// 60 messages, in batches.
func fillStore(t *testing.T, dir string, n int) {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s, err := session.Create(t.Context(), store, "flat", session.Info{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text := strings.Repeat("some words of a message, ", 200)
	for from := 0; from < n; from += 500 {
		var ms []message.Message
		for i := from; i < min(from+500, n); i += 2 {
			ms = append(ms, sessiontest.User(fmt.Sprintf("u%07d", i), text), sessiontest.Assistant(fmt.Sprintf("a%07d", i), text))
		}
		if _, err := s.Append(t.Context(), ms...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AddCheckpoint(t.Context(), sessiontest.Checkpoint(t, s, n-60), nil); err != nil {
		t.Fatal(err)
	}
}

// measured is what opening and appending took.
type measured struct {
	open, first, add []time.Duration
	cost             session.Cost
	visited          int
}

func (m *measured) String() string {
	text := ""
	for _, part := range []struct {
		name string
		list []time.Duration
	}{{"open", m.open}, {"open to first request", m.first}, {"append", m.add}} {
		slices.Sort(part.list)
		n := len(part.list)
		text += fmt.Sprintf("%s: median %v, p99 %v; ", part.name, part.list[n/2].Round(time.Microsecond), part.list[n*99/100].Round(time.Microsecond))
	}
	return text + fmt.Sprintf("rows %d, records %d, hashed %d bytes, %d items visited", m.cost.Rows, m.cost.Records, m.cost.HashedBytes, m.visited)
}

func measure(t *testing.T, dir string, rounds int) *measured {
	t.Helper()
	m := &measured{}
	store, err := sqlitestore.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for round := range rounds {
		start := time.Now()
		s, err := session.Open(t.Context(), store, "flat", nil)
		if err != nil {
			t.Fatal(err)
		}
		m.open = append(m.open, time.Since(start))
		m.cost = s.Cost()
		v := activeview.New(tokencount.New(bytesCounter{}, tokencount.Profile{Family: "test"}))
		m.visited = firstRequest(t, v, s)
		m.first = append(m.first, time.Since(start))
		start = time.Now()
		if _, err := s.Append(t.Context(), sessiontest.User(fmt.Sprint("extra", round), "a line")); err != nil {
			t.Fatal(err)
		}
		m.add = append(m.add, time.Since(start))
		s.Close()
	}
	return m
}

// firstRequest derives the view of the next request: the checkpoint and what
// is held after it.
func firstRequest(t *testing.T, v *activeview.View, s *session.Session) int {
	t.Helper()
	tr := s.Transcript()
	v.Extend(tr)
	active := s.Chain().Active(tr)
	err := v.Install(tr, activeview.Retention{Through: active.SummarizedThroughMessageIndex, Memory: []message.Message{{
		Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{message.Text{Text: active.Summary}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Messages()) != tr.Len()-tr.Base()+1 || v.Breakdown().Total() == 0 {
		t.Fatalf("the view holds %d messages", len(v.Messages()))
	}
	return v.Visited()
}

// Must reach 3, F-TST-17: with the same active view, opening a session and
// appending to it read the same rows and hash the same bytes whatever its
// length. 100,000 messages and 500 MB in a soak, where the times are printed.
func TestFlat(t *testing.T) {
	sizes := []int{200, soak(2000, 100_000)}
	if os.Getenv("FORGE_SOAK") != "" {
		sizes[0] = 1000
	}
	var got []*measured
	for _, n := range sizes {
		dir := t.TempDir()
		fillStore(t, dir, n)
		info, err := os.Stat(filepath.Join(dir, sqlitestore.FileName))
		if err != nil {
			t.Fatal(err)
		}
		m := measure(t, dir, soak(3, 100))
		t.Logf("%d messages, %d MB: %v", n, info.Size()>>20, m)
		got = append(got, m)
	}
	if got[0].cost != got[1].cost || got[0].visited != got[1].visited {
		t.Errorf("%d messages cost %+v, %d cost %+v", sizes[0], got[0].cost, sizes[1], got[1].cost)
	}
}
