package model

import (
	"fmt"
	"math"

	"sotto/config"
	"sotto/tensor"
)

// loss is a function of one row of outputs and that sample's label or target. With a nil
// gradient it returns the value; else it sets the gradient alone, which needs no
// logarithm. A label out of range gives NaN in both.
type loss func(z []float32, b *Batch, sample int, gradient []float32) float64

// objective is a loss with the number of outputs it reads.
type objective struct {
	f       loss
	outputs int
}

// losses are the losses that a run file may name. classes is the number it needs: 0 for a
// regression, 2, or -1 for any number from 2 on, each with an output of its own.
var losses = map[string]struct {
	classes int
	f       func(delta float64) loss
}{
	"cross-entropy": {-1, func(float64) loss { return softmaxCrossEntropy }},
	"logistic":      {2, func(float64) loss { return logistic }},
	"hinge":         {2, func(float64) loss { return hinge }},
	"squared":       {0, func(float64) loss { return squared }},
	"huber":         {0, huber},
}

func newLoss(name string, delta float64, s Shape) (objective, error) {
	l, ok := losses[name]
	switch {
	case !ok:
		return objective{}, config.Bad("loss", name, config.OneOf(losses))
	case !(delta >= 1e-6 && delta <= 1e6):
		return objective{}, config.Bad("delta", delta, "1e-6 to 1e6")
	case l.classes < 0 && s.Classes < 2:
		return objective{}, config.Bad("loss", name, "squared or huber for a regression")
	case l.classes >= 0 && s.Classes != l.classes:
		return objective{}, config.Bad("loss", name,
			fmt.Sprintf("one for %d classes (hinge and logistic: 2; squared and huber: a regression, 0)",
				s.Classes))
	}
	outputs := 1
	if l.classes < 0 {
		outputs = s.Classes
	}
	return objective{l.f(delta), outputs}, nil
}

// softmaxCrossEntropy is ln(sum_j e^{z_j}) - z_label, with the largest logit subtracted
// before exponents are taken.
func softmaxCrossEntropy(z []float32, b *Batch, sample int, gradient []float32) float64 {
	label := int(b.Labels[sample])
	if label < 0 || label >= len(z) {
		return invalid(gradient)
	}
	top := z[0]
	for _, v := range z {
		top = max(top, v)
	}
	var sum float64
	if gradient == nil {
		for _, v := range z {
			sum += float64(tensor.Exp(v - top))
		}
		return math.Log(sum) - float64(z[label]-top)
	}
	for j, v := range z {
		gradient[j] = tensor.Exp(v - top)
		sum += float64(gradient[j])
	}
	own := gradient[label]
	for j, e := range gradient {
		gradient[j] = float32(float64(e) / sum)
	}
	gradient[label] = float32(float64(own)/sum - 1)
	return 0
}

// logistic is ln(1+e^{-y z}) with y = +1 for label 1 and -1 for label 0.
func logistic(z []float32, b *Batch, sample int, gradient []float32) float64 {
	y := float32(1)
	switch b.Labels[sample] {
	case 0:
		y = -1
	case 1:
	default:
		return invalid(gradient)
	}
	margin := y * z[0]
	e := tensor.Exp(-max(margin, -margin)) // in [0, 1]
	if gradient != nil {
		p := 1 / (1 + e) // 1/(1+e^margin), the probability of the other label
		if margin > 0 {
			p = e * p
		}
		gradient[0] = -y * p
		return 0
	}
	return math.Log1p(float64(e)) + float64(max(-margin, 0))
}

// logisticTotal adds the logistic losses of a chunk to sum, whose logarithms are taken
// many at a time.
func logisticTotal(sum float64, z tensor.Mat, b *Batch, lo int) float64 {
	var small, rest [64]float64 // e^-|margin|, then ln(1 + that), and what is added to it
	for first := 0; first < z.Rows; first += len(small) {
		n := min(len(small), z.Rows-first)
		for i := range n {
			margin := z.Row(first + i)[0]
			switch b.Labels[lo+first+i] {
			case 0:
				margin = -margin
			case 1:
			default:
				margin = float32(math.NaN())
			}
			small[i], rest[i] = float64(tensor.Exp(-max(margin, -margin))), float64(max(-margin, 0))
		}
		tensor.Log1p(small[:n], small[:n])
		for i := range n {
			sum += small[i] + rest[i]
		}
	}
	return sum
}

// squared is (z-target)^2, without 1/2.
func squared(z []float32, b *Batch, sample int, gradient []float32) float64 {
	r := z[0] - b.Targets[sample]
	if gradient != nil {
		gradient[0] = 2 * r
		return 0
	}
	return float64(r) * float64(r)
}

// hinge is max(0, 1 - y z) with y = +1 for label 1 and -1 for label 0; where y z is 1 its
// derivative is 0.
func hinge(z []float32, b *Batch, sample int, gradient []float32) float64 {
	y := float32(1)
	switch b.Labels[sample] {
	case 0:
		y = -1
	case 1:
	default:
		return invalid(gradient)
	}
	rest := 1 - y*z[0]
	if gradient != nil {
		switch {
		case rest > 0:
			gradient[0] = -y
		case rest <= 0:
			gradient[0] = 0
		default:
			gradient[0] = rest // NaN
		}
		return 0
	}
	return float64(max(rest, 0))
}

// huber is r^2/2 for a residual r = z - target up to delta, and delta (|r| - delta/2)
// beyond (Huber 1964).
func huber(delta float64) loss {
	return func(z []float32, b *Batch, sample int, gradient []float32) float64 {
		r := z[0] - b.Targets[sample]
		if gradient != nil {
			gradient[0] = min(max(r, float32(-delta)), float32(delta))
			return 0
		}
		size := math.Abs(float64(r))
		if size <= delta {
			return size * size / 2
		}
		return delta * (size - delta/2)
	}
}

func invalid(gradient []float32) float64 {
	for j := range gradient {
		gradient[j] = float32(math.NaN())
	}
	return math.NaN()
}
