package finishing_test

import (
	"math"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"sotto/data"
	"sotto/experiment/finishing"
	"sotto/model"
	"sotto/oracle"
	"sotto/rng"
	"sotto/tensor"
)

func finished(t *testing.T, o *finishing.Own, p finishing.Params) *finishing.Model {
	t.Helper()
	m, err := finishing.Fit(t.Context(), o, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func finishedNetwork(t *testing.T, o *finishing.Network, p finishing.Params) *finishing.Model {
	t.Helper()
	m, err := finishing.FitNetwork(t.Context(), o, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func linear(t testing.TB, name string, features, classes int) model.GLM {
	t.Helper()
	m, err := model.New(name, model.Shape{Height: 1, Width: 1, Channels: features, Classes: classes},
		func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	g, ok := model.Linear(m)
	if !ok {
		t.Fatalf("%s is no linear model", name)
	}
	return g
}

// draw makes n records whose class follows the parameters of truth by a logistic law.
func draw(seed uint64, n int, truth []float64) *data.Dataset {
	r := rng.Public(seed, "records")
	d := &data.Dataset{X: tensor.NewMat(n, len(truth)), Classes: 2}
	z := make([]float64, len(truth))
	for i := range n {
		r.Normals(z)
		dot := 0.
		for k, v := range z {
			d.X.Row(i)[k] = float32(v / 2)
			dot += truth[k] * v / 2
		}
		label := int32(0)
		if r.Float64() < 1/(1+math.Exp(-dot)) {
			label = 1
		}
		d.Labels = append(d.Labels, label)
	}
	return d
}

func all(d *data.Dataset) []int32 {
	rows := make([]int32, d.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// risk is the mean loss of parameters on records.
func risk(g model.GLM, d *data.Dataset, theta tensor.Vec) float64 {
	total := 0.
	for i := range d.Len() {
		z := 0.
		for k, v := range d.X.Row(i) {
			z += float64(v) * float64(theta[k])
		}
		l, _, _ := g.Loss(z, float64(2*d.Labels[i]-1))
		total += l
	}
	return total / float64(d.Len())
}

// Around a prior least squares are (XᵀX/n + λ)⁻¹ (Xᵀy/n + λ prior), which gonum solves.
func TestAroundIsRidge(t *testing.T) {
	g := linear(t, "least-squares", 3, 0)
	r := rng.Public(1, "ridge")
	d := &data.Dataset{X: tensor.NewMat(50, 3)}
	for i := range 50 {
		y := 0.
		for k := range 3 {
			v := r.Float64() - .5
			d.X.Row(i)[k] = float32(v)
			y += float64(k) * v
		}
		d.Targets = append(d.Targets, float32(y+.1*r.Float64()))
	}
	prior, lambda := tensor.Vec{1, -1, .5}, .07
	got := oracle.Around(g, oracle.Records{Data: d, Index: all(d)}, prior, lambda)
	a, b := mat.NewDense(3, 3, nil), mat.NewVecDense(3, nil)
	for i := range 50 {
		for j := range 3 {
			x := float64(d.X.Row(i)[j])
			b.SetVec(j, b.AtVec(j)+x*float64(d.Targets[i])/50)
			for k := range 3 {
				a.Set(j, k, a.At(j, k)+x*float64(d.X.Row(i)[k])/50)
			}
		}
	}
	for j := range 3 {
		a.Set(j, j, a.At(j, j)+lambda)
		b.SetVec(j, b.AtVec(j)+lambda*float64(prior[j]))
	}
	var want mat.VecDense
	if err := want.SolveVec(a, b); err != nil {
		t.Fatal(err)
	}
	for k := range 3 {
		if math.Abs(float64(got[k])-want.AtVec(k)) > 1e-6 {
			t.Errorf("parameter %d: %v, want %v", k, got[k], want.AtVec(k))
		}
	}
}

// Of owners who are like the others the shared model is the best, of one who is unlike
// its own; what an owner ends with is on the mean of 40 nearly as good as the better one,
// and where owners are a little unlike better than both.
func TestNobodyLoses(t *testing.T) {
	g := linear(t, "logistic", 6, 2)
	shared := tensor.Vec{2, -2, 1, 0, 1, -1}
	for _, c := range []struct {
		name  string
		apart float64
		n     int
	}{{"alike", 0, 60}, {"a little unlike", .8, 60}, {"unlike", 4, 200}} {
		risks := [4]float64{}
		for trial := range 40 {
			truth := make([]float64, 6)
			r := rng.Public(uint64(trial), "truth")
			z := make([]float64, 6)
			r.Normals(z)
			for k := range truth {
				truth[k] = float64(shared[k]) + c.apart*z[k]
			}
			own, test := draw(uint64(trial), c.n, truth), draw(uint64(trial)+1000, 4000, truth)
			m := finished(t, &finishing.Own{GLM: g, Shared: shared, Data: own, Rows: all(own), Seed: 1},
				finishing.Params{Enabled: true})
			for k, theta := range append(m.Candidates[:], m.Theta) {
				risks[k] += risk(g, test, theta) / 40
			}
		}
		alone, chosen := risks[0], risks[3]
		t.Logf("%s: alone %.4f, shared %.4f, personal %.4f, chosen %.4f", c.name, alone, risks[1],
			risks[2], chosen)
		best := min(alone, risks[1])
		if chosen > best+.015 {
			t.Errorf("%s: an owner ends with %.4f, could have %.4f", c.name, chosen, best)
		}
		if c.name == "a little unlike" && chosen > best-.005 {
			t.Errorf("%s: %.4f is no better than alone or shared, %.4f", c.name, chosen, best)
		}
	}
}

// Who has too few records keeps the shared model; who has one class does not, where
// that model does not see it; the same owner gets the same bits; rows of one person
// stay in one fold.
func TestEdges(t *testing.T) {
	g := linear(t, "logistic", 2, 2)
	shared := tensor.Vec{1, -1}
	few := draw(1, 9, []float64{1, 1})
	one := draw(2, 40, []float64{1, 1})
	for i := range one.Labels {
		one.Labels[i] = 1
	}
	m := finished(t, &finishing.Own{GLM: g, Shared: shared, Data: few, Rows: all(few)}, finishing.Params{})
	if !slices.Equal(m.Theta, shared) || m.Weights != [3]float64{0, 1,
		0} || slices.Equal(m.Candidates[0], shared) {
		t.Errorf("nine records: %+v", m)
	}
	m = finished(t, &finishing.Own{GLM: g, Shared: shared, Data: one, Rows: all(one)}, finishing.Params{})
	if got, was := risk(g, one, m.Theta), risk(g, one, shared); !(got < was-.05) {
		t.Errorf("one class: loss %v, of the shared model %v", got, was)
	}
	// an owner who is one person has folds of records; of three persons those are the
	// folds
	person, plain := draw(3, 40, []float64{1, 1}), draw(3, 40, []float64{1, 1})
	person.Units = make([]int32, 40)
	fit := func(d *data.Dataset, folds int) *finishing.Model {
		return finished(t, &finishing.Own{GLM: g, Shared: shared, Data: d, Rows: all(d)},
			finishing.Params{Folds: folds})
	}
	if !reflect.DeepEqual(fit(person, 5), fit(plain, 5)) {
		t.Error("a person alone has other folds than its records")
	}
	three := draw(3, 40, []float64{1, 1})
	for i := range 40 {
		three.Units = append(three.Units, int32(i%3))
	}
	if !reflect.DeepEqual(fit(three, 5), fit(three, 3)) {
		t.Error("three persons are dealt to five folds")
	}
	d := draw(4, 50, []float64{3, -1})
	own := finishing.Own{GLM: g, Shared: shared, Data: d, Rows: all(d), Seed: 9}
	a, b := finished(t, &own, finishing.Params{}), finished(t, &own, finishing.Params{})
	if !slices.Equal(a.Theta, b.Theta) || !slices.Equal(shared, tensor.Vec{1, -1}) {
		t.Error("another run ends with another model, or the shared one has changed")
	}
	if sum := a.Weights[0] + a.Weights[1] + a.Weights[2]; math.Abs(sum-1) > 1e-9 {
		t.Errorf("weights %v", a.Weights)
	}
	for k, l := range a.Losses[:3] {
		if l < a.Losses[3] {
			t.Errorf("%s has loss %v, the choice %v", finishing.Candidates[k], l, a.Losses[3])
		}
	}
}

// A record that is no number changes nothing but its own part: an owner still ends with a
// model, and large features end in time.
func TestBrokenRecords(t *testing.T) {
	g := linear(t, "logistic", 2, 2)
	d := draw(6, 60, []float64{2, -1})
	for i := range d.Len() {
		for k := range d.X.Row(i) {
			d.X.Row(i)[k] *= 1e6
		}
	}
	d.X.Row(7)[0] = float32(math.NaN())
	m := finished(t, &finishing.Own{GLM: g, Shared: tensor.Vec{1e-6, 0}, Data: d, Rows: all(d)},
		finishing.Params{})
	sum := m.Weights[0] + m.Weights[1] + m.Weights[2]
	if math.Abs(sum-1) > 1e-9 || !(m.Losses[3] < math.Ln2) {
		t.Errorf("%+v", m)
	}
}

// A shared model that is no number is worth nothing: the owner ends with the one alone.
func TestBrokenSharedModel(t *testing.T) {
	g, d := linear(t, "logistic", 2, 2), draw(6, 60, []float64{2, -1})
	d.X.Row(7)[0] = float32(math.NaN())
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		m := finished(t, &finishing.Own{GLM: g, Shared: tensor.Vec{float32(bad), 0}, Data: d, Rows: all(d)},
			finishing.Params{})
		if m.Weights != [3]float64{1, 0, 0} || !slices.Equal(m.Theta, m.Candidates[0]) || !m.Theta.Finite() ||
			m.Losses[3] != m.Losses[0] || !(m.Losses[3] < math.Ln2) {
			t.Errorf("shared %v: %+v", bad, m)
		}
		n := network(t, "mlp", 2)
		d := draw(2, 50, []float64{3, -3, 1, 1})
		init, shared := make(tensor.Vec, n.Dim()), make(tensor.Vec, n.Dim())
		n.Init(init, rng.Public(3, "init"))
		shared[0] = float32(bad)
		m = finishedNetwork(t, &finishing.Network{Model: n, Init: init, Shared: shared, Data: d,
			Rows: all(d)}, finishing.Params{Enabled: true})
		if m.Weights != [3]float64{1, 0, 0} || !m.Theta.Finite() {
			t.Errorf("network of %v: weights %v, losses %v", bad, m.Weights, m.Losses)
		}
	}
}

func TestParams(t *testing.T) {
	for name, p := range map[string]finishing.Params{
		"strengths": {Enabled: true, Strengths: []float64{0}}, "folds": {Enabled: true, Folds: 1},
		"enabled": {Folds: 5}, "layers": {Enabled: true, Layers: "first"}} {
		if err := p.Validate(); err == nil {
			t.Errorf("%s: accepted %+v", name, p)
		}
	}
	p := finishing.Params{Enabled: true}
	if p.Fill(false); p.Validate() != nil || p.Folds != 5 || len(p.Strengths) != 8 {
		t.Errorf("%+v: %v", p, p.Validate())
	}
}

// One record that is 1e15 times as large as others decides how long fits are looked for,
// which nobody is to see: they end after a bounded number of steps. (Unbounded ones had
// not ended after 25 seconds.)
func TestUnevenRecordsEnd(t *testing.T) {
	for _, name := range []string{"huber", "least-squares"} {
		r := rand.New(rand.NewSource(1))
		d := &data.Dataset{X: tensor.NewMat(60, 3)}
		for i := range d.X.Rows {
			row := d.X.Row(i)
			for k := range row {
				row[k] = float32(r.NormFloat64())
			}
			y := row[0] + float32(r.NormFloat64())
			if i == 7 {
				row[1], row[2] = float32(1e15*(1+.3*r.NormFloat64())), -1e15
			}
			d.Targets = append(d.Targets, float32(math.Abs(float64(y))))
		}
		g := linear(t, name, 3, 0)
		shared := tensor.Vec{.5, .2, -.1, -.4}
		if !g.Intercept {
			shared = shared[:3]
		}
		own := finishing.Own{GLM: g, Shared: shared, Data: d, Rows: all(d), Seed: 1}
		if f := finished(t, &own, finishing.Params{Enabled: true}); f == nil {
			t.Errorf("%s: no model", name)
		}
	}
}
