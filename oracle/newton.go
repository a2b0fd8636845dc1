package oracle

import (
	"math"
	"slices"

	"sotto/model"
)

// newton minimises (1/m̄) Σ_r l(z_r + x_r·θ, y_r) + λ |θ|² in double precision, for the
// convex loss l of a generalized linear model.
type newton struct {
	glm model.GLM
	fitted
	normaliser float64 // m̄
	lambda     float64 // λ > 0
	theta      []float64
	gradient   []float64
	hessian    []float64 // lower triangle, by row; its Cholesky factor after a step
	step       []float64
	most       int // steps of descend; 0: as many as reach what run is to reach
}

// fitted are the records that are fitted.
type fitted struct {
	x      []float64 // features, with a 1 for the intercept, by record
	y      []float64
	offset []float64 // z_r; nil: 0
	filled [][]int32 // of each record, the features that are not 0; nil: all are looked at
}

// newNewton starts at 0 in d dimensions.
func newNewton(glm model.GLM, x, y []float64, normaliser, lambda float64, d int) *newton {
	return &newton{glm: glm, fitted: fitted{x: x, y: y}, normaliser: normaliser, lambda: lambda,
		theta: make([]float64, d), gradient: make([]float64, d), hessian: make([]float64, d*d),
		step: make([]float64, d)}
}

// gatherRows reads records in double precision: features, with a 1 for the intercept, and
// +1, -1 for labels 1 and 0 or the target. Features are scaled to norm at most radius. A
// record with a value that is not finite, or another label, counts as the null record and
// is left out.
func gatherRows(r *Records, intercept bool, radius float64) (x, y []float64) {
	for _, at := range r.Index {
		row := r.Data.X.Row(int(at))
		square, target := 0., 0.
		for _, v := range row {
			square += float64(v) * float64(v)
		}
		if ls := r.Data.Labels; ls != nil {
			target = float64(2*ls[at] - 1)
			if ls[at] < 0 || ls[at] > 1 {
				continue
			}
		} else {
			target = float64(r.Data.Targets[at])
		}
		if square-square != 0 || target-target != 0 {
			continue
		}
		scale := 1.
		if norm := math.Sqrt(square); norm > radius {
			scale = radius / norm * (1 - 1e-12)
		}
		for _, v := range row {
			x = append(x, scale*float64(v))
		}
		if intercept {
			x = append(x, 1)
		}
		y = append(y, target)
	}
	return x, y
}

// value returns the objective, and fills gradient and, where wanted, hessian.
func (n *newton) value(theta []float64, hessian bool) float64 {
	d, lambda, inv := len(theta), n.lambda, 1/n.normaliser
	total := 0.
	clear(n.gradient)
	if hessian {
		clear(n.hessian)
	}
	for r, y := range n.y {
		x := n.x[r*d : (r+1)*d]
		z := 0.
		if n.offset != nil {
			z = n.offset[r]
		}
		if n.filled != nil {
			total += n.sparse(n.filled[r], x, theta, z, y, hessian)
			continue
		}
		for i, v := range x {
			z += v * theta[i]
		}
		value, slope, curvature := n.glm.Loss(z, y)
		total += inv * value
		for i, v := range x {
			n.gradient[i] += inv * slope * v
		}
		if hessian && curvature > 0 {
			for i, v := range x {
				if v == 0 { // as most columns of categories are
					continue
				}
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

// sparse adds one record, of which only the features in filled are not 0.
func (n *newton) sparse(filled []int32, x, theta []float64, z, y float64, hessian bool) float64 {
	d, inv := len(theta), 1/n.normaliser
	for _, i := range filled {
		z += x[i] * theta[i]
	}
	value, slope, curvature := n.glm.Loss(z, y)
	for k, i := range filled {
		n.gradient[i] += inv * slope * x[i]
		if !hessian || !(curvature > 0) {
			continue
		}
		c, row := inv*curvature*x[i], n.hessian[int(i)*d:]
		for _, j := range filled[:k+1] {
			row[j] += c * x[j]
		}
	}
	return inv * value
}

// run minimises until the gradient's norm is at most tol: damped Newton steps, which
// reach it in a few dozen on most problems, and then accelerated gradient steps, which
// reach it on all.
func (n *newton) run(tol float64) {
	next := make([]float64, len(n.theta))
	value := n.value(n.theta, true)
	for iteration := 0; norm(n.gradient) > tol && iteration < 200; iteration++ {
		cholesky(n.hessian, len(n.step))
		substitute(n.step, n.hessian, n.gradient)
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

// descend takes Nesterov's accelerated gradient steps with a constant momentum, as many
// as reach tol by his theorem (Introductory Lectures on Convex Optimization, 2.2.3): with
// κ = L/μ, f(x_k) - f* falls by 1 - 1/√κ in each, and begins below |∇f(x_0)|²/μ. The
// gradient where it is looked at is then at most 3√2 κ |∇f(x_0)| (1 - 1/√κ)^((k-1)/2).
func (n *newton) descend(tol float64) {
	n.value(n.theta, false)
	first := norm(n.gradient)
	if first <= tol {
		return
	}
	d, largest := len(n.theta), 0.
	for r := range n.y {
		square := 0.
		for _, v := range n.x[r*d : (r+1)*d] {
			square += v * v
		}
		largest += square / n.normaliser
	}
	smooth := n.glm.Curvature*largest + 2*n.lambda
	root := math.Sqrt(smooth / (2 * n.lambda))
	momentum := (root - 1) / (root + 1)
	before, steps := slices.Clone(n.theta), accelerated(root, first/tol)
	if n.most > 0 {
		steps = min(steps, n.most)
	}
	for range steps {
		for i, g := range n.gradient {
			x := n.theta[i] - g/smooth
			n.theta[i], before[i] = x+momentum*(x-before[i]), x
		}
		if n.value(n.theta, false); norm(n.gradient) <= tol {
			return
		}
	}
}

// accelerated is how many steps of descend shorten the gradient by a factor, with root =
// √κ; at most mostDescent, which Fit does not need.
func accelerated(root, factor float64) int {
	return int(min(mostDescent, 2+2*root*math.Log(3*math.Sqrt2*root*root*max(factor, 1))))
}

const (
	mostDescent = 4_000_000
	// mostCondition is the largest κ that Fit admits: accelerated gives 1.1 million steps
	// where gradients begin at 1e4 G.
	mostCondition = 1e8
)

// gradientError bounds what double precision adds to the norm of the gradient of up to 2
// m̄ records with features no longer than x, while θ and the offset of z are no longer
// than theta and offset over a record's features: of z = x·θ, which moves the slope by
// its curvature, of the slope itself, of the sum over records, and of 2λθ and the norm.
func gradientError(glm model.GLM, normaliser, lambda, x, theta, offset float64, d int) float64 {
	const unit = 0x1p-53
	n, dim := 2*normaliser, float64(d)
	slopes := glm.Curvature*(dim+3)*x*(theta+offset) + (n+16)*glm.Slope
	return unit * (2*x*slopes + (dim+8)*(2*x*glm.Slope+2*lambda*theta))
}

func norm(v []float64) float64 {
	s := 0.
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}

// cholesky replaces the lower triangle of a positive definite h (d x d, by row) by its
// factor.
func cholesky(h []float64, d int) {
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
}

// substitute sets x to (L Lᵀ)^-1 b for the factor L of cholesky.
func substitute(x, l, b []float64) {
	d := len(x)
	for i := range d {
		s := b[i]
		for k := range i {
			s -= l[i*d+k] * x[k]
		}
		x[i] = s / l[i*d+i]
	}
	for i := d - 1; i >= 0; i-- {
		s := x[i]
		for k := i + 1; k < d; k++ {
			s -= l[k*d+i] * x[k]
		}
		x[i] = s / l[i*d+i]
	}
}
