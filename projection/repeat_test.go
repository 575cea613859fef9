package projection_test

import (
	"slices"
	"testing"
	"time"

	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// reads lets an agent without prices read files one after the other: each is
// named by a number, and a pointer stands for what is shown already.
func reads(t *testing.T, files ...int) (*agent, []transcript.Ref) {
	t.Helper()
	a := newAgent(t, projection.Options{Cache: ttlOf(time.Hour)})
	var refs []transcript.Ref
	for _, n := range files {
		o := a.result(1000)
		o.Call, o.Content, o.Effect = hashOf(n/10), hashOf(n), projection.EffectRead // 31 and 32 are states of file 3
		if sameAs, shown := a.scheduler.Shown(o.Content); shown {
			o = o.AsRepeat(sameAs, 40)
		}
		refs = append(refs, o.Ref)
		a.take(o)
		a.ask(0)
	}
	return a, refs
}

// Reading again what was cleared counts, also when the last time it was read a
// pointer stood for it.
func TestRereadBehindAPointer(t *testing.T) {
	a, refs := reads(t, 11, 11, 21, 31, 41, 51)
	if err := a.scheduler.Apply(refs[:1]); err != nil {
		t.Fatal(err)
	}
	o := a.result(1000)
	o.Call, o.Content = hashOf(1), hashOf(11)
	a.take(o)
	if n := a.scheduler.RereadTokens(); n != 1000 {
		t.Errorf("%d tokens were read again", n)
	}
}

// A file that is again as it was is not out of date: what the pointer names is
// its present content, and what came between goes first.
func TestOriginalOfAPointerIsNotStale(t *testing.T) {
	a, refs := reads(t, 11, 12, 11, 21, 31, 41, 51)
	d := a.scheduler.Relieve(projection.Query{FrontTokens: front}, 900)
	if slices.Contains(d.Clear, refs[0]) || !slices.Contains(d.Clear, refs[1]) {
		t.Errorf("%v are cleared, the first of %v is the only copy of the present content", d.Clear, refs)
	}
}
