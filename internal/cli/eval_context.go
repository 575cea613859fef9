package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/internal/eval/journey"
	"github.com/forge-agent/forge/internal/eval/page"
	"github.com/forge-agent/forge/internal/eval/work"
)

// contextFlags are those of the gates.
type contextFlags struct {
	journeys, live, fixtures string
	unplayed                 bool
}

func newEvalContext(env *Env) *cobra.Command {
	var flags evalFlags
	var own contextFlags
	cmd := &cobra.Command{
		Use: "context", Short: "The gates that decide whether compact may be the default",
		Long: "Play nine journeys through this program in the modes off, warn and compact, with a scripted provider on this machine, and judge the gates of the mode compact by them. " +
			"Tokens are that provider's own count. No network and no key is used. The ninth journey needs the Codex program, which FORGE_CODEX_PATH names. " +
			"Live trials count when they are of the same commit: --live names their report, by default live.json in the folder of --out. " +
			"A gate that something was not measured for is open, and while one is open or failed the default stays warn.",
		Example: "  forge eval context\n  forge eval context --fixtures F-E2E-01,F-E2E-08 --json\n  forge eval context --out evals/reports",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return flags.evaluated(c, env, func(ctx context.Context, show work.Progress) error {
				return runContext(ctx, c, env, flags, own, show)
			})
		},
	}
	flags.addOutput(cmd)
	cmd.Flags().StringVar(&own.journeys, "journeys", "", "judge the journeys of this JSON file instead of playing them")
	cmd.Flags().StringVar(&own.live, "live", "", "report of \"forge eval live\" (default: live.json in the folder of --out)")
	cmd.Flags().BoolVar(&own.unplayed, "no-play", false, "judge without journeys: every gate is open")
	cmd.Flags().StringVar(&own.fixtures, "fixtures", "", "play these only, for example F-E2E-01,F-E2E-08")
	return cmd
}

func runContext(ctx context.Context, c *cobra.Command, env *Env, flags evalFlags, own contextFlags, show work.Progress) error {
	e, err := own.evidence(ctx, env, flags, show)
	if err != nil {
		return err
	}
	d := gate.Decide(e)
	b, err := page.Context(flags.header(c, nil), e, d)
	return flags.finish(env, b, d.Gates, err)
}

// evidence plays the journeys, or reads them, and adds the live report.
func (f *contextFlags) evidence(ctx context.Context, env *Env, flags evalFlags, show work.Progress) (gate.Evidence, error) {
	e := gate.Evidence{Commit: flags.of()}
	var err error
	switch {
	case f.journeys != "":
		e, err = readEvidence(f.journeys)
	case !f.unplayed:
		e.Journeys, e.Missing, err = f.play(ctx, env, show)
	}
	if err != nil || e.Live != nil {
		return e, err
	}
	e.Live, err = f.readLive(flags.out)
	return e, err
}

// readEvidence reads the journeys.
func readEvidence(path string) (gate.Evidence, error) {
	file, err := os.Open(path)
	if err != nil {
		return gate.Evidence{}, usageError{err}
	}
	e, err := gate.Read(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return e, usageError{fmt.Errorf("%s: %w", path, err)}
	}
	return e, nil
}

func (f *contextFlags) play(ctx context.Context, env *Env, show work.Progress) (journeys []gate.Journey, missing map[string]string, err error) {
	o := journey.Options{Path: env.Getenv("PATH"), Codex: env.Getenv("FORGE_CODEX_PATH"), Progress: show}
	if f.fixtures != "" {
		for name := range strings.SplitSeq(f.fixtures, ",") {
			if !slices.Contains(gate.Fixtures(), name) {
				return nil, nil, usagef("--fixtures names %q; fixtures are F-E2E-01 to F-E2E-09", name)
			}
			o.Fixtures = append(o.Fixtures, name)
		}
	}
	if o.Program, err = os.Executable(); err != nil {
		return nil, nil, fmt.Errorf("find this program: %w", err)
	}
	if o.Scratch, err = journey.Scratch(os.TempDir()); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Scratch)) }()
	return journey.Play(ctx, o)
}

// readLive reads the outcome of live trials; nil when there is none.
func (f *contextFlags) readLive(out string) (*gate.Live, error) {
	path := f.live
	if path == "" && out != "" {
		path = filepath.Join(out, "live.json")
	}
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Clean(path))
	if errors.Is(err, fs.ErrNotExist) && f.live == "" {
		return nil, nil
	}
	if err != nil {
		return nil, usageError{err}
	}
	var r struct {
		Report struct {
			Gate *gate.Live `json:"gate"`
		} `json:"report"`
	}
	if err := json.Unmarshal(data, &r); err != nil || r.Report.Gate == nil {
		return nil, usagef("%s is no report of \"forge eval live\"", path)
	}
	return r.Report.Gate, nil
}
