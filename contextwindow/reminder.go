package contextwindow

import (
	"fmt"

	"github.com/forge-agent/forge/budget"
)

// Tier is how urgent a reminder is; zero for none.
type Tier int

// claims are the reminders given in the current window (P-REM-04).
type claims struct {
	First  bool `json:"first"`
	Second bool `json:"second"`
}

// secondTierTokens is where the second reminder is due (P-REM-03).
const secondTierTokens = 2000

// firstTierTokens is where the first reminder is due (P-REM-02):
// clamp(15 % of the budget, 8,000, 32,000).
func firstTierTokens(availableTokens int) int {
	return min(max(availableTokens*15/100, 8000), 32000)
}

// remind adds the reminder that is due to a request that fits. Each tier is
// given once in a window; a checkpoint begins a new one. The text belongs to
// this request only (P-REM-05, resolution C8).
func (m *Manager) remind(f *Fit) {
	remaining := f.Budget.AvailableTokens - f.Estimate.Tokens
	text, tier := "", Tier(0)
	switch {
	case f.Verdict != budget.Fits:
		return
	case remaining <= secondTierTokens && !m.claims.Second:
		tier = 2
		text = fmt.Sprintf("[Note of the harness: about %d tokens are left in this context window. Write down now what must be remembered: "+
			"older messages will soon be replaced by a summary; originals stay available through the recall tool.]", max(remaining, 0))
	case remaining <= firstTierTokens(f.Budget.AvailableTokens) && !m.claims.First:
		tier = 1
		text = fmt.Sprintf("[Note of the harness: about %d tokens are left in this context window. Bring what you are doing to a good point "+
			"before older messages are replaced by a summary.]", remaining)
	default:
		return
	}
	cost := m.counter.Text(text)
	f.sample.Counted[budget.Instructions] += cost
	if m.weigh(f); f.Verdict != budget.Fits {
		// A reminder must not push a request over its budget, nor must the band,
		// which grows with it.
		f.sample.Counted[budget.Instructions] -= cost
		m.weigh(f)
		return
	}
	f.Reminder, f.ReminderTier = text, tier
	m.claims.First = true
	m.claims.Second = m.claims.Second || tier == 2
}

// RequestNewContext notes that the model asked for a fresh context: the next
// Fit compacts, whatever the budget (P-TOOL-02, P-TOOL-03). It answers what
// the tool tells the model.
func (m *Manager) RequestNewContext() string {
	m.newContext = true
	return "A new context window begins with the next request. Files and other state of the environment are not affected."
}

// EndRun forgets what belongs to one run only: a request for a new context
// that was not served (fault B30). Call it when a run ends, however it ends.
func (m *Manager) EndRun() { m.newContext = false }
