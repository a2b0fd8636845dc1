package experiment

import (
	"math"

	"sotto/agent"
	"sotto/model"
)

// tableOf is what agent i knows of a model that is linear in its parameters; the zero
// value where it is none.
func tableOf(e *Experiment, i int) agent.Table {
	m, ok := model.TableOf(e.Task.Model)
	if !ok {
		return agent.Table{}
	}
	t := agent.Table{Outputs: m.Outputs, Norm: rowNorm(e, &m), Slope: m.Slope, Curvature: m.Curvature,
		Weight: m.Heaviest}
	if m.Quadratic {
		t.Target, t.Slope = 1, 1
	}
	if s := e.Setup.Scheme; s != nil && e.File.Private() {
		id := e.Seats.ID(i)
		t.Noise = e.Plans[i].Noise / s.Counts(id)
	}
	return t
}

// rowNorm is the public norm that rows with their constant are scaled to at most: the
// data set's bound, or where it has none, that of values in [-1, 1].
func rowNorm(e *Experiment, m *model.Table) float64 {
	train := e.Task.Split.Train
	x := train.RowNorm
	if x == 0 {
		x = math.Sqrt(float64(train.X.Cols))
	}
	if m.Intercept {
		x = math.Hypot(x, 1)
	}
	return x
}
