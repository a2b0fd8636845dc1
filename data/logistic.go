package data

import (
	"math"
	"math/rand/v2"

	"sotto/config"
	"sotto/tensor"
)

// logisticRegression draws a common classification task with the parameters of
// "least-squares", but for noise: features and the true parameter vector N(0, 1), label 1
// with probability 1/(1 + e^-z) for z their inner product. Groups are the agents; the
// test part has none. Split.GroundTruth has the true parameter vector. It is the logistic
// problem of "A General Differentially Private Learning Framework for Decentralized
// Data", which does not say how labels are drawn (this is our choice).
func logisticRegression(decode func(any) error, src Source) (*Split, error) {
	p := LeastSquaresParams{Agents: 5, Records: 100, Dim: 10, Test: 1000}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if p.Noise != 0 {
		return nil, config.Bad("noise", p.Noise, "0: labels are random as they are")
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(src.Seed, 0x6c6f676974))
	truth := p.groundTruth(r)
	split := &Split{Train: bernoulli(r, truth.Row(0), p.Agents*p.Records),
		Test: bernoulli(r, truth.Row(0), p.Test), GroundTruth: truth}
	p.group(split.Train)
	return split.seal(p, src.Seed, nil), nil
}

// bernoulli draws n records with labels of the logistic model.
func bernoulli(r *rand.Rand, truth tensor.Vec, n int) *Dataset {
	d := flat("logistic-regression", tensor.NewMat(n, len(truth)))
	d.Labels = make([]int32, n)
	d.Classes, d.ClassNames = 2, []string{"0", "1"}
	for i := range n {
		x := d.X.Row(i)
		for c := range x {
			x[c] = float32(r.NormFloat64())
		}
		if r.Float64() < 1/(1+math.Exp(-x.Dot(truth))) {
			d.Labels[i] = 1
		}
	}
	return d
}
