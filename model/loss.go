package model

import (
	"math"

	"sotto/tensor"
)

// loss is a function of one row of outputs and that sample's label or target. With a nil gradient only the
// value is computed. A label out of range gives NaN in both.
type loss func(z []float32, b *Batch, sample int, gradient []float32) float64

// softmaxCrossEntropy is ln(sum_j e^{z_j}) - z_label, with the largest logit subtracted before exponents are
// taken.
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
	} else {
		for j, v := range z {
			gradient[j] = tensor.Exp(v - top)
			sum += float64(gradient[j])
		}
		for j, e := range gradient {
			gradient[j] = float32(float64(e) / sum)
		}
		gradient[label] = float32(float64(tensor.Exp(z[label]-top))/sum - 1)
	}
	return math.Log(sum) - float64(z[label]-top)
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
	p := 1 / (1 + e)                       // 1/(1+e^margin), the probability of the other label
	if margin > 0 {
		p = e * p
	}
	if gradient != nil {
		gradient[0] = -y * p
	}
	return math.Log1p(float64(e)) + float64(max(-margin, 0))
}

// squared is (z-target)^2, without 1/2.
func squared(z []float32, b *Batch, sample int, gradient []float32) float64 {
	r := z[0] - b.Targets[sample]
	if gradient != nil {
		gradient[0] = 2 * r
	}
	return float64(r) * float64(r)
}

func invalid(gradient []float32) float64 {
	for j := range gradient {
		gradient[j] = float32(math.NaN())
	}
	return math.NaN()
}
