// Package journey plays the nine fixtures (F-E2E-01 to F-E2E-09) through the
// program itself, in the modes off, warn and compact (F-EVL-09).
//
// Each journey has a folder of its own with Forge's files and a workspace, and
// a provider on this machine that speaks a real wire format. What is measured
// comes from outside: tokens are the provider's own count of what it received
// (weak spot 18), budgets are read from the traces, what became of a task is
// read from the workspace, and sessions are exported and verified after each
// run. A model is played by a script: it does what a request tells it, where
// the request still tells it.
package journey

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/internal/eval/work"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// Options say what is played, and with what.
type Options struct {
	// Program is the path of the program. Required.
	Program string
	// Scratch is an empty folder to work in; it stays the caller's. Required.
	// Its name stands in every request, so that a longer one adds some tokens.
	Scratch string
	// Path is the PATH of the program, for what it runs.
	Path string
	// Codex is the path of the Codex program. Without it F-E2E-09 is not
	// played.
	Codex string
	// Fixtures are those to play, nil for all.
	Fixtures []string
	// Progress hears how far it is; nil for nobody.
	Progress work.Progress
}

// A fixture is one story.
type fixture struct {
	id      string
	dialect wirebody.Dialect
	// windowTokens is the window that the user sets. The provider accepts
	// more: what Forge sends is Forge's decision.
	windowTokens int
	play         func(context.Context, *stage) error
}

func fixtures() []fixture {
	return []fixture{
		{"F-E2E-01", wirebody.Responses, 32_000, longRecall},
		{"F-E2E-02", wirebody.Anthropic, 32_000, changedInstructions},
		{"F-E2E-03", wirebody.Gemini, 24_000, hostileHistory},
		{"F-E2E-04", wirebody.Chat, 24_000, staleVerification},
		{"F-E2E-05", wirebody.Anthropic, 32_000, toolPressure},
		{"F-E2E-06", wirebody.Responses, 24_000, recovery},
		{"F-E2E-07", wirebody.Anthropic, 48_000, schemaPressure},
		{"F-E2E-08", wirebody.Chat, 32_000, overflowRetry},
		{"F-E2E-09", wirebody.Responses, 24_000, codexWrapper},
	}
}

// noCodex is why F-E2E-09 is not played.
const noCodex = "there is no Codex program: FORGE_CODEX_PATH names it"

// Play plays the fixtures. missing says of each that was not played why; a
// journey that did not go well is a result, an error is a fault of the
// evaluation itself.
func Play(ctx context.Context, o Options) (journeys []gate.Journey, missing map[string]string, err error) {
	if o.Program == "" || o.Scratch == "" {
		return nil, nil, errors.New("play journeys: name the program and a folder to work in")
	}
	missing = map[string]string{}
	type one struct {
		f    fixture
		mode contextwindow.Mode
	}
	var all []one
	for _, f := range fixtures() {
		switch {
		case o.Fixtures != nil && !slices.Contains(o.Fixtures, f.id):
			missing[f.id] = "it was not asked for"
		case f.id == "F-E2E-09" && o.Codex == "":
			missing[f.id] = noCodex
		default:
			for _, m := range gate.Modes() {
				all = append(all, one{f, m})
			}
		}
	}
	journeys = make([]gate.Journey, len(all))
	err = work.Each(ctx, "journeys", len(all), o.Progress, func(ctx context.Context, _, i int) error {
		var err error
		journeys[i], err = playOne(ctx, &o, all[i].f, all[i].mode)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	markLong(journeys)
	return journeys, missing, nil
}

func playOne(ctx context.Context, o *Options, f fixture, mode contextwindow.Mode) (j gate.Journey, err error) {
	fail := func(err error) error { return fmt.Errorf("play %s in the mode %s: %w", f.id, mode, err) }
	s, err := newStage(o, f, mode)
	if err != nil {
		return j, fail(err)
	}
	defer func() {
		if closed := s.close(); closed != nil {
			err = errors.Join(err, fail(closed))
		}
	}()
	if err := f.play(ctx, s); err != nil {
		return j, fail(err)
	}
	if err := ctx.Err(); err != nil {
		return j, err
	}
	return s.finish(), nil
}

// markLong marks the fixtures whose session outgrows its window when nothing
// is done about it, by the provider's count. Where that ends the session early
// its input cannot be compared, and it is not marked.
func markLong(js []gate.Journey) {
	for _, off := range js {
		if off.Mode != contextwindow.Off || off.PeakInputTokens <= off.WindowTokens {
			continue
		}
		same := true
		for _, j := range js {
			same = same && (j.Fixture != off.Fixture || j.LimitStops == off.LimitStops)
		}
		for i := range js {
			js[i].Long = js[i].Long || same && js[i].Fixture == off.Fixture
		}
	}
}

// Scratch makes a folder to work in below a temporary one: the first free of
// few short names, since the name stands in every request. The caller removes
// it.
func Scratch(temp string) (string, error) {
	for i := 1; i <= 99; i++ {
		dir := filepath.Join(temp, fmt.Sprintf("forge-eval-%d", i))
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("make folder for journeys: %w", err)
		}
		return dir, nil
	}
	return "", fmt.Errorf("make folder for journeys: %s holds 99 of earlier evaluations: remove the folders forge-eval-*", temp)
}
