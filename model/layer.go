package model

import (
	"math"

	"sotto/tensor"
)

// size is what the network must know to place a layer.
type size struct {
	in, out int // elements of one sample's input and output
	params  int
	scratch int // float32 of scratch for each sample, kept from forward to accumulate
	shared  int // float32 of scratch for the whole chunk
	index   int // int32 of scratch for each sample
}

// pass is one layer's part of one chunk: its parameters, its input and output, their gradients and scratch.
type pass struct {
	theta   tensor.Vec
	x, y    tensor.Mat
	dy      tensor.Mat // gradient of the loss in y; set by the layer above
	dx      tensor.Mat // gradient of the loss in x, to be written by backward; no Data: not needed
	scratch tensor.Mat
	shared  []float32
	index   []int32 // rows of size.index
	plain   bool    // norms are not used: backward may leave them out
}

// layer is one function of a network. A layer is immutable. Rows of a chunk never meet: row s of an output
// depends on row s of the inputs only.
type layer interface {
	size() size
	// export appends the layer with parameters theta to an ONNX graph.
	export(e *exporter, theta tensor.Vec)
	// describe fills the fields of LayerInfo that size does not tell, GradientMACs without the input gradient.
	describe() LayerInfo
	forward(p *pass)
	// backward writes dx if it is needed, and adds the squared L2 norm of each sample's parameter
	// gradient to norms; a NaN or Inf in it must make the norm NaN or Inf.
	backward(p *pass, norms []float64)
}

// learned is a layer with parameters.
type learned interface {
	layer
	init(dst tensor.Vec, r Source)
	// accumulate adds the sum over samples of factors[s] times the gradient of sample s to dst. No scaled
	// element may be larger than exact scaling makes it. It may overwrite dy and scratch. Samples that must
	// not contribute have factor 0 and zeros in their rows of x and dy, but not in scratch.
	accumulate(dst tensor.Vec, p *pass, factors []float64)
	// instantiate writes the gradient of sample s to dst.
	instantiate(dst tensor.Vec, p *pass, s int)
}

// uniform fills dst with numbers uniform in (-1/sqrt(fanIn), 1/sqrt(fanIn)).
func uniform(dst tensor.Vec, fanIn int, r Source) {
	bound := 1 / math.Sqrt(float64(fanIn))
	for i := range dst {
		u := float64(r.Uint64()>>11) * 0x1p-53
		dst[i] = float32(bound * float64(2*u-1))
	}
}
