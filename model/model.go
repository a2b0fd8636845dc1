// Package model holds what is trained: models as functions of one flat parameter vector,
// with per-sample gradient clipping.
//
// The one expensive operation is [Model.ClippedGradientSum]: the sum over a batch of
// per-sample gradients, each scaled to L2 norm at most clip. It runs one forward and one
// backward pass over at most 32 samples at a time, takes every sample's gradient norm
// from the layers' inputs and output gradients, and forms the scaled sum with one product
// per layer (book-keeping clipping: Bu, Wang, Zha, Karypis 2023, "Differentially Private
// Optimization on Large Model at Small Cost"). The gradient of a single sample of a dense
// layer is never stored; a convolution keeps those of one chunk where that costs less
// than Gram matrices of its inputs and output gradients. [Explain] shows the choice.
//
// Results do not depend on workers: a batch is processed in chunks of 32 samples, or
// fewer for a large network, in order; the sum of one chunk is formed from zero with
// samples in order, and is then added to dst. Elements are float32, one rounded
// multiplication and one rounded addition at a time; norms are float64. No model holds
// state: all scratch memory is in the caller's [Workspace].
package model

import "sotto/tensor"

// Batch is a set of samples. The model decides which of Labels and Targets it reads:
// Labels when it was built for classes, Targets when it was built for regression; the
// other is nil. A model that reconstructs samples reads neither.
type Batch struct {
	X       tensor.Mat // one sample a row; images are flattened in the order height, width, channel
	Labels  []int32    // 0 .. Classes-1
	Targets []float32

	// Views > 1 says that each Views consecutive rows are augmented views of one record,
	// with its label or target on each. The record's gradient is the mean of its rows'
	// gradients, clipped as one (augmentation multiplicity: De, Berrada, Hayes, Smith,
	// Balle 2022, "Unlocking High-Accuracy Differentially Private Image Classification
	// through Scale"). At most 32, and it divides the number of rows. 0 and 1 mean one
	// row a record.
	Views int
}

// Len returns the number of rows.
func (b *Batch) Len() int { return b.X.Rows }

// rowsOfRecord returns the number of rows of one record.
func (b *Batch) rowsOfRecord() int { return max(1, b.Views) }

// rows returns rows lo to hi of m, which may be none; it shares memory with m.
func rows(m tensor.Mat, lo, hi int) tensor.Mat { return m.Slice(lo, hi) }

// Stats says what happened to the samples of one batch. It depends on private data: only
// the observer of a simulation may read it.
type Stats struct {
	Samples   int // samples in the batch: records, where each has several rows
	Clipped   int // samples whose gradient was longer than the clip norm
	NonFinite int // samples that contributed zero because their gradient has no finite norm
}

// Source gives the random bits of an initialisation. The streams of package rng are
// Sources.
type Source interface{ Uint64() uint64 }

// Model is a differentiable function of a parameter vector theta of length Dim, with a
// loss. A Model is immutable and may be used by many goroutines, each with its own
// Workspace. Vectors of wrong length panic.
type Model interface {
	// Dim is the number of parameters.
	Dim() int
	// Init sets dst to initial parameters that depend on r only: weights and biases
	// uniform in [-1/sqrt(fan-in), 1/sqrt(fan-in)], in the order in which they lie in
	// dst; scales of normalisation 1, shifts 0.
	Init(dst tensor.Vec, r Source)
	// ClippedGradientSum ADDS to dst the batch's per-sample loss gradients at theta, each
	// scaled by min(1, clip/norm). clip is at least 1e-30, or +Inf for no clipping; a
	// clip that is zero, negative or NaN gives zero.
	//
	// Guarantees, for every theta and batch: what one sample adds depends on that sample
	// and theta only; it is a finite vector of L2 norm at most clip, the rounding of its
	// elements included; a sample whose gradient has no finite norm (NaN or Inf anywhere,
	// a label out of range) adds exactly zero. An empty batch adds nothing. What addition
	// itself rounds off in float32 is not part of the bound.
	ClippedGradientSum(dst, theta tensor.Vec, batch *Batch, clip float64, w *Workspace) Stats
	// Predict writes one row of Outputs logits, or the predicted value, or the predicted
	// mean of a count, for each row of x.
	Predict(dst tensor.Mat, theta tensor.Vec, x tensor.Mat, w *Workspace)
	// Outputs is the length of a row that Predict writes. 1: the logit of label 1, or the
	// value of a regression.
	Outputs() int
	// Loss returns the mean loss over the batch; 0 for an empty batch. It may be NaN or
	// infinite.
	Loss(theta tensor.Vec, batch *Batch, w *Workspace) float64
}

// Plain is a Model that also has the step of non-private training. It is the honest
// comparator for the price of privacy and NEVER serves where anything is released:
// nothing bounds what one sample adds.
type Plain interface {
	// GradientSum ADDS to dst the sum of the batch's loss gradients at theta: no norms,
	// no clipping, no test for NaN or Inf. Stats counts the samples.
	GradientSum(dst, theta tensor.Vec, batch *Batch, w *Workspace) Stats
}

// GridModel is a Model that also sums per-sample gradients exactly, on a grid of
// integers.
type GridModel interface {
	// ClippedGradientGrid ADDS to dst, for each sample, the loss gradient scaled to L2
	// norm at most clip*(1-2^-20), each coordinate divided by step and truncated toward
	// zero. A sample therefore adds an integer vector of L2 norm at most clip/step, in
	// any dimension. Sums are exact, so their order does not matter. A sample whose
	// gradient has no finite norm, or whose scaled norm is 2^62 steps or more, adds zero.
	// An infinite step, or one below 2^-1000, adds nothing.
	ClippedGradientGrid(dst []int64, theta tensor.Vec, batch *Batch, clip, step float64, w *Workspace) Stats
}
