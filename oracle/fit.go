package oracle

import (
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ privacy.Oracle = (*Fit)(nil)

// Fit is the oracle "fit": the minimiser of the owner's own loss
//
//	(1/m̄) Σ_r l(θ; x_r, y_r) + λ |θ|²
//
// for a generalized linear model. With per-record gradients of norm at most G the minimiser moves by at most
// 2G/(m̄ 2λ) when one record changes, half of that when one is added, removed or nulled (strong convexity 2λ: Chaudhuri,
// Monteleoni, Sarwate 2011). Newton's method runs until the gradient's norm is at most Tolerance, and 2 Tolerance/(2λ) is
// part of the sensitivity, as is the rounding of the answer to float32. Features are scaled to norm at most Radius, which
// makes G a public constant, and the answer to norm at most G/(2λ), where every minimiser over m̄ records lies.
type Fit struct {
	GLM        model.GLM
	Records    Records
	Normaliser float64 // m̄, public, > 0
	Lambda     float64 // public, > 0
	Radius     float64 // X > 0; +Inf leaves features alone, for runs that are not private
	Adjacency  account.Adjacency
	Unit       account.Unit
	Dim        int
}

// Tolerance bounds the gradient's norm at the answer of Fit, in units of G, or of 1 where nothing bounds gradients.
const Tolerance = 1e-9

// Validate names the first field that cannot be used. It reads no records.
func (f *Fit) Validate() error {
	if err := checkPositive("batch_size", f.Normaliser); err != nil {
		return err
	}
	switch {
	case !(f.Lambda > 0) || math.IsInf(f.Lambda, 1):
		return config.Bad("fit_lambda", f.Lambda, "above 0 and finite")
	case !(f.Radius > 0):
		return config.Bad("feature_norm", f.Radius, "above 0")
	case f.Unit != account.Record():
		return config.Bad("unit", f.Unit, "record: the sensitivity of a fit is that of one record")
	}
	return nil
}

// bound is G; +Inf where the loss has no bounded gradient.
func (f *Fit) bound() float64 {
	x := f.Radius
	if f.GLM.Intercept {
		x = math.Hypot(x, 1)
	}
	return f.GLM.Slope * x
}

// largest bounds the norm of the answer: projecting on a ball moves no two points apart.
func (f *Fit) largest() float64 { return f.bound() / (2 * f.Lambda) }

func (f *Fit) tolerance() float64 {
	if g := f.bound(); !math.IsInf(g, 1) {
		return Tolerance * g
	}
	return Tolerance
}

// Describe states the release: its clip is what one record moves the minimiser by when it is added. A loss whose gradient
// has no bound has an infinite one, which every mechanism with noise refuses.
func (f *Fit) Describe(q *agent.Query) (account.Release, error) {
	if len(q.At) != f.Dim {
		return account.Release{}, config.Bad("point", len(q.At), "as many values as the model has parameters")
	}
	clip, s := f.bound()/(f.Normaliser*2*f.Lambda), shift(f.Adjacency)
	if !math.IsInf(clip, 1) { // for the next power of two, so that owners of about the same size have one sensitivity
		s += (2*f.tolerance()/f.bound() + 0x1p-23) * math.Exp2(math.Ceil(math.Log2(f.Normaliser))) * (1 + 1e-12)
	}
	return account.Release{Oracle: FitName, Adjacency: f.Adjacency, Unit: f.Unit, Sampler: account.Sampler{Kind: account.FullBatch},
		Parts: []account.Part{{Name: "model", Clip: clip, Shift: s, Norm: account.L2, Dim: f.Dim}}, Scale: 1}, nil
}

// Evaluate minimises. The query's point does not matter: the minimiser is unique.
func (f *Fit) Evaluate(dst *privacy.Value, _ *agent.Query, _ *rng.Stream) {
	n := f.newton()
	n.run(f.tolerance())
	scale := 1.
	if size := norm(n.theta); size > f.largest() {
		scale = f.largest() / size
	}
	for i, x := range n.theta {
		dst.Float[i] = float32(scale * x)
	}
	clear(n.x)
	clear(n.theta)
}

// newton is a minimisation in double precision.
type newton struct {
	f        *Fit
	x        []float64 // features, with a 1 for the intercept, by record
	y        []float64
	theta    []float64
	gradient []float64
	hessian  []float64 // lower triangle, by row
	step     []float64
}

// newton gathers the records; one with a value that is not finite counts as the null record.
func (f *Fit) newton() *newton {
	d := f.Dim
	n := &newton{f: f, theta: make([]float64, d), gradient: make([]float64, d), hessian: make([]float64, d*d), step: make([]float64, d)}
	for _, r := range f.Records.Index {
		row := f.Records.Data.X.Row(int(r))
		square, y := 0., 0.
		for _, v := range row {
			square += float64(v) * float64(v)
		}
		if ls := f.Records.Data.Labels; ls != nil {
			y = float64(2*ls[r] - 1)
			if ls[r] < 0 || ls[r] > 1 {
				continue
			}
		} else {
			y = float64(f.Records.Data.Targets[r])
		}
		if square-square != 0 || y-y != 0 {
			continue
		}
		scale := 1.
		if norm := math.Sqrt(square); norm > f.Radius {
			scale = f.Radius / norm * (1 - 1e-12)
		}
		for _, v := range row {
			n.x = append(n.x, scale*float64(v))
		}
		if f.GLM.Intercept {
			n.x = append(n.x, 1)
		}
		n.y = append(n.y, y)
	}
	return n
}

// value returns the objective, and fills gradient and, where wanted, hessian.
func (n *newton) value(theta []float64, hessian bool) float64 {
	d, lambda, inv := n.f.Dim, n.f.Lambda, 1/n.f.Normaliser
	total := 0.
	clear(n.gradient)
	if hessian {
		clear(n.hessian)
	}
	for r, y := range n.y {
		x := n.x[r*d : (r+1)*d]
		z := 0.
		for i, v := range x {
			z += v * theta[i]
		}
		value, slope, curvature := n.f.GLM.Loss(z, y)
		total += inv * value
		for i, v := range x {
			n.gradient[i] += inv * slope * v
		}
		if hessian && curvature > 0 {
			for i, v := range x {
				c, row := inv*curvature*v, n.hessian[i*d:i*d+i+1]
				for j := range row {
					row[j] += c * x[j]
				}
			}
		}
	}
	for i, t := range theta {
		total += lambda * t * t
		n.gradient[i] += 2 * lambda * t
		if hessian {
			n.hessian[i*d+i] += 2 * lambda
		}
	}
	return total
}

// run minimises until the gradient's norm is at most tol: damped Newton steps, which reach it in a few dozen on every
// convex loss here, and then gradient steps of length 1/Λ, whose convergence needs no condition.
func (n *newton) run(tol float64) {
	next := make([]float64, len(n.theta))
	value := n.value(n.theta, true)
	for iteration := 0; norm(n.gradient) > tol && iteration < 200; iteration++ {
		n.solve()
		decrease := 0.
		for i, s := range n.step {
			decrease += s * n.gradient[i]
		}
		size, moved := 1., false
		for range 60 {
			for i, t := range n.theta {
				next[i] = t - size*n.step[i]
			}
			if v := n.value(next, false); v <= value-size*decrease/4 || norm(n.gradient) <= tol {
				moved = true
				break
			}
			size /= 2
		}
		if !moved { // values no longer resolve the decrease: take the whole step if its gradient is smaller
			n.value(n.theta, false)
			before := norm(n.gradient)
			for i, t := range n.theta {
				next[i] = t - n.step[i]
			}
			n.value(next, false)
			if !(norm(n.gradient) < before) {
				break
			}
		}
		copy(n.theta, next)
		value = n.value(n.theta, true)
	}
	n.descend(tol)
}

// descend takes gradient steps until the norm is at most tol.
func (n *newton) descend(tol float64) {
	n.value(n.theta, false)
	if norm(n.gradient) <= tol {
		return
	}
	d, largest := n.f.Dim, 0.
	for r := range n.y {
		square := 0.
		for _, v := range n.x[r*d : (r+1)*d] {
			square += v * v
		}
		largest += square / n.f.Normaliser
	}
	smooth := 2*largest + 2*n.f.Lambda // no loss here has a curvature above 2
	for range 1_000_000 {
		for i, g := range n.gradient {
			n.theta[i] -= g / smooth
		}
		if n.value(n.theta, false); norm(n.gradient) <= tol {
			return
		}
	}
}

func norm(v []float64) float64 {
	s := 0.
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}

// solve sets step to hessian^-1 gradient by Cholesky, in place: the Hessian has no eigenvalue below 2λ.
func (n *newton) solve() {
	d, h := n.f.Dim, n.hessian
	for i := range d {
		for j := 0; j <= i; j++ {
			s := h[i*d+j]
			for k := range j {
				s -= h[i*d+k] * h[j*d+k]
			}
			if i == j {
				h[i*d+i] = math.Sqrt(math.Max(s, 1e-300))
			} else {
				h[i*d+j] = s / h[j*d+j]
			}
		}
	}
	for i := range d {
		s := n.gradient[i]
		for k := range i {
			s -= h[i*d+k] * n.step[k]
		}
		n.step[i] = s / h[i*d+i]
	}
	for i := d - 1; i >= 0; i-- {
		s := n.step[i]
		for k := i + 1; k < d; k++ {
			s -= h[k*d+i] * n.step[k]
		}
		n.step[i] = s / h[i*d+i]
	}
}
