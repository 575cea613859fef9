package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/anthropic"
	"github.com/forge-agent/forge/provider/gemini"
	"github.com/forge-agent/forge/provider/openaichat"
)

// refresh asks an endpoint which models it serves.
type refresh struct {
	wanted   bool
	endpoint endpoint
}

func (r *refresh) flags(c *cobra.Command) {
	c.Flags().BoolVar(&r.wanted, "refresh", false, "ask the endpoint of --provider instead of the catalog")
	r.endpoint.flags(c, "whom to ask")
}

// servedJSON is the JSON form of a model that an endpoint serves.
type servedJSON struct {
	ID              string `json:"id"`
	WindowTokens    int    `json:"windowTokens,omitempty"`
	MaxInputTokens  int    `json:"maxInputTokens,omitempty"`
	MaxOutputTokens int    `json:"maxOutputTokens,omitempty"`
	Source          string `json:"source"`
}

func (r *refresh) list(ctx context.Context, env *Env, word string, asJSON bool) error {
	if r.endpoint.provider == "" {
		return usagef("--refresh asks one endpoint: name its --provider")
	}
	route, connection, err := r.endpoint.connection(env)
	if err != nil {
		return err
	}
	models, err := ask(ctx, route, connection)
	if err != nil {
		return fmt.Errorf("list the models of %s: %w", route.Endpoint, err)
	}
	return showServed(env, route, models, strings.ToLower(word), asJSON)
}

func ask(ctx context.Context, route credential.Route, c provider.Connection) ([]provider.ModelInfo, error) {
	switch route.Dialect {
	case credential.Messages:
		return anthropic.Models(ctx, c)
	case credential.Gemini:
		return gemini.Models(ctx, c)
	case credential.Chat, credential.Responses:
		return openaichat.Models(ctx, c)
	}
	return nil, errors.New("the dialect has no list of models")
}

func showServed(env *Env, route credential.Route, models []provider.ModelInfo, word string, asJSON bool) error {
	w := tabwriter.NewWriter(env.Stdout, 2, 8, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "model\twindow\tinput\toutput")
	}
	found := 0
	for _, m := range models {
		if !strings.Contains(strings.ToLower(m.ID), word) {
			continue
		}
		found++
		if asJSON {
			err := writeJSON(env.Stdout, servedJSON{ID: m.ID, WindowTokens: m.WindowTokens, MaxInputTokens: m.MaxInputTokens, MaxOutputTokens: m.MaxOutputTokens, Source: route.Endpoint})
			if err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable(m.ID), stated(m.WindowTokens), stated(m.MaxInputTokens), stated(m.MaxOutputTokens))
	}
	if found == 0 {
		return usagef("%s serves %d models, none with %q in its name", route.Endpoint, len(models), word)
	}
	return w.Flush()
}

// stated is a number, or "?" for one that the endpoint did not state.
func stated(n int) string {
	if n == 0 {
		return "?"
	}
	return strconv.Itoa(n)
}

// printable keeps what a server calls a model from moving the cursor.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, name)
}
