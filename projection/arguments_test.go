package projection_test

import (
	"errors"
	"math"
	"testing"

	"github.com/forge-agent/forge/projection"
)

// Issue, library use: bad arguments are errors.
func TestMostOverspendIsAFraction(t *testing.T) {
	for _, x := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		if _, err := projection.New(projection.Options{MostOverspend: x}); !errors.Is(err, projection.ErrInvalid) {
			t.Errorf("%v: %v", x, err)
		}
	}
}
