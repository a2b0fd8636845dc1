package finishing_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"sotto/data"
	"sotto/experiment/finishing"
	"sotto/model"
	"sotto/rng"
	"sotto/tensor"
)

func network(t testing.TB, name string, classes int) model.Model {
	t.Helper()
	shape := model.Shape{Height: 1, Width: 1, Channels: 4, Classes: classes}
	m, err := model.New(name, shape, func(p any) error {
		if p, ok := p.(*model.MLPParams); ok {
			p.Hidden = []int{6}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// trained is a model of many records of a law, as all owners together would have it: what
// a large owner trains alone.
func trained(t *testing.T, m model.Model, d *data.Dataset) tensor.Vec {
	init := make(tensor.Vec, m.Dim())
	r := rng.Public(3, "init")
	m.Init(init, r)
	o := &finishing.Network{Model: m, Init: init, Shared: init, Data: d, Rows: all(d), Seed: 1}
	return finishedNetwork(t, o, finishing.Params{Enabled: true}).Candidates[0]
}

// classed gives records of two classes one of three: class 2 where feature 3 is large.
func classed(d *data.Dataset, classes int) *data.Dataset {
	if classes == 3 {
		d.Classes = 3
		for i := range d.Len() {
			if d.X.Row(i)[3] > .4 {
				d.Labels[i] = 2
			}
		}
	}
	return d
}

// Of an owner who is like the others a shared model is better than one of its own few
// records, of one who is unlike them not: what it ends with is near the better one.
func TestNetworksFinish(t *testing.T) {
	like, unlike := []float64{3, -3, 2, 0}, []float64{-3, 3, -2, 0}
	for name, classes := range map[string]int{"mlp": 2, "logistic": 3} {
		m := network(t, name, classes)
		shared := trained(t, m, classed(draw(1, 3000, like), classes))
		init := make(tensor.Vec, m.Dim())
		m.Init(init, rng.Public(3, "init"))
		for _, c := range []struct {
			what  string
			truth []float64
			n     int
		}{{"like", like, 24}, {"unlike", unlike, 300}} {
			tests := classed(draw(9, 4000, c.truth), classes)
			var w model.Workspace
			risk := func(theta tensor.Vec) float64 {
				return m.Loss(theta, &model.Batch{X: tests.X, Labels: tests.Labels}, &w)
			}
			var risks [4]float64 // in the mean of 8 owners
			for seed := range uint64(8) {
				d := classed(draw(20+seed, c.n, c.truth), classes)
				o := &finishing.Network{Model: m, Init: init, Shared: shared, Data: d, Rows: all(d),
					Seed: seed}
				got := finishedNetwork(t, o, finishing.Params{Enabled: true})
				for k, theta := range append(got.Candidates[:], got.Theta) {
					risks[k] += risk(theta) / 8
				}
				sum := got.Weights[0] + got.Weights[1] + got.Weights[2]
				if math.Abs(sum-1) > 1e-9 || name == "mlp" && !slices.Contains(got.Weights[:], 1) {
					t.Errorf("weights %v", got.Weights)
				}
				if again := finishedNetwork(t, o, finishing.Params{Enabled: true}); !slices.Equal(got.Theta,
					again.Theta) || !slices.Equal(o.Shared, got.Candidates[1]) {
					t.Error("the same owner ends with another model")
				}
			}
			alone, together, own := risks[0], risks[1], risks[3]
			if (c.what == "like") != (together < alone) || own > min(alone, together)+.05 {
				t.Errorf("%s, %s: alone %.3f, shared %.3f, personal %.3f, own %.3f", name, c.what, alone,
					together, risks[2], own)
			}
		}
	}
}

// Around the shared model the last layer alone moves, or all of them.
func TestLayersThatMove(t *testing.T) {
	m := network(t, "mlp", 2)
	shared := trained(t, m, draw(1, 400, []float64{3, -3, 2, 0}))
	d := draw(2, 60, []float64{-3, 3, 1, 1})
	body, _, err := model.SplitHead(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	for layers, stays := range map[string]bool{"last": true, "all": false} {
		o := &finishing.Network{Model: m, Init: make(tensor.Vec, m.Dim()), Shared: shared, Data: d,
			Rows: all(d)}
		got := finishedNetwork(t, o, finishing.Params{Enabled: true, Layers: layers}).Candidates[2]
		cut := body.Dim()
		if slices.Equal(got[:cut], shared[:cut]) != stays || slices.Equal(got[cut:], shared[cut:]) {
			t.Errorf("layers %s: first layer kept: %v", layers, slices.Equal(got[:cut], shared[:cut]))
		}
	}
}

// A strong prior keeps the personal model at the shared one.
func TestStrengthHolds(t *testing.T) {
	m := network(t, "mlp", 2)
	shared := trained(t, m, draw(1, 400, []float64{3, -3, 2, 0}))
	d := draw(2, 60, []float64{-3, 3, 1, 1})
	far := func(strength float64) (most float64) {
		o := &finishing.Network{Model: m, Init: shared, Shared: shared, Data: d, Rows: all(d)}
		p := finishing.Params{Enabled: true, Strengths: []float64{strength}, Layers: "all"}
		for i, x := range finishedNetwork(t, o, p).Candidates[2] {
			most = max(most, math.Abs(float64(x-shared[i])))
		}
		return most
	}
	if weak, strong := far(1e-3), far(1e6); !(strong < weak/3) {
		t.Errorf("moved by %v under a weak prior and by %v under a strong one", weak, strong)
	}
}

// Records that are no numbers, or of no class, change nothing; of few the owner keeps the
// shared model.
func TestNetworkOfBrokenRecords(t *testing.T) {
	m := network(t, "mlp", 2)
	shared := trained(t, m, draw(1, 400, []float64{3, -3, 2, 0}))
	d := draw(2, 50, []float64{3, -3, 1, 1})
	o := &finishing.Network{Model: m, Init: shared, Shared: shared, Data: d, Rows: all(d)[:40]}
	want := finishedNetwork(t, o, finishing.Params{Enabled: true})
	d.X.Row(44)[1] = float32(math.NaN())
	d.Labels[45] = 7
	o.Rows = append(o.Rows, 44, 45)
	if got := finishedNetwork(t, o, finishing.Params{Enabled: true}); !slices.Equal(got.Theta, want.Theta) {
		t.Error("broken records change the model")
	}
	o.Rows = all(d)[:9]
	if got := finishedNetwork(t, o, finishing.Params{Enabled: true}); !slices.Equal(got.Theta, shared) ||
		got.Weights != [3]float64{0, 1, 0} {
		t.Errorf("of nine records: %v", got.Weights)
	}
}

// A context that has ended ends the trainings, of both kinds, whatever they had begun.
func TestFitsEndWithTheContext(t *testing.T) {
	m, d := network(t, "mlp", 2), classed(draw(1, 60, []float64{1, -1, 2, 0}), 2)
	init, g := make(tensor.Vec, m.Dim()), linear(t, "logistic", 4, 2)
	p := finishing.Params{Enabled: true}
	for looks := range 3 {
		got, err := finishing.FitNetwork(after(t, looks), &finishing.Network{Model: m, Init: init,
			Shared: init, Data: d, Rows: all(d)}, p)
		if got != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("a network after %d looks: %v, %v", looks, got, err)
		}
		got, err = finishing.Fit(after(t, looks), &finishing.Own{GLM: g, Shared: make(tensor.Vec, 5),
			Data: d, Rows: all(d)}, p)
		if got != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("after %d looks: %v, %v", looks, got, err)
		}
	}
}

// looked is a context that ends when somebody has looked so often whether it has.
type looked struct {
	context.Context
	left int
	end  func()
}

func after(t *testing.T, looks int) *looked {
	ctx, cancel := context.WithCancel(t.Context())
	return &looked{ctx, looks, cancel}
}

func (l *looked) Err() error {
	if l.left--; l.left < 0 {
		l.end()
	}
	return l.Context.Err()
}
