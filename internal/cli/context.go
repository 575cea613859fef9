package cli

import (
	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/internal/inspect"
)

func newContext(env *Env) *cobra.Command {
	var flags replayFlags
	var request int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "context FILE|ID",
		Short: "Show what is in the window at the end of a session",
		Long: "Show what would be in the window of the next request of a session: tokens by category, the heaviest items, " +
			"what is free and what is kept in reserve. With --request, show it as it was at that request.",
		Args: arguments(1, 1, "one session file"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := requestFlag(c, request); err != nil {
				return err
			}
			o, err := flags.options(c, env)
			if err != nil {
				return err
			}
			o.Next = true
			run, losses, err := playFile(c.Context(), env, args[0], o)
			if err != nil {
				return err
			}
			index := run.Last()
			if request != 0 {
				if index, err = run.Find(request); err != nil {
					return usageError{err}
				}
			}
			if asJSON {
				return inspect.WriteJSON(env.Stdout, run.LedgerDocument(index))
			}
			if err := run.WriteContext(env.Stdout, index, style(env)); err != nil {
				return err
			}
			return writeLosses(env.Stdout, losses)
		},
	}
	flags.add(cmd)
	cmd.Flags().IntVar(&request, "request", 0, "show this request instead of the next one")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON with the whole ledger")
	return cmd
}
