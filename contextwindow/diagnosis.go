package contextwindow

import (
	"cmp"
	"fmt"

	"github.com/forge-agent/forge/budget"
)

// A Diagnosis says what fills a window and what helps, instead of compacting
// again (issue behaviour 8).
type Diagnosis struct {
	// Category is the heaviest category, Tokens its weight, Percent its share
	// of the request.
	Category budget.Category `json:"category"`
	Tokens   int             `json:"tokens"`
	Percent  int             `json:"percent"`
	// Item is the heaviest single item of it, Label what it is called for
	// people, ItemTokens its weight. For tool schemas it is the heaviest
	// server. Empty when no single item stands out.
	Item       string `json:"item,omitempty"`
	Label      string `json:"label,omitempty"`
	ItemTokens int    `json:"itemTokens,omitempty"`
	// Remedy is what to do about it.
	Remedy string `json:"remedy"`
}

// String is the diagnosis in one line.
func (d Diagnosis) String() string {
	if d.Item != "" {
		return fmt.Sprintf("%s weigh %d %%; the heaviest is %s with %d tokens: %s", d.Category, d.Percent, cmp.Or(d.Label, d.Item), d.ItemTokens, d.Remedy)
	}
	return fmt.Sprintf("%s weigh %d tokens, %d %%: %s", d.Category, d.Tokens, d.Percent, d.Remedy)
}

// Diagnose looks at what fills the request of f. It reads the whole ledger:
// use it when something is wrong.
func (m *Manager) Diagnose(f *Fit) Diagnosis {
	d := Diagnosis{Category: largest(f.Breakdown)}
	d.Tokens = f.Breakdown[d.Category]
	if total := f.Breakdown.Total(); total > 0 {
		d.Percent = 100 * d.Tokens / total
	}
	weights := map[string]int{}
	for l := range m.view.Lines() {
		if l.Category != d.Category || l.Tokens == 0 {
			continue
		}
		key, name := l.ID, l.Label
		if d.Category == budget.ToolSchemas && l.Label != "" {
			key, name = "server "+l.Label, "server "+l.Label
		}
		weights[key] += l.Tokens
		if w := weights[key]; w > d.ItemTokens {
			d.Item, d.Label, d.ItemTokens = key, name, w
		}
	}
	if 4*d.ItemTokens < d.Tokens {
		d.Item, d.Label, d.ItemTokens = "", "", 0 // spread over many
	}
	d.Remedy = remedy(d)
	return d
}

func remedy(d Diagnosis) string {
	switch d.Category {
	case budget.Instructions:
		return "shorten the instruction files"
	case budget.Memory:
		return "lower the target size of summaries"
	case budget.CurrentRequest:
		return "shorten the request, or put the text into a file that can be read in parts"
	case budget.ToolSchemas:
		return "turn tools off that this task does not need, or defer their schemas"
	case budget.ToolResults:
		if d.Item != "" {
			return "read this output in parts"
		}
		return "read less at a time, or begin a new session for the next task"
	case budget.Images:
		return "send smaller images"
	}
	return "begin a new session, or use a model with a larger window"
}
