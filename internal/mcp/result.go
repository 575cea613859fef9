package mcp

import (
	"encoding/json"
	"fmt"
	"math"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
)

// text turns a result into text: what the server wrote, structured content
// where it wrote nothing, and a note for what cannot be shown as text. It stays
// within what is kept of any tool's output (F-RUN-01).
func text(result *sdk.CallToolResult) tool.Result {
	outcome := message.OutcomeSuccess
	if result.IsError {
		outcome = message.OutcomeFailure
	}
	out := tool.NewOutput(tool.MaxOutputBytes)
	written := false
	for i, content := range result.Content {
		if i > 0 {
			out.WriteString("\n")
		}
		written = write(out, content) || written
	}
	if !written && result.StructuredContent != nil {
		if len(result.Content) > 0 {
			out.WriteString("\n")
		}
		writeStructured(out, result.StructuredContent)
	}
	if out.TotalBytes() == 0 {
		out.WriteString("[the server returned nothing]")
	}
	return out.Result(outcome)
}

// write adds one piece of content and reports whether it was text.
func write(out *tool.Output, content sdk.Content) bool {
	switch v := content.(type) {
	case *sdk.TextContent:
		out.WriteString(v.Text)
		return v.Text != ""
	case *sdk.ImageContent:
		note(out, "image", v.MIMEType, len(v.Data))
	case *sdk.AudioContent:
		note(out, "sound", v.MIMEType, len(v.Data))
	case *sdk.ResourceLink:
		line := fmt.Sprintf("[link to a resource of the server: %s", shown(v.URI, 2000))
		for _, more := range []string{v.Name, v.Title, v.MIMEType, v.Description} {
			if more != "" {
				line += ", " + shown(more, 500)
			}
		}
		out.WriteString(line + "]")
	case *sdk.EmbeddedResource:
		if v.Resource == nil {
			out.WriteString("[a resource without content]")
			return false
		}
		if v.Resource.Blob != nil {
			note(out, "resource "+shown(v.Resource.URI, 2000), v.Resource.MIMEType, len(v.Resource.Blob))
			return false
		}
		out.WriteString(fmt.Sprintf("[resource %s]\n", shown(v.Resource.URI, 2000)))
		out.WriteString(v.Resource.Text)
		return v.Resource.Text != ""
	default:
		out.WriteString("[content of a kind that is not known]")
	}
	return false
}

// note stands for bytes that are no text.
func note(out *tool.Output, what, kind string, size int) {
	if kind == "" {
		kind = "unknown type"
	}
	out.WriteString(fmt.Sprintf("[%s, %s, %d bytes, not shown: results are text]", what, shown(kind, 100), size))
}

// writeStructured adds structured content as JSON.
func writeStructured(out *tool.Output, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		out.WriteString("[structured content that cannot be written as JSON]")
		return
	}
	out.WriteString(string(data))
	if hasLargeNumber(value) {
		out.WriteString("\n[whole numbers beyond 2^53 may have lost digits]")
	}
}

// hasLargeNumber reports whether a number may not be the one that was sent:
// the protocol's client reads them all as 64-bit floating point.
func hasLargeNumber(value any) bool {
	switch v := value.(type) {
	case float64:
		return math.Abs(v) >= 1<<53
	case []any:
		for _, inner := range v {
			if hasLargeNumber(inner) {
				return true
			}
		}
	case map[string]any:
		for _, inner := range v {
			if hasLargeNumber(inner) {
				return true
			}
		}
	}
	return false
}
