package oracletest_test

import (
	"testing"

	"sotto/agent"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/oracle/oracletest"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

const cols = 3

// points are records of two classes, or with targets.
func points(targets bool) *data.Dataset {
	d := &data.Dataset{X: tensor.NewMat(20, cols), Shape: [3]int{1, 1, cols}}
	r := rng.Public(7, "points")
	normals := make([]float64, cols+1)
	for i := range d.X.Rows {
		r.Normals(normals)
		for c := range cols {
			d.X.Row(i)[c] = float32(normals[c])
		}
		if targets {
			d.Targets = append(d.Targets, float32(normals[cols]))
		} else {
			d.Labels, d.Classes = append(d.Labels, int32(r.Below(2))), 2
		}
	}
	return d
}

// public is what the oracles are made from.
func public(t *testing.T, name string) func(account.Unit) oracle.Public {
	t.Helper()
	shape := model.Shape{Height: 1, Width: 1, Channels: cols, Classes: 2}
	if name == "least-squares" {
		shape.Classes = 0
	}
	m, err := model.New(name, shape, func(p any) error {
		if mlp, ok := p.(*model.MLPParams); ok {
			mlp.Hidden = []int{4}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(u account.Unit) oracle.Public {
		p := oracle.Public{Model: m, SampleRate: 1, ExpectedBatchSize: 8, ClipNorm: .7, FeatureNorm: 1,
			Residual: 1, Init: make(tensor.Vec, m.Dim())}
		switch u.Kind {
		case account.UnitPerson:
			p.Sums.Persons = oracle.Persons{MaxRows: 2, Gradient: "mean"}
		case account.UnitOwner:
			p.ExpectedBatchSize = 1
		}
		return p
	}
}

// Every oracle that algorithms ask keeps to what it says, of models with one layer and
// with two, and in integers where it has those.
func TestKinds(t *testing.T) {
	linear, each := []string{"logistic", "least-squares"}, []string{"logistic", "least-squares", "mlp"}
	models := map[string][]string{
		"grad": each, oracle.FullName: each, oracle.FullL1Name: each, oracle.OwnerGradName: each,
		oracle.ValueName: {"logistic"}, oracle.StatisticName: {"logistic"},
		oracle.MomentsName:     {"least-squares"},
		oracle.GradientSumName: linear, oracle.RowSumName: linear, oracle.FitName: {"logistic"},
		oracle.KMName: linear, oracle.StatefulResidualName: linear,
	}
	for name := range oracle.Kinds {
		if models[name] == nil {
			t.Errorf("oracle %s is tested with no model", name)
		}
		for _, m := range models[name] {
			t.Run(name+" of "+m, func(t *testing.T) {
				o := options(t, name, m, nil)
				if name == oracle.StatefulResidualName {
					o.Query.Step, o.Reached = .5, .02 // whose bound is of losses without one of their own
				}
				oracletest.Run(t, o)
			})
		}
	}
}

// The same of Poisson batches, of several under one noise draw, and of what else a run
// may set: the drawn size of a batch never enters, and no record changes who is drawn.
func TestSampledKinds(t *testing.T) {
	for what, set := range map[string]func(p *oracle.Public){
		"sampled":       func(p *oracle.Public) { p.SampleRate, p.ExpectedBatchSize = .4, 3 },
		"microbatches":  func(p *oracle.Public) { p.SampleRate, p.Draws = .5, 3 },
		"counted":       func(p *oracle.Public) { p.SampleRate, p.Count = .5, true },
		"counted whole": func(p *oracle.Public) { p.Count = true },
		"rescaled":      func(p *oracle.Public) { p.SampleRate, p.Rescale = .5, true },
		"exact":         func(p *oracle.Public) { p.SampleRate, p.Sums.Exact = .5, true },
	} {
		for _, m := range []string{"logistic", "least-squares", "mlp"} {
			t.Run(what+" grad of "+m, func(t *testing.T) {
				o := options(t, "grad", m, set)
				if what == "rescaled" {
					o.Query.Clip = .2
				}
				oracletest.Run(t, o)
			})
		}
	}
	for _, m := range []string{"logistic", "least-squares"} {
		t.Run("sampled km of "+m, func(t *testing.T) {
			oracletest.Run(t, options(t, oracle.KMName, m, func(p *oracle.Public) { p.SampleRate = .5 }))
		})
	}
}

// options are those of an oracle of a model, with a change of what it is made from.
func options(t *testing.T, name, of string, set func(*oracle.Public)) oracletest.Options {
	t.Helper()
	from := public(t, of)
	return oracletest.Options{
		Query: agent.Query{Oracle: name, Operator: agent.Operator{Name: oracle.ForwardBackward,
			Gamma: .6, L1: .05, Bound: 1, Lambda: .3}},
		Public: func(u account.Unit) oracle.Public {
			p := from(u)
			if set != nil {
				set(&p)
			}
			return p
		},
		Data: points(of == "least-squares"),
	}
}
