package compaction_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/formats"
)

// Every session file of the corpus compacts, at its whole length and at half of
// it, into a checkpoint of which every line holds, and each pin is of a message
// that the user or a system message wrote.
func TestCorpusSessionsCompact(t *testing.T) {
	dir := os.Getenv("FORGE_CORPUS")
	if dir == "" {
		t.Skip("FORGE_CORPUS is unset: needs the shared session files")
	}
	c := counter()
	compacted := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		s, err := sessionfile.Open(path, formats.All(), nil)
		if err != nil || s.Transcript.Len() == 0 {
			return nil // not a session
		}
		for _, through := range []int{s.Transcript.Len(), (s.Transcript.Len() + 1) / 2} {
			made, err := compaction.Extractive{}.Compact(context.Background(), compaction.Input{Transcript: s.Transcript, Through: through, Counter: c, Now: day})
			if errors.Is(err, compaction.ErrNoGain) {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", d.Name(), err)
				continue
			}
			compacted++
			for _, f := range compaction.Verify(made, s.Transcript) {
				t.Errorf("%s through %d: %s: %s", d.Name(), through, f.What, f.Text)
			}
			for _, p := range made.Pins {
				at, _ := s.Transcript.Index(p.MessageID)
				if m := s.Transcript.At(at); !m.Authored() && m.Role != message.RoleSystem {
					t.Errorf("%s: a pin is of a %s message", d.Name(), m.Role)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if compacted < 20 {
		t.Errorf("only %d checkpoints were made", compacted)
	}
}
