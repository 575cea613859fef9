// Package verdict says whether a figure is what was asked for.
package verdict

import "fmt"

// State is the outcome of a comparison.
type State string

// The states. What is not measured is not reached.
const (
	Reached     State = "reached"
	NotReached  State = "not reached"
	NotMeasured State = "not measured"
)

// A Verdict is one figure beside what was asked for.
type Verdict struct {
	// ID is the requirement or the number in a list of them.
	ID string `json:"id"`
	// Asked says what was asked for, Measured what was found.
	Asked    string `json:"asked"`
	Measured string `json:"measured"`
	State    State  `json:"state"`
}

// Of makes a verdict of a comparison that was made.
func Of(id, asked, measured string, reached bool) Verdict {
	v := Verdict{ID: id, Asked: asked, Measured: measured, State: NotReached}
	if reached {
		v.State = Reached
	}
	return v
}

// Open makes a verdict of something that was not measured; why says what is
// missing.
func Open(id, asked, why string) Verdict {
	return Verdict{ID: id, Asked: asked, Measured: why, State: NotMeasured}
}

// Percent writes a share as percent.
func Percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
