package tokencount

import (
	"encoding/json"
	"fmt"
	"math"
)

// MarshalJSON writes what holds for other conversations: the ratio and the
// latest errors.
func (k *Calibration) MarshalJSON() ([]byte, error) { return json.Marshal(k.learned) }

// UnmarshalJSON reads what MarshalJSON wrote. Numbers that no calibration can
// have are an error.
func (k *Calibration) UnmarshalJSON(data []byte) error {
	var l learned
	if err := json.Unmarshal(data, &l); err != nil {
		return fmt.Errorf("read calibration: %w", err)
	}
	if err := l.validate(); err != nil {
		return fmt.Errorf("read calibration: %w", err)
	}
	*k = Calibration{learned: l}
	return nil
}

func (l learned) validate() error {
	const most = 1e9
	if !(l.CountedTokens >= 0 && l.CountedTokens <= ratioMemoryTokens) || !(l.ReportedTokens >= 0 && l.ReportedTokens <= most) {
		return fmt.Errorf("growth of %v reported for %v counted tokens", l.ReportedTokens, l.CountedTokens)
	}
	if len(l.Scores) > scoreMemory || len(l.Undercounts) > blockWindow || l.Observed < 0 {
		return fmt.Errorf("%d scores and %d undercounts of %d observations", len(l.Scores), len(l.Undercounts), l.Observed)
	}
	for _, s := range l.Scores {
		if !(s >= 0 && s <= most) || math.IsNaN(s) {
			return fmt.Errorf("score %v", s)
		}
	}
	for _, u := range l.Undercounts {
		if u < 0 {
			return fmt.Errorf("undercount %d", u)
		}
	}
	return nil
}
