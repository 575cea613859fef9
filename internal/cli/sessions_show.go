package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
)

// sessionRow is a session as list and show print it.
type sessionRow struct {
	ID          string          `json:"id"`
	Title       string          `json:"title,omitempty"`
	CreatedAt   *time.Time      `json:"createdAt"`
	UpdatedAt   *time.Time      `json:"updatedAt"`
	Messages    int             `json:"messages"`
	Checkpoints int             `json:"checkpoints"`
	Hash        message.Hash    `json:"hash"`
	Model       string          `json:"model,omitempty"`
	LastRun     session.Status  `json:"lastRun,omitempty"`
	Parent      string          `json:"parent,omitempty"`
	ForkedAt    int             `json:"forkedAt,omitempty"`
	Source      *session.Source `json:"source,omitempty"`
	Workspace   string          `json:"workspace,omitempty"`
	Damaged     string          `json:"damaged,omitempty"`
}

func newSessionRow(h session.Header) sessionRow {
	return sessionRow{ID: h.ID, Title: h.Info.Title, CreatedAt: orNil(h.Info.CreatedAt), UpdatedAt: orNil(h.Info.UpdatedAt),
		Messages: h.Messages, Checkpoints: h.Checkpoints, Hash: h.Hash, Model: h.Info.Model, LastRun: h.Info.LastRun,
		Parent: h.Info.Parent, ForkedAt: h.Info.ForkedAt, Source: h.Info.Source, Workspace: h.Info.Workspace}
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func newSessionsList(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stored sessions, the one used last first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			rows := []sessionRow{}
			err := withStore(c, env, false, func(ctx context.Context, store session.Store) error {
				for h, err := range store.List(ctx, "") {
					row := newSessionRow(h)
					if errors.Is(err, session.ErrDamaged) && h.ID != "" {
						row.Damaged, err = err.Error(), nil
					}
					if err != nil {
						return err
					}
					rows = append(rows, row)
				}
				return nil
			})
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(env.Stdout, rows)
			}
			return writeSessionList(env, rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func writeSessionList(env *Env, rows []sessionRow) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(env.Stdout, "no sessions are stored; \"forge sessions import FILE\" stores one")
		return err
	}
	var b strings.Builder
	length := distinctBytes(rows)
	for _, r := range rows {
		when := strings.Repeat(" ", len(time.DateTime))
		if r.UpdatedAt != nil {
			when = r.UpdatedAt.UTC().Format(time.DateTime)
		}
		text := r.Title
		if r.Damaged != "" {
			text = "DAMAGED: " + r.Damaged
		}
		line := fmt.Sprintf("%-*s  %s  %6d messages  %3d checkpoints  %s", length, r.ID[:min(length, len(r.ID))], when, r.Messages, r.Checkpoints, plainLine(text))
		b.WriteString(ansi.Truncate(line, max(env.WidthColumns, 60), "…") + "\n")
	}
	_, err := io.WriteString(env.Stdout, b.String())
	return err
}

// distinctBytes is how much of the ids tells the sessions apart, 8 bytes at
// least. Every command takes the beginning of an id, and what a line saves
// there goes to the title.
func distinctBytes(rows []sessionRow) int {
	n := 8
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		same := 0
		for same < min(len(ids[i-1]), len(ids[i])) && ids[i-1][same] == ids[i][same] {
			same++
		}
		n = max(n, same+1)
	}
	for _, id := range ids { // a character is not cut in two
		if strings.IndexFunc(id, func(r rune) bool { return r >= 0x80 }) >= 0 {
			n = max(n, len(id))
		}
	}
	return n
}

// plainLine is shown for a text that stands in one line.
func plainLine(s string) string {
	return shown(strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(s))
}

// compactionRow is a checkpoint as show prints it (P-CHN-03).
type compactionRow struct {
	ID             string             `json:"id"`
	Parent         string             `json:"parent,omitempty"`
	Generation     int                `json:"generation"`
	Method         checkpoint.Method  `json:"method"`
	ThroughMessage string             `json:"throughMessageId"`
	Summarized     int                `json:"summarized"`
	SummaryTokens  int                `json:"summaryTokens"`
	TokensBefore   int                `json:"tokensBefore"`
	TokensAfter    int                `json:"tokensAfter"`
	Valid          bool               `json:"valid"`
	Active         bool               `json:"active"`
	Anchors        checkpoint.Anchors `json:"anchors"`
}

// sessionDetail is what show prints: the row, and every record of the chain.
type sessionDetail struct {
	sessionRow
	Turns       int                    `json:"turns"`
	Statuses    map[session.Status]int `json:"statuses"`
	Pending     []string               `json:"pendingCalls"`
	Requests    int                    `json:"requests"`
	Usage       usageJSON              `json:"usage"`
	Marks       []session.Mark         `json:"marks"`
	Losses      []session.Loss         `json:"losses"`
	Removed     int                    `json:"removedMessages"`
	Compactions []compactionRow        `json:"compactions"`
	Compaction  *compactionRow         `json:"compaction"`
}

// usageJSON is what the requests of a session took together.
type usageJSON struct {
	InputTokens       int `json:"inputTokens"`
	CachedInputTokens int `json:"cachedInputTokens"`
	OutputTokens      int `json:"outputTokens"`
}

func newSessionsShow(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a session: size, statuses, usage, marks, and every checkpoint",
		Args:  arguments(1, 1, "one session"),
		RunE: func(c *cobra.Command, args []string) error {
			return withSession(c, env, args[0], func(ctx context.Context, store session.Store, id string) error {
				d, err := detailOf(ctx, store, id)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(env.Stdout, d)
				}
				return writeDetail(env.Stdout, d)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func detailOf(ctx context.Context, store session.Store, id string) (*sessionDetail, error) {
	s, err := session.View(ctx, store, id, nil)
	if err != nil {
		return nil, err
	}
	t, statuses, err := s.Whole(ctx)
	if err != nil {
		return nil, err
	}
	d := &sessionDetail{sessionRow: newSessionRow(s.Header()), Turns: t.TurnCount(), Statuses: map[session.Status]int{},
		Pending: []string{}, Marks: []session.Mark{}, Losses: []session.Loss{}, Compactions: []compactionRow{}}
	for _, status := range statuses {
		d.Statuses[status]++
	}
	for _, call := range t.Pending() {
		d.Pending = append(d.Pending, call.Name+" "+call.ID)
	}
	requests, err := s.Requests(ctx)
	if err != nil {
		return nil, err
	}
	d.Requests = len(requests)
	for _, r := range requests {
		if r.Usage != nil {
			d.Usage.InputTokens += r.Usage.InputTokens
			d.Usage.CachedInputTokens += r.Usage.CachedInputTokens
			d.Usage.OutputTokens += r.Usage.OutputTokens
		}
	}
	marks, err := s.Marks(ctx)
	if err != nil {
		return nil, err
	}
	d.Marks = append(d.Marks, marks...)
	losses, err := s.Losses(ctx)
	if err != nil {
		return nil, err
	}
	d.Losses = append(d.Losses, losses...)
	for r, err := range s.Removed(ctx) {
		if err != nil {
			return nil, err
		}
		if r.Row != nil {
			d.Removed++
		}
	}
	chain, err := s.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	active := chain.Active(t)
	for c := range chain.All() {
		d.Compactions = append(d.Compactions, compactionRow{ID: c.ID, Parent: c.Parent, Generation: c.Generation, Method: c.Method,
			ThroughMessage: c.Anchors.Last, Summarized: c.SummarizedThroughMessageIndex, SummaryTokens: c.EstimatedCheckpointTokens,
			TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter, Valid: c.Validate(t) == nil, Active: c == active, Anchors: c.Anchors})
	}
	if n := len(d.Compactions); n > 0 {
		d.Compaction = &d.Compactions[n-1]
	}
	return d, nil
}

func writeDetail(w io.Writer, d *sessionDetail) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, plainLine(fmt.Sprintf(format, args...)))
	}
	line("session", "%s", d.ID)
	if d.Title != "" {
		line("title", "%s", d.Title)
	}
	if d.Parent != "" {
		line("forked from", "%s after %d messages", d.Parent, d.ForkedAt)
	}
	if d.Source != nil {
		line("imported", "%s %s %s", d.Source.Format, d.Source.Version, d.Source.File)
	}
	if d.Model != "" {
		line("model", "%s", d.Model)
	}
	line("messages", "%d in %d turns", d.Messages, d.Turns)
	for _, status := range []session.Status{session.Completed, session.Admitted, session.Failed, session.Cancelled} {
		if n := d.Statuses[status]; n > 0 {
			line("  "+string(status), "%d", n)
		}
	}
	if d.Removed > 0 {
		line("  kept aside", "%d, by truncations", d.Removed)
	}
	if len(d.Pending) > 0 {
		line("waiting", "%s", strings.Join(d.Pending, ", "))
	}
	line("requests", "%d: %d input tokens (%d cached), %d output tokens", d.Requests, d.Usage.InputTokens, d.Usage.CachedInputTokens, d.Usage.OutputTokens)
	line("hash", "%s", d.Hash)
	for _, m := range d.Marks {
		line("mark", "%s before message %d %s", m.Kind, m.At, m.Detail)
	}
	for _, c := range d.Compactions {
		state := slices.Compact([]string{map[bool]string{true: "valid", false: "not valid here"}[c.Valid], map[bool]string{true: "active", false: ""}[c.Active]})
		line("checkpoint", "%d %s %s: %d messages through %s, %d tokens instead of %d (%s)", c.Generation, c.Method, c.ID, c.Summarized, c.ThroughMessage,
			c.SummaryTokens, c.TokensBefore, strings.TrimSuffix(strings.Join(state, ", "), ", "))
	}
	for _, l := range d.Losses {
		line("lost", "%s", l.What)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
