// Package live tries coding tasks with a real model, in the modes off, warn
// and compact, and grades them from outside (F-EVL-06, F-EVL-09).
//
// A task is a small repository with a planted fault. The program works on it
// as a process of its own, in a folder of its own. The grader is not there
// while it does: its checks are put into a fresh copy afterwards, with nothing
// of the agent's but its source files, and run there.
//
// Trials cost money. What is begun is noted before it begins, a trial begins
// only when what it may cost at most is left, and a run that was ended goes on
// where it was.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/gate"
)

// A Setting is what all trials of a folder have in common.
type Setting struct {
	// Commit is what is tried. Tasks stands for the content of the tasks.
	Commit string `json:"commit"`
	Tasks  string `json:"tasks"`
	// Provider, Model and Endpoint answer; an empty Endpoint means the
	// provider's own.
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Endpoint string `json:"endpoint,omitempty"`
	// WindowTokens is the window that the program is told.
	WindowTokens int `json:"windowTokens"`
	// TrialUSD is where the program ends a trial, OverrunUSD what its last
	// request may cost beyond that. Rates are used where the program does not
	// know the prices itself: then nothing ends a trial but steps and time.
	TrialUSD   float64 `json:"trialUSD"`
	OverrunUSD float64 `json:"overrunUSD"`
	Rates      *Rates  `json:"rates,omitempty"`
	// Steps and Seconds end a trial.
	Steps   int `json:"steps"`
	Seconds int `json:"seconds"`
}

// Rates are prices in US dollars for a million tokens.
type Rates struct {
	InputUSD  float64 `json:"inputUSD"`
	OutputUSD float64 `json:"outputUSD"`
}

// A Trial is one try.
type Trial struct {
	Task   string             `json:"task"`
	Mode   contextwindow.Mode `json:"mode"`
	Number int                `json:"number"`
}

func (t Trial) String() string { return fmt.Sprintf("%s-%s-%d", t.Task, t.Mode, t.Number) }

// A Job is a trial with all that a worker needs to know. It holds no key.
type Job struct {
	Setting Setting `json:"setting"`
	Trial   Trial   `json:"trial"`
	// Attempt counts the times that the trial was begun, from 1.
	Attempt int `json:"attempt"`
}

// An Outcome is what became of a trial.
type Outcome struct {
	Trial
	// Passed is what the grader says; Status and Reason are the program's own.
	Passed bool   `json:"passed"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Grade is the end of what the grader printed, Ignored names files of the
	// agent that the grader does not use: tests and what steers them.
	Grade   string   `json:"grade,omitempty"`
	Ignored []string `json:"ignored,omitempty"`
	// The tokens are what the provider reported.
	Requests          int `json:"requests"`
	ToolCalls         int `json:"toolCalls"`
	InputTokens       int `json:"inputTokens"`
	CachedInputTokens int `json:"cachedInputTokens"`
	OutputTokens      int `json:"outputTokens"`
	Compactions       int `json:"compactions"`
	Projections       int `json:"projections"`
	// CostUSD is nil when it is not known; then the whole reserve counts.
	CostUSD *float64 `json:"costUSD"`
	// Seconds is how long the program worked, the grader aside.
	Seconds float64 `json:"seconds"`
}

// A Runner makes a trial. An error means that there was no trial: it may be
// begun again.
type Runner interface {
	Run(ctx context.Context, j Job) (Outcome, error)
}

// ErrLost is wrapped by a Runner when a trial was begun and nobody knows what
// became of it: what it may have cost is spent.
var ErrLost = errors.New("the trial was lost")

// Options say what Run does.
type Options struct {
	Setting Setting
	// Tasks are the names of those to try, Trials how often each is tried in
	// each mode. Both are required.
	Tasks  []string
	Modes  []contextwindow.Mode
	Trials int
	// MaxUSD is the most that all trials of the folder may cost together.
	MaxUSD float64
	// Workers is how many trials are made at a time, at least 1.
	Workers int
	Runner  Runner
	// Progress hears about each trial that ends; nil for nobody.
	Progress func(done, total int, spentUSD float64, o Outcome)
}

func (o *Options) check() error {
	switch {
	case len(o.Tasks) == 0 || o.Trials < 1 || len(o.Modes) == 0:
		return errors.New("try tasks: name at least one task, one mode and one trial")
	case !(o.MaxUSD > 0) || !(o.Setting.TrialUSD > 0) || o.Setting.OverrunUSD < 0:
		return errors.New("try tasks: the bounds in money must be positive")
	}
	for _, name := range o.Tasks {
		if _, err := Find(name); err != nil {
			return err
		}
	}
	return nil
}

// all lists the trials, so that all modes and tasks come before the next
// number: what is there when money runs out can be compared.
func (o *Options) all() []Trial {
	var out []Trial
	for n := 1; n <= o.Trials; n++ {
		for _, task := range o.Tasks {
			for _, m := range o.Modes {
				out = append(out, Trial{task, m, n})
			}
		}
	}
	return out
}

// reserve is the most that a trial may cost.
func (s Setting) reserve() float64 { return s.TrialUSD + s.OverrunUSD }

// cost is what an outcome counts as.
func (s Setting) cost(o Outcome) float64 {
	switch {
	case o.CostUSD != nil:
		return *o.CostUSD
	case s.Rates != nil && o.Requests > 0:
		return (float64(o.InputTokens)*s.Rates.InputUSD + float64(o.OutputTokens)*s.Rates.OutputUSD) / 1e6
	}
	return s.reserve()
}

// A Result is what a folder holds when a run ends.
type Result struct {
	Setting  Setting   `json:"setting"`
	Outcomes []Outcome `json:"outcomes"`
	// Open are the trials that were not made, Why says why not.
	Open []Trial `json:"open"`
	Why  string  `json:"why,omitempty"`
	// SpentUSD is what all of it counts as, trials that were lost included.
	SpentUSD float64 `json:"spentUSD"`
	Lost     int     `json:"lost"`
}

// Gate is what the gates look at (F-EVL-06).
func (r *Result) Gate() *gate.Live {
	l := &gate.Live{Commit: r.Setting.Commit, Trials: map[contextwindow.Mode]int{}, Passed: map[contextwindow.Mode]int{}}
	for _, o := range r.Outcomes {
		l.Trials[o.Mode]++
		if o.Passed {
			l.Passed[o.Mode]++
		}
	}
	return l
}

func sortOutcomes(list []Outcome) {
	slices.SortStableFunc(list, func(a, b Outcome) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(slices.Index(gate.Modes(), a.Mode), slices.Index(gate.Modes(), b.Mode)), cmp.Compare(a.Number, b.Number))
	})
}
