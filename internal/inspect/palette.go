package inspect

import "github.com/forge-agent/forge/budget"

// order is how categories are drawn, from the bottom up and from the top
// down: as they stand in a request. What seldom changes is at the bottom, so
// that growth can be seen.
func order() [budget.CategoryCount]budget.Category {
	return [...]budget.Category{
		budget.Instructions, budget.ToolSchemas, budget.Memory, budget.Conversation, budget.CurrentRequest,
		budget.Reasoning, budget.ToolCalls, budget.ToolResults, budget.Images, budget.Framing, budget.Wrapper,
	}
}

// categoryTitle is a category's name for people.
func categoryTitle(c budget.Category) string {
	switch c {
	case budget.CurrentRequest:
		return "current request"
	case budget.ToolCalls:
		return "tool calls"
	case budget.ToolResults:
		return "tool results"
	case budget.ToolSchemas:
		return "tool schemas"
	}
	return c.String()
}

// colourOf returns a category's colour for a light or a dark background. The
// twenty-two colours were searched for so that any two, and more so two that
// touch in a stack, stay apart with every kind of colour blindness; a test
// holds them to it.
func colourOf(c budget.Category, dark bool) string {
	pair := [budget.CategoryCount][2]string{
		budget.Instructions:   {"#4661bf", "#6373c4"},
		budget.ToolSchemas:    {"#47c0fe", "#73d4ff"},
		budget.Memory:         {"#816079", "#763575"},
		budget.Conversation:   {"#98b592", "#aee0b6"},
		budget.CurrentRequest: {"#465323", "#3a5d32"},
		budget.Reasoning:      {"#efbf3c", "#e3b557"},
		budget.ToolCalls:      {"#ca6731", "#bb6e2b"},
		budget.ToolResults:    {"#6291c1", "#789fdb"},
		budget.Images:         {"#772473", "#876179"},
		budget.Framing:        {"#d0d0d0", "#b2b2b3"},
		budget.Wrapper:        {"#3c2828", "#f0fa64"},
	}
	if c < 0 || int(c) >= budget.CategoryCount {
		return "#808080"
	}
	if dark {
		return pair[c][1]
	}
	return pair[c][0]
}
