package sqlitestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sessiontest"
	"github.com/forge-agent/forge/session/sqlitestore"
)

// sound returns the bytes of a small store with one session, and its header.
var sound = sync.OnceValues(func() ([]byte, session.Header) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "forge-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlitestore.Open(ctx, dir, nil)
	if err != nil {
		panic(err)
	}
	s, err := session.Create(ctx, store, "d", session.Info{Title: "damage"}, nil)
	if err != nil {
		panic(err)
	}
	for i := range 12 {
		ms := []message.Message{sessiontest.User(fmt.Sprint("u", i), strings.Repeat("word ", 40*i)), sessiontest.Call(fmt.Sprint("c", i), "k"), sessiontest.Result(fmt.Sprint("r", i), "k", "out")}
		if _, err := s.Append(ctx, ms...); err != nil {
			panic(err)
		}
	}
	if err := s.AddCheckpoint(ctx, sessiontest.Checkpoint(fatal{}, s, 20), map[string][]byte{"claims": []byte("{}")}); err != nil {
		panic(err)
	}
	h := s.Header()
	if err := errors.Join(s.Close(), store.Close()); err != nil {
		panic(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, sqlitestore.FileName))
	if err != nil {
		panic(err)
	}
	return data, h
})

// tryDamaged opens a damaged store and does everything with it. What it gives
// out without an error must be what was stored.
func tryDamaged(t *testing.T, dir string, data []byte) (outcome string) {
	t.Helper()
	_, want := sound()
	for _, name := range []string{"", "-wal", "-shm"} {
		os.Remove(filepath.Join(dir, sqlitestore.FileName+name))
	}
	if err := os.WriteFile(filepath.Join(dir, sqlitestore.FileName), data, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	store, err := sqlitestore.Open(ctx, dir, nil)
	if err != nil {
		return "no store"
	}
	defer store.Close()
	for range store.List(ctx, "") {
		continue
	}
	report, err := session.Verify(ctx, store, "d")
	sure := err == nil && len(report.Findings) == 0
	if sure && report.Messages != want.Messages {
		t.Fatalf("verified with %d of %d messages", report.Messages, want.Messages)
	}
	outcome = "named"
	if v, err := session.View(ctx, store, "d", nil); err == nil {
		whole, _, err := v.Whole(ctx)
		if err == nil && (whole.Len() != want.Messages || whole.RangeHash(0, whole.Len()) != want.Hash) {
			t.Fatalf("read %d messages with another hash, and no error", whole.Len())
		}
		for range v.Search(ctx, "word") {
			continue
		}
		if err == nil && sure {
			outcome = "whole"
		}
	}
	if s, err := session.Salvage(ctx, store, "d"); err == nil {
		var out bytes.Buffer
		failed := s.Export(ctx, &out)
		_, content, err := session.ReadExport(&out, true)
		if err == nil {
			n := 0
			for _, err := range content.Messages {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n < want.Messages && failed == nil {
				t.Fatalf("an export holds %d of %d messages, and no error", n, want.Messages)
			}
		}
	}
	if s, err := session.Open(ctx, store, "d", nil); err == nil {
		_, _ = s.Append(ctx, sessiontest.Assistant("new", "x")) // an error or not: no panic
		s.Close()
	}
	return outcome
}

// Must reach 4: bit flips and cuts anywhere in the file give a clear error or
// what was stored, never a panic and never a silent gap.
func TestDamagedFiles(t *testing.T) {
	data, _ := sound()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 3))
	outcomes := map[string]int{}
	dir := t.TempDir()
	for range soak(60, 5000) {
		bad := bytes.Clone(data)
		switch r.IntN(3) {
		case 0:
			bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		case 1:
			for range 1 + r.IntN(40) {
				bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
			}
		case 2:
			bad = bad[:r.IntN(len(bad))]
		}
		outcomes[tryDamaged(t, dir, bad)]++
	}
	t.Logf("seed %d: %v", seed, outcomes)
	if outcomes["named"]+outcomes["no store"] == 0 {
		t.Error("no damage was noticed")
	}
	if got := tryDamaged(t, dir, data); got != "whole" {
		t.Errorf("the sound file is %s", got)
	}
}

func FuzzDamagedFile(f *testing.F) {
	f.Add(uint32(100), byte(1), uint32(0))
	f.Add(uint32(9000), byte(255), uint32(0))
	f.Add(uint32(0), byte(0), uint32(4096))
	f.Fuzz(func(t *testing.T, at uint32, flip byte, cut uint32) {
		data, _ := sound()
		bad := bytes.Clone(data)
		bad[int(at)%len(bad)] ^= flip
		bad = bad[:len(bad)-int(cut)%len(bad)]
		tryDamaged(t, t.TempDir(), bad)
	})
}
