package tensor

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
)

// realNumbers are some of both signs and very different sizes.
func realNumbers(n int) []float64 {
	x := make([]float64, n)
	state := uint64(n)
	for i := range x {
		state = state*6364136223846793005 + 1442695040888963407
		x[i] = math.Exp(-20*float64(i)/float64(n)) * (float64(state>>11)/(1<<53) - .25)
	}
	return x
}

func norm(x []float64) (s float64) {
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

var fourierSizes = []int{2, 4, 6, 8, 12, 16, 18, 24, 32, 36, 48, 64, 96, 128, 144, 192, 256, 288, 384, 512,
	576, 1024, 1152, 1536, 2048, 9216, 1 << 15, 9 << 12, 3 << 14}

// TestFourierIsExact compares coefficients with sums in 200-bit arithmetic: the 2-norm of
// the error is below 2^-53 log2(n) times that of the coefficients, an eighth of what
// accountants charge for it.
func TestFourierIsExact(t *testing.T) {
	for _, n := range fourierSizes {
		if n > 600 {
			break
		}
		x := realNumbers(n)
		re, im := make([]float64, n/2+1), make([]float64, n/2+1)
		NewFourier(n).Forward(re, im, x)
		cos, sin := exactCircle(n)
		var wrong, all float64
		for k := range n/2 + 1 {
			var sum [2]*big.Float
			for i, table := range [][]*big.Float{cos, sin} {
				sum[i] = new(big.Float).SetPrec(200)
				for j, v := range x {
					term := new(big.Float).SetPrec(200).SetFloat64(v)
					sum[i].Add(sum[i], term.Mul(term, table[j*k%n]))
				}
			}
			for i, got := range []float64{re[k], -im[k]} {
				diff, _ := new(big.Float).Sub(sum[i], big.NewFloat(got)).Float64()
				size, _ := sum[i].Float64()
				wrong, all = wrong+diff*diff, all+size*size
			}
		}
		if math.Sqrt(wrong) > 0x1p-53*math.Log2(float64(n))*math.Sqrt(all) {
			t.Errorf("n %d: error %.3g of norm %.3g", n, math.Sqrt(wrong), math.Sqrt(all))
		}
	}
}

// exactCircle has cosines and sines of a turn in n steps, by powers of a root of unity
// that Newton's method makes precise.
func exactCircle(n int) (cos, sin []*big.Float) {
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(v) }
	type point struct{ x, y *big.Float }
	times := func(a, b point) point {
		xx, yy := number(0).Mul(a.x, b.x), number(0).Mul(a.y, b.y)
		xy, yx := number(0).Mul(a.x, b.y), number(0).Mul(a.y, b.x)
		return point{xx.Sub(xx, yy), xy.Add(xy, yx)}
	}
	power := func(p point, k int) point {
		out := point{number(1), number(0)}
		for range k {
			out = times(out, p)
		}
		return out
	}
	s, c := math.Sincos(2 * math.Pi / float64(n))
	root := point{number(c), number(s)}
	for range 4 { // z - (z^n - 1)/(n z^(n-1)), with 1/z the conjugate up to the square of the error
		p := power(root, n)
		p.x.Sub(p.x, number(1))
		step := times(p, root)
		root.x.Sub(root.x, step.x.Quo(step.x, number(float64(n))))
		root.y.Sub(root.y, step.y.Quo(step.y, number(float64(n))))
	}
	p := point{number(1), number(0)}
	for range n {
		cos, sin = append(cos, p.x), append(sin, p.y)
		p = times(p, root)
	}
	return cos, sin
}

// Long transforms agree with another program's, and what is transformed back is what it
// was.
func TestFourierAgrees(t *testing.T) {
	for _, n := range fourierSizes {
		x := realNumbers(n)
		re, im, back := make([]float64, n/2+1), make([]float64, n/2+1), make([]float64, n)
		f := NewFourier(n)
		f.Forward(re, im, x)
		want := fourier.NewFFT(n).Coefficients(nil, x)
		allowed := 0x1p-52 * math.Log2(float64(n)) * norm(x) * math.Sqrt(float64(n))
		var wrong float64
		for k, z := range want {
			wrong += (re[k]-real(z))*(re[k]-real(z)) + (im[k]-imag(z))*(im[k]-imag(z))
		}
		if math.Sqrt(wrong) > allowed {
			t.Errorf("n %d: coefficients differ by %.3g, allowed %.3g", n, math.Sqrt(wrong), allowed)
		}
		f.Inverse(back, re, im)
		wrong = 0
		for j := range x {
			d := back[j]/float64(n) - x[j]
			wrong += d * d
		}
		if math.Sqrt(wrong) > 2*0x1p-53*math.Log2(float64(n))*norm(x) {
			t.Errorf("n %d: %.3g from where it began, norm %.3g", n, math.Sqrt(wrong), norm(x))
		}
	}
	for _, n := range []int{-2, 0, 1, 3, 10, 14, 70, 80} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a transform of %d numbers", n)
				}
			}()
			NewFourier(n)
		}()
	}
}

// All sets of kernels give the same bits.
func TestFourierKernels(t *testing.T) {
	defer func(l level) { active = l }(active)
	best := active
	for _, n := range fourierSizes {
		x, f := realNumbers(n), NewFourier(n)
		var want []float64
		for l := portable; l <= best; l++ {
			active = l
			got, re, im := make([]float64, n), make([]float64, n/2+1), make([]float64, n/2+1)
			f.Forward(re, im, x)
			f.Inverse(got, re, im)
			got = append(append(got, re...), im...)
			if l == portable {
				want = got
			}
			for i := range got {
				if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
					t.Fatalf("n %d, %s: value %d is %v, portable %v", n, levelNames[l], i, got[i], want[i])
				}
			}
		}
	}
}

func BenchmarkFourier(b *testing.B) {
	for _, n := range []int{1 << 13, 1 << 15, 9 << 12, 1 << 18, 1 << 20} {
		x, re, im := realNumbers(n), make([]float64, n/2+1), make([]float64, n/2+1)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := NewFourier(n)
			for b.Loop() {
				f.Forward(re, im, x)
			}
		})
		b.Run(fmt.Sprint("gonum/", n), func(b *testing.B) {
			f, z := fourier.NewFFT(n), make([]complex128, n/2+1)
			for b.Loop() {
				f.Coefficients(z, x)
			}
		})
	}
}
