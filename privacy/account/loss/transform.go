package loss

import (
	"sync"

	"sotto/tensor"
)

// transform is a Fourier transform of n cells with the arrays that a composition needs
// besides its answer: what is transformed, its spectrum, and the logarithms of one.
type transform struct {
	fft         *tensor.Fourier
	x           []float64
	re, im      []float64
	size, phase []float64
	pool        *sync.Pool
}

// transforms keeps what compositions have used, by number of cells: a search for noise
// composes dozens of times on as many cells, and the sines of a transform cost more than
// a transform.
var transforms sync.Map // int to *sync.Pool

// transformOf returns a transform of n cells, to be released; its arrays hold anything.
func transformOf(n int) *transform {
	pool, ok := transforms.Load(n)
	if !ok {
		pool, _ = transforms.LoadOrStore(n, &sync.Pool{})
	}
	if w, ok := pool.(*sync.Pool).Get().(*transform); ok {
		return w
	}
	half := func() []float64 { return make([]float64, n/2+1) }
	return &transform{
		fft:   tensor.NewFourier(n),
		x:     make([]float64, n),
		re:    half(),
		im:    half(),
		size:  half(),
		phase: half(),
		pool:  pool.(*sync.Pool),
	}
}

func (w *transform) release() { w.pool.Put(w) }
