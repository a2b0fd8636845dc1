package network

import (
	"math"

	"sotto/config"
)

// Method is a way to average: y^{k+1} = a W y^k + b y^k - c y^{k-1} with public coefficients of round k = 0, 1, .... c is 0 at k = 0.
type Method struct {
	Name string
	Step func(k int) (a, b, c float64)
	// plain methods have a = 1 and b = c = 0, so that fractions stay fractions.
	plain bool
}

// Spectrum is what accelerated methods know of the matrix: its second largest and its least eigenvalue, and for jacobi the spectral
// dimension D of the graph (1 for rings, 2 for grids). It is public.
type Spectrum struct {
	Lambda2, LambdaN float64
	Dimension        float64
}

// Methods names the ways to average:
//
//	plain         W^k
//	chebyshev     stationary: w = 2/(1 + sqrt(1 - l^2)), l = max(|lambda_2|, |lambda_n|)
//	chebyshev-ns  nonstationary: w_1 = 1/(1 - l^2/2), w_{k+1} = 1/(1 - l^2 w_k/4), the Chebyshev polynomials
//	jacobi        Berthier, Bach, Gaillard 2020, for graphs of dimension D
//	paper         Cyffers, Even, Bellet, Massoulie 2022: w of the lazy matrix, L = 1 - lambda_2
//
// The first step of all but jacobi is y^1 = W y^0; then y^{k+1} = w W y^k + (1 - w) y^{k-1}.
var Methods = map[string]func(Spectrum) (Method, error){
	"plain":        func(Spectrum) (Method, error) { return Plain(), nil },
	"chebyshev":    chebyshev,
	"chebyshev-ns": chebyshevNonstationary,
	"jacobi":       jacobi,
	"paper":        paperChebyshev,
}

// Plain is y^{k+1} = W y^k.
func Plain() Method {
	return Method{Name: "plain", plain: true, Step: func(int) (a, b, c float64) { return 1, 0, 0 }}
}

// momentum is y^1 = W y^0, y^{k+1} = w_k W y^k + (1-w_k) y^{k-1}.
func momentum(name string, w func(k int) float64) Method {
	return Method{Name: name, Step: func(k int) (a, b, c float64) {
		if k == 0 {
			return 1, 0, 0
		}
		return w(k), 0, w(k) - 1
	}}
}

// modulus is the largest absolute eigenvalue after the first, below 1.
func (s Spectrum) modulus() (float64, error) {
	l := math.Max(math.Abs(s.Lambda2), math.Abs(s.LambdaN))
	if !(l < 1) {
		return 0, config.Bad("graph", l, "a graph whose second eigenvalue is below 1 in modulus")
	}
	return l, nil
}

func chebyshev(s Spectrum) (Method, error) {
	l, err := s.modulus()
	w := 2 / (1 + math.Sqrt(1-l*l))
	return momentum("chebyshev", func(int) float64 { return w }), err
}

func chebyshevNonstationary(s Spectrum) (Method, error) {
	l, err := s.modulus()
	return momentum("chebyshev-ns", func(k int) float64 {
		w := 1 / (1 - l*l/2)
		for range k - 1 {
			w = 1 / (1 - l*l*w/4)
		}
		return w
	}), err
}

func paperChebyshev(s Spectrum) (Method, error) {
	gap := 1 - s.Lambda2
	if !(gap > 0 && gap < 2) {
		return Method{}, config.Bad("graph", s.Lambda2, "a graph whose second eigenvalue is above -1 and below 1")
	}
	w := 2 * (1 - math.Sqrt(gap*(1-gap/4))) / ((1 - gap/2) * (1 - gap/2))
	return momentum("paper", func(int) float64 { return w }), nil
}

func jacobi(s Spectrum) (Method, error) {
	d := s.Dimension
	if !(d > 0 && d <= 100) {
		return Method{}, config.Bad("dimension", d, "above 0 and at most 100")
	}
	return Method{Name: "jacobi", Step: func(k int) (a, b, c float64) {
		if k == 0 {
			return (d + 4) / (2 * (d + 2)), d / (2 * (d + 2)), 0
		}
		x := float64(k)
		u, v := 2*x+d/2+1, (x+1+d/2)*(x+1+d/2)
		return u * (u + 1) / (2 * v), d * d * u / (8 * v * (2*x + d/2)), x * x * (2*x + d/2 + 2) / (v * (2*x + d/2))
	}}, nil
}
