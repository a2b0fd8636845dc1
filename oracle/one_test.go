package oracle_test

import (
	"errors"
	"math"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/tensor"
)

// One uniform record an answer: gradients -2x² at θ = 1 within the clip, each as often as
// the others. The count of each of four records in 4,000 answers is within 5 standard
// deviations of 1,000 (false rejects below 3e-6).
func TestOneRecord(t *testing.T) {
	g := newGradient(line(.1, .2, .3, .4))
	g.One, g.Adjacency, g.ExpectedBatchSize = 4, account.ReplaceOne, 1
	counts := map[int]int{}
	for seq := range uint64(4000) {
		x := math.Sqrt(-evaluate(g, 1, 0, seq) / 2)
		if k := math.Round(10 * x); math.Abs(10*x-k) < 1e-3 {
			counts[int(k)]++
		} else {
			t.Fatalf("answer %d is no record's gradient: x = %v", seq, x)
		}
	}
	for k := 1; k <= 4; k++ {
		if off := math.Abs(float64(counts[k]) - 1000); off > 5*math.Sqrt(4000*.25*.75) {
			t.Errorf("record .%d was drawn %d times of 4,000", k, counts[k])
		}
	}
}

// Its event is sampling one of four without replacement with the sensitivity of a
// replaced record; add-remove has none.
func TestOneRecordEvent(t *testing.T) {
	g := newGradient(line(.1, .2, .3, .4))
	g.One, g.Adjacency = 4, account.ReplaceOne
	r, err := g.Describe(&agent.Query{Oracle: "grad", At: tensor.Vec{1}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := privacy.Gaussian{NoiseMultiplier: 3}.Event(r)
	if err != nil {
		t.Fatal(err)
	}
	if e := r.Parts[0].SumError; !(e > 0 && e < 2e-5) {
		t.Errorf("the rounding of one gradient is charged as %v", e)
	}
	inner, err := account.Gaussian(3, r.Parts[0].Movement())
	if err != nil {
		t.Fatal(err)
	}
	inner.Adjacency = account.ReplaceOne
	want, err := account.FixedSizeSampled(4, 1, inner)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := upperOf(t, got), upperOf(t, want); a != b {
		t.Errorf("epsilon %v, one of four without replacement has %v", a, b)
	}
	r.Adjacency = account.AddRemove
	if _, err := (privacy.Gaussian{NoiseMultiplier: 3}).Event(r); !errors.Is(err, account.ErrUnsupported) {
		t.Errorf("add-remove: %v", err)
	}
	g.One = 3
	var bad *config.Error
	if err := g.Validate(); !errors.As(err, &bad) || bad.Key != "one" {
		t.Errorf("another number than the owner's records: %v", err)
	}
}

func upperOf(t *testing.T, ev account.Event) float64 {
	t.Helper()
	a, err := account.New("rdp", account.ReplaceOne, account.Record())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Compose(ev, 100); err != nil {
		t.Fatal(err)
	}
	eps, err := a.Epsilon(1e-5)
	if err != nil {
		t.Fatal(err)
	}
	return eps.Upper
}
