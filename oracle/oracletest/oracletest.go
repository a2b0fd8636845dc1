// Package oracletest is the conformance suite of oracles: whether what an oracle says it
// is going to release bounds what it then releases.
package oracletest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/data"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// Options describes the oracle under test.
type Options struct {
	// Query is asked; its Oracle is a row of oracle.Kinds. Its point is drawn where At is
	// nil.
	Query agent.Query
	// Public is what the oracle is made from where it protects a unit. The suite sets
	// Unit and Adjacency. At a SampleRate below 1 a pair differs in its last unit, so
	// that the same others are drawn. With Draws, which draw from all units several
	// times, only pairs of as many records each (ReplaceOne) are looked at.
	Public func(u account.Unit) oracle.Public
	// Data has at least four records of the model's shape with labels or targets. The
	// suite draws from them, and changes copies.
	Data *data.Dataset
	// Reached is the least share of the stated sensitivity that some pair of data sets
	// must show, for the test to be one; 0 stands for a tenth.
	Reached float64
}

// trials is how many pairs of data sets are drawn for a unit and an adjacency.
const trials = 120

// Run checks for every adjacency and unit: the release is valid and does not depend on
// records; all records give a finite value, huge ones and those that are no numbers
// included, and no records do; a unit of data moves each part of the value by at most its
// clip times its movement, a hundredth more where the release leaves the rounding of sums
// out, and its integers by at most the shift; the random choices are those of any other
// records. A unit that the oracle's row names must be accepted under
// some adjacency, and some pair of data sets must come near the bound. Pairs are drawn
// from fixed seeds, so that nothing fails by chance.
func Run(t *testing.T, o Options) {
	for _, u := range units {
		t.Run(u.unit.String(), func(t *testing.T) {
			accepted := false
			for _, a := range adjacencies {
				took, err := check(&o, u.unit, a)
				accepted = accepted || took
				if err != nil {
					t.Errorf("%v: %v", a, err)
				}
			}
			if k := oracle.Kinds[o.Query.Oracle]; u.named(&k) && !accepted {
				t.Errorf("oracle %s protects this unit by its row, and refuses it", o.Query.Oracle)
			}
		})
	}
}

var units = []struct {
	unit  account.Unit
	named func(k *oracle.Kind) bool
}{
	{account.Record(), func(k *oracle.Kind) bool { return k.Record }},
	{account.Person("patient"), func(k *oracle.Kind) bool { return k.Person }},
	{account.Owner(), func(k *oracle.Kind) bool { return k.Owner }},
}

var adjacencies = []account.Adjacency{account.AddRemove, account.ReplaceOne, account.ZeroOut}

// suite is a check of one oracle under one adjacency.
type suite struct {
	*Options
	public  oracle.Public
	release account.Release
	r       *rng.Stream
	pool    *oracle.Pool
	worst   float64 // share of the stated sensitivity that was reached
}

// check draws pairs of data sets that differ in one unit. took: the oracle says that it
// protects it.
func check(o *Options, u account.Unit, a account.Adjacency) (took bool, err error) {
	s := &suite{Options: o, public: o.Public(u), pool: oracle.NewPool()}
	s.r = rng.Public(1, fmt.Sprint(o.Query.Oracle, u, a))
	s.public.Unit, s.public.Adjacency = u, a
	if s.release, err = oracle.Describe(&s.public, &o.Query); err != nil {
		return false, nil // nothing is promised
	}
	if slices.ContainsFunc(s.release.Parts, func(p account.Part) bool { return math.IsInf(p.Clip, 1) }) {
		return false, nil // of a run without privacy
	}
	if err := s.release.Validate(); err != nil {
		return true, fmt.Errorf("the release: %w", err)
	}
	if s.release.Adjacency != a {
		return true, fmt.Errorf("the release says %v", s.release.Adjacency)
	}
	if s.release.Unit != u && s.release.Unit != account.Owner() { // all of an owner is more
		return true, fmt.Errorf("the release says unit %v, asked for %v", s.release.Unit, u)
	}
	for k := range trials {
		if err := s.trial(); err != nil {
			return true, fmt.Errorf("pair %d: %w", k, err)
		}
	}
	least := o.Reached
	if least == 0 {
		least = .1
	}
	if s.worst < least && s.coupled() {
		return true, fmt.Errorf("of %d pairs none differs by %g of what is stated, the most is %.3g: this "+
			"test shows nothing", trials, least, s.worst)
	}
	return true, nil
}

// sampled reports whether a batch may leave units out.
func (s *suite) sampled() bool {
	return s.release.Sampler.Kind == account.Poisson && s.release.Sampler.SampleRate < 1
}

// coupled reports whether all units that a pair has in common are drawn alike.
func (s *suite) coupled() bool {
	return !s.sampled() || s.release.Draws <= 1 || s.public.Adjacency == account.ReplaceOne
}

// trial compares the values of two data sets.
func (s *suite) trial() error {
	one, other := s.pair()
	if !s.coupled() && len(one.rows) != len(other.rows) {
		return nil // other draws of all units
	}
	q := s.Query
	if q.At == nil {
		q.At = make(tensor.Vec, s.public.Model.Dim())
		s.public.Model.Init(q.At, s.r)
		if size := [4]float32{1, 0, 100, -3}[s.r.Below(4)]; size != 1 {
			for i := range q.At {
				q.At[i] *= size
			}
		}
	}
	a, err := s.evaluate(one, &q)
	if err != nil {
		return fmt.Errorf("%w\nrecords: %s", err, one)
	}
	b, err := s.evaluate(other, &q)
	if err != nil {
		return fmt.Errorf("%w\nrecords: %s", err, other)
	}
	if len(one.rows) == len(other.rows) && a.next != b.next {
		return fmt.Errorf("random choices follow from records\nrecords: %s\nothers:  %s", one, other)
	}
	if err := s.compare(a, b); err != nil {
		return fmt.Errorf("%w\nrecords: %s\nothers:  %s", err, one, other)
	}
	return nil
}

// answer is a value before noise.
type answer struct {
	floats []float64
	grid   []int64 // nil: the oracle has no integers
	next   uint64  // draw of the stream after it
}

// evaluate asks an oracle that nobody has asked before.
func (s *suite) evaluate(d *records, q *agent.Query) (*answer, error) {
	asked := func() (oracle.Oracle, *rng.Stream, error) {
		o, err := oracle.New(&s.public, q)
		if err == nil {
			err = o.Bind(oracle.Records{Data: d.set(s.Data), Index: d.index()}, s.pool)
		}
		key := rng.Simulated(1, 0, 1)
		return o, rng.NewStream(&key, rng.Sample), err
	}
	o, sample, err := asked()
	if err != nil {
		return nil, err
	}
	switch r, err := o.Describe(q); {
	case err != nil:
		return nil, fmt.Errorf("with records it refuses: %w", err)
	case fmt.Sprint(r) != fmt.Sprint(s.release):
		return nil, fmt.Errorf("with records the release is %v, without %v", r, s.release)
	}
	n := 0
	for _, p := range s.release.Parts {
		n += p.Dim
	}
	v := privacy.Value{Float: make(tensor.Vec, n)}
	o.Evaluate(&v, q, sample)
	a := &answer{floats: make([]float64, n), next: sample.Uint64()}
	from := 0
	for _, p := range s.release.Parts {
		for i := from; i < from+p.Dim; i++ {
			switch {
			case v.Step > 0:
				a.floats[i] = float64(v.Grid[i]) * v.Step * (p.Clip / s.release.Parts[0].Clip)
			case len(v.Wide) > 0:
				a.floats[i] = v.Wide[i]
			default:
				a.floats[i] = float64(v.Float[i])
			}
			if math.IsNaN(a.floats[i]) || math.IsInf(a.floats[i], 0) {
				return nil, fmt.Errorf("value %d of part %s is %g", i-from, p.Name, a.floats[i])
			}
			if (v.Step > 0 || len(v.Wide) > 0) && v.Float[i] != 0 {
				return nil, fmt.Errorf("value %d of part %s is given twice: %g, in single precision %g",
					i-from, p.Name, a.floats[i], v.Float[i])
			}
		}
		from += p.Dim
	}
	if o, sample, err = asked(); err != nil {
		return nil, err
	}
	if g, ok := o.(privacy.GridOracle); ok {
		a.grid = make([]int64, n)
		g.EvaluateGrid(a.grid, q, sample)
	}
	return a, nil
}

// compare holds the distance of two values against what is stated, part by part.
func (s *suite) compare(a, b *answer) error {
	from := 0
	for _, p := range s.release.Parts {
		floats, grid := make([]float64, p.Dim), make([]float64, p.Dim)
		for i := range floats {
			floats[i] = a.floats[from+i] - b.floats[from+i]
			if a.grid != nil {
				grid[i] = float64(a.grid[from+i] - b.grid[from+i])
			}
		}
		from += p.Dim
		moved, most := norm(floats, p.Norm)/p.Clip, p.Movement()
		if s.release.SumsUncharged {
			most += .01 // it says that it leaves the rounding out
		}
		most *= float64(max(1, s.release.Draws)) // a unit may be in every batch
		s.worst = max(s.worst, moved/most)
		if moved > most*(1+1e-9) {
			return fmt.Errorf("part %s moves by %.9g clips, stated %.9g", p.Name, moved, most)
		}
		if steps := p.Clip / privacy.GridStep(p.Clip); a.grid != nil {
			if moved := norm(grid, p.Norm); moved > p.Shift*steps*float64(max(1, s.release.Draws)) {
				return fmt.Errorf("the integers of part %s move by %.12g steps, stated %g", p.Name, moved,
					p.Shift*steps*float64(max(1, s.release.Draws)))
			}
		}
	}
	return nil
}

func norm(x []float64, n account.Norm) float64 {
	if n == account.L1 {
		sum := 0.
		for _, v := range x {
			sum += math.Abs(v)
		}
		return sum
	}
	largest := 0.
	for _, v := range x {
		largest = max(largest, math.Abs(v))
	}
	if n != account.L2 || largest == 0 {
		return largest
	}
	sum := 0.
	for _, v := range x {
		sum += (v / largest) * (v / largest)
	}
	return largest * math.Sqrt(sum)
}
