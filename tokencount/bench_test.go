package tokencount_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

// megabyte is a request of about one megabyte: calls that read files, and what
// they hold.
func megabyte() (model.Request, int) {
	line := "\tfor i, m := range messages { // item %d of the list\n\t\ttotal += c.Message(m).Total()\n\t}\n"
	var r model.Request
	size := 0
	for i := 0; size < 1<<20; i++ {
		var b strings.Builder
		for j := range 60 {
			fmt.Fprintf(&b, line, i*60+j)
		}
		size += b.Len()
		r.Messages = append(r.Messages,
			message.Message{Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{Name: "read", Arguments: fmt.Sprintf(`{"path": "pkg/file%d.go"}`, i)}}},
			message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{Content: []message.Block{message.Text{Text: b.String()}}}}})
	}
	return r, size
}

func BenchmarkRequest(b *testing.B) {
	r, size := megabyte()
	for _, f := range []string{"openai", "claude"} {
		b.Run(f, func(b *testing.B) {
			c := tokencount.New(o200k.New(), tokencount.ProfileFor(f))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				c.Request(r)
			}
		})
	}
}

// A new message costs its own size, whatever came before it.
func BenchmarkMessage(b *testing.B) {
	r, _ := megabyte()
	m := r.Messages[1]
	for _, f := range []string{"openai", "claude"} {
		b.Run(f, func(b *testing.B) {
			c := tokencount.New(o200k.New(), tokencount.ProfileFor(f))
			c.Request(r)
			b.SetBytes(int64(len(m.Blocks[0].(message.ToolResult).Text())))
			b.ReportAllocs()
			for b.Loop() {
				c.Message(m)
			}
		})
	}
}

func BenchmarkTool(b *testing.B) {
	d := message.ToolDefinition{Name: "edit", Description: strings.Repeat("Edits a file in place. ", 20),
		Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string","description":"The file."},"old":{"type":"string"},"new":{"type":"string"}},"required":["path","old","new"]}`)}
	c := tokencount.New(o200k.New(), tokencount.ProfileFor("openai"))
	for b.Loop() {
		c.Tool(d)
	}
}

func BenchmarkCalibration(b *testing.B) {
	var k tokencount.Calibration
	s := tokencount.Sample{}
	for b.Loop() {
		s.Counted[5] += 10
		k.Estimate(profile(), s)
		k.Observe(profile(), s, usage(100+s.Counted.Total()))
	}
}
