package scattering

import (
	"math"

	"sotto/tensor"
)

// Scratch is the memory that one goroutine needs for a [Transform]. The zero value is
// ready to use, for transforms of one size.
type Scratch struct {
	zero   []float32
	plane  [4]tensor.Mat // phases of the padded image
	moduli [4]tensor.Mat // and of what wavelets leave of it: by row, angle, column
	// hats are coefficients of phases: of the moduli, by angle, and last of the image.
	hats   [angles + 1][4]tensor.Mat
	band   tensor.Mat    // coefficients of a phase after a wavelet
	half   tensor.Mat    // after the transform of columns: by row, angle, part, column
	full   tensor.Mat    // after that of rows: cosines above sines
	parts  tensor.Mat    // real above imaginary parts, by row, angle, column
	smooth [2]tensor.Mat // after the low pass of rows, by parity of columns
	low    tensor.Mat    // after that of columns: by row, angle, column
}

func (s *Scratch) fit(t *Transform) {
	h, w := t.h, t.w
	if len(s.zero) == 2*h*w {
		return
	}
	s.zero = make([]float32, 2*h*w)
	for r := range 4 {
		s.plane[r], s.moduli[r] = tensor.NewMat(h, w), tensor.NewMat(h, angles*w)
		for a := range s.hats {
			s.hats[a][r] = tensor.NewMat(h, 2*w)
		}
	}
	s.band, s.half = tensor.NewMat(h, 2*w), tensor.NewMat(h, angles*2*w)
	s.full, s.parts = tensor.NewMat(2*h, angles*2*w), tensor.NewMat(2*h, angles*w)
	kept := t.height / reduce
	s.smooth = [2]tensor.Mat{tensor.NewMat(kept, angles*w), tensor.NewMat(kept, angles*w)}
	s.low = tensor.NewMat(kept*angles, t.width/reduce)
}

// Image writes the features of one image to dst: feature p of channel c at point (y, x)
// of height/4 x width/4 is dst[((y*width/4+x)*channels+c)*81+p]. Points are pixels
// (4y, 4x). p is 0 for the low pass; 1 + 8j + a for scale j and angle a; 17 + 8a + b for
// angle a of scale 0 and then b of scale 1. The image has its channel last, as in a
// data set. It panics where lengths do not fit.
func (t *Transform) Image(dst, image []float32, channels int, s *Scratch) {
	s.fit(t)
	if len(image) != t.height*t.width*channels || len(dst) != t.Size(channels) {
		panic("scattering: lengths do not fit")
	}
	for c := range channels {
		t.pad(s, image[c:], channels)
		t.channel(dst[c*Paths:], channels*Paths, s)
	}
}

// pad lays a channel out in phases, reflected at its edges, which are not repeated.
func (t *Transform) pad(s *Scratch, image []float32, channels int) {
	for y := range 2 * t.h {
		from := image[reflect(y-reduce, t.height)*t.width*channels:]
		even, odd := s.plane[y&1*2].Row(y/2), s.plane[y&1*2+1].Row(y/2)
		for x := range t.w {
			even[x] = from[reflect(2*x-reduce, t.width)*channels]
			odd[x] = from[reflect(2*x+1-reduce, t.width)*channels]
		}
	}
}

func reflect(i, n int) int {
	if i < 0 {
		i = -i
	}
	if i >= n {
		i = 2*(n-1) - i
	}
	return i
}

// channel computes the features of the padded plane; those of one point lie in a row, and
// points are stride apart.
func (t *Transform) channel(dst []float32, stride int, s *Scratch) {
	t.smoothed(dst, stride, s.plane[:], &t.even, s)
	for r := range 4 {
		t.transform(s.hats[angles][r:r+1], s.plane[r], r, s)
	}
	t.filtered(s.moduli[0], &s.hats[angles], 1, 0, s)
	t.smoothed(dst[1+angles:], stride, s.moduli[:1], &t.coarse, s)
	for r := range 4 {
		t.filtered(s.moduli[r], &s.hats[angles], 0, r, s)
	}
	t.smoothed(dst[1:], stride, s.moduli[:], &t.even, s)
	var hats [angles]tensor.Mat
	for r := range 4 {
		for a := range hats {
			hats[a] = s.hats[a][r]
		}
		t.transform(hats[:], s.moduli[r], r, s)
	}
	for a := range angles {
		t.filtered(s.moduli[0], &s.hats[a], 1, 0, s)
		t.smoothed(dst[1+(2+a)*angles:], stride, s.moduli[:1], &t.coarse, s)
	}
}

// transform writes the coefficients of phase r of planes that lie beside each other, real
// parts beside imaginary ones.
func (t *Transform) transform(hats []tensor.Mat, planes tensor.Mat, r int, s *Scratch) {
	parts := tensor.Mat{Rows: 2 * t.h, Cols: planes.Cols, Stride: planes.Cols, Data: s.parts.Data}
	tensor.MulNN(parts, t.rows[r>>1].forward, planes, false)
	cols := &t.cols[r&1]
	for a, hat := range hats {
		tensor.MulNN(hat, columns(parts.Slice(0, t.h), a, t.w), cols.re, false)
		tensor.MulNN(hat, columns(parts.Slice(t.h, 2*t.h), a, t.w), cols.im, true)
	}
}

// columns are those of angle a, each having n.
func columns(m tensor.Mat, a, n int) tensor.Mat {
	return tensor.Mat{Rows: m.Rows, Cols: n, Stride: m.Stride, Data: m.Data[a*n:]}
}

// filtered writes phase p of the moduli of the plane with the coefficients hat, for the
// wavelets of scale j and each angle.
func (t *Transform) filtered(moduli tensor.Mat, hat *[4]tensor.Mat, j, p int, s *Scratch) {
	z := s.band.Data
	for a := range angles {
		q := &t.wavelets[j][a]
		tensor.NormalizeGradient(z, hat[0].Data, hat[1].Data, s.zero, q[p], q[p^1], s.zero)
		tensor.NormalizeGradient(z, hat[2].Data, hat[3].Data, s.zero, q[p^2], q[p^3], z)
		tensor.MulNN(columns(s.half, a, 2*t.w), s.band, t.cols[p&1].inverse, false)
	}
	tensor.MulNN(s.full, t.rows[p>>1].inverse, s.half, false)
	w := t.w
	for m := range t.h {
		c, d := s.full.Row(m), s.full.Row(t.h+m)
		out := moduli.Row(m)
		for a := range angles {
			modulus(out[a*w:][:w], c[2*a*w:][:2*w], d[2*a*w:][:2*w])
		}
	}
}

// modulus sets out to |c + i d| with c and d complex: real parts before imaginary ones.
func modulus(out, c, d []float32) {
	n := len(out)
	cr, ci := c[:n], c[n:][:n]
	dr, di := d[:n], d[n:][:n]
	for i := range out {
		re, im := cr[i]-di[i], ci[i]+dr[i]
		out[i] = float32(math.Sqrt(float64(float32(re*re) + float32(im*im))))
	}
}

// smoothed writes the low pass of planes that lie beside each other, given by phases: one
// phase, of the coarser grid, or four.
func (t *Transform) smoothed(dst []float32, stride int, phases []tensor.Mat, f *pass, s *Scratch) {
	n := phases[0].Cols / t.w
	kept, wide := t.height/reduce, t.width/reduce
	low := s.low.Slice(0, kept*n)
	for p := range min(2, len(phases)) { // parity of columns
		smooth := tensor.Mat{Rows: kept, Cols: n * t.w, Stride: n * t.w, Data: s.smooth[p].Data}
		tensor.MulNN(smooth, f.top[0], phases[p], false)
		if len(phases) == 4 {
			tensor.MulNN(smooth, f.top[1], phases[2+p], true)
		}
		rows := tensor.Mat{Rows: kept * n, Cols: t.w, Stride: t.w, Data: smooth.Data}
		tensor.MulNN(low, rows, f.right[p], p == 1)
	}
	for y := range kept {
		for a := range n {
			for x, v := range low.Row(y*n + a) {
				dst[(y*wide+x)*stride+a] = v
			}
		}
	}
}
