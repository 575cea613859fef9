package tokencount

import (
	"math"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// A Calibration learns, from the usage that a provider reports, how far the
// local count of one model is off, and corrects later estimates (F-EST-01,
// F-EST-02). The zero value has learned nothing. It holds aggregates only.
type Calibration struct {
	// unseenTokens is what the provider counts besides the content known
	// here: system text and tools that a session file does not hold.
	unseenTokens float64
	// sentTokens is the local count of the last request with usage.
	sentTokens int
	// observed is how many usages were taken in.
	observed int
}

// Estimate corrects a local count. raw is the breakdown of a request counted
// locally; complete says that it holds everything the provider sees. The
// returned breakdown sums to the estimate.
func (k *Calibration) Estimate(p Profile, raw budget.Breakdown, complete bool) (budget.Breakdown, model.Estimate) {
	unseen := int(math.Round(max(0, k.unseenTokens)))
	if complete {
		raw[budget.Framing] += unseen
	} else {
		raw[budget.Instructions] += unseen
	}
	return raw, p.Estimate(raw.Total())
}

// Observe takes in the usage of a request whose local count was rawTokens.
func (k *Calibration) Observe(rawTokens int, u message.Usage) {
	if u.InputTokens <= 0 {
		return
	}
	k.unseenTokens = float64(u.InputTokens - rawTokens)
	k.sentTokens = rawTokens
	k.observed++
}
