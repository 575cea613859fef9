package instruction

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forge-agent/forge/internal/workspace"
)

// A file system that hangs costs the run two seconds, not more, and what was
// not read is said (ADR 0037 of the seed: 2 s bound).
func TestTimeBound(t *testing.T) {
	w, err := workspace.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hang := func(f folder, _ *workspace.Workspace, _ string, _ int) ([]byte, int64, error) {
			if f.dir == "slow" {
				<-release
			}
			text := []byte("rules of " + f.dir)
			return text, int64(len(text)), nil
		}
		began := time.Now()
		s, err := load(t.Context(), Options{Base: "base", Project: w, Start: "slow/inner"}, hang)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != DefaultTimeout {
			t.Errorf("it took %v", took)
		}
		if len(s.Losses()) != 2 || len(s.Paths()) != 1 || !strings.Contains(s.Losses()[0].String(), "slow/AGENTS.override.md: not read") {
			t.Errorf("paths %q, losses %v", s.Paths(), s.Losses())
		}
		close(release)
	})
}
