package trained

import (
	"fmt"
	"math"

	"sotto/config"
	"sotto/data/schema"
	"sotto/model"
	"sotto/tensor"
)

// Prediction is what the model says of one record.
type Prediction struct {
	// Index and Class are the predicted class, of equal ones the first.
	Index int    `json:"-"`
	Class string `json:"class,omitempty"`
	// Probabilities are of the classes in order: the softmax of the outputs, and of a
	// single output z the logistic function 1/(1+exp(-z)), which is the probability of
	// the second class.
	Probabilities []float64 `json:"probabilities,omitempty"`
	// Margins are the outputs of a model without probabilities: one for each class, or a
	// single one that is above 0 for the second of two.
	Margins []float64 `json:"margins,omitempty"`
	// Value is a regression's, in the unit of the target: a scale of the schema is
	// undone.
	Value *float64 `json:"value,omitempty"`
}

// Predict says what the model predicts of each row of x, whose columns are Features. A
// model of Kind Sample is refused, and so is a record whose prediction is not finite.
func (m *Model) Predict(x tensor.Mat) ([]Prediction, error) {
	z, err := m.outputs(x)
	if err != nil {
		return nil, err
	}
	kind, names := m.Kind(), m.Classes()
	all := make([]Prediction, x.Rows)
	for i := range all {
		row := make([]float64, z.Cols)
		for k, v := range z.Row(i) {
			if row[k] = float64(v); math.IsNaN(row[k]) || math.IsInf(row[k], 0) {
				return nil, unpredicted(m, i, x.Row(i))
			}
		}
		p := &all[i]
		switch kind {
		case Value:
			v := m.natural(row[0])
			p.Value = &v
			continue
		case Margins:
			p.Margins = row
		default:
			p.Probabilities = softmax(row)
		}
		p.Index = decide(row)
		p.Class = names[p.Index]
	}
	return all, nil
}

// unpredicted is the error of a record whose prediction is not finite.
func unpredicted(m *Model, i int, x []float32) error {
	key := fmt.Sprintf("record %d", i+1)
	for k, v := range x {
		if v-v != 0 {
			return config.Bad(key+", feature "+m.Features()[k], v, "a finite number")
		}
	}
	return config.Bad(key, "a prediction that is not finite", "features of the size of those in training")
}

// outputs are the model's own of each row of x.
func (m *Model) outputs(x tensor.Mat) (tensor.Mat, error) {
	none := tensor.Mat{}
	if m.Kind() == Sample {
		return none, &config.Error{File: m.dir, Key: "model.name",
			Found:   fmt.Sprintf("%q", m.file.Model.Name),
			Allowed: "a model that predicts classes or a number"}
	}
	if x.Rows > 0 && x.Cols != m.shape.Features() {
		return none, config.Bad("features", x.Cols, fmt.Sprintf("%d, as the model has", m.shape.Features()))
	}
	if x.Rows < 0 || x.Rows > 0 && (x.Stride < x.Cols || len(x.Data) < (x.Rows-1)*x.Stride+x.Cols) {
		return none, config.Bad("records", fmt.Sprintf("%d values", len(x.Data)),
			fmt.Sprintf("those of %d rows", x.Rows))
	}
	z := tensor.NewMat(x.Rows, m.net.Outputs())
	m.net.Predict(z, m.theta, x, new(model.Workspace))
	return z, nil
}

// decide is the class of a row of outputs, as figures of a run count it.
func decide(z []float64) int {
	best := 0
	for k, v := range z {
		if v > z[best] {
			best = k
		}
	}
	if len(z) == 1 && z[0] > 0 {
		best = 1
	}
	return best
}

// softmax is of a row of outputs; a single one is the logit of the second class.
func softmax(z []float64) []float64 {
	if len(z) == 1 {
		return []float64{1 / (1 + math.Exp(z[0])), 1 / (1 + math.Exp(-z[0]))}
	}
	p, top, sum := make([]float64, len(z)), z[decide(z)], 0.
	for k, v := range z {
		p[k] = math.Exp(v - top)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

// natural is a predicted target in its own unit.
func (m *Model) natural(v float64) float64 {
	slope, offset := unscale(m.schema)
	return offset + slope*v
}

// unscale is by what a predicted target is multiplied, and what is added then.
func unscale(s *schema.Schema) (slope, offset float64) {
	if s == nil || s.Target.Scale == nil {
		return 1, 0
	}
	b, to := s.Target.Bounds, s.Target.Scale
	slope = (b[1] - b[0]) / (to[1] - to[0])
	return slope, b[0] - slope*to[0]
}
