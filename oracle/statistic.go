package oracle

import (
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ privacy.GridOracle = (*Statistic)(nil)

// StatisticName is the oracle "statistic".
const StatisticName = "statistic"

// Statistic is the oracle "statistic": the sum of an owner's records, whatever the
// query's point is. The records are the values of a public map of what the owner has
// (package query); each is scaled to L2 norm at most ClipNorm. Where the unit is a
// person, what is summed is for each person the mean of its first MaxRows records, so
// that persons are counted, not rows. The sum is exact, in integers of a step: one record
// or person that is blanked out, put in or taken out moves it by at most ClipNorm, one
// that changes by at most twice that. An owner without records has the sum 0.
type Statistic struct {
	Records   Records
	ClipNorm  float64 // C > 0; +Inf: none, for runs that are not private
	Adjacency account.Adjacency
	Unit      account.Unit // record or person
	Persons   Persons      // in the unit of a person
	Dim       int          // of a record

	people people
	made   made
}

// Validate names the first field that cannot be used. It reads no records.
func (o *Statistic) Validate() error {
	if o.Unit != account.Record() && o.Unit.Kind != account.UnitPerson {
		return config.Bad("unit", o.Unit.String(), "record or person")
	}
	if err := o.Persons.Validate(o.Unit); err != nil {
		return err
	}
	if o.Unit.Kind == account.UnitPerson && o.Records.Data != nil && o.Records.Data.Units == nil {
		return config.Bad("unit_column", "nothing",
			"the column that names the person of a record, with unit person")
	}
	if !(o.ClipNorm > 0) {
		return config.Bad("max_grad_norm", o.ClipNorm, "above 0")
	}
	return nil
}

// Describe states the release.
func (o *Statistic) Describe(q *agent.Query) (account.Release, error) {
	if err := o.Validate(); err != nil {
		return account.Release{}, err
	}
	name := o.made.called()
	part := account.Part{Name: name, Clip: o.clip(q), Shift: shift(o.Adjacency), Norm: account.L2, Dim: o.Dim}
	return fullBatch(name, o.Adjacency, o.Unit, part, 1), nil
}

// clip is the norm of what one record adds: a query's own where rows are made.
func (o *Statistic) clip(q *agent.Query) float64 {
	if o.made.row == nil || math.IsInf(o.ClipNorm, 1) {
		return o.ClipNorm
	}
	return clipNorm(q, o.ClipNorm)
}

// Evaluate writes the sum: in integers, or in double precision where nothing is clipped.
func (o *Statistic) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	if math.IsInf(o.ClipNorm, 1) {
		wide := dst.Widen(o.Dim)
		o.each(q, func(x []float64) {
			if norm(x) <= math.MaxFloat64 {
				for c, v := range x {
					wide[c] += v
				}
			}
		})
		return
	}
	if cap(dst.Grid) < o.Dim {
		dst.Grid = make([]int64, o.Dim)
	}
	dst.Grid, dst.Step = dst.Grid[:o.Dim], o.step(q)
	clear(dst.Grid)
	o.add(dst.Grid, q, dst.Step)
}

// step is that of the sum for normal noise. Where the clip may be any number, it is a
// power of two as the steps of the noise are, at most privacy.GridStep: what is released
// is then whole steps of the noise.
func (o *Statistic) step(q *agent.Query) float64 {
	step := privacy.GridStep(o.clip(q))
	if o.made.row == nil {
		return step
	}
	_, exponent := math.Frexp(step)
	return math.Ldexp(1, exponent-1)
}

// statisticShrink is taken off the clip of records of so many values, so that it covers
// every rounding: a norm that is summed in double precision is short by less than dim/2+2
// half units of the last place, and the products add three. Truncation toward zero only
// shortens.
func statisticShrink(dim int) float64 { return max(0x1p-40, float64(dim+16)*0x1p-54) }

// EvaluateGrid implements privacy.GridOracle. A record or person whose numbers are not
// finite adds nothing.
func (o *Statistic) EvaluateGrid(dst []int64, q *agent.Query, _ *rng.Stream) {
	o.add(dst, q, privacy.GridStep(o.clip(q)))
}

// add adds the records' integers of step.
func (o *Statistic) add(dst []int64, q *agent.Query, step float64) {
	clip := o.clip(q)
	o.each(q, func(x []float64) { addClipped(dst, x, clip, step) })
}

// addClipped adds the integers of step of x, scaled to norm clip, unless its numbers are
// not finite.
func addClipped(dst []int64, x []float64, clip, step float64) {
	limit := clip * (1 - statisticShrink(len(x)))
	n, f := norm(x), 1.
	switch {
	case !(n <= math.MaxFloat64):
		return
	case n > limit:
		f = limit / n
	}
	for c, v := range x {
		dst[c] += int64(f * v / step)
	}
}

// each hands out what each record adds, or each person the mean of its records. x is
// valid until the next one.
func (o *Statistic) each(q *agent.Query, f func(x []float64)) {
	x, made := make([]float64, o.Dim), make([]float64, o.Dim)
	one := func(rows []int32) {
		clear(x)
		for _, r := range rows {
			if o.made.row != nil {
				o.made.row(made, r, q, o.clip(q))
				for c, v := range made {
					x[c] += v
				}
				continue
			}
			for c, v := range o.Records.Data.X.Row(int(r)) {
				x[c] += float64(v)
			}
		}
		for c := range x {
			x[c] /= float64(len(rows))
		}
		f(x)
	}
	if o.Unit.Kind == account.UnitPerson {
		for _, rows := range o.people.rows {
			one(rows)
		}
		return
	}
	for k := range o.Records.Index {
		one(o.Records.Index[k : k+1])
	}
}

func newStatistic(p *Public, _ agent.Operator) (Oracle, error) {
	o := &Statistic{ClipNorm: p.ClipNorm, Adjacency: p.Adjacency, Unit: p.Unit, Persons: p.Sums.Persons,
		Dim: p.Model.Dim()}
	return o, o.Validate()
}

// Bind implements Oracle.
func (o *Statistic) Bind(r Records, _ *Pool) error {
	if o.Records = r; o.Unit.Kind == account.UnitPerson && r.Data != nil && r.Data.Units != nil {
		o.people = gathered(r, o.Persons.MaxRows)
	}
	return o.Validate()
}
