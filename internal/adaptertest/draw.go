package adaptertest

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// Draw draws a request that a provider would take: calls have their results
// behind them, and every text says something.
func (e Encoder) Draw(t *rapid.T) model.Request {
	d := drawer{t: t, reasoning: e.Reasoning}
	r := model.Request{
		Instructions: []message.Message{{ID: "i", Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: "Rule: " + d.text()}}}},
		OutputTokens: rapid.IntRange(0, 100000).Draw(t, "output"),
	}
	if rapid.Bool().Draw(t, "reminder") {
		r.Reminder = "Reminder: " + d.text()
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "tools") {
		r.Tools = append(r.Tools, message.ToolDefinition{Name: fmt.Sprintf("tool_%d", i), Description: d.text(), Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)})
	}
	if rapid.Bool().Draw(t, "memory") {
		r.Messages = append(r.Messages, message.Message{Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{message.Text{Text: "Memory: " + d.text()}}})
	}
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		r.Messages = append(r.Messages, d.user())
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			r.Messages = append(r.Messages, d.step()...)
		}
	}
	return r
}

type drawer struct {
	t         *rapid.T
	reasoning func(text string) message.Reasoning
	calls     int
	texts     int
}

func (d *drawer) text() string {
	d.texts++
	return fmt.Sprintf("%d %s.", d.texts, rapid.StringMatching(`[a-zé日🌍"\\<&>\t\n ]{0,12}`).Draw(d.t, "text"))
}

func (d *drawer) image() message.Image {
	return message.Image{MediaType: "image/png", Data: rapid.SliceOfN(rapid.Byte(), 1, 30).Draw(d.t, "image")}
}

func (d *drawer) user() message.Message {
	m := message.Message{Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: d.text()}}}
	switch rapid.IntRange(0, 5).Draw(d.t, "user") {
	case 0:
		m.Blocks = append(m.Blocks, d.image(), message.Text{Text: d.text()})
	case 1:
		m.Origin = message.OriginInjected
	case 2:
		m.Role = message.RoleSystem
	}
	return m
}

// step is one reply of the model with the results of its calls.
func (d *drawer) step() []message.Message {
	m := message.Message{Role: message.RoleAssistant, Model: "test-model"}
	if rapid.Bool().Draw(d.t, "thinks") {
		m.Blocks = append(m.Blocks, d.reasoning("Thought: "+d.text()))
	}
	if rapid.IntRange(0, 4).Draw(d.t, "foreign") == 0 {
		m.Blocks = append(m.Blocks, message.Reasoning{Text: "not for you", Provider: "somebody-else", Opaque: json.RawMessage(`"sealed"`)})
	}
	m.Blocks = append(m.Blocks, message.Text{Text: d.text()})
	out := []message.Message{}
	var results []message.Block
	for range rapid.IntRange(0, 3).Draw(d.t, "calls") {
		d.calls++
		arguments, err := json.Marshal(map[string]string{"path": d.text()})
		if err != nil {
			d.t.Fatal(err)
		}
		call := message.ToolCall{ID: fmt.Sprintf("call_%d", d.calls), Name: "read_file", Arguments: string(arguments)}
		m.Blocks = append(m.Blocks, call)
		result := message.ToolResult{CallID: call.ID, Name: call.Name, Content: []message.Block{message.Text{Text: d.text()}}}
		switch rapid.IntRange(0, 5).Draw(d.t, "result") {
		case 0:
			result.Outcome = message.OutcomeFailure
		case 1:
			result.Content = append(result.Content, d.image())
		}
		results = append(results, result)
	}
	out = append(out, m)
	if rapid.Bool().Draw(d.t, "together") && len(results) > 0 {
		return append(out, message.Message{Role: message.RoleTool, Blocks: results})
	}
	for _, r := range results {
		out = append(out, message.Message{Role: message.RoleTool, Blocks: []message.Block{r}})
	}
	return out
}

// Large is a request of about a megabyte, as a long run makes it.
func Large(reasoning func(text string) message.Reasoning) model.Request {
	line := "func main() { fmt.Println(\"hello, wörld\") } // a line of code that a tool printed\n"
	output := ""
	for range 60 {
		output += line
	}
	r := model.Request{OutputTokens: 8192}
	r.Instructions = []message.Message{{Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: output}}}}
	r.Messages = []message.Message{{Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "Fix the tests."}}}}
	for i := range 190 {
		id := fmt.Sprintf("call_%d", i)
		r.Messages = append(r.Messages,
			message.Message{Role: message.RoleAssistant, Blocks: []message.Block{reasoning("I look at the next file."), message.Text{Text: "Next."},
				message.ToolCall{ID: id, Name: "read_file", Arguments: fmt.Sprintf(`{"path":"pkg/file_%d.go"}`, i)}}},
			message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: id, Name: "read_file", Content: []message.Block{message.Text{Text: output}}}}})
	}
	return r
}
