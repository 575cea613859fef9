package compaction

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

//go:embed summary_prompt.md
var summaryPrompt string

// A Summarizer writes summaries (F-SUM-07). It makes one attempt; the model
// strategy retries.
type Summarizer interface {
	// Summarize answers one request. The answer is checked by the caller.
	Summarize(ctx context.Context, r SummaryRequest) (string, error)
	// Describe says who answers and how much it can read.
	Describe() SummarizerInfo
}

// SummaryRequest is one request to a summarizer.
type SummaryRequest struct {
	// Instructions say what to write.
	Instructions string
	// Source is the text to summarize.
	Source string
	// OutputTokens is the cap on the answer.
	OutputTokens int
}

// SummarizerInfo describes a summarizer.
type SummarizerInfo struct {
	Provider, Model string
	// WindowTokens is its context window, input and output together.
	WindowTokens int
}

// ModelSummarizer lets a model write summaries. It sends no tools.
type ModelSummarizer struct{ Model model.Model }

// Describe returns the model's name and window.
func (s ModelSummarizer) Describe() SummarizerInfo {
	c := s.Model.Capabilities()
	return SummarizerInfo{Provider: c.Provider, Model: c.Model, WindowTokens: c.WindowTokens}
}

// Summarize makes one request and returns the text of the answer. An answer
// that was cut, or that calls a tool, is an error.
func (s ModelSummarizer) Summarize(ctx context.Context, r SummaryRequest) (string, error) {
	request := model.Request{
		Instructions: []message.Message{{ID: "summary-instructions", Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: r.Instructions}}}},
		Messages:     []message.Message{{ID: "summary-source", Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: r.Source}}}},
		OutputTokens: r.OutputTokens,
	}
	for event, err := range s.Model.Stream(ctx, request) {
		if err != nil {
			return "", fmt.Errorf("summarize: %w", err)
		}
		done, ok := event.(model.Completed)
		if !ok {
			continue
		}
		if done.Stop == model.StopOutput || done.Stop == model.StopWindow || done.Stop == model.StopRefusal {
			return "", fmt.Errorf("summarize: %w: the answer stopped with %q", ErrBadSummary, done.Stop)
		}
		var parts []string
		for _, m := range done.Messages {
			parts = append(parts, m.Text())
		}
		return strings.Join(parts, "\n"), nil
	}
	return "", fmt.Errorf("summarize: %w", model.ErrIncompleteStream)
}

// ErrBadSummary: a summarizer's answer was empty, too long, without its label
// or heading, or nothing of it stands in the source (F-SUM-04, fault B22).
var ErrBadSummary = errors.New("unusable summary")

// summaryLabel is the first line of every valid answer.
var summaryLabel = checkpoint.Labels()[0]

// checkSummary validates an answer and returns its lines with their headings.
func checkSummary(text string, tokens, limitTokens int) ([]summaryLine, error) {
	bad := func(format string, args ...any) ([]summaryLine, error) {
		return nil, fmt.Errorf("check summary: %w: %s", ErrBadSummary, fmt.Sprintf(format, args...))
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return bad("it is empty")
	}
	if tokens > limitTokens {
		return bad("it has %d tokens, at most %d were asked for", tokens, limitTokens)
	}
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(first) != summaryLabel {
		return bad("its first line is not the label %q", summaryLabel)
	}
	var lines []summaryLine
	heading := ""
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		item, ok := strings.CutPrefix(line, "- ")
		switch {
		case line == "":
		case ok && heading == "":
			return bad("a line stands under no heading")
		case ok:
			lines = append(lines, summaryLine{heading, item})
		case knownHeading(line):
			heading = strings.TrimSuffix(line, ":")
		default:
			return bad("the line %q is neither a heading that was asked for nor an item", shorten(line, 60))
		}
	}
	if len(lines) == 0 {
		return bad("it says nothing")
	}
	return lines, nil
}

// summaryLine is one item of a model's answer.
type summaryLine struct{ heading, text string }

const userHeading = "User constraints"

func knownHeading(line string) bool {
	switch strings.TrimSuffix(line, ":") {
	case "Goals", userHeading, "Decisions and reasons", "Files and components", "Done", "Open":
		return strings.HasSuffix(line, ":")
	}
	return false
}

// renderSummary writes lines under their headings, in the order in which the
// headings first come.
func renderSummary(lines []summaryLine) string {
	var b strings.Builder
	heading := ""
	for _, l := range lines {
		if l.heading != heading {
			heading = l.heading
			b.WriteString(heading + ":\n")
		}
		b.WriteString("- " + l.text + "\n")
	}
	return b.String()
}
