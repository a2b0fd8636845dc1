package algo

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"sotto/tensor"
)

// curves is what the steps of a Boosting have in common.
type curves struct {
	ready  bool
	length float64 // ℓ
	// point is where gradients are asked for: θ, and behind it the mean row and ℓ
	point  tensor.Vec
	blocks []block
	lambda float64
	last   float64 // what divides the gradient of the constant
}

// block is the inverse of c C_f + λ R_f of one feature.
type block struct {
	at      int
	inverse *mat.SymDense
}

// shapes makes the steps ready from the averaged counts.
func (a *Boosting) shapes() {
	p, c := a.rows()-1, a.table.Curvature
	n := float64(a.counts[p+1]) // records of an agent, on the mean of agents
	if n == 0 {
		n = math.Max(1, float64(a.counts[p]))
	}
	mean := make([]float64, p)
	at, spread := 0, 0.
	for _, k := range a.knots() {
		for j := at; j < at+k; j++ {
			mean[j] = float64(a.counts[j]) / n
		}
		if run := mean[at : at+k]; k > 1 {
			onSimplex(run)
		} else {
			run[0] = math.Max(0, math.Min(1, run[0]))
		}
		at += k
	}
	a.point = make(tensor.Vec, len(a.theta)+p+1)
	for j, m := range mean {
		spread += m * (1 - m)
		a.point[len(a.theta)+j] = float32(m)
	}
	a.length = math.Sqrt(1 + spread)
	a.point[len(a.point)-1] = float32(a.length)
	s := a.deviation()
	a.lambda = math.Max(s*math.Sqrt(float64(a.p.Steps))/a.tau(), 1e-2*c*n)
	a.last = c*n + s
	a.blocks, a.ready, at = nil, true, 0
	for _, k := range a.knots() {
		a.blocks = append(a.blocks, a.block(at, mean[at:at+k], c*n))
		at += k
	}
}

// knots are the runs of features that are one curve.
func (a *Boosting) knots() []int {
	if a.table.Knots != nil {
		return a.table.Knots
	}
	return slices.Repeat([]int{1}, a.rows()-1)
}

// stiff is a weight that keeps the mean of a curve's heights where it is: the constant is
// for that.
const stiff = 1e3

// block inverts c C + λ R of the feature whose bins have these shares of scale = c n. C
// is at least the covariance of the bins: each record is in one bin, or between two.
func (a *Boosting) block(at int, share []float64, scale float64) block {
	k := len(share)
	m := mat.NewSymDense(k, nil)
	add := func(i, j int, v float64) { m.SetSym(i, j, m.At(i, j)+v) }
	for i, u := range share {
		add(i, i, scale*u)
		for j := i; j < k; j++ {
			add(i, j, -scale*u*share[j])
		}
	}
	if k == 1 {
		add(0, 0, a.lambda)
	}
	rate := a.lambda * float64(k-1) / (a.p.Swing * a.p.Swing)
	for i := range k - 1 {
		add(i, i, rate)
		add(i+1, i+1, rate)
		add(i, i+1, -rate)
	}
	for i := range k {
		for j := i; j < k && k > 1; j++ {
			add(i, j, stiff*(scale+rate)/float64(k))
		}
	}
	inverse := mat.NewSymDense(k, nil)
	var c mat.Cholesky
	if !c.Factorize(m) || c.InverseTo(inverse) != nil {
		inverse.Zero()
	}
	return block{at, inverse}
}

// boost takes one step by the averaged gradient. One that is not finite is none.
func (a *Boosting) boost() {
	if !a.ready {
		return
	}
	k, p := a.table.Outputs, a.rows()-1
	next, mean, l := a.next[:len(a.theta)], a.point[len(a.theta):], a.length
	copy(next, a.theta)
	for o := range k {
		shift := l * float64(a.y[p*k+o]) / a.last
		for _, b := range a.blocks {
			n := b.inverse.SymmetricDim()
			for i := range n {
				step := 0.
				for j := range n {
					step += b.inverse.At(i, j) * l * float64(a.y[(b.at+j)*k+o])
				}
				at := (b.at+i)*k + o
				next[at] = float32(float64(next[at]) - step)
				shift -= float64(mean[b.at+i]) * step
			}
		}
		next[p*k+o] = float32(float64(next[p*k+o]) - shift)
	}
	if next.Finite() {
		copy(a.theta, next)
	}
}

// onSimplex sets v to the nearest point with values of at least 0 and sum 1 (Held, Wolfe,
// Crowder 1974).
func onSimplex(v []float64) {
	sorted := slices.Clone(v)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	sum, threshold := 0., 0.
	for k, x := range sorted {
		sum += x
		if t := (sum - 1) / float64(k+1); x > t {
			threshold = t
		}
	}
	for k := range v {
		v[k] = math.Max(0, v[k]-threshold)
	}
}

// Bins are, for each feature, the mean of its values by the noisy counts, and a standard
// deviation that the noise of the steps alone gives its weight, if no record pulls it
// back: (c C_f + λ R_f)^-1 s sqrt(T). Both are post-processing; false before there are
// any.
func (a *Boosting) Bins() (mean, noise []float64, ok bool) {
	if !a.ready {
		return nil, nil, false
	}
	s := a.deviation()
	for _, m := range a.point[len(a.theta) : len(a.point)-1] {
		mean = append(mean, float64(m))
	}
	noise = make([]float64, len(mean))
	for _, b := range a.blocks {
		n := b.inverse.SymmetricDim()
		for i := range n {
			square := 0.
			for j := range n {
				square += b.inverse.At(i, j) * b.inverse.At(i, j)
			}
			noise[b.at+i] = s * math.Sqrt(square*float64(a.p.Steps))
		}
	}
	return mean, noise, true
}

// deviation is that of the noise in a value of an averaged gradient.
func (a *Boosting) deviation() float64 {
	variance := math.Max(0, float64(a.counts[a.rows()+1])) / float64(max(1, a.env.agents))
	return a.p.GradientClip * a.table.Slope * a.length * math.Sqrt(variance)
}

// tau is Spread in the unit of the output.
func (a *Boosting) tau() float64 {
	if a.table.Target > 0 {
		return a.p.Spread * a.table.Target * a.p.TargetBound
	}
	return a.p.Spread
}
