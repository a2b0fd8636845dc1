package dpdl2023

import "math"

// On quadratics with one Hessian diag(h) at all agents every algorithm is a linear
// recursion, which falls apart into one small recursion for each eigenvector of the graph
// and each coordinate. Its mean and covariance are exact.

// mode is the recursion x <- M x + B ξ of one eigenvector and coordinate, ξ a standard
// normal; x[0] is the deviation of the models from the optimum.
type mode struct {
	m    [3][3]float64
	b    [3]float64
	mean [3]float64
	cov  [3][3]float64
}

// ringModes are the eigenvalues of a ring of n agents: of the Metropolis weights, 1/3
// between neighbors, and of the Laplacian.
func ringModes(n int) (weights, laplacian []float64) {
	for j := range n {
		c := math.Cos(2 * math.Pi * float64(j) / float64(n))
		weights, laplacian = append(weights, (1+2*c)/3), append(laplacian, 2-2*c)
	}
	return weights, laplacian
}

// newMode returns the recursion of an algorithm at curvature h, for the eigenvalue w of
// the weights and l of the Laplacian, with noise of deviation s on every coordinate of an
// answer:
//
//	dsgd   e <- (w - ηh) e - ηsξ
//	dsgt   e <- w(e - ηy), g' = he + sξ, y <- wy + g' - g
//	dinno  p <- p + ρle, e <- e - η(he + sξ + p + ρle)
func newMode(algorithm string, h, w, l, s float64) mode {
	const eta, rho = convexStep, dinnoRho
	switch algorithm {
	case "dsgd":
		return mode{m: [3][3]float64{{w - eta*h}}, b: [3]float64{eta * s}}
	case "dsgt":
		return mode{m: [3][3]float64{{w, -w * eta, 0}, {h * w, w - h*w*eta, -1}, {h * w, -h * w * eta, 0}},
			b: [3]float64{0, s, s}}
	}
	return mode{m: [3][3]float64{{1 - eta*h - 2*eta*rho*l, -eta, 0}, {rho * l, 1, 0}},
		b: [3]float64{-eta * s}}
}

// step advances mean and covariance by one round.
func (x *mode) step() {
	var mean [3]float64
	var half, cov [3][3]float64
	for i := range 3 {
		for j := range 3 {
			mean[i] += x.m[i][j] * x.mean[j]
			for k := range 3 {
				half[i][j] += x.m[i][k] * x.cov[k][j]
			}
		}
	}
	for i := range 3 {
		for j := range 3 {
			cov[i][j] = x.b[i] * x.b[j]
			for k := range 3 {
				cov[i][j] += half[i][k] * x.m[j][k]
			}
		}
	}
	x.mean, x.cov = mean, cov
}

// predicted returns sqrt(E‖θ - 1⊗θ*‖²) for each round from 0 on, where all agents start
// at 0 and have the same optimum.
func predicted(p *problem, algorithm string, noise float64, rounds int) []float64 {
	weights, laplacian := ringModes(ringAgents)
	var modes []mode
	for r, h := range p.hessian {
		for j := range weights {
			x := newMode(algorithm, h, weights[j], laplacian[j], noise)
			if j == 0 { // the eigenvector of equal models
				x.mean[0] = -math.Sqrt(ringAgents) * p.optimum[r]
			}
			modes = append(modes, x)
		}
	}
	out := make([]float64, rounds+1)
	for k := range out {
		sum := 0.
		for i := range modes {
			x := &modes[i]
			sum += x.mean[0]*x.mean[0] + x.cov[0][0]
			x.step()
		}
		out[k] = math.Sqrt(sum)
	}
	return out
}

// contraction is the largest factor by which a round of DP-DSGD without noise can shrink,
// or stretch, the distance between two states: that of W - ηH over all Hessians H between
// μ and L.
func (p *problem) contraction() float64 {
	weights, _ := ringModes(ringAgents)
	least := weights[ringAgents/2] // -1/3
	return max(math.Abs(1-convexStep*p.mu), math.Abs(least-convexStep*p.l))
}

// normalNorm is E‖ξ‖ of n independent standard normals.
func normalNorm(n int) float64 {
	upper, _ := math.Lgamma(float64(n+1) / 2)
	lower, _ := math.Lgamma(float64(n) / 2)
	return math.Sqrt2 * math.Exp(upper-lower)
}
