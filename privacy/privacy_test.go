package privacy_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/privacytest"
	"sotto/rng"
	"sotto/tensor"
)

func TestBadMechanisms(t *testing.T) {
	var e *config.Error
	for _, s := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := privacy.NewMechanism("gaussian", s); !errors.As(err, &e) || e.Key != "noise_multiplier" {
			t.Errorf("scale %g: %v", s, err)
		}
	}
	if _, err := privacy.NewMechanism("gausian", 1); !errors.As(err, &e) || e.Key != "mechanism" {
		t.Errorf("unknown mechanism: %v", err)
	}
	g := privacy.Gaussian{NoiseMultiplier: 1}
	r := privacytest.Release(1, math.Inf(1))
	if _, err := g.Event(r); err == nil {
		t.Error("an unclipped release got a Gaussian event")
	}
	r = privacytest.Release(1, 1)
	r.Parts[0].Norm = account.L1
	if _, err := g.Event(r); err == nil {
		t.Error("an L1 sensitivity got a Gaussian event")
	}
}

// sum is an oracle over a list of numbers that notes when it is read.
type sum struct {
	data []float32
	read *[]string
	dim  int
}

func (s sum) Describe(q *agent.Query) (account.Release, error) {
	if q.Clip > 100 {
		return account.Release{}, errors.New("clip above 100")
	}
	r := privacytest.Release(s.dim, 1)
	r.Scale = .5
	return r, nil
}

func (s sum) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	*s.read = append(*s.read, "evaluate")
	for _, x := range s.data {
		dst.Float[0] += x
	}
}

// watched is a ledger that notes charges in the same list.
type watched struct {
	*ledger.Memory
	read *[]string
	fail error
}

func (w watched) Charge(ev account.Event) (uint64, error) {
	*w.read = append(*w.read, "charge")
	if w.fail != nil {
		return 0, w.fail
	}
	return w.Memory.Charge(ev)
}

func newGate(t *testing.T, limit int, noise float64) (*privacy.Gate, watched) {
	t.Helper()
	g := privacy.Gaussian{NoiseMultiplier: noise}
	ev, err := g.Event(privacytest.Release(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	f, err := account.NewCountFilter(ev, limit)
	if err != nil {
		t.Fatal(err)
	}
	log := &[]string{}
	w := watched{Memory: ledger.NewMemory(f), read: log}
	o := sum{data: []float32{1, 2, 3}, read: log, dim: 1}
	return privacy.NewSimulatedGate(w, g, map[string]privacy.Oracle{"sum": o}, 5, 2), w
}

func TestGateChargesBeforeItReads(t *testing.T) {
	g, l := newGate(t, 2, 1e-6)
	q, dst := &agent.Query{Oracle: "sum", At: tensor.Vec{0}}, make(tensor.Vec, 1)
	if err := g.Answer(q, dst); err != nil {
		t.Fatal(err)
	}
	if want := []string{"charge", "evaluate"}; !slices.Equal(*l.read, want) {
		t.Errorf("order %v, want %v", *l.read, want)
	}
	if math.Abs(float64(dst[0])-3) > 1e-4 { // (1+2+3) x Scale
		t.Errorf("answer %v, want about 3", dst[0])
	}
	if l.Head().Seq != 1 {
		t.Errorf("head %d after one answer", l.Head().Seq)
	}
}

func TestGateReadsNothingWhenRefused(t *testing.T) {
	q, dst := &agent.Query{Oracle: "sum", At: tensor.Vec{0}}, make(tensor.Vec, 1)
	g, l := newGate(t, 0, 1)
	if err := g.Answer(q, dst); !errors.Is(err, privacy.ErrExhausted) {
		t.Errorf("over budget: %v", err)
	}
	broken := errors.New("disk full")
	_, l2 := newGate(t, 9, 1)
	l2.fail = broken
	g2 := privacy.NewSimulatedGate(l2, privacy.Gaussian{NoiseMultiplier: 1},
		map[string]privacy.Oracle{"sum": sum{read: l2.read, dim: 1}}, 5, 2)
	if err := g2.Answer(q, dst); !errors.Is(err, broken) {
		t.Errorf("broken ledger: %v", err)
	}
	for _, log := range [][]string{*l.read, *l2.read} {
		if slices.Contains(log, "evaluate") {
			t.Error("data were read although the charge was refused")
		}
	}
	g3, l3 := newGate(t, 9, 1)
	for name, q := range map[string]*agent.Query{
		"unknown oracle": {Oracle: "mean", At: tensor.Vec{0}},
		"nan point":      {Oracle: "sum", At: tensor.Vec{float32(math.NaN())}},
		"inf clip":       {Oracle: "sum", At: tensor.Vec{0}, Clip: math.Inf(1)},
	} {
		if err := g3.Answer(q, dst); !errors.Is(err, privacy.ErrQuery) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := g3.Answer(&agent.Query{Oracle: "sum", At: tensor.Vec{0}, Clip: 101}, dst); err == nil {
		t.Error("the oracle's refusal was ignored")
	}
	if err := g3.Answer(q, make(tensor.Vec, 2)); !errors.Is(err, privacy.ErrQuery) {
		t.Errorf("wrong length: %v", err)
	}
	if len(*l3.read) != 0 {
		t.Errorf("a refused query was charged or read: %v", *l3.read)
	}
	var zero privacy.Gate
	if err := zero.Answer(q, dst); err == nil {
		t.Error("the zero gate answered")
	}
}

// A simulated gate repeats itself; a secret one never does, and its streams are erased.
func TestGateStreams(t *testing.T) {
	answers := func(make func() *privacy.Gate) (out []float32) {
		g := make()
		for range 3 {
			dst := tensor.Vec{0}
			if err := g.Answer(&agent.Query{Oracle: "sum", At: tensor.Vec{0}}, dst); err != nil {
				t.Fatal(err)
			}
			out = append(out, dst[0])
		}
		return out
	}
	sim := func() *privacy.Gate { g, _ := newGate(t, 9, 1); return g }
	secret := func() *privacy.Gate {
		return privacy.NewGate(ledger.NewMemory(nil), privacy.Gaussian{NoiseMultiplier: 1},
			map[string]privacy.Oracle{"sum": sum{read: &[]string{}, dim: 1}})
	}
	a, b := answers(sim), answers(sim)
	if !slices.Equal(a, b) || a[0] == a[1] || a[1] == a[2] {
		t.Errorf("simulated answers %v and %v", a, b)
	}
	if c, d := answers(secret), answers(secret); c[0] == d[0] || c[0] == c[1] {
		t.Errorf("secret answers repeat: %v, %v", c, d)
	}
	if !sim().Simulated() || secret().Simulated() {
		t.Error("the gates do not say what they are")
	}
}

// Noise that is changed behind a gate is not what its event says: the answers stay noisy.
// Theirs is 5 here, so that one is below 1e-3 with probability 1.6e-4: false-reject rate
// of six in 30 below 1e-16.
func TestGateKeepsItsNoise(t *testing.T) {
	noise := map[string]float64{privacytest.Release(1, 1).Parts[0].Name: 10}
	g := privacy.NewGate(ledger.NewMemory(nil), privacy.Gaussian{NoiseMultiplier: 10, PartNoise: noise},
		map[string]privacy.Oracle{"sum": sum{read: &[]string{}, dim: 1}})
	dst, still := make(tensor.Vec, 1), 0
	for range 30 {
		if err := g.Answer(&agent.Query{Oracle: "sum", At: tensor.Vec{0}}, dst); err != nil {
			t.Fatal(err)
		}
		if math.Abs(float64(dst[0])) < 1e-3 {
			still++
		}
		for name := range noise {
			noise[name] = 1e-6
		}
	}
	if still > 5 {
		t.Errorf("%d of 30 answers have no noise", still)
	}
}

// Nor is noise that is changed by a pointer: as above, for a mechanism of each law.
func TestGateKeepsWhatPointersHave(t *testing.T) {
	normal := &privacy.Gaussian{NoiseMultiplier: 10}
	integer := &privacy.DiscreteGaussian{NoiseMultiplier: 10, Gridding: privacy.Gridding{Quantise: true}}
	gamma := &privacy.KNorm{Scale: 10}
	for _, c := range []struct {
		m    privacy.Mechanism
		less func()
	}{{normal, func() { normal.NoiseMultiplier = 1e-6 }},
		{integer, func() { integer.NoiseMultiplier = 1e-4 }},
		{gamma, func() { gamma.Scale = 1e-6 }}} {
		g := privacy.NewGate(ledger.NewMemory(nil), c.m,
			map[string]privacy.Oracle{"sum": sum{read: &[]string{}, dim: 1}})
		dst, still := make(tensor.Vec, 1), 0
		for range 30 {
			if err := g.Answer(&agent.Query{Oracle: "sum", At: tensor.Vec{0}}, dst); err != nil {
				t.Fatal(err)
			}
			if math.Abs(float64(dst[0])) < 1e-3 {
				still++
			}
			c.less()
		}
		if still > 5 {
			t.Errorf("%T: %d of 30 answers have next to no noise", c.m, still)
		}
	}
	g := privacy.NewGate(ledger.NewMemory(nil), (*privacy.Gaussian)(nil),
		map[string]privacy.Oracle{"sum": sum{read: &[]string{}, dim: 1}})
	if err := g.Answer(&agent.Query{Oracle: "sum", At: tensor.Vec{0}}, make(tensor.Vec, 1)); err == nil {
		t.Error("an answer by no mechanism")
	}
}

func ExampleGate_Answer() {
	noise := privacy.Gaussian{NoiseMultiplier: 1}
	ev, _ := noise.Event(privacytest.Release(1, 1))
	budget, _ := account.NewCountFilter(ev, 1) // one answer
	g := privacy.NewGate(ledger.NewMemory(budget), noise,
		map[string]privacy.Oracle{"sum": sum{data: []float32{1, 2}, read: &[]string{}, dim: 1}})
	q, dst := &agent.Query{Oracle: "sum", At: tensor.Vec{0}}, make(tensor.Vec, 1)
	fmt.Println(g.Answer(q, dst))
	fmt.Println(errors.Is(g.Answer(q, dst), privacy.ErrExhausted))
	// Output:
	// <nil>
	// true
}

// An imitated oracle is answered with noise alone: nothing is charged or read, also when
// the budget is spent, the law is that of the oracle's own noise (Kolmogorov-Smirnov,
// false-reject rate 1e-6), and a gate of the same seed and rounds draws the same.
func TestGateNoiseOnly(t *testing.T) {
	g, l := newGate(t, 0, 3)
	g.NoiseOnly("zero", "sum")
	same, _ := newGate(t, 0, 3)
	same.NoiseOnly("zero", "sum")
	const n = 3000
	x := make([]float64, 0, n)
	dst, again := make(tensor.Vec, 1), make(tensor.Vec, 1)
	for k := range uint64(n / 2) {
		for _, gate := range []*privacy.Gate{g, same} {
			gate.Begin(k, nil)
		}
		for range 2 { // in one round
			q := &agent.Query{Oracle: "zero", At: tensor.Vec{0}}
			if err := errors.Join(g.Answer(q, dst), same.Answer(q, again)); err != nil {
				t.Fatal(err)
			}
			if dst[0] != again[0] {
				t.Fatalf("round %d: %v and %v", k, dst, again)
			}
			x = append(x, float64(dst[0]))
		}
	}
	if l.Head().Seq != 0 || len(*l.read) != 0 {
		t.Errorf("%d charges, log %v", l.Head().Seq, *l.read)
	}
	slices.Sort(x)
	// noise multiplier 3, clip 1, scale 1/2
	if d := privacytest.KS(x, distuv.Normal{Sigma: 3 * .5}.CDF); d > 2.694 {
		t.Errorf("noise alone has another law: distance %g", d)
	}
	if err := g.Answer(&agent.Query{Oracle: "sum", At: tensor.Vec{0}}, dst); !errors.Is(err,
		privacy.ErrExhausted) {
		t.Errorf("the oracle itself: %v", err)
	}
}

// A gate that lacks a part answers nothing.
func TestGateWithoutParts(t *testing.T) {
	var read []string
	o := map[string]privacy.Oracle{"sum": sum{data: []float32{1}, read: &read, dim: 1}}
	for name, g := range map[string]*privacy.Gate{
		"ledger":    privacy.NewGate(nil, privacy.Gaussian{NoiseMultiplier: 1}, o),
		"mechanism": privacy.NewGate(ledger.NewMemory(nil), nil, o),
		"oracle": privacy.NewGate(ledger.NewMemory(nil), privacy.Gaussian{NoiseMultiplier: 1},
			map[string]privacy.Oracle{"sum": nil}),
	} {
		err := g.Answer(&agent.Query{Oracle: "sum", At: tensor.Vec{0}}, make(tensor.Vec, 1))
		if !errors.Is(err, privacy.ErrQuery) || len(read) > 0 {
			t.Errorf("without %s: %v, read %q", name, err, read)
		}
	}
}
