package model

import (
	"math"

	"sotto/tensor"
)

// size is what the network must know to place a layer.
type size struct {
	in, out int // elements of one row's input and output
	params  int
	scratch int // float32 of scratch for each row, kept from forward to accumulate
	shared  int // float32 of scratch for the whole call
	index   int // int32 of scratch for each row

	// Scratch that only one call of a method uses: float32 for the chunk and for each of
	// its rows, float64 for the chunk.
	temp, tempRow, doubles int
}

// pass is one layer's part of one chunk: its parameters, its input and output, their
// gradients and scratch.
type pass struct {
	theta   tensor.Vec
	x, y    tensor.Mat
	dy      tensor.Mat // gradient of the loss in y; set by the layer above
	dx      tensor.Mat // gradient of the loss in x, to be written by backward; no Data: not needed
	scratch tensor.Mat
	shared  []float32
	index   []int32 // rows of size.index
	temp    []float32
	doubles []float64
	views   int // rows of one record
	marks
	// for layers that keep them: one gradient for each record of the chunk, and a spare
	// row
	kept tensor.Mat

	half    *halves        // nil: products are float32
	rounded tensor.Mat     // x rounded to bfloat16, if half is not nil
	x16     tensor.MatBF16 // x, which is rounded then
	dy16    tensor.MatBF16 // dy, which is rounded before backward
	weights []uint16       // weights that are kept in bfloat16, as in shared

	skip   tensor.Mat // of a join: its second input. Of a fork: the gradient of its second output
	second tensor.Mat // of a join: the gradient of its second input; no Data: the fork reads dy
}

// marks are what has been said or done about a pass.
type marks struct {
	plain        bool // norms are not used: backward may leave them out
	laid, turned bool // weights are laid out, for forward and for the input gradient
}

// records returns the number of records of the chunk.
func (p *pass) records() int { return p.dy.Rows / p.views }

// layer is one function of a network. A layer is immutable. Rows of a chunk never meet:
// row s of an output depends on row s of the inputs only.
type layer interface {
	size() size
	// export appends the layer with parameters theta to an ONNX graph.
	export(e *exporter, theta tensor.Vec)
	// describe fills the fields of LayerInfo that size does not tell, GradientMACs
	// without the input gradient.
	describe() LayerInfo
	forward(p *pass)
	// backward writes dx if it is needed, and adds the squared L2 norm of each record's
	// parameter gradient to norms; a NaN or Inf in it must make the norm NaN or Inf.
	backward(p *pass, norms []float64)
}

// learned is a layer with parameters. One that is not viewed is given records of one row
// only.
type learned interface {
	layer
	init(dst tensor.Vec, r Source)
	// accumulate adds the sum over records of factors[r] times the gradient of record r
	// to dst, that sum being formed from zero. No scaled element may be larger than exact
	// scaling makes it. It may overwrite dy and scratch. Records that must not contribute
	// have factor 0 and zeros in their rows of x and dy, but not in scratch.
	accumulate(dst tensor.Vec, p *pass, factors []float64)
	// instantiate writes the gradient of record r to dst.
	instantiate(dst tensor.Vec, p *pass, r int)
	// tensors are the parameters in the layout of Layers, without the layer's number.
	// Each element of theta is in one place.
	tensors(theta tensor.Vec) []NamedVec
}

// viewed is a learned layer that sums over the rows of a record.
type viewed interface {
	learned
	// keeps says whether a layer with records of that many rows needs room for a gradient
	// of each record.
	keeps(views int) bool
}

// preparer is a layer that derives something from its parameters, once for each call of a
// Model. With gradient false there will be no backward.
type preparer interface {
	prepare(p *pass, gradient bool)
}

// uniform fills dst with numbers uniform in [-1/sqrt(fanIn), 1/sqrt(fanIn)].
func uniform(dst tensor.Vec, fanIn int, r Source) {
	bound := 1 / math.Sqrt(float64(fanIn))
	for i := range dst {
		u := float64(r.Uint64()>>11) * 0x1p-53
		dst[i] = float32(bound * float64(2*u-1))
	}
}

// leastFactor is the smallest factor whose rounding to float32 is small beside it.
const leastFactor = 0x1p-100

// addKept adds the sum of factors[r] times row r of kept to dst. Rounding to nearest
// lengthens a row by at most 2^-23 of its norm, and by 2^-149 an element where it is
// subnormal: clipShrink covers both for every clip norm of 1e-30 or more. Blocks keep the
// sum in the first-level cache.
func addKept(dst tensor.Vec, kept tensor.Mat, factors []float64) {
	const block = 2048
	var sum [block]float32
	for lo := 0; lo < len(dst); lo += block {
		n := min(block, len(dst)-lo)
		part := tensor.Vec(sum[:n])
		part.Zero()
		for r, f := range factors {
			if f == 0 {
				continue
			}
			row := kept.Row(r)[lo : lo+n]
			if f < leastFactor {
				tensor.ScaleToward(row, f)
				f = 1
			}
			part.AddScaled(f, row)
		}
		dst[lo:lo+n].AddScaled(1, part)
	}
}

// addNorms adds the squared norms of the kept gradients.
func addNorms(norms []float64, kept tensor.Mat) {
	for r := range norms {
		norms[r] += tensor.SumSquares(kept.Row(r))
	}
}
