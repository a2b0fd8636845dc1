package scattering

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"sotto/internal/parallel"
	"sotto/rng"
	"sotto/tensor"
)

// leaves is how many dead-leaves images a whitening is made from.
const leaves = 2048

// Whitening turns normalised features into components that would be uncorrelated if
// records were dead-leaves images, divides each by a power of its standard deviation
// there, and keeps those of largest variance. It is a public constant, of images that
// were drawn, not taken, so that it costs no privacy. A linear model with clipped, noisy
// gradients learns the directions of large variance; whitening brings others up to them.
//
// The covariance is taken for a product: of one matrix over the channels at a point and
// one over the points of a channel, each an average over the images. Components are
// products of their eigenvectors.
type Whitening struct {
	channels, points int
	mean             []float32  // of each channel
	across           tensor.Mat // channels x channels: eigenvectors in columns
	along            tensor.Mat // points x points: eigenvectors in rows, those kept first
	keep             []int32    // row of along times channels + column of across
	factor           []float32
}

// Pixels are what the transform is given of an image: x in [0, 1] of channel c becomes
// (x - Mean[c])/Std[c]. Nil slices leave x.
type Pixels struct {
	Channels  int
	Mean, Std []float64
}

// NewWhitening makes the whitening for features of t with the given pixels that
// [Normalize] has brought into the given number of groups. power is that of the standard
// deviation that components are divided by, from 0, which only rotates, to 1, which makes
// all variances equal; size is the number of components kept, from 1, or 0 for all.
func NewWhitening(t *Transform, pixels Pixels, groups int, power float64, size int) (*Whitening, error) {
	total := t.Size(pixels.Channels)
	if size < 0 || size > total {
		return nil, fmt.Errorf("scattering: %d components of %d features", size, total)
	}
	if size == 0 {
		size = total
	}
	x := drawLeaves(t, pixels, groups)
	n := pixels.Channels * Paths
	w := &Whitening{channels: n, points: total / n, mean: make([]float32, n)}
	lc, err := w.fitChannels(x)
	if err != nil {
		return nil, err
	}
	lp, err := w.fitPoints(x)
	if err != nil {
		return nil, err
	}
	variance := func(k int32) float64 { return lp[int(k)/n] * lc[int(k)%n] }
	w.keep = make([]int32, total)
	for k := range w.keep {
		w.keep[k] = int32(k)
	}
	slices.SortStableFunc(w.keep, func(a, b int32) int { return cmp.Compare(variance(b), variance(a)) })
	w.keep = w.keep[:size]
	w.factor = make([]float32, size)
	for i, k := range w.keep {
		w.factor[i] = float32(math.Pow(max(variance(k), 1e-6), -power/2))
	}
	return w, nil
}

// drawLeaves returns the normalised features of the images, a row for each.
func drawLeaves(t *Transform, pixels Pixels, groups int) tensor.Mat {
	c := pixels.Channels
	x := tensor.NewMat(leaves, t.Size(c))
	type scratch struct {
		image []float32
		Scratch
	}
	_ = parallel.With(leaves, 0, func(i int, s *scratch) error {
		if s.image == nil {
			s.image = make([]float32, t.height*t.width*c)
		}
		leaf(s.image, t.height, t.width, c, rng.Public(0, "dead leaves", uint64(i)))
		for j := range s.image {
			if pixels.Mean != nil {
				s.image[j] = float32((float64(s.image[j]) - pixels.Mean[j%c]) / pixels.Std[j%c])
			}
		}
		t.Image(x.Row(i), s.image, c, &s.Scratch)
		Normalize(x.Row(i), c, groups)
		return nil
	})
	return x
}

// fitChannels sets mean and across, centres x and divides its channels by their standard
// deviations, which are in across too. It returns the variances of the components.
func (w *Whitening) fitChannels(x tensor.Mat) (variance []float64, err error) {
	n := w.channels
	rows := tensor.Mat{Rows: x.Rows * w.points, Cols: n, Stride: n, Data: x.Data}
	count := float64(rows.Rows)
	mean, square := make([]float64, n), make([]float64, n)
	for i := range rows.Rows {
		for c, v := range rows.Row(i) {
			mean[c] += float64(v) / count
			square[c] += float64(v) * float64(v) / count
		}
	}
	scale := make([]float32, n)
	for c := range scale {
		w.mean[c] = float32(mean[c])
		scale[c] = float32(1 / math.Sqrt(max(square[c]-float64(mean[c]*mean[c]), 1e-6)))
	}
	for i := range rows.Rows {
		row := rows.Row(i)
		for c := range row {
			row[c] = (row[c] - w.mean[c]) * scale[c]
		}
	}
	vectors, variance, err := components(rows, w.points*64)
	if err != nil {
		return nil, err
	}
	w.across = tensor.NewMat(n, n)
	for c := range n {
		for k := range n {
			w.across.Row(c)[k] = float32(vectors.At(c, n-1-k)) * scale[c]
		}
	}
	slices.Reverse(variance)
	return variance, nil
}

// fitPoints sets along from what fitChannels has made of x.
func (w *Whitening) fitPoints(x tensor.Mat) (variance []float64, err error) {
	p, n := w.points, w.channels
	turned := tensor.NewMat(x.Rows*n, p)
	for i := range x.Rows {
		row := x.Row(i)
		for c := range n {
			dst := turned.Row(i*n + c)
			for k := range dst {
				dst[k] = row[k*n+c]
			}
		}
	}
	vectors, variance, err := components(turned, n*64)
	if err != nil {
		return nil, err
	}
	w.along = tensor.NewMat(p, p)
	for k := range p {
		for q := range p {
			w.along.Row(k)[q] = float32(vectors.At(q, p-1-k))
		}
	}
	slices.Reverse(variance)
	return variance, nil
}

// components returns eigenvectors, in columns, and eigenvalues, rising, of the mean of
// x's rows' outer products, which is summed in parts of the given number of rows.
func components(x tensor.Mat, part int) (*mat.Dense, []float64, error) {
	n := x.Cols
	sum, product := mat.NewSymDense(n, nil), tensor.NewMat(n, n)
	for lo := 0; lo < x.Rows; lo += part {
		rows := tensor.Mat{Rows: min(part, x.Rows-lo), Cols: n, Stride: n}
		rows.Data = x.Data[lo*n:][:rows.Rows*n]
		tensor.MulTN(product, rows, rows, false)
		for i := range n {
			for j := i; j < n; j++ {
				sum.SetSym(i, j, sum.At(i, j)+float64(product.Row(i)[j])/float64(x.Rows))
			}
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(sum, true) {
		return nil, nil, fmt.Errorf("scattering: no eigenvectors of a covariance of %d", n)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	return &vectors, eigen.Values(nil), nil
}

// Size is the number of components kept.
func (w *Whitening) Size() int { return len(w.keep) }

// WhiteningScratch is the memory that one goroutine needs for a [Whitening]. The zero
// value is ready to use.
type WhiteningScratch struct{ mixed, turned tensor.Mat }

// Apply writes the components of one record's normalised features, in falling order of
// their variance, to dst of [Whitening.Size] values. It changes row.
func (w *Whitening) Apply(dst, row []float32, s *WhiteningScratch) {
	if s.mixed.Rows != w.points || s.mixed.Cols != w.channels {
		s.mixed, s.turned = tensor.NewMat(w.points, w.channels), tensor.NewMat(w.points, w.channels)
	}
	x := tensor.Mat{Rows: w.points, Cols: w.channels, Stride: w.channels, Data: row}
	for p := range x.Rows {
		for c := range x.Row(p) {
			x.Row(p)[c] -= w.mean[c]
		}
	}
	tensor.MulNN(s.mixed, w.along, x, false)
	tensor.MulNN(s.turned, s.mixed, w.across, false)
	for i, k := range w.keep {
		dst[i] = s.turned.Data[k] * w.factor[i]
	}
}
