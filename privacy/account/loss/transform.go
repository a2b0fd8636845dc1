package loss

import (
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
)

// transform is a Fourier transform of n cells with the arrays that a composition needs
// besides its answer.
type transform struct {
	n       int
	fft     *fourier.FFT
	x       []float64
	z, logs []complex128
}

// transforms keeps what compositions have used: a search for noise composes dozens of
// times on as many cells, and the sines of a transform cost as much as a tenth of it.
var transforms sync.Pool

// transformOf returns a transform of n cells; its arrays hold anything.
func transformOf(n int) *transform {
	if w, ok := transforms.Get().(*transform); ok && w.n == n {
		return w
	}
	return &transform{
		n:    n,
		fft:  fourier.NewFFT(n),
		x:    make([]float64, n),
		z:    make([]complex128, n/2+1),
		logs: make([]complex128, n/2+1),
	}
}
