package privacy_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/agent"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/privacytest"
	"sotto/rng"
	"sotto/tensor"
)

// chain are the mechanisms of agents 0 - 1 - 2 - ... with given noise.
func chain(t *testing.T, n int, own, pair float64) []privacy.Mechanism {
	t.Helper()
	var all []privacy.Mechanism
	for i := range n {
		d := privacy.Decor{
			NoiseMultiplier: own,
			Pair:            pair,
			Effective:       own,
			Curious:         "all neighbors",
			Self:            agent.ID(i),
			Secret:          func(j agent.ID) []byte { return rng.SimulatedPair(7, uint32(i), uint32(j)) },
		}
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < n {
				d.Neighbors = append(d.Neighbors, agent.ID(j))
			}
		}
		m, err := privacy.NewDecor(d)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func TestDecorConformance(t *testing.T) {
	alone := chain(t, 1, 3, 0)[0]
	half := chain(t, 1, 1.5, 0)[0]
	privacytest.Run(t, privacytest.Options{
		Mechanism: alone,
		Half:      half,
		CDF:       distuv.Normal{Sigma: 3}.CDF,
		Std:       3,
		Epsilon:   func(e float64) bool { return e > 0 && e < math.Inf(1) },
	})
}

// The noise of three agents in a row has the covariance own² I + pair² L, round by round
// and answer by answer, and its sum is the sum of their own noises. Each second moment of
// 2 rounds x 2 answers x 10,000 coordinates is within 6 standard deviations: false reject
// 1e-8.
func TestDecorCovariance(t *testing.T) {
	const own, pair, dim, clip = .5, 2., 10_000, 3.
	all := chain(t, 3, own, pair)
	r := privacytest.Release(dim, clip)
	var moments [3][3]float64
	var sum, between float64
	var last []tensor.Vec
	for round := range uint64(2) {
		for answer := range uint64(2) {
			var noise []tensor.Vec
			for i, m := range all {
				key := rng.Simulated(1, uint32(i), 2*round+answer)
				v := &privacy.Value{Float: make(tensor.Vec, dim)}
				m.Perturb(v, r, privacy.Charge{Seq: 2*round + answer, Round: round,
					Noise: rng.NewStream(&key, rng.Noise)})
				noise = append(noise, v.Float)
			}
			for k := range dim {
				s := 0.
				for i := range all {
					s += float64(noise[i][k]) / clip
					for j := range all {
						moments[i][j] += float64(noise[i][k]) * float64(noise[j][k]) / clip / clip / (4 * dim)
					}
				}
				sum += s * s / (4 * dim)
				if last != nil {
					between += float64(noise[0][k]) * float64(last[0][k]) / clip / clip / (3 * dim)
				}
			}
			last = noise
		}
	}
	degree := [3]float64{1, 2, 1}
	variance := func(i int) float64 { return own*own + pair*pair*degree[i] }
	for i := range all {
		for j := range all {
			want := 0.
			switch {
			case i == j:
				want = variance(i)
			case i-j == 1 || j-i == 1:
				want = -pair * pair
			}
			if sd := math.Sqrt((variance(i)*variance(j) + want*want) / (4 * dim)); math.Abs(moments[i][j]-
				want) > 6*sd {
				t.Errorf("covariance of agents %d and %d: %.4f, want %.4f ± %.4f", i, j, moments[i][j], want,
					sd)
			}
		}
	}
	if want := 3 * own * own; math.Abs(sum-want) > 6*want*math.Sqrt(2./(4*dim)) {
		t.Errorf("the sum's variance is %.4f, want that of own noise alone, %.4f", sum, want)
	}
	if sd := variance(0) / math.Sqrt(3*dim); math.Abs(between) > 6*sd {
		t.Errorf("answers after each other have covariance %.4f ± %.4f: a block served twice", between, sd)
	}
}

// The event is Gaussian at the effective multiplier, and samples as every Gaussian event.
func TestDecorEvent(t *testing.T) {
	r := privacytest.Release(3, 1)
	r.Sampler = account.Sampler{Kind: account.Poisson, SampleRate: .1}
	m, err := privacy.NewDecor(privacy.Decor{NoiseMultiplier: .25, Pair: 1, Effective: 1.4, Curious: "none",
		Neighbors: []agent.ID{1, 2}, Secret: func(agent.ID) []byte { return []byte{1} }})
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Event(r)
	if err != nil {
		t.Fatal(err)
	}
	want, err := privacy.Gaussian{NoiseMultiplier: 1.4}.Event(r)
	if err != nil || got.Key() != want.Key() {
		t.Errorf("event %s, want %s", got.Key(), want.Key())
	}
	for _, d := range []privacy.Decor{{NoiseMultiplier: 0, Effective: 1}, {NoiseMultiplier: 1, Effective: .9},
		{NoiseMultiplier: 1, Pair: math.NaN(), Effective: 1}, {NoiseMultiplier: 1, Pair: -1, Effective: 1},
		{NoiseMultiplier: 1e-4, Effective: 1000}, {NoiseMultiplier: .25, Pair: 1, Effective: 1.4},
		{NoiseMultiplier: .25, Pair: 1, Effective: 1.44, Neighbors: []agent.ID{1, 2},
			Secret: func(agent.ID) []byte { return []byte{1} }},
		{NoiseMultiplier: 1, Pair: 1, Effective: 1, Neighbors: []agent.ID{1}}} {
		if _, err := privacy.NewDecor(d); err == nil {
			t.Errorf("%s was accepted", fmt.Sprintf("%+v", d))
		}
	}
}

// A Decor that NewDecor has not made is refused before it answers.
func TestDecorWithoutNewDecor(t *testing.T) {
	d := privacy.Decor{NoiseMultiplier: 1, Effective: 1}
	if _, err := d.Event(privacytest.Release(3, 1)); err == nil {
		t.Error("it has an event")
	}
}

// One that was changed since is held to the same rules: the noise is no less than what
// counts.
func TestDecorChanged(t *testing.T) {
	d := chain(t, 2, .5, 4)[0].(privacy.Decor)
	d.Effective = 2
	if _, err := d.Event(privacytest.Release(3, 1)); err != nil {
		t.Error(err)
	}
	d.Pair = 0
	if ev, err := d.Event(privacytest.Release(3, 1)); err == nil {
		t.Errorf("noise of .5 has the event %s", ev.Key())
	}
}

// Where rounds go back, a block of shared noise would serve twice: no answer is given,
// and nothing is charged. Later rounds are answered.
func TestDecorRoundsGoOn(t *testing.T) {
	l := ledger.NewMemory(nil)
	g := privacy.NewGate(l, chain(t, 2, .5, 4)[0],
		map[string]privacy.Oracle{"sum": sum{read: &[]string{}, dim: 1}})
	for _, c := range []struct {
		round   uint64
		answers bool
	}{{5, true}, {5, true}, {6, true}, {5, false}, {0, false}, {6, true}, {7, true}} {
		before := l.Head().Seq
		g.Begin(c.round, nil)
		err := g.Answer(&agent.Query{Oracle: "sum", At: tensor.Vec{0}}, make(tensor.Vec, 1))
		if c.answers != (err == nil) || !c.answers && !errors.Is(err, privacy.ErrAbstain) {
			t.Errorf("round %d: %v", c.round, err)
		}
		if charged := l.Head().Seq - before; (charged == 1) != c.answers {
			t.Errorf("round %d: %d charges", c.round, charged)
		}
	}
}

// A query may scale all of the noise: the sum keeps the own noise alone, and answers of
// one round have noise of their own. 6 standard deviations of 20,000 coordinates: false
// reject below 1e-8 each.
func TestDecorScaled(t *testing.T) {
	const own, pair, dim, factor = .5, 4., 20_000, 3.
	r := privacytest.Release(dim, 1)
	var answers [2]tensor.Vec // of agent 0
	sum := make([]float64, dim)
	for i, m := range chain(t, 2, own, pair) {
		for answer := range answers {
			scaled, err := privacy.Scaled(m, factor)
			if err != nil {
				t.Fatal(err)
			}
			if d := scaled.(privacy.Decor); d.Effective != factor*own || d.Pair != factor*pair {
				t.Fatalf("%+v", d)
			}
			key := rng.Simulated(1, uint32(i), uint64(answer))
			v := &privacy.Value{Float: make(tensor.Vec, dim)}
			scaled.Perturb(v, r, privacy.Charge{Round: 5, Noise: rng.NewStream(&key, rng.Noise)})
			if i == 0 {
				answers[answer] = v.Float
			}
			for k, x := range v.Float {
				if answer == 1 {
					sum[k] += float64(x)
				}
			}
		}
	}
	square, both := 0., 0.
	for k, s := range sum {
		square += s * s / dim
		both += float64(answers[0][k]) * float64(answers[1][k]) / dim
	}
	want := 2 * own * own * factor * factor
	if math.Abs(square/want-1) > 6*math.Sqrt(2./dim) {
		t.Errorf("the sum has variance %v, want %v", square, want)
	}
	variance := factor * factor * (own*own + pair*pair)
	if math.Abs(both) > 6*variance/math.Sqrt(dim) {
		t.Errorf("answers of one round go together: %v of %v", both, variance)
	}
}
