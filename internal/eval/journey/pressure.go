package journey

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/forge-agent/forge/internal/scripted"
)

func (s *stage) exists(name string) bool {
	_, err := os.Lstat(s.work(name))
	return err == nil
}

// toolPressure: one run reads the same pieces of a large file again and again.
// Where the mode compact can make room it goes on, and where not it stops
// (F-E2E-05).
func toolPressure(ctx context.Context, s *stage) error {
	const rounds, pieces, lines = 9, 7, 60
	p, err := newPlan(5)
	if err != nil {
		return err
	}
	if err := s.write("data/rows.txt", p.document("Rows", pieces*lines)); err != nil {
		return err
	}
	rule := seed{"The sum goes into out/sum.txt and nowhere else.", []string{"sum", "out/sum.txt"}}
	s.seeds = append(s.seeds, rule)
	var replies []func(scripted.Request) scripted.Reply
	for range rounds {
		for i := range pieces {
			replies = append(replies, calls("read_file", map[string]any{"path": "data/rows.txt", "start_line": 1 + i*lines, "line_count": lines}))
		}
	}
	write := followsRule(rule, "out/sum.txt", "SUM.txt")
	replies = append(replies, write, write)
	r, err := s.turn(ctx, rule.text+"\nRead data/rows.txt piece by piece, over and over, until you know its sum.", steps(replies...))
	if err != nil {
		return err
	}
	s.passed(map[string]bool{
		"the run completes, or stops at a limit": r.code == 0 || r.code == 3 && r.result.Limit != "",
		"what is written is where it should be":  s.read("SUM.txt") == "" && (r.code != 0 || s.read("out/sum.txt") == report),
	})
	return nil
}

// effect is a command that leaves a trace each time it runs.
func effect(word string) func(scripted.Request) scripted.Reply {
	return runs("sh", "effect.sh", word)
}

// effects prepares for effect.
func (s *stage) effects() error {
	if err := s.write("effect.sh", "echo \"$1\" >> effects.log\n"); err != nil {
		return err
	}
	return s.configure(`{"version": 1, "policy": {"grants": [{"command": ["sh", "effect.sh"]}]}}`)
}

// repeated counts the effects that happened more than once.
func (s *stage) repeated() int {
	seen, n := map[string]bool{}, 0
	for line := range strings.Lines(s.read("effects.log")) {
		if seen[line] {
			n++
		}
		seen[line] = true
	}
	return n
}

// recovery: the program is killed in a run, interrupted in another, and meets
// a fault of the provider in a third; each time the session that was stored is
// there, and nothing happens twice (F-E2E-06).
func recovery(ctx context.Context, s *stage) error {
	p, err := newPlan(6)
	if err != nil {
		return err
	}
	if err := s.documents(p, 22, 60); err != nil {
		return err
	}
	if err := s.effects(); err != nil {
		return err
	}
	if err := s.talkAbout(ctx, p, 1, 12, 10); err != nil {
		return err
	}
	checks := map[string]bool{}
	killed, err := s.stopped(ctx, "Do the step alder.", "alder", syscall.SIGKILL)
	if err != nil {
		return err
	}
	checks["a killed program says nothing"] = killed.result.Status == ""
	if err := s.talkAbout(ctx, p, 13, 17, 4); err != nil {
		return err
	}
	interrupted, err := s.stopped(ctx, "Do the step birch.", "birch", syscall.SIGINT)
	if err != nil {
		return err
	}
	checks["an interrupted program ends with 130"] = interrupted.code == 130
	failed, err := s.turn(ctx, "Do the step cedar.", steps(effect("cedar"), fails(scripted.Unauthorized)))
	if err != nil {
		return err
	}
	checks["a fault of the provider ends with 1"] = failed.code == 1
	if err := s.talkAbout(ctx, p, 18, 22, 0); err != nil {
		return err
	}
	r, err := s.turn(ctx, "Say what is done.", says("The steps are done."))
	if err != nil {
		return err
	}
	checks["the last run completes"] = r.code == 0
	checks["each step was done"] = len(strings.Fields(s.read("effects.log"))) == 3
	s.journey.Duplicates += s.repeated()
	s.passed(checks)
	return nil
}

// stopped plays a turn in which the provider falls silent after an effect, and
// then sends the program a signal.
func (s *stage) stopped(ctx context.Context, prompt, word string, signal os.Signal) (*run, error) {
	silent := make(chan struct{})
	hangs := func(scripted.Request) scripted.Reply {
		close(silent)
		return scripted.Reply{Fault: scripted.Hang}
	}
	return s.interrupted(ctx, prompt, steps(effect(word), hangs, says("It is done.")), func(program *os.Process, ended <-chan struct{}) {
		select {
		case <-silent:
		case <-ended:
			s.journey.Problems = append(s.journey.Problems, "the program ended before it could be stopped")
		}
		_ = program.Signal(signal) // it may have ended
	})
}

// overflowRetry: the provider refuses one request as too long, although it is
// within the budget; what is sent again holds the request of the user once, and
// what was done before is not done again (F-E2E-08).
func overflowRetry(ctx context.Context, s *stage) error {
	p, err := newPlan(8)
	if err != nil {
		return err
	}
	if err := s.documents(p, 14, 60); err != nil {
		return err
	}
	if err := s.effects(); err != nil {
		return err
	}
	if err := s.talkAbout(ctx, p, 1, 14, 8); err != nil {
		return err
	}
	const prompt = "Do the step dogwood, and say so."
	r, err := s.turn(ctx, prompt, steps(effect("dogwood"), fails(scripted.Overflow), says("The step is done.")))
	if err != nil {
		return err
	}
	once := true
	for _, q := range r.requests {
		once = once && timesSaid(q, prompt) == 1
	}
	s.journey.Duplicates += s.repeated()
	s.passed(map[string]bool{
		"the run recovers, or fails and says why": r.code == 0 && r.result.Totals.Recoveries == 1 || r.code != 0 && r.result.Reason != "",
		"the step was done once":                  s.read("effects.log") == "dogwood\n",
		"each request holds the task once":        once,
		"the refusal was met":                     len(r.requests) >= 2,
		"the mode compact recovers":               s.mode != "compact" || r.code == 0,
	})
	after, err := s.turn(ctx, "And what was the step called?", says("Dogwood."))
	if err != nil {
		return err
	}
	if after.code != 0 {
		s.journey.Problems = append(s.journey.Problems, fmt.Sprintf("the run after the refusal ended with %d: %s", after.code, after.result.Reason))
	}
	return nil
}
