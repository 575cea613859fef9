package importertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// Render writes a session as text for golden files: everything that it
// holds, one thing on a line.
func Render(s *sessionfile.Session) string {
	var out strings.Builder
	fmt.Fprintf(&out, "format %s", s.Format)
	for _, field := range []struct{ name, value string }{{"version", s.Version}, {"id", s.ID},
		{"provider", s.Provider}, {"model", s.Model}, {"synthetic", s.UsageSynthetic}} {
		if field.value != "" {
			fmt.Fprintf(&out, " %s=%q", field.name, field.value)
		}
	}
	if s.WindowTokens != 0 {
		fmt.Fprintf(&out, " window=%d", s.WindowTokens)
	}
	if s.Complete {
		out.WriteString(" complete")
	}
	out.WriteString("\n")
	for _, m := range s.Instructions {
		renderMessage(&out, "instruction ", m)
	}
	for _, tool := range s.Tools {
		fmt.Fprintf(&out, "tool %s %q %s\n", tool.Name, tool.Description, tool.Parameters)
	}
	out.WriteString(renderMessages(s))
	for _, r := range s.Requests {
		renderRequest(&out, r)
	}
	for _, m := range s.Marks {
		renderMark(&out, m)
	}
	for _, l := range s.Losses {
		fmt.Fprintf(&out, "loss line %d: %s\n", l.Line, l.What)
	}
	return out.String()
}

func renderMessages(s *sessionfile.Session) string {
	var out strings.Builder
	turns := slices.Collect(s.Transcript.Turns())
	for i, m := range s.Transcript.All() {
		if len(turns) > 0 && turns[0].Start == i {
			turns = turns[1:]
			renderMessage(&out, fmt.Sprintf("%d turn ", i), m)
			continue
		}
		renderMessage(&out, fmt.Sprintf("%d ", i), m)
	}
	return out.String()
}

func renderMessage(out *strings.Builder, head string, m message.Message) {
	fmt.Fprintf(out, "%s%s %s", head, m.ID, m.Role)
	if m.Origin != "" {
		fmt.Fprintf(out, " %s", m.Origin)
	}
	if m.Model != "" {
		fmt.Fprintf(out, " model=%s", m.Model)
	}
	if !m.Time.IsZero() {
		fmt.Fprintf(out, " %s", m.Time.UTC().Format("2006-01-02T15:04:05.999Z"))
	}
	out.WriteString("\n")
	for _, block := range m.Blocks {
		renderBlock(out, "  ", block)
	}
}

func renderBlock(out *strings.Builder, indent string, block message.Block) {
	fmt.Fprintf(out, "%s%s", indent, block.Kind())
	switch b := block.(type) {
	case message.Text:
		fmt.Fprintf(out, " %q", b.Text)
	case message.Reasoning:
		fmt.Fprintf(out, " %q", b.Text)
		if b.Provider != "" || len(b.Opaque) > 0 {
			fmt.Fprintf(out, " %s %s", b.Provider, b.Opaque)
		}
	case message.Image:
		fmt.Fprintf(out, " %s %d bytes %s %s %dx%d", b.MediaType, len(b.Data), b.URL, b.Detail, b.WidthPixels, b.HeightPixels)
	case message.ToolCall:
		fmt.Fprintf(out, " %s %s %q", b.ID, b.Name, b.Arguments)
	case message.ToolResult:
		fmt.Fprintf(out, " %s %s %s", b.CallID, b.Name, b.Outcome)
		if b.Truncated {
			fmt.Fprintf(out, " truncated from %d bytes", b.OriginalBytes)
		}
		out.WriteString("\n")
		for _, c := range b.Content {
			renderBlock(out, indent+"  ", c)
		}
		return
	case message.Opaque:
		fmt.Fprintf(out, " %s %s %s", b.Provider, b.Type, b.Data)
	}
	out.WriteString("\n")
}

func renderRequest(out *strings.Builder, r sessionfile.Request) {
	fmt.Fprintf(out, "request [%d,%d) line %d", r.At, r.End, r.Line)
	if r.Model != "" {
		fmt.Fprintf(out, " model=%s", r.Model)
	}
	if !r.Time.IsZero() {
		fmt.Fprintf(out, " %s", r.Time.UTC().Format("2006-01-02T15:04:05.999Z"))
	}
	if u := r.Usage; u != nil {
		fmt.Fprintf(out, " input=%d cached=%d written=%d output=%d reasoning=%d",
			u.InputTokens, u.CachedInputTokens, u.CacheWriteInputTokens, u.OutputTokens, u.ReasoningTokens)
	}
	if r.Compaction {
		out.WriteString(" compaction")
	}
	if r.Failed != "" {
		fmt.Fprintf(out, " failed=%q", r.Failed)
	}
	out.WriteString("\n")
}

func renderMark(out *strings.Builder, m sessionfile.Mark) {
	fmt.Fprintf(out, "mark %s at %d line %d", m.Kind, m.At, m.Line)
	if m.Trigger != "" {
		fmt.Fprintf(out, " trigger=%s", m.Trigger)
	}
	if m.TokensBefore != 0 || m.TokensAfter != 0 {
		fmt.Fprintf(out, " tokens %d → %d", m.TokensBefore, m.TokensAfter)
	}
	if m.Detail != "" {
		fmt.Fprintf(out, " %q", m.Detail)
	}
	out.WriteString("\n")
	if c := m.Change; c != nil {
		fmt.Fprintf(out, "  %s", c.Kind)
		if c.Opaque {
			out.WriteString(" opaque")
		}
		if len(c.Results) > 0 {
			fmt.Fprintf(out, " results=%v stand-in=%q", c.Results, c.StandIn)
		} else {
			fmt.Fprintf(out, " keeps from %d", c.KeepFrom)
		}
		out.WriteString("\n")
		for _, r := range c.Replacement {
			renderMessage(out, "  ", r)
		}
	}
}
