package experiment

import (
	"math"

	"sotto/agent"
	"sotto/data"
	"sotto/data/schema"
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
	for _, c := range m.Curves {
		t.Knots = append(t.Knots, c.Knots)
	}
	if m.Quadratic {
		t.Target, t.Slope = 1, 1
	}
	if s := e.Setup.Scheme; s != nil && e.File.Private() {
		id := e.Seats.ID(i)
		t.Noise = e.Plans[i].Noise / s.Counts(id)
	}
	return t
}

// numbersOf are the features of a table that may have any value in a public range; all
// where nothing says what they are, and then from -1 to 1.
func numbersOf(d *data.Dataset) []model.Number {
	var all []model.Number
	if d.Shape[0] > 1 || d.Shape[1] > 1 { // of images
		return nil
	}
	for _, v := range d.Described() {
		if v.At < 0 || v.Categories != nil {
			continue
		}
		n := model.Number{At: v.At, Low: -1, High: 1}
		switch {
		case v.Form == schema.Unit || v.Form == schema.Logarithm:
			n.Low = 0
		case v.Form == schema.Plain && v.High > v.Low:
			n.Low, n.High = v.Low, v.High
		}
		all = append(all, n)
	}
	return all
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
