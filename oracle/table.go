package oracle

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/model"
	"sotto/privacy"
)

// Names of the oracles of models that are linear in their parameters.
const (
	MomentsName     = "moments"
	GradientSumName = "gradient-sum"
	RowSumName      = "row-sum"
)

// ErrNoTable says that a model is not linear in its parameters.
var ErrNoTable = fmt.Errorf("%w: oracles moments, gradient-sum and row-sum need model logistic, "+
	"additive, least-squares, huber or poisson", privacy.ErrRefused)

// table makes the rows of a Statistic from records and the query: what an owner with a
// small table releases of it. A row x is a record's features, with the constant of an
// intercept, scaled to norm at most √(C² - B²) or, of gradients, as they are.
//
//	moments       the upper triangle of x xᵀ by row, with √2 times what is beside the
//	              diagonal: its norm is |x|², at most the clip. Where the loss is a
//	              square, of (x, y) with the target cut to [-B, B], B = Operator.Bound.
//	              Where the model weighs records, times the weight, of a row with a norm
//	              of at most √(C/heaviest)
//	row-sum       x
//	gradient-sum  the gradient of the loss at the query's point, scaled to norm at most
//	              the clip. A point may have more values behind the parameters, one for
//	              each feature and a length: then it is of x less those, with the
//	              constant 1, over the length, while the outputs are those of x
//
// A record with a value that is not finite, or a label that is no class, adds nothing.
type table struct {
	model.Table
	features int
	records  *Records

	x, z, slopes []float64 // scratch
	spread       []float32
}

// read sets x to the row of record r, and returns its label or target.
func (t *table) read(r int32) (y float64, ok bool) {
	row := t.records.Data.X.Row(int(r))
	if t.Spread != nil {
		t.Spread(t.spread, row)
		row = t.spread
	}
	square := 0.
	for c, v := range row {
		t.x[c] = float64(v)
		square += float64(v) * float64(v)
	}
	if t.Intercept {
		t.x[len(row)] = 1
	}
	if ls := t.records.Data.Labels; ls != nil {
		y = float64(ls[r])
		ok = ls[r] >= 0 && int(ls[r]) < max(2, t.Outputs)
	} else {
		y, ok = float64(t.records.Data.Targets[r]), true
	}
	return y, ok && square-square == 0 && y-y == 0
}

// moments is a statisticRow.
func (t *table) moments(dst []float64, r int32, q *agent.Query, clip float64) {
	y, ok := t.read(r)
	if !ok {
		clear(dst)
		return
	}
	bound := q.Operator.Bound
	if math.IsInf(clip, 1) {
		bound = 0
	}
	x, radius := t.x[:t.features], math.Sqrt(math.Max(0, clip-bound*bound)/t.Heaviest)
	if n := norm(x); n > radius {
		for c := range x {
			x[c] *= radius / n
		}
	}
	if t.Quadratic {
		x = t.x[:t.features+1]
		if x[t.features] = y; !math.IsInf(clip, 1) {
			x[t.features] = math.Max(-bound, math.Min(bound, y))
		}
	}
	at := 0
	for i, v := range x {
		dst[at] = v * v
		at++
		for _, w := range x[i+1:] {
			dst[at] = math.Sqrt2 * v * w
			at++
		}
	}
	if t.Weight == nil {
		return
	}
	weight := t.Weight(y)
	for k := range dst {
		dst[k] *= weight
	}
}

// sum is a statisticRow.
func (t *table) sum(dst []float64, r int32, _ *agent.Query, clip float64) {
	if _, ok := t.read(r); !ok {
		clear(dst)
		return
	}
	f := 1.
	if n := norm(t.x[:t.features]); n > clip {
		f = clip / n
	}
	for i, v := range t.x[:t.features] {
		dst[i] = f * v
	}
}

// gradient is a statisticRow.
func (t *table) gradient(dst []float64, r int32, q *agent.Query, clip float64) {
	y, ok := t.read(r)
	if !ok {
		clear(dst)
		return
	}
	k := t.Outputs
	clear(t.z)
	for i, v := range t.x[:t.features] {
		for o := range t.z {
			t.z[o] += v * float64(q.At[i*k+o])
		}
	}
	t.Slopes(t.slopes, t.z, y)
	t.standardize(q.At[k*t.features:])
	f := 1.
	if n := norm(t.x[:t.features]) * norm(t.slopes); n > clip {
		f = clip / n
	}
	for i, v := range t.x[:t.features] {
		for o, s := range t.slopes {
			dst[i*k+o] = f * s * v
		}
	}
}

// standardize takes the centre from the row, and divides it by the length behind it.
func (t *table) standardize(by []float32) {
	if len(by) == 0 {
		return
	}
	last := len(by) - 1
	for i := range t.x[:t.features] {
		if i < last {
			t.x[i] -= float64(by[i])
		}
		t.x[i] /= float64(by[last])
	}
}

func newMoments(p *Public, _ agent.Operator) (Oracle, error) {
	s, t, err := newTable(p)
	if err != nil {
		return nil, err
	}
	d := t.features
	if t.Quadratic {
		d++
	}
	s.Dim, s.made = d*(d+1)/2, made{MomentsName, t.moments}
	return s, s.Validate()
}

func newGradientSum(p *Public, _ agent.Operator) (Oracle, error) {
	s, t, err := newTable(p)
	if err != nil {
		return nil, err
	}
	s.made = made{GradientSumName, t.gradient}
	return s, s.Validate()
}

func newRowSum(p *Public, _ agent.Operator) (Oracle, error) {
	s, t, err := newTable(p)
	if err != nil {
		return nil, err
	}
	s.Dim, s.made = t.features, made{RowSumName, t.sum}
	return s, s.Validate()
}

// newTable makes a Statistic, and what makes its rows.
func newTable(p *Public) (*Statistic, *table, error) {
	m, ok := model.TableOf(p.Model)
	if !ok {
		return nil, nil, ErrNoTable
	}
	s := &Statistic{ClipNorm: p.ClipNorm, Adjacency: p.Adjacency, Unit: p.Unit, Persons: p.Sums.Persons,
		Dim: p.Model.Dim()}
	t := &table{Table: m, features: p.Model.Dim() / m.Outputs, records: &s.Records,
		z: make([]float64, m.Outputs), slopes: make([]float64, m.Outputs)}
	t.x, t.spread = make([]float64, t.features+1), make([]float32, t.features)
	if m.Intercept {
		t.spread = t.spread[:t.features-1]
	}
	return s, t, nil
}

// made says how the rows of a Statistic are made; the zero value: they are the records.
type made struct {
	name string
	row  func(dst []float64, r int32, q *agent.Query, clip float64)
}

func (m *made) called() string {
	if m.name == "" {
		return StatisticName
	}
	return m.name
}
