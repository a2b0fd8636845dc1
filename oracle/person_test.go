package oracle_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sotto/agent"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// ofPersons is an oracle of d's persons.
func ofPersons(t interface{ Fatal(...any) }, m model.Model, d *data.Dataset, units []int32, p oracle.Persons,
	edit func(*oracle.Public)) oracle.Oracle {
	public := oracle.Public{Model: m, SampleRate: 1, ExpectedBatchSize: 2, ClipNorm: 1,
		Adjacency: account.AddRemove, Unit: account.Person("patient"), Sums: oracle.Sums{Persons: p}}
	if edit != nil {
		edit(&public)
	}
	o, err := oracle.New(&public, &agent.Query{Oracle: "grad"})
	if err != nil {
		t.Fatal(err)
	}
	with := *d
	with.Units = units
	r := oracle.Records{Data: &with}
	for i := range d.Len() {
		r.Index = append(r.Index, int32(i))
	}
	if err := o.Bind(r, oracle.NewPool()); err != nil {
		t.Fatal(err)
	}
	return o
}

// grid and floats are the sum at a point, as integers and in double precision.
func grid(o oracle.Oracle, at tensor.Vec, seq uint64) []int64 {
	k := rng.Simulated(1, 0, seq)
	dst := make([]int64, len(at))
	q := &agent.Query{Oracle: "grad", At: at}
	o.(privacy.GridOracle).EvaluateGrid(dst, q, rng.NewStream(&k, rng.Sample))
	return dst
}

func floats(o oracle.Oracle, at tensor.Vec, seq uint64) []float64 {
	k := rng.Simulated(1, 0, seq)
	v := privacy.Value{Float: make(tensor.Vec, len(at))}
	o.Evaluate(&v, &agent.Query{Oracle: "grad", At: at}, rng.NewStream(&k, rng.Sample))
	sum := make([]float64, len(at))
	for i, x := range v.Float {
		sum[i] = float64(x)
	}
	for i, x := range v.Wide {
		sum[i] += x
	}
	return sum
}

func distance[T int64 | float64](a, b []T) float64 {
	s := 0.
	for i := range a {
		d := float64(a[i] - b[i])
		s += d * d
	}
	return math.Sqrt(s)
}

// At θ = 1 the gradient of (xθ - 2x)² is -2x². Person 0 has x = .5, .1 and 3, person 1
// has 2 and .2: of at most two records each, sums -(.5 + .02) and -(8 + .08), means half
// of them, then clipped to 1.
func TestGradientsOfPersons(t *testing.T) {
	d, units := line(.5, 2, .1, .2, 3), []int32{0, 1, 0, 1, 0}
	m := newGradient(d).Model
	for _, tc := range []struct {
		rows int
		how  string
		want float64
	}{
		{2, "", -(.26 + 1)}, {2, "mean", -(.26 + 1)}, {2, "sum", -(.52 + 1)}, {1, "sum", -(.5 + 1)},
		{3, "sum", -2}, {3, "mean", -2},
	} {
		o := ofPersons(t, m, d, units, oracle.Persons{MaxRows: tc.rows, Gradient: tc.how}, nil)
		if got := floats(o, tensor.Vec{1}, 1)[0]; math.Abs(got-tc.want) > 1e-5 {
			t.Errorf("%d rows, %q: %g, want %g", tc.rows, tc.how, got, tc.want)
		}
		if got := float64(grid(o, tensor.Vec{1}, 1)[0]) * privacy.GridStep(1); math.Abs(got-tc.want) > 1e-5 {
			t.Errorf("%d rows, %q: %g on the grid, want %g", tc.rows, tc.how, got, tc.want)
		}
	}
}

// A person is in a batch with all of its records or with none: of 64 persons with two
// equal records of gradient -1/2 each, sums are whole numbers, and about q of them.
func TestPersonsAreSampled(t *testing.T) {
	const n, rate, draws = 64, .25, 400
	x := make([]float32, 2*n)
	units := make([]int32, 2*n)
	for i := range x {
		x[i], units[i] = .5, int32(i%n)
	}
	d := line(x...)
	o := ofPersons(t, newGradient(d).Model, d, units, oracle.Persons{MaxRows: 2, Gradient: "sum"},
		func(p *oracle.Public) { p.SampleRate, p.ClipNorm = rate, 10 })
	sum := 0.
	for k := range uint64(draws) {
		got := -floats(o, tensor.Vec{1}, k)[0]
		if got != math.Round(got) {
			t.Fatalf("batch %d adds up to %g: half a person was drawn", k, got)
		}
		sum += got
	}
	// The mean of 25,600 coins; 5 standard deviations are wrong once in 1.7 million runs.
	mean, std := sum/(n*draws), math.Sqrt(rate*(1-rate)/(n*draws))
	if math.Abs(mean-rate) > 5*std {
		t.Errorf("persons are drawn at rate %g, want %g", mean, rate)
	}
}

// world is a random data set with one person more.
type world struct {
	m     model.Model
	d     *data.Dataset
	units []int32
	at    tensor.Vec
	rows  int
	how   string
	clip  float64
}

func drawWorld(t *rapid.T) *world {
	const cols = 3
	n := rapid.IntRange(1, 40).Draw(t, "records")
	w := &world{
		rows: rapid.IntRange(1, 9).Draw(t, "rows"),
		how:  rapid.SampledFrom([]string{"mean", "sum"}).Draw(t, "gradient"),
		clip: rapid.SampledFrom([]float64{1e-6, .01, 1, 30}).Draw(t, "clip"),
	}
	value := rapid.OneOf(rapid.Float32Range(-3, 3), rapid.SampledFrom([]float32{0, 1e10, -1e20, 1e38,
		float32(math.Inf(1)), float32(math.NaN())}))
	w.d = &data.Dataset{X: tensor.NewMat(n, cols), Shape: [3]int{1, 1, cols}, Classes: 2,
		Labels: make([]int32, n)}
	for i := range n {
		for c := range cols {
			w.d.X.Row(i)[c] = value.Draw(t, "x")
		}
		w.d.Labels[i] = rapid.Int32Range(0, 1).Draw(t, "label")
		w.units = append(w.units, rapid.Int32Range(0, 5).Draw(t, "person"))
	}
	name := rapid.SampledFrom([]string{"logistic", "mlp"}).Draw(t, "model")
	m, err := model.New(name, model.Shape{Height: 1, Width: 1, Channels: cols, Classes: 2},
		func(p any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	w.m = m
	w.at = make(tensor.Vec, m.Dim())
	k := rng.Simulated(rapid.Uint64().Draw(t, "point"), 0, 1)
	m.Init(w.at, rng.NewStream(&k, rng.Sample))
	return w
}

// without is the data set less the records of a person, in the order of the others.
func (w *world) without(person int32) (*data.Dataset, []int32) {
	keep, units := []int32{}, []int32{}
	for i, u := range w.units {
		if u != person {
			keep, units = append(keep, int32(i)), append(units, u)
		}
	}
	return w.d.Select(keep), units
}

// moved is how far a person moves the sum: on the grid over clip/step, in double
// precision over the clip.
func (w *world) moved(t *rapid.T, person int32, edit func(*oracle.Public)) (onGrid, inFloats float64) {
	p := oracle.Persons{MaxRows: w.rows, Gradient: w.how}
	set := func(public *oracle.Public) {
		public.ClipNorm = w.clip
		if edit != nil {
			edit(public)
		}
	}
	less, units := w.without(person)
	with, without := ofPersons(t, w.m, w.d, w.units, p, set), ofPersons(t, w.m, less, units, p, set)
	onGrid = distance(grid(with, w.at, 1), grid(without, w.at, 1)) / (w.clip / privacy.GridStep(w.clip))
	return onGrid, distance(floats(with, w.at, 1), floats(without, w.at, 1)) / w.clip
}

// All records of one person, added or removed, move the sum by at most the clip: exactly
// on the grid, and by what is charged in double precision.
func TestOnePersonMovesTheSumByAtMostTheClip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		person := rapid.SampledFrom(w.units).Draw(t, "who")
		onGrid, inFloats := w.moved(t, person, nil)
		r, err := ofPersons(t, w.m, w.d, w.units, oracle.Persons{MaxRows: w.rows},
			nil).Describe(&agent.Query{Oracle: "grad", At: w.at, Clip: w.clip})
		if err != nil {
			t.Fatal(err)
		}
		if onGrid > 1 {
			t.Fatalf("%d records at most, %s: a person moves the integers by %g clips", w.rows, w.how, onGrid)
		}
		if inFloats > 1+r.Parts[0].SumError {
			t.Fatalf("%d records at most, %s: a person moves the sum by %g clips", w.rows, w.how, inFloats)
		}
	})
}

// The measure of the test above finds the fault that it is for: clipping every record in
// place of the person lets a person with five records move the sum by five clips.
func TestClippingEachRecordIsFound(t *testing.T) {
	d := line(3, .1, 3, 3, 3, 3)
	w := &world{m: newGradient(d).Model, d: d, units: []int32{0, 1, 0, 0, 0, 0}, at: tensor.Vec{1}, rows: 5,
		how: "sum", clip: 1}
	rapid.Check(t, func(t *rapid.T) {
		if onGrid, inFloats := w.moved(t, 0, nil); onGrid > 1 || inFloats > 1.01 {
			t.Fatalf("the right oracle: %g and %g clips", onGrid, inFloats)
		}
		onGrid, inFloats := w.moved(t, 0, func(p *oracle.Public) {
			p.Unit, p.Sums.Persons = account.Record(), oracle.Persons{}
		})
		if math.Abs(onGrid-5) > .01 || math.Abs(inFloats-5) > .01 {
			t.Fatalf("clipping of each record: %g and %g clips, want 5", onGrid, inFloats)
		}
	})
}

// What a person adds does not depend on who else is there, nor on how many goroutines
// share a batch.
func TestPersonsAddTheirOwnIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		set := func(p *oracle.Public) { p.ClipNorm = w.clip }
		p := oracle.Persons{MaxRows: w.rows, Gradient: w.how}
		all := ofPersons(t, w.m, w.d, w.units, p, set)
		whole := grid(all, w.at, 1)
		sum := make([]int64, len(whole))
		for person := range int32(6) {
			rows, units := []int32{}, []int32{}
			for i, u := range w.units {
				if u == person {
					rows, units = append(rows, int32(i)), append(units, 0)
				}
			}
			for i, x := range grid(ofPersons(t, w.m, w.d.Select(rows), units, p, set), w.at, 1) {
				sum[i] += x
			}
		}
		if !slices.Equal(whole, sum) {
			t.Fatalf("%v, and persons alone add up to %v", whole, sum)
		}
	})
}

func TestPersonsRefused(t *testing.T) {
	d := line(1, 2)
	m := newGradient(d).Model
	person := account.Person("id")
	one := oracle.Persons{MaxRows: 1}
	for name, tc := range map[string]struct {
		unit    account.Unit
		persons oracle.Persons
		edit    func(*oracle.Public)
		want    string
	}{
		"no cap":     {person, oracle.Persons{}, nil, "max_rows_per_person"},
		"large cap":  {person, oracle.Persons{MaxRows: 1025}, nil, "1 to"},
		"other word": {person, oracle.Persons{MaxRows: 1, Gradient: "max"}, nil, "mean or"},
		"of records": {account.Record(), one, nil, "nothing with"},
		"one record": {person, one,
			func(p *oracle.Public) { p.SingleRecord, p.Records = true, 2 }, "one record"},
		"that arrive": {person, one, func(p *oracle.Public) { p.Sums.Moving = true }, "arriv"},
		"views":       {person, one, func(p *oracle.Public) { p.Augment.Flip = true }, "augmentations"},
	} {
		p := oracle.Public{Model: m, SampleRate: 1, ExpectedBatchSize: 1, ClipNorm: 1,
			Adjacency: account.ZeroOut, Unit: tc.unit, Sums: oracle.Sums{Persons: tc.persons}}
		if tc.edit != nil {
			tc.edit(&p)
		}
		_, err := oracle.New(&p, &agent.Query{Oracle: "grad"})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	p := oracle.Public{Model: m, SampleRate: 1, ExpectedBatchSize: 1, ClipNorm: 1, Adjacency: account.ZeroOut,
		Unit: person, Sums: oracle.Sums{Persons: one}}
	o, err := oracle.New(&p, &agent.Query{Oracle: "grad"})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Bind(oracle.Records{Data: d}, oracle.NewPool()); err == nil {
		t.Error("records without persons were bound")
	}
	for name, k := range oracle.Kinds {
		if k.Person {
			continue
		}
		p.Sums.Persons = oracle.Persons{}
		o, err := k.New(&p, agent.Operator{})
		if err != nil {
			continue
		}
		r, err := o.Describe(&agent.Query{Oracle: name, At: tensor.Vec{1}})
		if err == nil && r.Unit.Kind == account.UnitPerson {
			t.Errorf("oracle %s answers for persons: %v", name, fmt.Sprint(r))
		}
	}
}
