package metric

import (
	"sotto/agent"
	"sotto/model"
	"sotto/oracle"
	"sotto/tensor"
)

// personal is an algorithm of personal models.
type personal interface {
	Objective() (weight, lambda float64) // μ c_i and λ_i
}

// objective is Q over all agents: half the weighted squared distances of neighbors'
// models, and every agent's own loss on its training records.
var objective = probe{
	name: "objective",
	on: func(s *Scene) bool {
		_, ok := s.Agents[0].Bare.(personal)
		return ok
	},
	measure: func(s *Scene, out *Rows) {
		terms := make([]float64, len(s.Records.Parts))
		s.Crew.Do(len(terms), func(i int, scratch *model.Workspace) error {
			terms[i] = s.objectiveOf(i, scratch)
			return nil
		})
		sum := 0.
		for _, t := range terms {
			sum += t
		}
		out.all("objective", sum)
	},
}

// objectiveOf is agent i's part.
func (s *Scene) objectiveOf(i int, scratch *model.Workspace) float64 {
	theta := s.Sim.Model(i)
	degree, apart := 0., 0.
	for _, nb := range s.Graph.In(agent.ID(i)) {
		degree += nb.Weight
		d2 := 0.
		for k, x := range s.Sim.Model(int(nb.ID)) {
			d := float64(theta[k]) - float64(x)
			d2 += d * d
		}
		apart += nb.Weight * d2
	}
	weight, lambda := s.Agents[i].Bare.(personal).Objective()
	loss := lambda * theta.Dot(theta)
	if rows := s.Records.Parts[i]; len(rows) > 0 {
		loss += s.Model.Loss(theta, s.trainBatch(rows), scratch)
	}
	return apart/4 + degree*weight*loss // each pair is met from both ends
}

// trainBatch is a view of rows that follow each other, and a copy of others.
func (s *Scene) trainBatch(rows []int32) *model.Batch {
	d := s.Records.Split.Train
	lo, n := int(rows[0]), len(rows)
	if int(rows[n-1])-lo != n-1 {
		return oracle.BatchOf(d.Select(rows))
	}
	b := &model.Batch{X: tensor.Mat{
		Rows:   n,
		Cols:   d.X.Cols,
		Stride: d.X.Stride,
		Data:   d.X.Data[lo*d.X.Stride : (lo+n-1)*d.X.Stride+d.X.Cols],
	}}
	if d.Labels != nil {
		b.Labels = d.Labels[lo : lo+n]
	} else {
		b.Targets = d.Targets[lo : lo+n]
	}
	return b
}
