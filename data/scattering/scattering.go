// Package scattering computes features of images with fixed wavelets: the scattering
// transform of Oyallon and Mallat (CVPR 2015, "Deep roto-translation scattering for
// object classification"), as Tramer and Boneh (ICLR 2021, "Differentially private
// learning needs better features (or much more data)") use it before linear models.
//
// Features of an image are a function of that image and of public constants: nothing is
// learned, and nothing of one record reaches another's features. So they are a change of
// the records, before any release, and cost no privacy; neighboring data sets of images
// have neighboring data sets of features.
//
// Filters are those of Kymatio: Morlet wavelets of scales 2^0 and 2^1 and 8 angles, with
// sigma .8 2^j, frequency 3 pi/4 / 2^j and slant 1/2, and a Gaussian low pass of sigma
// 1.6, on a periodic grid that reflects the image 4 pixels beyond its edges.
package scattering

import (
	"fmt"
	"math"

	"sotto/config"
	"sotto/tensor"
)

const (
	scales = 2
	reduce = 1 << scales // pixels from one kept point to the next, and of padding at each side
	// Paths is the number of coefficients of a channel at a point: the low pass, 2 scales
	// with 8 angles, and 64 pairs of angles of the finer, then the coarser scale.
	Paths = 1 + scales*angles + angles*angles*scales*(scales-1)/2
	// Reduce is how much smaller each side of the features is than that of the image.
	Reduce = reduce
)

// Transform holds the filters of images of one size. It may be used by many goroutines,
// each with a [Scratch].
//
// All sums are over a quarter of the padded grid: a plane is held as four phases, those
// of its even and odd rows and columns. With D_r the Fourier coefficients of phase r on
// that quarter, phase s of a plane that was filtered is the inverse transform of the sum
// over r of q[s^r] D_r, where q[t] is the signed sum of the filter's four bands.
type Transform struct {
	height, width int // of the image
	h, w          int // of a phase of the padded image
	wavelets      [scales][angles][4][]float32
	rows, cols    [2]turn // by parity
	even, coarse  pass
}

// turn is the Fourier transform along one dimension of the points of one parity.
type turn struct {
	forward tensor.Mat // rows: cosines above negative sines; columns: see columns
	re, im  tensor.Mat // what multiplies real and imaginary parts from the right
	inverse tensor.Mat
}

// pass is the low pass: matrices by parity of rows and columns.
type pass struct{ top, right [2]tensor.Mat }

// Check returns a *config.Error for resize unless both sides of images are multiples of 4
// from 8 to 256.
func Check(height, width int) error {
	for _, n := range []int{height, width} {
		if n < 8 || n > 256 || n%reduce != 0 {
			return config.Bad("resize", fmt.Sprintf("images of %d x %d", height, width),
				"with scattering features sides of 8 to 256 pixels that 4 divides")
		}
	}
	return nil
}

// New returns the transform of images of height x width pixels; its error is [Check]'s.
func New(height, width int) (*Transform, error) {
	if err := Check(height, width); err != nil {
		return nil, err
	}
	t := &Transform{height: height, width: width, h: height/2 + reduce, w: width/2 + reduce}
	for j := range scales {
		for a := range angles {
			t.wavelets[j][a] = t.bands(morlet(2*t.h, 2*t.w, j, a))
		}
	}
	for p := range 2 {
		t.rows[p], t.cols[p] = rowTurn(t.h, p), columnTurn(t.w, p)
		t.even.top[p] = matrix(parity(smoothing(2*t.h, 1), p))
		t.even.right[p] = transposed(parity(smoothing(2*t.w, 1), p))
	}
	t.coarse.top[0] = matrix(smoothing(t.h, 2))
	t.coarse.right[0] = transposed(smoothing(t.w, 2))
	return t, nil
}

// Size is the number of features of an image of the given number of channels.
func (t *Transform) Size(channels int) int {
	return t.height / reduce * (t.width / reduce) * channels * Paths
}

// bands returns the signed sums of the four bands of a filter's coefficients, each value
// twice in a row: for real and for imaginary parts.
func (t *Transform) bands(hat []float64) (q [4][]float32) {
	for s := range q {
		q[s] = make([]float32, 2*t.h*t.w)
		for k := range t.h {
			for l := range t.w {
				sum := 0.
				for b := range q {
					v := hat[(k+b>>1*t.h)*2*t.w+l+b&1*t.w]
					if s&b == 1 || s&b == 2 {
						v = -v
					}
					sum += v
				}
				v := float32(sum / float64(4*t.h*t.w))
				q[s][k*2*t.w+l], q[s][k*2*t.w+t.w+l] = v, v
			}
		}
	}
	return q
}

// wave returns the angle of frequency k at point m of n of the given parity.
func wave(k, m, n, parity int) (sin, cos float64) {
	return math.Sincos(2 * math.Pi * float64(k*(2*m+parity)%(2*n)) / float64(2*n))
}

func rowTurn(n, parity int) turn {
	t := turn{forward: tensor.NewMat(2*n, n), inverse: tensor.NewMat(2*n, n)}
	for k := range n {
		for m := range n {
			s, c := wave(k, m, n, parity)
			t.forward.Row(k)[m], t.forward.Row(n + k)[m] = float32(c), float32(-s)
			t.inverse.Row(m)[k], t.inverse.Row(n + m)[k] = float32(c), float32(s)
		}
	}
	return t
}

func columnTurn(n, parity int) turn {
	t := turn{re: tensor.NewMat(n, 2*n), im: tensor.NewMat(n, 2*n), inverse: tensor.NewMat(2*n, 2*n)}
	for k := range n {
		for m := range n {
			sin, cos := wave(k, m, n, parity)
			s, c := float32(sin), float32(cos)
			t.re.Row(m)[k], t.re.Row(m)[n+k] = c, -s
			t.im.Row(m)[k], t.im.Row(m)[n+k] = s, c
			t.inverse.Row(k)[m], t.inverse.Row(k)[n+m] = c, s
			t.inverse.Row(n + k)[m], t.inverse.Row(n + k)[n+m] = -s, c
		}
	}
	return t
}

// parity keeps the columns 2m + p.
func parity(rows [][]float64, p int) [][]float64 {
	out := make([][]float64, len(rows))
	for i, row := range rows {
		for k := p; k < len(row); k += 2 {
			out[i] = append(out[i], row[k])
		}
	}
	return out
}

func matrix(rows [][]float64) tensor.Mat {
	m := tensor.NewMat(len(rows), len(rows[0]))
	for i, row := range rows {
		for k, v := range row {
			m.Row(i)[k] = float32(v)
		}
	}
	return m
}

func transposed(rows [][]float64) tensor.Mat {
	m := tensor.NewMat(len(rows[0]), len(rows))
	for i, row := range rows {
		for k, v := range row {
			m.Row(k)[i] = float32(v)
		}
	}
	return m
}
