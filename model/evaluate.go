package model

import "sotto/tensor"

// Evaluation is the result of a model on a labelled set.
type Evaluation struct {
	Samples int
	Correct int     // 0 for a regression and a reconstruction
	Loss    float64 // mean loss; 0 for an empty set
}

// Accuracy returns Correct/Samples, 0 for an empty set.
func (e Evaluation) Accuracy() float64 {
	if e.Samples == 0 {
		return 0
	}
	return float64(e.Correct) / float64(e.Samples)
}

// Evaluate predicts the batch in chunks and counts the samples whose largest output (the
// first one of equal ones; NaN is none but where it is the first) is the label; with one
// output and labels, whether it is positive where the label is 1.
func Evaluate(m Model, theta tensor.Vec, batch *Batch, w *Workspace) Evaluation {
	if n, ok := m.(*network); ok {
		return n.evaluate(theta, batch, w)
	}
	e := Evaluation{Samples: batch.Len(), Loss: m.Loss(theta, batch, w)}
	for lo := 0; lo < batch.Len(); lo += chunkRows {
		hi := min(lo+chunkRows, batch.Len())
		z := w.logitRows(hi-lo, m.Outputs())
		m.Predict(z, theta, rows(batch.X, lo, hi), w)
		e.Correct += correct(z, batch, lo)
	}
	return e
}

// evaluate needs one forward pass for outputs and loss.
func (n *network) evaluate(theta tensor.Vec, batch *Batch, w *Workspace) Evaluation {
	n.checkBatch(batch)
	n.bind(w, theta, 1, false)
	e := Evaluation{Samples: batch.Len()}
	chunk := n.chunk(1)
	for lo := 0; lo < batch.Len(); lo += chunk {
		hi := min(lo+chunk, batch.Len())
		z := n.forward(w, rows(batch.X, lo, hi))
		if n.total != nil {
			e.Loss = n.total(e.Loss, z, batch, lo)
		} else {
			for s := range z.Rows {
				e.Loss += n.loss(z.Row(s), batch, lo+s, nil)
			}
		}
		if !n.inputs {
			e.Correct += correct(z, batch, lo)
		}
	}
	if e.Samples > 0 {
		e.Loss /= float64(e.Samples)
	}
	return e
}

// correct counts the rows of z that predict their label; row 0 is sample lo.
func correct(z tensor.Mat, batch *Batch, lo int) int {
	if batch.Labels == nil {
		return 0
	}
	count := 0
	for s := range z.Rows {
		row := z.Row(s)
		best := 0
		for j, v := range row {
			if v > row[best] {
				best = j
			}
		}
		if len(row) == 1 && row[0] > 0 {
			best = 1
		}
		if int32(best) == batch.Labels[lo+s] {
			count++
		}
	}
	return count
}

func (n *network) Predict(dst tensor.Mat, theta tensor.Vec, x tensor.Mat, w *Workspace) {
	n.checkInput(x)
	checkLen("prediction", dst.Rows, x.Rows)
	checkLen("prediction row", dst.Cols, n.outputs)
	n.bind(w, theta, 1, false)
	chunk := n.chunk(1)
	for lo := 0; lo < x.Rows; lo += chunk {
		hi := min(lo+chunk, x.Rows)
		z := n.forward(w, rows(x, lo, hi))
		for s := range z.Rows {
			copy(dst.Row(lo+s), z.Row(s))
			n.means(dst.Row(lo + s))
		}
	}
}

func (n *network) Loss(theta tensor.Vec, batch *Batch, w *Workspace) float64 {
	return n.evaluate(theta, batch, w).Loss
}
