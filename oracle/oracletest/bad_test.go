package oracletest

import (
	"math"
	"strings"
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

// rowSum is an oracle with the sum of an owner's rows, each scaled to norm 1 at most, and
// what a writer of one may get wrong.
type rowSum struct {
	fault string
	p     oracle.Public
	r     oracle.Records
}

func (o *rowSum) Bind(r oracle.Records, _ *oracle.Pool) error { o.r = r; return nil }

func (o *rowSum) Describe(*agent.Query) (account.Release, error) {
	part := account.Part{Name: "row-sum", Clip: 1, Shift: 1, SumError: 1e-5, Norm: account.L2,
		Dim: o.p.Model.Dim()}
	if o.p.Adjacency == account.ReplaceOne && o.fault != "shift" {
		part.Shift = 2
	}
	if o.fault == "describe" && o.r.Data != nil {
		part.Clip = max(1, float64(len(o.r.Index)))
	}
	if o.fault == "large" {
		part.Clip = 1000
	}
	sampler := account.Sampler{Kind: account.FullBatch}
	if o.p.SampleRate < 1 {
		sampler = account.Sampler{Kind: account.Poisson, SampleRate: o.p.SampleRate}
	}
	return account.Release{Oracle: "row-sum", Adjacency: o.p.Adjacency, Unit: o.p.Unit,
		Sampler: sampler, Parts: []account.Part{part}, Scale: 1}, nil
}

func (o *rowSum) Evaluate(dst *privacy.Value, _ *agent.Query, sample *rng.Stream) {
	clear(dst.Float)
	sum, count := make([]float64, len(dst.Float)), 0.
	t, all := rng.Threshold(o.p.SampleRate)
	for _, i := range o.r.Index {
		if !all && !sample.Hit(t) {
			continue
		}
		row, size := o.r.Data.X.Row(int(i)), 0.
		for _, x := range row {
			size = math.Hypot(size, float64(x))
		}
		factor := 1 / max(1, size)
		switch {
		case !(size <= math.MaxFloat64) && o.fault != "not a number":
			continue
		case o.fault == "clip":
			factor *= 2
		case o.fault == "random" && size > 1:
			sample.Uint64()
		}
		count++
		for c, x := range row {
			sum[c] += factor * float64(x)
		}
	}
	scale := 1.
	if o.fault == "count" { // which is private
		scale = 8 / max(count, 1)
	}
	for c, x := range sum {
		dst.Float[c] = float32(scale * x)
	}
	if o.fault == "twice" {
		copy(dst.Widen(len(sum)), sum)
	}
}

// The suite finds what it is for, and takes the right oracle.
func TestFaultsAreFound(t *testing.T) {
	m, err := model.New("least-squares", model.Shape{Height: 1, Width: 1, Channels: 2},
		func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	d := &data.Dataset{X: tensor.NewMat(4, 2), Shape: [3]int{1, 1, 2}, Targets: []float32{1, 2, 3, 4}}
	for i := range d.X.Data {
		d.X.Data[i] = float32(i%3) - .5
	}
	const name = "row-sum under test"
	defer delete(oracle.Kinds, name)
	of := func(fault string, rate float64) *Options {
		bad := func(p *oracle.Public, _ agent.Operator) (oracle.Oracle, error) {
			return &rowSum{fault: fault, p: *p}, nil
		}
		oracle.Kinds[name] = oracle.Kind{New: bad}
		return &Options{Query: agent.Query{Oracle: name}, Data: d,
			Public: func(account.Unit) oracle.Public { return oracle.Public{Model: m, SampleRate: rate} }}
	}
	for fault, want := range map[string]string{
		"":             "",
		"clip":         "clips, stated",
		"not a number": "is NaN",
		"shift":        "clips, stated 1",
		"count":        "clips, stated",
		"describe":     "with records the release is",
		"random":       "random choices follow from records",
		"large":        "this test shows nothing",
		"twice":        "is given twice",
	} {
		for _, rate := range []float64{1, .5} {
			o := of(fault, rate)
			var errs []string
			for _, a := range adjacencies {
				if took, err := check(o, account.Record(), a); err != nil {
					errs = append(errs, err.Error())
				} else if !took {
					t.Errorf("%q: refused", fault)
				}
			}
			if all := strings.Join(errs, "\n"); want == "" && all != "" || !strings.Contains(all, want) {
				t.Errorf("%q at rate %g: %s, want %q", fault, rate, all, want)
			}
		}
	}
	// a person has several records, each of which is clipped
	if _, err := check(of("", 1), account.Person("patient"), account.ZeroOut); err == nil ||
		!strings.Contains(err.Error(), "clips, stated") {
		t.Errorf("of persons: %v", err)
	}
}
