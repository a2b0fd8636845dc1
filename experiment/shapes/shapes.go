// Package shapes says what each variable of an additive model adds to its output, and how
// much of that the noise of the run can be.
package shapes

import (
	"math"

	"sotto/agent"
	"sotto/data/schema"
	"sotto/experiment"
	"sotto/model"
	"sotto/tensor"
)

// Shape is the shape function of one variable of an additive model: what it adds to the
// output, the log-odds of the second class or the number that is predicted. It is 0 on
// average over the records, by the noisy counts.
type Shape struct {
	Variable string `json:"variable"`       // its name
	Unit     string `json:"unit,omitempty"` // as the schema has it; "": none
	// Importance is the standard deviation of what it adds, over the records by the noisy
	// counts.
	Importance float64 `json:"importance"`
	Points     []Point `json:"points"` // in order
}

// Point is a knot of a number's shape, or a category.
type Point struct {
	At       float64 `json:"at"`                 // a number in its own unit
	Category string  `json:"category,omitempty"` // "": of a number
	Adds     float64 `json:"adds"`               // to the output
	// Noise is the standard deviation that the noise of the run alone gives Adds, at
	// most: records pull it back.
	Noise float64 `json:"noise"`
	Share float64 `json:"share"` // of the records, by the noisy counts
}

// binned is an algorithm that knows how records lie and what its noise does.
type binned interface {
	Bins() (mean, noise []float64, ok bool)
}

// Of are the shapes of the model theta that the algorithm has found; nil of models
// that are not additive or have an output for each class, and of algorithms that do not
// know how records lie. They are post-processing.
func Of(e *experiment.Experiment, theta tensor.Vec, a agent.Algorithm) []Shape {
	curves, ok := model.CurvesOf(e.Task.Model)
	b, knows := a.(binned)
	if !ok || !knows || e.Task.Model.Outputs() != 1 {
		return nil
	}
	mean, noise, ok := b.Bins()
	if !ok {
		return nil
	}
	s := shaper{e: e, theta: theta, curves: curves, mean: mean, noise: noise}
	var all []Shape
	for _, v := range e.Task.Split.Train.Described() {
		if v.At >= 0 {
			all = append(all, s.shape(&v))
		}
	}
	return all
}

type shaper struct {
	e           *experiment.Experiment
	theta       tensor.Vec
	curves      []model.Curve // by feature
	mean, noise []float64
}

// shape is that of one variable.
func (s *shaper) shape(v *schema.Variable) Shape {
	out := Shape{Variable: v.Name, Unit: s.unit(v.Name)}
	if v.Categories == nil {
		c := &s.curves[v.At]
		row := make([]float32, len(s.curves))
		for k := range c.Knots {
			row[v.At] = float32(c.Low + (c.High-c.Low)*float64(k)/float64(max(1, c.Knots-1)))
			at, _ := v.Number(row, nil)
			p := s.point(c.At + k)
			p.At = at
			out.Points = append(out.Points, p)
		}
		out.center()
		return out
	}
	first, rest := v.At, 1.
	for k, name := range v.Categories {
		if k == 0 && v.Implicit {
			out.Points = append(out.Points, Point{Category: name})
			first--
			continue
		}
		p := s.point(s.curves[first+k].At)
		p.Category = name
		rest -= p.Share
		out.Points = append(out.Points, p)
	}
	if v.Implicit {
		out.Points[0].Share = math.Max(0, rest)
	}
	out.center()
	return out
}

func (s *shaper) point(at int) Point {
	return Point{Adds: float64(s.theta[at]), Noise: s.noise[at], Share: s.mean[at]}
}

// center makes the mean 0, and finds the importance.
func (s *Shape) center() {
	sum, mean, square := 0., 0., 0.
	for _, p := range s.Points {
		sum += p.Share
		mean += p.Share * p.Adds
	}
	if sum > 0 {
		mean /= sum
	}
	for k := range s.Points {
		p := &s.Points[k]
		p.Adds -= mean
		square += p.Share * p.Adds * p.Adds
	}
	if sum > 0 {
		s.Importance = math.Sqrt(square / sum)
	}
}

// unit is what the schema says, if there is one.
func (s *shaper) unit(name string) string {
	of, err := experiment.SchemaOf(s.e.File)
	if err != nil || of == nil {
		return ""
	}
	for i := range of.Columns {
		if of.Columns[i].Name == name {
			return of.Columns[i].Unit
		}
	}
	return ""
}
