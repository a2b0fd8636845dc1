package topology

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	lapack "gonum.org/v1/gonum/lapack/gonum"
)

// lanczosSteps bounds the steps for n agents, so that the work stays at some ten seconds.
func lanczosSteps(n int) int { return min(1200, int(math.Sqrt(1.2e10/float64(n)))) }

// ends says which ends of the spectrum have to converge.
type ends int

const (
	lowEnd ends = iota
	bothEnds
)

// lanczos returns the lowest and highest eigenvalue of the symmetric operator apply on
// the complement of its eigenvector known; false if the wanted ends do not converge to
// 1e-10 of the spread in lanczosSteps steps. Every new vector is orthogonalised twice
// against all earlier ones, so there are no ghosts.
func lanczos(n int, apply func(y, x []float64), known []float64, want ends) ([2]float64, bool, error) {
	r := rand.New(rand.NewPCG(1, 0x6c616e637a6f73))
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	first := make([]float64, n)
	floats.ScaleTo(first, 1/floats.Norm(known, 2), known)
	basis := [][]float64{first}
	orthogonalise(v, basis)
	floats.Scale(1/floats.Norm(v, 2), v)
	var alpha, beta []float64
	w := make([]float64, n)
	for step := 1; step <= lanczosSteps(n); step++ {
		basis = append(basis, v)
		apply(w, v)
		alpha = append(alpha, floats.Dot(w, v))
		orthogonalise(w, basis)
		b := floats.Norm(w, 2)
		end := step == n-1 || b < 1e-13 // nothing left outside the span
		if end || step%20 == 0 {
			lo, hi, ok := tridiagonalEnds(alpha, beta)
			if !ok {
				return [2]float64{}, false, fmt.Errorf("topology: eigensolver did not converge for %d agents",
					n)
			}
			tol := 1e-10 * max(hi-lo, math.Abs(hi))
			good := residual(alpha, beta, lo, b) <= tol &&
				(want == lowEnd || residual(alpha, beta, hi, b) <= tol)
			if end || good {
				return [2]float64{lo, hi}, true, nil
			}
		}
		beta = append(beta, b)
		v = make([]float64, n)
		floats.ScaleTo(v, 1/b, w)
	}
	return [2]float64{}, false, nil
}

func orthogonalise(v []float64, basis [][]float64) {
	for range 2 {
		for _, q := range basis {
			floats.AddScaled(v, -floats.Dot(q, v), q)
		}
	}
}

// tridiagonalEnds returns the lowest and highest eigenvalue of the matrix with diagonal
// alpha and off-diagonal beta.
func tridiagonalEnds(alpha, beta []float64) (lo, hi float64, ok bool) {
	d := append([]float64(nil), alpha...)
	e := append([]float64(nil), beta...)
	ok = lapack.Implementation{}.Dsterf(len(d), d, e)
	return d[0], d[len(d)-1], ok
}

// residual returns ‖Ax - θx‖ of the Ritz pair with value theta: b times the last
// component of its unit vector, which the recurrence from the last row upwards gives
// stably as the components grow.
func residual(alpha, beta []float64, theta, b float64) float64 {
	m := len(alpha)
	below, cur, norm2 := 0.0, 1.0, 1.0 // components k+1 and k, last one scaled to 1
	last := 1.0
	for k := m - 1; k > 0; k-- {
		next := (theta - alpha[k]) * cur
		if k < m-1 {
			next -= beta[k] * below
		}
		next /= beta[k-1]
		below, cur = cur, next
		norm2 += cur * cur
		if norm2 > 1e200 {
			below, cur, last, norm2 = below*1e-100, cur*1e-100, last*1e-100, norm2*1e-200
		}
	}
	return b * last / math.Sqrt(norm2)
}
