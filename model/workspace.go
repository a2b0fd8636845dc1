package model

import "sotto/tensor"

// Workspace is the scratch memory of one goroutine. The zero Workspace is ready for use,
// fits every model, and grows to the largest one it has served; after that no step
// allocates. Its contents carry nothing from one call to the next.
type Workspace struct {
	floats  []float32
	ints    []int32
	doubles []float64
	logits  []float32 // of Evaluate, which calls Predict
	sample  []float32 // one gradient
	halves  halves

	others []Workspace  // of the goroutines that share a batch with this one's
	sums   []tensor.Vec // of one chunk each

	passes  []pass
	clean   []float32          // for a copy of the chunk's input
	norms   [chunkRows]float64 // squared gradient norms of the chunk's records
	factors [chunkRows]float64
	dropped [chunkRows]bool // records without a finite gradient norm
}

// Floats returns n elements of scratch memory with undefined contents, for models outside
// this package. The next call with the same Workspace may return the same memory.
func (w *Workspace) Floats(n int) []float32 {
	if len(w.floats) < n {
		w.floats = make([]float32, n)
	}
	return w.floats[:n]
}

func (w *Workspace) indexes(n int) []int32 {
	if len(w.ints) < n {
		w.ints = make([]int32, n)
	}
	return w.ints[:n]
}

func (w *Workspace) float64s(n int) []float64 {
	if len(w.doubles) < n {
		w.doubles = make([]float64, n)
	}
	return w.doubles[:n]
}

// logitRows returns an undefined rows x cols matrix that no model touches.
func (w *Workspace) logitRows(rows, cols int) tensor.Mat {
	if len(w.logits) < rows*cols {
		w.logits = make([]float32, rows*cols)
	}
	return tensor.Mat{Rows: rows, Cols: cols, Stride: cols, Data: w.logits}
}

func (w *Workspace) sampleGradient(n int) tensor.Vec {
	if len(w.sample) < n {
		w.sample = make([]float32, n)
	}
	return w.sample[:n]
}

// arena hands out consecutive pieces of one slice.
type arena struct{ free []float32 }

func (a *arena) take(n int) []float32 {
	s := a.free[:n:n]
	a.free = a.free[n:]
	return s
}

func (a *arena) mat(rows, cols int) tensor.Mat {
	return tensor.Mat{Rows: rows, Cols: cols, Stride: cols, Data: a.take(rows * cols)}
}
