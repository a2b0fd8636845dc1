package oracle

import (
	"math"

	"sotto/model"
	"sotto/tensor"
)

// Names of the operators T whose fixed points solve min f + λ|.|₁, f the owner's mean
// loss: "A General Differentially Private Learning Framework for Decentralized Data",
// Table 1 of the appendix, and for Douglas-Rachford the z-form.
//
//	forward           T(x) = x - γ∇f(x)                        λ = 0
//	forward-backward  T(x) = S(x - γ∇f(x))
//	backward          T(x) = prox_{γf}(x)                      λ = 0
//	douglas-rachford  T(z) = z + prox_{γf}(2 S(z) - z) - S(z)  the model is S(z)
//
// S = prox_{γλ|.|₁} is the soft threshold γλ.
//
// prox_{γf}(v) minimises f(u) + |u - v|²/(2γ). Each is nonexpansive, the first two for γ
// at most 2/Λ with Λ the smoothness of f.
const (
	Forward         = "forward"
	ForwardBackward = "forward-backward"
	Backward        = "backward"
	DouglasRachford = "douglas-rachford"
)

// Operators are the operators by name, as functions that set dst to T(at) - at.
var Operators = map[string]func(t *splitting, dst, at []float64){
	Forward:         (*splitting).forward,
	ForwardBackward: (*splitting).forwardBackward,
	Backward:        (*splitting).backward,
	DouglasRachford: (*splitting).douglasRachford,
}

// splitting is what the operators are made of.
type splitting struct {
	f         *meanLoss
	gamma     float64 // γ > 0
	threshold float64 // γλ >= 0
}

func (t *splitting) forward(dst, at []float64) {
	t.f.gradient(dst, at)
	for i := range dst {
		dst[i] *= -t.gamma
	}
}

func (t *splitting) forwardBackward(dst, at []float64) {
	t.forward(dst, at)
	for i, x := range at {
		dst[i] = soft(x+dst[i], t.threshold) - x
	}
}

func (t *splitting) backward(dst, at []float64) { t.f.proxStep(dst, at, t.gamma) }

func (t *splitting) douglasRachford(dst, at []float64) {
	reflected := make([]float64, len(at))
	for i, z := range at {
		reflected[i] = 2*soft(z, t.threshold) - z
	}
	t.f.proxStep(dst, reflected, t.gamma)
	for i, z := range at {
		dst[i] += soft(z, t.threshold) - z
	}
}

// soft is the soft threshold: the minimiser u of t|u| + (u - x)²/2.
func soft(x, t float64) float64 {
	switch {
	case x > t:
		return x - t
	case x < -t:
		return x + t
	}
	return 0
}

// meanLoss is f(θ) = (1/L) Σ_r l(θ; x_r, y_r) of an owner's records, in double precision.
// It is private.
type meanLoss struct {
	glm        model.GLM
	x, y       []float64 // see gatherRows
	normaliser float64   // L, public
	clip       float64   // of a record's gradient; +Inf: none
	tolerance  float64   // of a proximal operator: the largest norm of its objective's gradient

	lost   []float64 // what the rounding of gradient's sum lost so far, by coordinate
	factor []float64 // of I + γ∇²f, where f is quadratic
}

// gradient sets dst to the mean of the records' gradients, each scaled to norm at most
// clip. Sums are compensated (Neumaier 1974), so that what one record adds does not
// depend on the others but for the last bit. Clipping keeps the slope a non-decreasing
// function of x·θ, so that the forward step stays nonexpansive.
func (f *meanLoss) gradient(dst, at []float64) {
	d := len(at)
	if f.lost == nil {
		f.lost = make([]float64, d)
	}
	clear(dst)
	clear(f.lost)
	for r, y := range f.y {
		x := f.x[r*d : (r+1)*d]
		_, slope, _ := f.glm.Loss(inner(x, at), y)
		if size := math.Abs(slope) * norm(x); size > f.clip {
			slope *= f.clip / size * (1 - 1e-12)
		}
		for i, v := range x {
			term := slope * v
			sum := dst[i] + term
			if math.Abs(dst[i]) >= math.Abs(term) {
				f.lost[i] += dst[i] - sum + term
			} else {
				f.lost[i] += term - sum + dst[i]
			}
			dst[i] = sum
		}
	}
	for i, lost := range f.lost {
		dst[i] = (dst[i] + lost) / f.normaliser
	}
}

// proxStep sets dst to prox_{γf}(v) - v, for one γ in all calls and without a clip: -γ (I
// + γ∇²f)^-1 ∇f(v) for a quadratic loss, whose matrix is factored once, and by Newton's
// method until the gradient is no longer than tolerance otherwise. The answer is then
// within γ times the tolerance of the exact one.
func (f *meanLoss) proxStep(dst, v []float64, gamma float64) {
	if f.glm.Quadratic {
		if f.factor == nil {
			f.factorise(len(v), gamma)
		}
		g := make([]float64, len(v))
		f.gradient(g, v)
		for i := range g {
			g[i] *= -gamma
		}
		substitute(dst, f.factor, g)
		return
	}
	n := newNewton(f.glm, f.x, f.y, f.normaliser, 1/(2*gamma), len(v))
	n.offset = make([]float64, len(f.y))
	for r := range f.y {
		n.offset[r] = inner(f.x[r*len(v):(r+1)*len(v)], v)
	}
	n.run(f.tolerance)
	copy(dst, n.theta)
	clear(n.offset)
	clear(n.theta)
}

// factorise prepares (I + γ∇²f)^-1.
func (f *meanLoss) factorise(d int, gamma float64) {
	f.factor = make([]float64, d*d)
	for r, y := range f.y {
		x := f.x[r*d : (r+1)*d]
		_, _, curvature := f.glm.Loss(0, y)
		for i, v := range x {
			for j := range i + 1 {
				f.factor[i*d+j] += gamma * curvature * v * x[j] / f.normaliser
			}
		}
	}
	for i := range d {
		f.factor[i*d+i]++
	}
	cholesky(f.factor, d)
}

// erase clears what was read of the records and made from them.
func (f *meanLoss) erase() {
	for _, v := range [][]float64{f.x, f.y, f.lost, f.factor} {
		clear(v)
	}
}

func inner(x, y []float64) float64 {
	s := 0.
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

func widen(v tensor.Vec) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}
	return w
}
