package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/trace"
	"github.com/forge-agent/forge/trace/otlp"
)

func newTraces(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "traces",
		Short: "List the traces of runs, and send one to an OpenTelemetry collector",
		Long:  "Traces of runs are kept in the folder runs of FORGE_HOME (default ~/.forge). \"forge inspect RUN\" shows one.",
	}
	cmd.AddCommand(newTracesList(env), newTracesSend(env))
	return cmd
}

func newTracesList(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the traces of runs",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			root, err := os.OpenRoot(forgeHome(env))
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err != nil {
				return usagef("open FORGE_HOME: %w", err)
			}
			defer root.Close()
			runs, err := trace.Runs(root, "")
			if err != nil {
				return err
			}
			for _, run := range runs {
				fmt.Fprintln(env.Stdout, plainLine(run))
			}
			return nil
		},
	}
}

// sendTimeout is how long send waits for a collector.
const sendTimeout = 30 * time.Second

func newTracesSend(env *Env) *cobra.Command {
	var to string
	var headers []string
	cmd := &cobra.Command{
		Use:   "send RUN|FILE --to URL",
		Short: "Send a trace to an OpenTelemetry collector (OTLP over HTTP)",
		Long: "Send a trace as spans, one for the run and one for each request, with the attributes of the semantic conventions for " +
			"generative AI. A trace holds no content. Nothing is sent but by this command.",
		Example: "  forge traces send RUN --to http://localhost:4318",
		Args:    arguments(1, 1, "one run or trace"),
		RunE: func(c *cobra.Command, args []string) error {
			if to == "" {
				return usagef("say where the collector is: --to http://localhost:4318")
			}
			fields := map[string]string{}
			for _, h := range headers {
				name, value, ok := strings.Cut(h, "=")
				if !ok || name == "" {
					return usagef("--header takes NAME=VALUE")
				}
				fields[name] = value
			}
			return sendTrace(c.Context(), env, args[0], to, fields)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the collector's URL")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "NAME=VALUE that goes with every request")
	return cmd
}

func sendTrace(ctx context.Context, env *Env, arg, to string, headers map[string]string) error {
	f, err := os.Open(tracePath(env, arg))
	if err != nil {
		return usagef("open trace: %w", err)
	}
	defer f.Close()
	at := time.Time{}
	sink, err := otlp.Connect(to, headers, env.Version, func() time.Time { return at })
	if err != nil {
		return usageError{err}
	}
	n := 0
	reader := trace.NewReader(f)
	for e, err := range reader.Events() {
		if err != nil {
			return usagef("read trace %q: %w", arg, err)
		}
		switch {
		case !e.Time.IsZero():
			at = e.Time
		case at.IsZero():
			at = time.Now()
		}
		if err := sink.Emit(e.Payload); err != nil {
			return err
		}
		n++
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := sink.Close(ctx); err != nil {
		return err
	}
	for _, p := range reader.Problems() {
		fmt.Fprintf(env.Stderr, "line %d: %s\n", p.Line, p.What)
	}
	_, err = fmt.Fprintf(env.Stdout, "sent %d events\n", n)
	return err
}
