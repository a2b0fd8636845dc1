package tensor

import (
	"fmt"
	"math"
)

// Fourier transforms sequences of real numbers in double precision. It has scratch memory
// of its own: no two calls at a time. Every set of kernels gives the same bits.
//
// The sequence is read as half as many complex numbers, which passes of radix 8, 4, 2 and
// 3 transform between two buffers (Stockham), so that all but the first read and write
// runs of neighbors.
type Fourier struct {
	passes []pass
	circle []float64 // cosines and sines of 0 to half a turn in steps of 1/n
	a, b   planes
}

// planes are the real and the imaginary parts of a sequence.
type planes struct{ re, im []float64 }

func newPlanes(n int) planes { return planes{make([]float64, n), make([]float64, n)} }

// pass is one step of a transform: count butterflies for each of stride interleaved
// sequences. turns has the factors of the results but the first, of each butterfly.
type pass struct {
	radix, count, stride int
	turns                []float64
}

// NewFourier returns a transform of n numbers, n = 2^i 3^j with i >= 1. It panics for
// others.
func NewFourier(n int) *Fourier {
	m := n / 2
	left, radices := m, []int(nil)
	if m%8 == 0 {
		radices, left = []int{8}, m/8
	}
	for _, r := range []int{4, 2, 3} {
		for left > 0 && left%r == 0 {
			radices, left = append(radices, r), left/r
		}
	}
	if n < 2 || n%2 != 0 || left != 1 {
		panic(fmt.Sprintf("tensor: no Fourier transform of %d numbers", n))
	}
	f := &Fourier{circle: circle(n), a: newPlanes(m), b: newPlanes(m)}
	stride := 1
	for _, r := range radices {
		p := pass{radix: r, count: m / stride / r, stride: stride}
		p.turns = make([]float64, 0, 2*(r-1)*p.count)
		for i := range p.count {
			for k := 1; k < r; k++ {
				j := 2 * stride * i * k % n
				c, s := f.circle[2*min(j, n-j)], f.circle[2*min(j, n-j)+1]
				if j > m {
					s = -s
				}
				p.turns = append(p.turns, c, -s)
			}
		}
		f.passes, stride = append(f.passes, p), r*stride
	}
	return f
}

const sqrt3 = 1.73205080756887729352744634150587236694280525381038 // to 50 digits

// circle returns cosines and sines of 0 to n/2 steps of a turn's n-th part, each by that
// of an angle of at most an eighth of a turn.
func circle(n int) []float64 {
	out := make([]float64, 2*(n/2+1))
	for j := range n/4 + 1 {
		var s, c float64
		if 8*j <= n {
			s, c = math.Sincos(2 * math.Pi * float64(j) / float64(n))
		} else { // from a quarter of a turn back
			c, s = math.Sincos(2 * math.Pi * float64(n-4*j) / float64(4*n))
		}
		out[2*j], out[2*j+1] = c, s
		out[2*(n/2-j)], out[2*(n/2-j)+1] = -c, s
	}
	return out
}

// Forward writes the coefficients sum_j x_j e^(-2 pi i jk/n) for k from 0 to n/2 to re
// and im. It panics where lengths differ from n and n/2+1.
func (f *Fourier) Forward(re, im, x []float64) {
	m := len(f.a.re)
	f.check(re, im, x)
	for j := range m {
		f.a.re[j], f.a.im[j] = x[2*j], x[2*j+1]
	}
	z := f.transform(f.a, f.b)
	re[0], im[0] = z.re[0]+z.im[0], 0
	re[m], im[m] = z.re[0]-z.im[0], 0
	for k := 1; k <= m-k; k++ {
		j := m - k
		er, ei := .5*(z.re[k]+z.re[j]), .5*(z.im[k]-z.im[j])
		or, oi := .5*(z.im[k]+z.im[j]), .5*(z.re[j]-z.re[k])
		tr, ti := turned(or, oi, f.circle[2*k], -f.circle[2*k+1])
		re[k], im[k] = er+tr, ei+ti
		re[j], im[j] = er-tr, ti-ei
	}
}

// Inverse writes n times the sequence that has the given coefficients, of which those of
// 0 and n/2 are real, to x; see Forward.
func (f *Fourier) Inverse(x, re, im []float64) {
	m := len(f.a.re)
	f.check(re, im, x)
	z := f.a
	z.re[0], z.im[0] = re[0]+re[m], re[0]-re[m]
	for k := 1; k <= m-k; k++ {
		j := m - k
		er, ei := re[k]+re[j], im[k]-im[j]
		or, oi := turned(re[k]-re[j], im[k]+im[j], f.circle[2*k], f.circle[2*k+1])
		z.re[k], z.im[k] = er-oi, ei+or
		z.re[j], z.im[j] = er+oi, or-ei
	}
	// the inverse is the transform of the parts exchanged, exchanged
	w := f.transform(planes{z.im, z.re}, planes{f.b.im, f.b.re})
	for j := range m {
		x[2*j], x[2*j+1] = w.im[j], w.re[j]
	}
}

func (f *Fourier) check(re, im, x []float64) {
	if m := len(f.a.re); len(x) != 2*m || len(re) != m+1 || len(im) != m+1 {
		panic("tensor: a Fourier transform of other lengths")
	}
}

// transform returns the transform of a, in a or in b.
func (f *Fourier) transform(a, b planes) planes {
	for i := range f.passes {
		p := &f.passes[i]
		if !fastPass(p, b, a) {
			p.run(b, a)
		}
		a, b = b, a
	}
	return a
}

// turned is (a + ib)(c + is), rounded as the kernels round.
func turned(a, b, c, s float64) (re, im float64) {
	return math.FMA(c, a, -(s * b)), math.FMA(c, b, float64(s*a))
}

// run is a pass of any stride.
func (p *pass) run(dst, src planes) {
	if p.radix == 8 {
		p.first(dst, src)
		return
	}
	apart := p.count * p.stride
	for i := range p.count {
		turns := p.turns[2*(p.radix-1)*i:]
		for q := range p.stride {
			var z [4]complex128
			for k := range p.radix {
				at := i*p.stride + q + k*apart
				z[k] = complex(src.re[at], src.im[at])
			}
			switch p.radix {
			case 2:
				z[0], z[1] = z[0]+z[1], z[0]-z[1]
			case 3:
				z[0], z[1], z[2] = butterfly3(z[0], z[1], z[2])
			case 4:
				z[0], z[1], z[2], z[3] = butterfly4(z[0], z[1], z[2], z[3])
			}
			at := i*p.stride*p.radix + q
			dst.re[at], dst.im[at] = real(z[0]), imag(z[0])
			for k := 1; k < p.radix; k++ {
				at += p.stride
				dst.re[at], dst.im[at] = turned(real(z[k]), imag(z[k]), turns[2*k-2], turns[2*k-1])
			}
		}
	}
}

func butterfly3(a, b, c complex128) (x, y, z complex128) {
	t, u := b+c, b-c
	const half = sqrt3 / 2
	m := complex(math.FMA(real(t), -.5, real(a)), math.FMA(imag(t), -.5, imag(a)))
	y, z = quarter(m, complex(float64(half*real(u)), float64(half*imag(u))))
	return a + t, y, z
}

func butterfly4(a, b, c, d complex128) (w, x, y, z complex128) {
	s, t, u, v := a+c, a-c, b+d, b-d
	x, z = quarter(t, v)
	return s + u, x, s - u, z
}

// quarter is x - iy and x + iy.
func quarter(x, y complex128) (minus, plus complex128) {
	return complex(real(x)+imag(y), imag(x)-real(y)), complex(real(x)-imag(y), imag(x)+real(y))
}

// first is the pass of radix 8, which is the first one and of stride 1.
func (p *pass) first(dst, src planes) {
	const h = math.Sqrt2 / 2
	m := p.count
	var re, im [8][]float64
	for k := range 8 {
		re[k], im[k] = src.re[k*m:][:m], src.im[k*m:][:m]
	}
	for i := range m {
		a0, a4 := complex(re[0][i], im[0][i]), complex(re[4][i], im[4][i])
		a1, a5 := complex(re[1][i], im[1][i]), complex(re[5][i], im[5][i])
		a2, a6 := complex(re[2][i], im[2][i]), complex(re[6][i], im[6][i])
		a3, a7 := complex(re[3][i], im[3][i]), complex(re[7][i], im[7][i])
		c0, b, c, d := a0-a4, a1-a5, a2-a6, a3-a7
		c1 := complex(float64(h*(real(b)+imag(b))), float64(h*(imag(b)-real(b))))
		c2 := complex(imag(c), -real(c))
		c3 := complex(float64(h*(imag(d)-real(d))), float64(-h*(real(d)+imag(d))))
		z0, z2, z4, z6 := butterfly4(a0+a4, a1+a5, a2+a6, a3+a7)
		z1, z3, z5, z7 := butterfly4(c0, c1, c2, c3)
		w := p.turns[14*i:][:14]
		x, y := dst.re[8*i:][:8], dst.im[8*i:][:8]
		x[0], y[0] = real(z0), imag(z0)
		x[1], y[1] = turned(real(z1), imag(z1), w[0], w[1])
		x[2], y[2] = turned(real(z2), imag(z2), w[2], w[3])
		x[3], y[3] = turned(real(z3), imag(z3), w[4], w[5])
		x[4], y[4] = turned(real(z4), imag(z4), w[6], w[7])
		x[5], y[5] = turned(real(z5), imag(z5), w[8], w[9])
		x[6], y[6] = turned(real(z6), imag(z6), w[10], w[11])
		x[7], y[7] = turned(real(z7), imag(z7), w[12], w[13])
	}
}
