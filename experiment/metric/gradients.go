package metric

import (
	"math"

	"sotto/model"
	"sotto/oracle"
	"sotto/tensor"
)

// gradients looks at some training records at the mean x̄ of all agents' models:
//
//	train_loss     mean loss
//	gradient_norm  ‖∇f(x̄)‖, of the mean gradient
//	gradient_rms   root of the mean of ‖∇f(x̄; ξ)‖² over records ξ
//	gradient_max   the largest ‖∇f(x̄; ξ)‖
//
// Records without a finite gradient are left out; where none has one all four are NaN.
var gradients = probe{
	name:  "gradients",
	asked: func(p *Params) bool { return p.Gradients > 0 },
	measure: func(s *Scene, out *Rows) {
		s.Crew.Do(1, func(_ int, scratch *model.Workspace) error {
			s.gradients(out, scratch)
			return nil
		})
	},
}

func (s *Scene) gradients(out *Rows, scratch *model.Workspace) {
	var (
		d      = s.Model.Dim()
		center = make(tensor.Vec, d)
		one    = make(tensor.Vec, d)
		sum    = make([]float64, d)

		loss, squares, most float64
		count               int
	)
	for k, x := range s.MeanModel() {
		center[k] = float32(x)
	}
	rows := s.looked()
	for k := range rows {
		clear(one)
		record := oracle.BatchOf(s.Records.Trained.Select(rows[k : k+1]))
		c := s.Model.ClippedGradientSum(one, center, record, math.Inf(1), scratch)
		if c.NonFinite > 0 {
			continue
		}
		count++
		loss += s.Model.Loss(center, record, scratch)
		norm := one.Norm()
		squares, most = squares+float64(norm*norm), max(most, norm)
		for j, g := range one {
			sum[j] += float64(g)
		}
	}
	n, norm := float64(count), 0.
	if count == 0 {
		most = math.NaN()
	}
	for _, g := range sum {
		norm += float64(g / n * (g / n))
	}
	out.all("train_loss", loss/n)
	out.all("gradient_norm", math.Sqrt(norm))
	out.all("gradient_rms", math.Sqrt(squares/n))
	out.all("gradient_max", most)
}

// looked are the records that gradients looks at, evenly spaced among those of all
// agents.
func (s *Scene) looked() []int32 {
	var all []int32
	for _, part := range s.Records.Parts {
		all = append(all, part...)
	}
	chosen := Evenly(len(all), min(len(all), s.Params.Gradients))
	rows := make([]int32, len(chosen))
	for k, i := range chosen {
		rows[k] = all[i]
	}
	return rows
}

// Evenly returns k of 0 .. n-1 with even gaps; all of them for k = 0.
func Evenly(n, k int) []int {
	if k == 0 {
		k = n
	}
	at := make([]int, k)
	for j := range at {
		at[j] = j * n / k
	}
	return at
}
