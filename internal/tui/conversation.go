package tui

import (
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/trace"
)

// conversationRows lays a kept conversation out as rows, the marks of
// compactions in it (P-ROW-01 to P-ROW-03).
func conversationRows(c Conversation) []*row {
	marks := map[string][]trace.CompactionMark{}
	for _, m := range c.Marks {
		marks[m.ThroughMessage] = append(marks[m.ThroughMessage], m)
	}
	var rows []*row
	calls := map[string]int{} // open call → its row
	for _, m := range c.Messages {
		rows = messageRows(rows, calls, m)
		for _, mark := range marks[m.ID] { // an anchor that is missing drops its mark
			rows = append(rows, newRow(compactionRow{mark}))
		}
	}
	return rows
}

// messageRows appends what a message shows; results go to the row of their
// call.
func messageRows(rows []*row, calls map[string]int, m message.Message) []*row {
	switch {
	case m.Role == message.RoleSystem:
		return rows
	case m.Authored():
		if text := promptText(m); text != "" {
			rows = append(rows, newRow(userRow{text: text}))
		}
		return rows
	case m.Role == message.RoleUser:
		return append(rows, newRow(noticeRow{text: "note for the model, " + size(len(m.Text()))}))
	}
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case message.Text:
			rows = append(rows, textRows(b.Text)...)
		case message.Reasoning:
			if strings.TrimSpace(b.Text) != "" {
				rows = append(rows, newRow(thoughtRow{b.Text}))
			}
		case message.ToolCall:
			calls[b.ID] = len(rows)
			rows = append(rows, newRow(callRow{id: b.ID, name: b.Name, summary: callSummary(b), state: callUnknown, closed: true}))
		case message.ToolResult:
			at, ok := calls[b.CallID]
			if !ok {
				rows = append(rows, newRow(completed(callRow{id: b.CallID, name: b.Name}, b)))
				continue
			}
			delete(calls, b.CallID)
			call, _ := rows[at].content.(callRow)
			rows[at] = newRow(completed(call, b))
		}
	}
	return rows
}

// textRows is one row for each block of markdown.
func textRows(text string) []*row {
	var rows []*row
	for _, b := range blocks(text) {
		rows = append(rows, newRow(answerRow{b}))
	}
	return rows
}

// promptText is a person's message for display, pictures named.
func promptText(m message.Message) string {
	parts := []string{}
	if t := m.Text(); t != "" {
		parts = append(parts, t)
	}
	for _, b := range m.Blocks {
		if image, ok := b.(message.Image); ok {
			parts = append(parts, "[image, "+image.MediaType+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// callSummary stands for a call whose plan is not known.
func callSummary(c message.ToolCall) string {
	arguments := strings.Join(strings.Fields(c.Arguments), " ")
	if arguments == "" || arguments == "{}" {
		return c.Name
	}
	return c.Name + " " + arguments
}

// shownOutputBytes bounds what a row keeps of an output.
const shownOutputBytes = 4096

// completed is a call with its result.
func completed(call callRow, r message.ToolResult) callRow {
	call.bytes, call.closed = outputBytes(r), true
	if text := r.Text(); len(text) > shownOutputBytes {
		call.output = strings.ToValidUTF8(text[:shownOutputBytes], "")
	} else {
		call.output = text
	}
	if call.state == callDenied {
		return call
	}
	switch r.Outcome {
	case message.OutcomeSuccess:
		call.state = callSucceeded
	case message.OutcomeFailure:
		call.state = callFailed
	default:
		call.state = callUnknown
	}
	return call
}

// prompts lists what the person said, for the history and for going back.
func prompts(c Conversation) []string {
	var out []string
	for _, m := range c.Messages {
		if m.Authored() {
			out = append(out, promptText(m))
		}
	}
	return out
}
