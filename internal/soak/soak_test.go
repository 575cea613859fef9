package main

import (
	"os"
	"slices"
	"testing"
)

// What the whole soak may take (issue 6, "must reach").
const (
	mostMemoryBytes = 300 << 20
	mostGrowth      = 1.2
)

// soaking reports whether the whole soak is wanted.
func soaking() bool { return os.Getenv("FORGE_SOAK") != "" }

// F-TST-08, issue "2,000 steps": what a step looks at does not grow with the
// number of steps: items of the view, rows of the store, bytes hashed, counted
// and traced. Times are printed and not judged.
func TestStepsAreFlat(t *testing.T) {
	n, size, window := 1500, 3<<10, 20_000
	if testing.Short() { // the race detector makes a step slow, not another one
		n = 900
	}
	if soaking() {
		n, size, window = soakSteps, soakBytes, soakWindow
	}
	s, err := measureSteps(t.Context(), n, size, window)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + s.String())
	early, late := s.ends()
	for _, part := range []struct {
		name string
		of   func(cost) int64
	}{
		{"items", func(c cost) int64 { return int64(c.items) }}, {"rows", func(c cost) int64 { return int64(c.rows) }},
		{"hashed bytes", func(c cost) int64 { return c.hashed }}, {"counted bytes", func(c cost) int64 { return c.counted }},
	} {
		a, z := usual(early, part.of), usual(late, part.of)
		if z > a*1.01+2 {
			t.Errorf("%s: median %.1f early, %.1f late", part.name, a, z)
		}
		if m, k := mean(early, part.of), mean(late, part.of); k > m*mostGrowth+2 {
			t.Errorf("%s: mean %.1f early, %.1f late", part.name, m, k)
		}
	}
	trace := func(c cost) int64 { return c.traced }
	if a, z := median(early, trace), median(late, trace); float64(z) > float64(a)*mostGrowth {
		t.Errorf("bytes of trace: median %d early, %d late", a, z)
	}
}

// usual is the median over blocks of ten steps, for one step. The window is
// cleared in every second step or so, which looks at twice as much: the median
// of single steps would be one or the other by chance.
func usual(list []cost, of func(cost) int64) float64 {
	const block = 10
	var sums []int64
	for part := range slices.Chunk(list[:len(list)/block*block], block) {
		sum := int64(0)
		for _, c := range part {
			sum += of(c)
		}
		sums = append(sums, sum)
	}
	slices.Sort(sums)
	return float64(sums[len(sums)/2]) / block
}

// Issue "2,000 steps": the program stays small while a gigabyte goes through
// it. Without FORGE_SOAK it is 25 MB, which must not take more either.
func TestMemory(t *testing.T) {
	n := 50
	switch {
	case soaking():
		n = soakSteps
	case testing.Short():
		n = 20
	}
	m, err := measureMemory(t.Context(), n, soakBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(m)
	if m.peakBytes > mostMemoryBytes || m.last != "with the constraint" {
		t.Errorf("%v", m)
	}
}
