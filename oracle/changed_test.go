package oracle_test

import (
	"math"
	"testing"

	"sotto/agent"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// A field that is set after Validate moves what is evaluated, so that the release of
// before does not describe it: the clip of 5 below moved a sum by 5 where 1 was charged.
func TestFieldsAfterValidate(t *testing.T) {
	d := points(6, 3)
	f := full(t, d, rows(6), account.L2, 1)
	u := &oracle.OwnerGradient{Model: f.Model, ClipNorm: 1, Adjacency: account.ZeroOut}
	glm, _ := model.Linear(f.Model)
	k := &oracle.KM{GLM: glm, Operator: oracle.Forward, Gamma: 1, Residual: 2, ClipNorm: 1, SampleRate: 1,
		ExpectedBatchSize: 6, Adjacency: account.ZeroOut, Unit: account.Record(), Dim: f.Model.Dim()}
	for name, c := range map[string]struct {
		o      oracle.Oracle
		check  func() error
		change func()
	}{
		"full":  {f, f.Validate, func() { f.ClipNorm = 5 }},
		"unit":  {f, f.Validate, func() { f.ClipNorm, f.Unit = 1, account.Owner() }},
		"owner": {u, u.Validate, func() { u.ClipNorm = 5 }},
		"km":    {k, k.Validate, func() { k.Gamma = 50 }},
	} {
		q := &agent.Query{At: make(tensor.Vec, f.Model.Dim())}
		f.Unit, f.ClipNorm = account.Record(), 1
		if err := c.check(); err != nil {
			t.Fatal(name, err)
		}
		if _, err := c.o.Describe(q); err != nil {
			t.Error(name, err)
		}
		c.change()
		if r, err := c.o.Describe(q); err == nil {
			t.Errorf("%s: still %+v", name, r)
		}
		if q.Clip = .5; name != "km" {
			if r, err := c.o.Describe(q); err == nil {
				t.Errorf("%s with a clip of the query: %+v", name, r)
			}
		}
	}
}

// Oracles that were not validated do not describe what they would not do.
func TestOraclesWithoutValidate(t *testing.T) {
	m := logisticModel(t, 3)
	glm, _ := model.Linear(m)
	q := &agent.Query{At: make(tensor.Vec, m.Dim())}
	for name, o := range map[string]privacy.Oracle{
		"a fit of all that an owner has": &oracle.Fit{GLM: glm, Normaliser: 6, Lambda: .1, Radius: 1,
			Adjacency: account.ZeroOut, Unit: account.Owner(), Dim: m.Dim()},
		"a fit that does not converge": &oracle.Fit{GLM: glm, Normaliser: 6, Lambda: 1e-12, Radius: 1,
			Adjacency: account.ZeroOut, Unit: account.Record(), Dim: m.Dim()},
		"accuracy with a clip of .5": &oracle.Score{Model: m, ClipNorm: .5, Adjacency: account.ZeroOut},
		"a score without a model":    &oracle.Score{ClipNorm: 1, Adjacency: account.ZeroOut},
		"no features":                &oracle.Features{Radius: 1},
		"no labels":                  &oracle.Labels{},
	} {
		if r, err := o.Describe(q); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Oracles work without a pool of their own.
func TestOraclesWithoutPool(t *testing.T) {
	d := points(6, 3)
	for _, pool := range []*oracle.Pool{nil, {}} {
		f := full(t, d, rows(6), account.L2, 1)
		f.Pool = pool
		g := newGradient(d)
		g.Model, g.Records, g.Pool, g.SampleRate = f.Model, f.Records, pool, 1
		s := &oracle.Score{Model: f.Model, Records: f.Records, ClipNorm: 1, Adjacency: account.ZeroOut,
			Pool: pool}
		gate := privacy.NewGate(ledger.NewMemory(nil), privacy.Gaussian{NoiseMultiplier: 1},
			map[string]privacy.Oracle{"full": f, "grad": g, "score": s})
		for name, n := range map[string]int{"full": f.Model.Dim(), "grad": f.Model.Dim(), "score": 1} {
			dst := make(tensor.Vec, n)
			err := gate.Answer(&agent.Query{Oracle: name, At: make(tensor.Vec, f.Model.Dim())}, dst)
			if err != nil || math.IsNaN(float64(dst[0])) {
				t.Errorf("%s: %v, %v", name, dst, err)
			}
		}
	}
}
