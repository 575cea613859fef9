package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/session"
)

func newSessionsFork(env *Env) *cobra.Command {
	at := -1
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Make a new session from the beginning of another",
		Long:  "Make a new session from the first messages of another, with every checkpoint whose range is among them. The other stays as it is.",
		Args:  arguments(1, 1, "one session"),
		RunE: func(c *cobra.Command, args []string) error {
			return withSession(c, env, args[0], func(ctx context.Context, store session.Store, id string) error {
				s, err := session.View(ctx, store, id, sessionOptions(env))
				if err != nil {
					return err
				}
				n, err := messageCount(c, at, s.Header().Messages)
				if err != nil {
					return err
				}
				fork, dropped, err := s.Fork(ctx, "", n)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(env.Stdout, "%s\n%s", fork, droppedText(dropped))
				return err
			})
		},
	}
	cmd.Flags().IntVar(&at, "at", -1, "take this many messages (default: all)")
	return cmd
}

func newSessionsTruncate(env *Env) *cobra.Command {
	at := -1
	cmd := &cobra.Command{
		Use:   "truncate ID --at N",
		Short: "End a session after its first N messages",
		Long: "End a session after its first N messages. The later ones are taken out of it and kept aside, and go into its exports. " +
			"Every checkpoint whose range still stands stays.",
		Args: arguments(1, 1, "one session"),
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("at") {
				return usagef("say how many messages stay: --at N")
			}
			return withSession(c, env, args[0], func(ctx context.Context, store session.Store, id string) error {
				s, err := session.Open(ctx, store, id, sessionOptions(env))
				if err != nil {
					return err
				}
				defer s.Close()
				before := s.Header().Messages
				n, err := messageCount(c, at, before)
				if err != nil {
					return err
				}
				dropped, err := s.Truncate(ctx, n)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(env.Stdout, "%s has %d messages now, %d are kept aside\n%s", id, n, before-n, droppedText(dropped))
				return err
			})
		},
	}
	cmd.Flags().IntVar(&at, "at", -1, "how many messages stay")
	return cmd
}

// messageCount checks --at against the messages that there are.
func messageCount(c *cobra.Command, at, messages int) (int, error) {
	switch {
	case !c.Flags().Changed("at"):
		return messages, nil
	case at < 0 || at > messages:
		return 0, usagef("--at is %d; the session has %d messages", at, messages)
	}
	return at, nil
}

func droppedText(dropped []checkpoint.Dropped) string {
	var b strings.Builder
	for _, d := range dropped {
		fmt.Fprintf(&b, "checkpoint %s did not come along: %s\n", d.ID, d.Reason)
	}
	return b.String()
}

func newSessionsSearch(env *Env) *cobra.Command {
	most := 20
	cmd := &cobra.Command{
		Use:   "search ID WORDS...",
		Short: "Find messages of a session by their words, or one by its id",
		Args:  arguments(2, -1, "a session and words"),
		RunE: func(c *cobra.Command, args []string) error {
			return withSession(c, env, args[0], func(ctx context.Context, store session.Store, id string) error {
				s, err := session.View(ctx, store, id, sessionOptions(env))
				if err != nil {
					return err
				}
				if len(args) == 2 {
					if e, err := s.Message(ctx, args[1]); err == nil {
						_, err := fmt.Fprintf(env.Stdout, "%d %s %s\n%s\n", e.Index, e.Message.ID, e.Message.Role, session.PlainText(e.Message))
						return err
					}
				}
				found := 0
				for e, err := range s.Search(ctx, strings.Join(args[1:], " ")) {
					if err != nil {
						return err
					}
					if found++; found > most {
						break
					}
					line := fmt.Sprintf("%6d  %s  %-9s  %s", e.Index, e.Message.ID, e.Message.Role, plainLine(strings.Join(strings.Fields(session.PlainText(e.Message)), " ")))
					if _, err := fmt.Fprintln(env.Stdout, ansi.Truncate(line, max(env.WidthColumns, 60), "…")); err != nil {
						return err
					}
				}
				if found == 0 {
					_, err = fmt.Fprintln(env.Stdout, "no message holds all of these words")
				}
				return err
			})
		},
	}
	cmd.Flags().IntVar(&most, "most", 20, "show at most this many, the newest first")
	return cmd
}

func newSessionsVerify(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [ID...]",
		Short: "Derive every hash, range and anchor again and name what does not hold",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			return withStore(c, env, false, func(ctx context.Context, store session.Store) error {
				ids, err := sessionIDs(ctx, store, args)
				if err != nil {
					return err
				}
				bad := 0
				for _, id := range ids {
					r, err := session.Verify(ctx, store, id)
					if err != nil {
						return err
					}
					if len(r.Findings) > 0 {
						bad++
					}
					if err := writeReport(env, id, r, asJSON); err != nil {
						return err
					}
				}
				if bad > 0 {
					return fmt.Errorf("%d of %d sessions do not hold", bad, len(ids))
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a session")
	return cmd
}

func sessionIDs(ctx context.Context, store session.Store, args []string) ([]string, error) {
	var ids []string
	for _, prefix := range args {
		id, err := session.Find(ctx, store, prefix)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if len(args) > 0 {
		return ids, nil
	}
	for h, err := range store.List(ctx, "") {
		if err != nil && !(errors.Is(err, session.ErrDamaged) && h.ID != "") {
			return nil, err
		}
		ids = append(ids, h.ID)
	}
	return ids, nil
}

func writeReport(env *Env, id string, r session.Report, asJSON bool) error {
	if asJSON {
		if r.Findings == nil {
			r.Findings = []session.Finding{}
		}
		return writeJSON(env.Stdout, struct {
			ID string `json:"id"`
			session.Report
		}{id, r})
	}
	if len(r.Findings) == 0 {
		_, err := fmt.Fprintf(env.Stdout, "%s: %d messages and %d checkpoints hold\n", id, r.Messages, r.Checkpoints)
		return err
	}
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(env.Stdout, "%s: %s: %s\n", id, f.Where, plainLine(f.What)); err != nil {
			return err
		}
	}
	return nil
}
