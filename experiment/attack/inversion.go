package attack

import (
	"math"

	"sotto/data"
	"sotto/tensor"
)

// gradientInversion makes a sample from the gradient of one record. In a linear layer
// with biases, y = W'h + b, the gradients are h δ' and δ: their quotient is the layer's
// input h exactly, whatever factor a clip has put on both (Phong, Aono, Hayashi, Wang,
// Moriai 2018, "Privacy-Preserving Deep Learning via Additively Homomorphic Encryption").
// In an mlp that is the sample. In the convnet it is what the convolution gives, and the
// sample that gives the same is found by descent.
type gradientInversion struct {
	theta         []float64
	height, width int
	low, high     float64 // range of pixels, public
	convolution   bool
	hidden        int // width of the first linear layer
	classes       int
}

const (
	invertSide    = 5 // of the convnet's filters
	invertFilters = 3
	invertHidden  = 64
	invertSteps   = 800
	invertRate    = .1
	// weight of squared differences of neighboring pixels: of images that give the same,
	// the smooth one
	invertSmooth = .03
)

func newGradientInversion(name string, theta tensor.Vec, d *data.Dataset) *gradientInversion {
	v := &gradientInversion{
		theta:       widened(theta),
		height:      d.Shape[0],
		width:       d.Shape[1],
		low:         math.Inf(1),
		high:        math.Inf(-1),
		convolution: name == "convnet",
		hidden:      invertHidden,
		classes:     d.Classes,
	}
	for _, x := range d.X.Row(0) { // black and white are those of any record
		v.low, v.high = min(v.low, float64(x)), max(v.high, float64(x))
	}
	return v
}

func (v *gradientInversion) method() string {
	if v.convolution {
		return "input of the first linear layer by division of its gradients, exact without noise; image " +
			"by descent on the distance of what the convolution gives"
	}
	return "image by division of the first layer's gradients, exact without noise"
}

// pixels maps a sample to 0 to 1.
func (v *gradientInversion) pixels(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, p := range x {
		out[i] = max(0, min(1, (p-v.low)/(v.high-v.low)))
	}
	return out
}

// label is the class whose bias of the last layer the gradient pushes up the most: its
// gradient is the probability less 1.
func (v *gradientInversion) label(gradient tensor.Vec) int {
	last := gradient[len(gradient)-v.classes:]
	least := 0
	for c, g := range last {
		if g < last[least] {
			least = c
		}
	}
	return least
}

// image is the sample that the gradient belongs to.
func (v *gradientInversion) image(gradient tensor.Vec) []float64 {
	if !v.convolution {
		return v.divide(gradient, v.height*v.width)
	}
	return v.descend(v.divide(gradient[v.filters():], v.cells()))
}

func (v *gradientInversion) filters() int { return (invertSide*invertSide + 1) * invertFilters }

func (v *gradientInversion) cells() int { return v.rows() * v.columns() * invertFilters }

func (v *gradientInversion) rows() int { return (v.height - invertSide + 1) / 2 }

func (v *gradientInversion) columns() int { return (v.width - invertSide + 1) / 2 }

// divide is the input of a linear layer whose gradients begin there: the least-squares
// quotient of weights' by biases'.
func (v *gradientInversion) divide(gradient tensor.Vec, in int) []float64 {
	biases := gradient[in*v.hidden:][:v.hidden]
	length := biases.Dot(biases)
	h := make([]float64, in)
	if length > 0 {
		for i := range h {
			h[i] = gradient[i*v.hidden:][:v.hidden].Dot(biases) / length
		}
	}
	return h
}

// descend finds an image for which convolution, Mish and pooling give the target, by Adam
// (Kingma, Ba 2015) from grey.
func (v *gradientInversion) descend(target []float64) []float64 {
	n := v.height * v.width
	x, g, m1, m2 := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = v.low
	}
	for t := 1; t <= invertSteps; t++ {
		v.slope(g, x, target)
		rate := invertRate * (v.high - v.low) * (1 - float64(t-1)/invertSteps)
		for i := range x {
			m1[i] = .9*m1[i] + .1*g[i]
			m2[i] = .999*m2[i] + .001*g[i]*g[i]
			step := m1[i] / (1 - math.Pow(.9, float64(t))) /
				(math.Sqrt(m2[i]/(1-math.Pow(.999, float64(t)))) + 1e-12)
			x[i] = max(v.low, min(v.high, x[i]-rate*step))
		}
	}
	return x
}

// slope is the gradient of half the squared distance from the target plus the smoothness.
func (v *gradientInversion) slope(g, x, target []float64) {
	clear(g)
	for r := range v.height {
		for c := range v.width {
			i := r*v.width + c
			if c+1 < v.width {
				d := invertSmooth * (x[i+1] - x[i])
				g[i+1] += d
				g[i] -= d
			}
			if r+1 < v.height {
				d := invertSmooth * (x[i+v.width] - x[i])
				g[i+v.width] += d
				g[i] -= d
			}
		}
	}
	for r := range v.rows() {
		for c := range v.columns() {
			for f := range invertFilters {
				y, slope, corner := v.cell(x, r, c, f)
				d := (y - target[(r*v.columns()+c)*invertFilters+f]) * slope
				for k := range invertSide * invertSide {
					g[corner+k/invertSide*v.width+k%invertSide] += d * v.theta[k*invertFilters+f]
				}
			}
		}
	}
}

// cell is one output of the pooled convolution, its derivative in the pre-activation that
// it comes from, and where that one's patch begins.
func (v *gradientInversion) cell(x []float64, r, c, f int) (y, slope float64, corner int) {
	y = math.Inf(-1)
	for k := range 4 {
		at := (2*r+k/2)*v.width + 2*c + k%2
		z := v.theta[invertSide*invertSide*invertFilters+f]
		for k := range invertSide * invertSide {
			z += v.theta[k*invertFilters+f] * x[at+k/invertSide*v.width+k%invertSide]
		}
		s := 1 / (1 + math.Exp(-z))
		t := math.Tanh(math.Log1p(math.Exp(z)))
		if m := z * t; m > y {
			y, slope, corner = m, t+z*(1-t*t)*s, at
		}
	}
	return y, slope, corner
}
