package oracle_test

import (
	"math"
	"slices"
	"testing"

	"sotto/agent"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// tables are models that are linear in their parameters, with records for them.
func tables(t *testing.T, n int) map[string]struct {
	m model.Model
	d *data.Dataset
} {
	t.Helper()
	out := map[string]struct {
		m model.Model
		d *data.Dataset
	}{}
	for name, classes := range map[string]int{"logistic": 2, "softmax": 4, "huber": 0, "least-squares": 0,
		"poisson": 0} {
		built := name
		if name == "softmax" {
			built = "logistic"
		}
		m, err := model.New(built, model.Shape{Height: 1, Width: 3, Channels: 1, Classes: classes},
			func(p any) error {
				switch p := p.(type) {
				case *model.LinearParams:
					p.Intercept = true
				case *model.HuberParams:
					p.Intercept = true
				case *model.PoissonParams:
					p.Intercept, p.Largest = true, 2.5
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		d := &data.Dataset{X: tensor.NewMat(n, 3), Classes: classes, Shape: [3]int{1, 3, 1}}
		r := rng.Public(4, "tables")
		for k := range n {
			for c := range 3 {
				d.X.Row(k)[c] = float32(4*r.Float64() - 2)
			}
			if classes > 0 {
				d.Labels = append(d.Labels, int32(r.Float64()*float64(classes)))
			} else {
				d.Targets = append(d.Targets, float32(6*r.Float64()-3))
			}
		}
		out[name] = struct {
			m model.Model
			d *data.Dataset
		}{m, d}
	}
	return out
}

func tableOracle(t *testing.T, name string, m model.Model, d *data.Dataset, rows []int32, clip float64,
	edit func(*oracle.Public)) *oracle.Statistic {
	t.Helper()
	p := &oracle.Public{Model: m, ClipNorm: clip, Adjacency: account.ZeroOut, Unit: account.Record()}
	if edit != nil {
		edit(p)
	}
	o, err := oracle.New(p, &agent.Query{Oracle: name})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Bind(oracle.Records{Data: d, Index: rows}, oracle.NewPool()); err != nil {
		t.Fatal(err)
	}
	return o.(*oracle.Statistic)
}

func count(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// A sum of gradients is that of the model, clipped record by record; the model adds them
// in its own way.
func TestGradientSums(t *testing.T) {
	const n = 40
	for name, c := range tables(t, n) {
		t.Run(name, func(t *testing.T) {
			at := make(tensor.Vec, c.m.Dim())
			for i := range at {
				at[i] = float32(i%3)/4 - .2
			}
			for _, clip := range []float64{math.Inf(1), 10, .7} {
				o := tableOracle(t, oracle.GradientSumName, c.m, c.d, count(n), clip, nil)
				var v privacy.Value
				o.Evaluate(&v, &agent.Query{Oracle: oracle.GradientSumName, At: at}, nil)
				want, got := make(tensor.Vec, len(at)), make([]float64, len(at))
				var w model.Workspace
				c.m.ClippedGradientSum(want, at, oracle.BatchOf(c.d), clip, &w)
				copy(got, v.Wide)
				for i, g := range v.Grid {
					got[i] = float64(g) * v.Step
				}
				for i := range want {
					if math.Abs(got[i]-float64(want[i])) > 1e-3 {
						t.Fatalf("clip %v: %v, want %v", clip, got, want)
					}
				}
			}
		})
	}
}

// Moments are those of the records, which are scaled to the norm that the clip says.
func TestMoments(t *testing.T) {
	const n, bound = 30, 1.5
	for name, c := range tables(t, n) {
		t.Run(name, func(t *testing.T) {
			const radius = 2.
			q := &agent.Query{Oracle: oracle.MomentsName, Clip: radius * radius}
			if name == "least-squares" {
				q.Operator.Bound, q.Clip = bound, radius*radius+bound*bound
			}
			heaviest := 1.
			if name == "poisson" {
				heaviest = 2.5
				q.Clip *= heaviest
			}
			o := tableOracle(t, oracle.MomentsName, c.m, c.d, count(n), 1, nil)
			r, err := o.Describe(q)
			if err != nil || r.Parts[0].Clip != q.Clip || r.Parts[0].Shift != 1 || r.Scale != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			var v privacy.Value
			o.Evaluate(&v, q, nil)
			var want []float64
			for k := range n {
				x, square := []float64{0, 0, 0, 1}, 1.
				for i, f := range c.d.X.Row(k) {
					x[i] = float64(f)
					square += x[i] * x[i]
				}
				for i := range x {
					x[i] *= math.Min(1, radius/math.Sqrt(square))
				}
				if name == "least-squares" {
					x = append(x, math.Max(-bound, math.Min(bound, float64(c.d.Targets[k]))))
				}
				at := 0
				for i := range x {
					for j := i; j < len(x); j++ {
						f := math.Sqrt2
						if i == j {
							f = 1
						}
						if name == "poisson" { // a record weighs its count, 1 at least
							f *= math.Max(1, math.Min(heaviest, float64(c.d.Targets[k])))
						}
						if at == len(want) {
							want = append(want, 0)
						}
						want[at] += f * x[i] * x[j]
						at++
					}
				}
			}
			if len(v.Grid) != len(want) || r.Parts[0].Dim != len(want) {
				t.Fatalf("%d values, want %d", len(v.Grid), len(want))
			}
			for i, w := range want {
				if got := float64(v.Grid[i]) * v.Step; math.Abs(got-w) > 1e-3 {
					t.Fatalf("value %d is %v, want %v", i, got, w)
				}
			}
		})
	}
}

// No record, whatever it holds, moves a sum by more than the clip; one that cannot be
// used adds nothing.
func TestTableSensitivity(t *testing.T) {
	bad := float32(math.NaN())
	for name, c := range tables(t, 8) {
		for k, x := range [][3]float32{{1e30, -1e30, 3e38}, {1e-30, 0, 0}, {bad, 0, 0},
			{float32(math.Inf(1)), 1, 1}, {-7, 9, 11}, {0, 0, 0}} {
			copy(c.d.X.Row(k), x[:])
		}
		if c.d.Labels != nil {
			c.d.Labels[5], c.d.Labels[6] = -1, int32(c.d.Classes)
		} else {
			c.d.Targets[5], c.d.Targets[6] = bad, float32(math.Inf(-1))
		}
		for _, kind := range []string{oracle.MomentsName, oracle.GradientSumName} {
			if name == "least-squares" && kind == oracle.GradientSumName {
				continue
			}
			q := &agent.Query{Oracle: kind, At: make(tensor.Vec, c.m.Dim()), Clip: 3}
			for i := range q.At {
				q.At[i] = float32(i) - 2
			}
			for k := range int32(8) {
				var v privacy.Value
				tableOracle(t, kind, c.m, c.d, []int32{k}, 1, nil).Evaluate(&v, q, nil)
				square := 0.
				for _, g := range v.Grid {
					square += float64(g) * float64(g)
				}
				if size := math.Sqrt(square) * v.Step; size > q.Clip {
					t.Errorf("%s of %s: record %d adds %v clips", kind, name, k, size/q.Clip)
				}
				exact := make([]int64, len(v.Grid))
				tableOracle(t, kind, c.m, c.d, []int32{k}, 1, nil).EvaluateGrid(exact, q, nil)
				square = 0
				for _, g := range exact {
					square += float64(g) * float64(g)
				}
				if square > 1<<40 {
					t.Errorf("%s of %s: record %d adds %v clips", kind, name, k, math.Sqrt(square)/(1<<20))
				}
				if unusable := k == 2 || k == 3 || k == 5 || k == 6; unusable && square != 0 {
					t.Errorf("%s of %s: record %d adds %v", kind, name, k, v.Grid)
				}
			}
		}
	}
}

// A person adds the mean of its first records.
func TestMomentsOfPersons(t *testing.T) {
	c := tables(t, 6)["logistic"]
	c.d.Units = []int32{0, 0, 0, 1, 1, 2}
	persons := func(p *oracle.Public) {
		p.Unit, p.Sums.Persons = account.Person("id"), oracle.Persons{MaxRows: 2}
	}
	q := &agent.Query{Oracle: oracle.MomentsName, At: make(tensor.Vec, c.m.Dim()), Clip: 20}
	got, one := make([]float64, 10), func(weight float64, rows []int32, edit func(*oracle.Public)) []float64 {
		var v privacy.Value
		tableOracle(t, oracle.MomentsName, c.m, c.d, rows, 1, edit).Evaluate(&v, q, nil)
		out := make([]float64, len(v.Grid))
		for i, g := range v.Grid {
			out[i] = weight * float64(g) * v.Step
		}
		return out
	}
	copy(got, one(1, count(6), persons))
	for _, part := range [][]float64{one(.5, []int32{0, 1, 3, 4}, nil), one(1, []int32{5}, nil)} {
		for i, x := range part {
			got[i] -= x
		}
	}
	for i, x := range got {
		if math.Abs(x) > 1e-3 {
			t.Errorf("value %d is off by %v", i, x)
		}
	}
}

// interpolated is a model of curves, and records beyond and within their ranges.
func interpolated(t *testing.T, n int) (model.Model, *data.Dataset) {
	t.Helper()
	numbers := model.FormatNumbers([]model.Number{{At: 0, Low: -1, High: 1}, {At: 2, Low: 0, High: 2}})
	m, err := model.New("additive", model.Shape{Height: 1, Width: 1, Channels: 3, Classes: 2,
		Numbers: numbers}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, tables(t, n)["logistic"].d
}

// hats are the features of a record, written down once more: a number's weights fall by 1
// from knot to knot.
func hats(row []float32) []float64 {
	var out []float64
	add := func(x, low, high float64) {
		at := 4 * (math.Max(low, math.Min(high, x)) - low) / (high - low)
		for k := range 5 {
			out = append(out, math.Max(0, 1-math.Abs(at-float64(k))))
		}
	}
	add(float64(row[0]), -1, 1)
	out = append(out, float64(row[1]))
	add(float64(row[2]), 0, 2)
	return append(out, 1)
}

// Sums of rows are those of the features with their constant, shortened to the clip.
func TestRowSums(t *testing.T) {
	m, d := interpolated(t, 30)
	for _, clip := range []float64{math.Inf(1), 1.5} {
		o := tableOracle(t, oracle.RowSumName, m, d, count(30), clip, nil)
		got := summed(o, &agent.Query{Oracle: oracle.RowSumName})
		want := make([]float64, 12)
		for k := range d.Len() {
			x := hats(d.X.Row(k))
			f := math.Min(1, clip/length(x))
			for c, v := range x {
				want[c] += f * v
			}
		}
		near(t, got, want)
	}
}

// A gradient with a centre and a length is that of the outputs at the parameters, times
// the standardized row.
func TestStandardizedGradients(t *testing.T) {
	m, d := interpolated(t, 30)
	theta := make([]float64, 12)
	at := make(tensor.Vec, 0, 24)
	for i := range theta {
		theta[i] = float64(i%4)/4 - .5
		at = append(at, float32(theta[i]))
	}
	for i := range 11 {
		at = append(at, float32(i%3)/8)
	}
	at = append(at, 2)
	for _, clip := range []float64{math.Inf(1), .2} {
		o := tableOracle(t, oracle.GradientSumName, m, d, count(30), clip, nil)
		got := summed(o, &agent.Query{Oracle: oracle.GradientSumName, At: at})
		want := make([]float64, 12)
		for k := range d.Len() {
			x, z := hats(d.X.Row(k)), 0.
			for c, v := range x {
				z += v * theta[c]
			}
			slope := 1/(1+math.Exp(-z)) - float64(d.Labels[k])
			for c := range x {
				if c < 11 {
					x[c] -= float64(c%3) / 8
				}
				x[c] *= slope / 2
			}
			f := math.Min(1, clip/length(x))
			for c, v := range x {
				want[c] += f * v
			}
		}
		near(t, got, want)
	}
}

// No record moves a standardized sum by more than the clip, whatever the centre is.
func TestStandardizedSensitivity(t *testing.T) {
	m, d := interpolated(t, 30)
	at := make(tensor.Vec, 24)
	for i := range at {
		at[i] = float32(i%5) - 2
	}
	at[23] = 1e-3
	const clip = .4
	for _, q := range []agent.Query{{Oracle: oracle.RowSumName}, {Oracle: oracle.GradientSumName, At: at}} {
		all := summed(tableOracle(t, q.Oracle, m, d, count(30), clip, nil), &q)
		moved := 0.
		for k := range int32(30) {
			rest := slices.Delete(count(30), int(k), int(k)+1)
			less := summed(tableOracle(t, q.Oracle, m, d, rest, clip, nil), &q)
			for c := range less {
				less[c] -= all[c]
			}
			moved = math.Max(moved, length(less))
		}
		if !(moved <= clip) || moved < clip*.999 {
			t.Errorf("%s: a record moves the sum by %v, clip %v", q.Oracle, moved, clip)
		}
	}
}

// summed evaluates without noise.
func summed(o *oracle.Statistic, q *agent.Query) []float64 {
	var v privacy.Value
	o.Evaluate(&v, q, nil)
	if len(v.Wide) > 0 {
		return slices.Clone(v.Wide)
	}
	var out []float64
	for _, g := range v.Grid {
		out = append(out, float64(g)*v.Step)
	}
	return out
}

func length(x []float64) float64 {
	square := 0.
	for _, v := range x {
		square += v * v
	}
	return math.Sqrt(square)
}

func near(t *testing.T, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	for c, w := range want {
		if math.Abs(got[c]-w) > 1e-4 {
			t.Errorf("value %d: %v, want %v", c, got[c], w)
		}
	}
}
