package main

import "math"

// An equation asks that the weighted parameters sum to a reported number.
type equation struct {
	weights  []float64
	reported float64
}

// A belief is what is known of a parameter before the data: its likely value
// and how far off that may be. Zero sigma fixes the value.
type belief struct{ mean, sigma float64 }

// Constants of the fit. A residual of relativeNoise of the request (and
// absoluteTokens) weighs like one sigma of a belief; residuals beyond three of
// those count linearly, so that a request with unseen content cannot pull the
// fit.
const (
	relativeNoise  = 0.02
	absoluteTokens = 40
	robustSigmas   = 3
	rounds         = 40
)

// solve finds the parameters that agree best with equations and beliefs:
// least squares with Huber's loss, by reweighting. It is deterministic.
func solve(eqs []equation, beliefs []belief) []float64 {
	n := len(beliefs)
	x := make([]float64, n)
	for i, b := range beliefs {
		x[i] = b.mean
	}
	weights := make([]float64, len(eqs))
	for range rounds {
		for i, e := range eqs {
			sigma := relativeNoise * (e.reported + absoluteTokens)
			r := math.Abs(dot(e.weights, x)-e.reported) / sigma
			weights[i] = 1 / (sigma * sigma) / max(1, r/robustSigmas)
		}
		x = leastSquares(eqs, weights, beliefs)
	}
	return x
}

func dot(a, b []float64) float64 {
	total := 0.0
	for i := range a {
		total += a[i] * b[i]
	}
	return total
}

// leastSquares solves the normal equations of one round.
func leastSquares(eqs []equation, weights []float64, beliefs []belief) []float64 {
	n := len(beliefs)
	m := make([][]float64, n)
	for i, b := range beliefs {
		m[i] = make([]float64, n+1)
		precision := 1e12
		if b.sigma > 0 {
			precision = 1 / (b.sigma * b.sigma)
		}
		m[i][i] = precision
		m[i][n] = precision * b.mean
	}
	for k, e := range eqs {
		for i, wi := range e.weights {
			if wi == 0 {
				continue
			}
			for j, wj := range e.weights {
				m[i][j] += weights[k] * wi * wj
			}
			m[i][n] += weights[k] * wi * e.reported
		}
	}
	return eliminate(m)
}

// eliminate solves a linear system with positive definite left side.
func eliminate(m [][]float64) []float64 {
	n := len(m)
	for i := range n {
		pivot := i
		for k := i + 1; k < n; k++ {
			if math.Abs(m[k][i]) > math.Abs(m[pivot][i]) {
				pivot = k
			}
		}
		m[i], m[pivot] = m[pivot], m[i]
		for k := range n {
			if k == i || m[i][i] == 0 {
				continue
			}
			f := m[k][i] / m[i][i]
			for j := i; j <= n; j++ {
				m[k][j] -= f * m[i][j]
			}
		}
	}
	x := make([]float64, n)
	for i := range n {
		if m[i][i] != 0 {
			x[i] = m[i][n] / m[i][i]
		}
	}
	return x
}
