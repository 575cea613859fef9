package checkpoint_test

import (
	"errors"
	"testing"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/transcript"
)

// Issue, library use: bad arguments are errors, never panics.
func TestBadArguments(t *testing.T) {
	var empty transcript.Transcript
	var chain checkpoint.Chain
	if err := chain.Add(nil, &empty); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("add nil: %v", err)
	}
	if _, err := checkpoint.Load([]*checkpoint.Checkpoint{nil}); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("load nil: %v", err)
	}
	for _, r := range [][2]int{{0, 0}, {-1, 4}, {5, 9}, {3, 2}} {
		if a := checkpoint.AnchorsOf(&empty, r[0], r[1]); a != (checkpoint.Anchors{}) {
			t.Errorf("anchors of %v: %v", r, a)
		}
	}
}
