package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/internal/replay"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/formats"
	"github.com/forge-agent/forge/tokencount"
)

// maxTextBytes is the most that count reads of a plain text.
const maxTextBytes = 256 << 20

func newCount(env *Env) *cobra.Command {
	var modelID, tokenizerFile string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "count [FILE|-]",
		Short: "Count the tokens of a text, a request body or a session",
		Long: "Count tokens. FILE may be a plain text, the JSON body of a model request, or a session file of an agent; " +
			"what it is, is seen from its content. Without FILE, or with -, standard input is read. " +
			"The output says how it was counted and whether the number is exact.",
		Args: arguments(0, 1, "one file"),
		RunE: func(c *cobra.Command, args []string) error {
			path := "-"
			if len(args) == 1 {
				path = args[0]
			}
			count, err := countInput(c.Context(), env, path, modelID, tokenizerFile)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(env.Stdout, count)
			}
			return count.print(env.Stdout)
		},
	}
	cmd.Flags().StringVar(&tokenizerFile, "tokenizer", "", tokenizerUsage)
	cmd.Flags().StringVar(&modelID, "model", "", "count for this model (default: the one the file names, else o200k_base)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// countReport is what count prints.
type countReport struct {
	File       string            `json:"file"`
	Kind       string            `json:"kind"` // "text", or the session format
	Model      string            `json:"model"`
	Vocabulary string            `json:"vocabulary"`
	Tokens     int               `json:"tokens"`
	BandTokens int               `json:"bandTokens"`
	Method     model.Method      `json:"method"`
	Confidence model.Confidence  `json:"confidence"`
	Bytes      int               `json:"bytes,omitempty"`
	Categories *budget.Breakdown `json:"categories,omitempty"`
	// Losses are what a session's importer could not keep. Never null.
	Losses []sessionfile.Loss `json:"losses"`
}

func countInput(ctx context.Context, env *Env, path, modelID, tokenizerFile string) (*countReport, error) {
	c, err := loadCatalog(env)
	if err != nil {
		return nil, err
	}
	source, err := openTokenizer(tokenizerFile)
	if err != nil {
		return nil, err
	}
	s, data, err := readInput(env, path)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return countText(c, source, path, modelID, data), nil
	}
	return countSession(ctx, c, source, path, modelID, s)
}

// readInput reads a session, or else a text.
func readInput(env *Env, path string) (*sessionfile.Session, []byte, error) {
	var s *sessionfile.Session
	var data []byte
	var err error
	if path == "-" {
		if data, err = readAll(env.Stdin, path); err != nil {
			return nil, nil, err
		}
		s, err = sessionfile.Read("standard input", data, formats.All(), nil)
		if errors.Is(err, sessionfile.ErrEmpty) {
			return nil, data, nil
		}
	} else {
		s, err = sessionfile.Open(path, formats.All(), nil)
	}
	if err == nil {
		return s, nil, nil
	}
	if !errors.Is(err, sessionfile.ErrUnknownFormat) && !errors.Is(err, sessionfile.ErrUnreadable) {
		return nil, nil, err
	}
	if data == nil {
		if data, err = readText(path); err != nil {
			return nil, nil, err
		}
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, nil, usagef("count %q: not a text file; give text, a request body or a session", path)
	}
	return nil, data, nil
}

func readText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("count: %w", err)
	}
	defer f.Close()
	return readAll(f, path)
}

// readAll reads a text, up to maxTextBytes.
func readAll(r io.Reader, path string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxTextBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("count %q: %w", path, err)
	case len(data) > maxTextBytes:
		return nil, usagef("count %q: more than %d MiB of text; split it", path, maxTextBytes>>20)
	}
	return data, nil
}

func countText(c *catalog.Catalog, source vocabulary.Source, path, modelID string, data []byte) *countReport {
	m := textModel(c, modelID)
	counter, exact := source.Text(m)
	out := &countReport{File: path, Kind: "text", Model: modelID, Vocabulary: counter.Name(), Bytes: len(data), Losses: []sessionfile.Loss{}}
	var e model.Estimate
	if exact {
		e = model.Estimate{Tokens: counter.Count(string(data)), Method: model.MethodProviderTokenizer, Confidence: model.ConfidenceExact}
	} else {
		e = tokencount.New(counter, tokencount.ProfileFor(string(m.Family))).Plain(string(data))
	}
	out.Tokens, out.BandTokens, out.Method, out.Confidence = e.Tokens, e.BandTokens, e.Method, e.Confidence
	if !utf8.Valid(data) {
		out.Kind = "text with invalid UTF-8"
	}
	return out
}

// textModel returns the model to count a plain text for; without a name the
// vocabulary of the current OpenAI models stands in.
func textModel(c *catalog.Catalog, id string) catalog.Model {
	if id == "" {
		m := catalog.Fallback("")
		m.Vocabulary = catalog.Value[string]{V: "o200k_base", Known: true}
		return m
	}
	m, _ := c.Resolve(id)
	return m
}

func countSession(ctx context.Context, c *catalog.Catalog, source vocabulary.Source, path, modelID string, s *sessionfile.Session) (*countReport, error) {
	setup, err := replay.Prepare(s, replay.Options{Model: modelID, Catalog: c, Counter: source.Counter})
	if err != nil {
		return nil, err
	}
	request := model.Request{Instructions: s.Instructions, Tools: s.Tools}
	for _, m := range s.Transcript.All() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		request.Messages = append(request.Messages, m)
	}
	r := setup.Counter.Request(request)
	return &countReport{
		File: path, Kind: s.Format, Model: setup.Capabilities.Model, Vocabulary: setup.Counter.Vocabulary(),
		Tokens: r.Estimate.Tokens, BandTokens: r.Estimate.BandTokens, Method: r.Estimate.Method, Confidence: r.Estimate.Confidence,
		Categories: &r.Breakdown, Losses: append([]sessionfile.Loss{}, s.Losses...),
	}, nil
}

func (r *countReport) print(w io.Writer) error {
	how := fmt.Sprintf("exact, %s", r.Vocabulary)
	if r.Confidence != model.ConfidenceExact {
		how = fmt.Sprintf("± %s, %s on %s", inspect.Tokens(r.BandTokens), r.Method, r.Vocabulary)
	}
	if r.Model != "" {
		how += ", for " + r.Model
	}
	if _, err := fmt.Fprintf(w, "%s tokens  %s  (%s; %s)\n", inspect.Tokens(r.Tokens), inspect.Clean(r.File), r.Kind, inspect.Clean(how)); err != nil {
		return err
	}
	if r.Categories == nil {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	for _, c := range budget.Categories() {
		if n := r.Categories[c]; n > 0 {
			fmt.Fprintf(t, "  %s\t  %s\n", inspect.Tokens(n), c)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return writeLosses(w, r.Losses)
}
