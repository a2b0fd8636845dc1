package audit

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/internal/long"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// drawnLaw draws vectors of noise from their definition, not by a mechanism.
type drawnLaw struct {
	noise Noise
	draw  func(s *rng.Stream, x []float64)
}

func laplaceLaw(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / 2
	}
	return 1 - math.Exp(-x)/2
}

// laws are those that mechanisms have, in d values.
func laws(d int) map[string]drawnLaw {
	independent := func(inverse func(u float64) float64) func(*rng.Stream, []float64) {
		return func(s *rng.Stream, x []float64) {
			for i := range x {
				x[i] = inverse(s.Float64())
			}
		}
	}
	cut := normal(-1.5)
	length := distuv.Gamma{Alpha: float64(d), Beta: 1}
	return map[string]drawnLaw{
		"gaussian": {Noise{CDF: normal}, func(s *rng.Stream, x []float64) { s.Normals(x) }},
		"laplace": {Noise{CDF: laplaceLaw}, independent(func(u float64) float64 {
			if u < .5 {
				return math.Log(2 * u)
			}
			return -math.Log(2 - 2*u)
		})},
		"truncated-gaussian": {Noise{CDF: func(x float64) float64 {
			return min(1, max(0, (normal(x)-cut)/(1-2*cut)))
		}}, independent(func(u float64) float64 { return quantile(cut + u*(1-2*cut)) })},
		"k-norm": {Noise{Norm: length.CDF}, func(s *rng.Stream, x []float64) {
			s.Normals(x)
			square := 0.
			for _, v := range x {
				square += v * v
			}
			to := length.Quantile(s.Float64()) / math.Sqrt(square)
			for i := range x {
				x[i] *= to
			}
		}},
	}
}

// answersOf are n answers of a law about a value, rounded to a grid of 2^-20.
func (l *drawnLaw) answersOf(n, d int, value tensor.Vec, s *rng.Stream,
	fault func(k int, x, before []float64)) []tensor.Vec {
	x, before := make([]float64, d), make([]float64, d)
	var all []tensor.Vec
	for k := range n {
		l.draw(s, x)
		if fault != nil {
			fault(k, x, before)
		}
		copy(before, x)
		a := make(tensor.Vec, d)
		for i := range a {
			a[i] = float32(math.Ldexp(math.Round(math.Ldexp(x[i]+float64(value[i]), 20)), -20))
		}
		all = append(all, a)
	}
	return all
}

// checksOf are all checks of the law on n charges of d values.
func (l *drawnLaw) checksOf(n, d int, level float64, s *rng.Stream,
	fault func(k int, x, before []float64)) []Check {
	value := make(tensor.Vec, d)
	for i := range value {
		value[i] = float32(i%3) / 7
	}
	noise := l.noise
	noise.Dim, noise.Scale, noise.Grid = d, 1, 0x1p-20
	t := &Target{Claim: Claim{Noise: []Noise{noise}}}
	r := &Report{}
	t.laws(r, Out, l.answersOf(n, d, value, s, fault), value, n, level)
	return r.Checks
}

// Every check of noise that has the declared law fails with the stated probability at
// most: of 8 x .05 each check has .05. 15 or more alarms of 80, and with the tag long 25
// or more of 200, have a probability below 3e-5 for each of the checks; a check that
// fails with probability .3, and .2 with the tag long, is found with one above .99.
func TestNoiseChecksUnderTheLaw(t *testing.T) {
	t.Parallel()
	repetitions, allowed := 80, 14
	if long.Tests {
		repetitions, allowed = 200, 24
	}
	for _, size := range [][2]int{{20, 30}, {60, 1}, {40, 5}} {
		for name, l := range laws(size[1]) {
			s := rng.Public(4, "under the law "+name, uint64(size[1]))
			alarms := map[string]int{}
			for range repetitions {
				for _, c := range l.checksOf(size[0], size[1], kinds*.05, s, nil) {
					if c.Violated() {
						alarms[c.Name]++
					}
				}
			}
			t.Log(name, size, alarms)
			for check, n := range alarms {
				if n > allowed {
					t.Errorf("%s, %v: check %s fails %d times of %d at level .05", name, size, check, n,
						repetitions)
				}
			}
		}
	}
}

// Faults that one distance of all values does not see, each found by the check that is
// for it, in so many charges of so many values, at level 1e-6.
func TestNoiseChecksFind(t *testing.T) {
	for _, c := range []struct {
		name, check string
		n, d        int
		fault       func(k int, x, before []float64)
	}{
		{"a coordinate without noise", "coordinates", 20, 6000, func(_ int, x, _ []float64) { x[17] = 0 }},
		{"a constant coordinate", "coordinates", 20, 300, func(_ int, x, _ []float64) { x[17] = 1e-3 }},
		{"a coordinate with a fifth of the noise", "coordinates", 60, 300, func(_ int, x, _ []float64) {
			x[17] /= 5
		}},
		{"a layer with nine tenths", "coordinates", 60, 640, func(_ int, x, _ []float64) {
			for i := range 64 {
				x[128+i] *= .9
			}
		}},
		{"one charge with nine tenths", "charges", 20, 3000, func(k int, x, _ []float64) {
			for i := range x {
				if k == 7 {
					x[i] *= .9
				}
			}
		}},
		{"two coordinates far apart with one noise", "pairs of coordinates", 64, 600,
			func(_ int, x, _ []float64) { x[500] = x[3] }},
		{"of one size with signs of their own", "pairs of coordinates", 64, 600,
			func(k int, x, _ []float64) { x[500] = math.Copysign(x[3], x[500]) }},
		{"noise of which a half is that of the charge before", "pairs of charges", 20, 600,
			func(k int, x, before []float64) {
				if k == 9 {
					copy(x[:300], before)
				}
			}},
		{"every second coordinate repeats the one before", "lags", 20, 600, func(_ int, x, _ []float64) {
			for i := 1; i < len(x); i += 2 {
				x[i] = x[i-1]
			}
		}},
		{"the charge before with the other sign", "fresh noise", 20, 600,
			func(k int, x, before []float64) {
				for i := range x {
					if k%2 == 1 {
						x[i] = -before[i]
					}
				}
			}},
		{"four values of another place", "fresh noise", 20, 600, func(_ int, x, _ []float64) {
			copy(x[400:404], x[100:104])
		}},
		{"noise cut off at three", "tails", 20, 2000, func(_ int, x, _ []float64) {
			for i := range x {
				x[i] = max(-3, min(3, x[i]))
			}
		}},
		{"correlated by .1", "lags", 60, 2000, func(_ int, x, _ []float64) {
			for i := 1; i < len(x); i++ {
				x[i] = .1*x[i-1] + math.Sqrt(.99)*x[i]
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := laws(c.d)["gaussian"]
			found := ""
			for _, k := range l.checksOf(c.n, c.d, 1e-6, rng.Public(5, c.name), c.fault) {
				if k.Violated() {
					found += k.Name + ", "
				}
				if k.Name == c.check && !k.Violated() {
					t.Errorf("%s finds nothing: %v of %v: %s", k.Name, k.Statistic, k.Limit, k.Text)
				}
			}
			t.Log("found by " + found)
		})
	}
}

// The probabilities of sums of squares and of agreements are those of their definitions:
// P[chi-square with 2 k degrees of freedom > 2 x] is the Poisson sum e^-x sum x^j/j!.
func TestTails(t *testing.T) {
	for _, k := range []int{1, 3, 10} {
		for _, x := range []float64{.01, 1, 4, 30} {
			want, term := 0., math.Exp(-x)
			for j := range k {
				want += term
				term *= x / float64(j+1)
			}
			if got := upperTail(float64(k), x); math.Abs(got-want) > 1e-12+1e-9*want {
				t.Errorf("shape %d at %v: %v, want %v", k, x, got, want)
			}
			if got := lowerTail(float64(k), x); math.Abs(got-(1-want)) > 1e-12 {
				t.Errorf("shape %d below %v: %v, want %v", k, x, got, 1-want)
			}
		}
	}
	// A coordinate without noise in 20 charges: x^10/10! for x = 20 (2^-18)^2/2.
	x := 10 * math.Pow(2, -36)
	if got, want := lowerTail(10, x), math.Pow(x, 10)/3628800; got > 1.01*want || got < .99*want {
		t.Errorf("no noise in 20 charges: %v, want %v", got, want)
	}
}

// Every mechanism's own noise passes, and one coordinate without noise in twenty charges
// does not.
func TestNoiseOfMechanisms(t *testing.T) {
	const d = 30
	for name, c := range map[string]struct {
		dim   int
		norm  account.Norm
		noise Noise
		set   func(params any)
	}{
		"gaussian": {d, account.L2, Noise{Scale: 2, CDF: normal},
			func(p any) { p.(*privacy.Gaussian).NoiseMultiplier = 2 }},
		"discrete-gaussian": {d, account.L2, Noise{Scale: 2, CDF: normal},
			func(p any) { m := p.(*privacy.DiscreteGaussian); m.NoiseMultiplier, m.Quantise = 2, true }},
		"laplace": {d, account.L1, Noise{Scale: 3, CDF: laplaceLaw},
			func(p any) { m := p.(*privacy.Laplace); m.Scale, m.Quantise = 3, true }},
		"k-norm": {d, account.L2, Noise{Scale: 2, Norm: distuv.Gamma{Alpha: d, Beta: 1}.CDF},
			func(p any) { p.(*privacy.KNorm).Scale = 2 }},
		"truncated-laplace": {1, account.L1, Noise{Scale: 1, CDF: func(x float64) float64 {
			at := laplaceLaw(-4)
			return min(1, max(0, (laplaceLaw(x)-at)/(1-2*at)))
		}}, func(p any) {
			m := p.(*privacy.TruncatedParams)
			m.Scale, m.Truncation, m.Quantise = 1, 4, true
		}},
	} {
		m, err := privacy.New(name, func(p any) error { c.set(p); return nil })
		if err != nil {
			t.Fatal(name, err)
		}
		c.noise.Dim, c.noise.Grid = c.dim, privacy.GridStep(1)
		if name == "truncated-laplace" {
			c.noise.Grid = 0x1p-12 // the table of four clips has 2^15 cells at most
		}
		release := account.Release{Parts: []account.Part{{Dim: c.dim, Clip: 1, Shift: 1, Norm: c.norm}}}
		target := &Target{Claim: Claim{Noise: []Noise{c.noise}}}
		for _, bare := range []bool{false, true} {
			stream := rng.Public(6, name)
			value, n := make(tensor.Vec, c.dim), 200
			if bare {
				n = 20
			}
			var answers []tensor.Vec
			for range n {
				v := privacy.Value{Float: make(tensor.Vec, c.dim)}
				m.Perturb(&v, release, privacy.Charge{Noise: stream})
				if bare {
					v.Float[c.dim-1] = 0
				}
				answers = append(answers, v.Float)
			}
			r := &Report{}
			target.laws(r, Out, answers, value, n, 1e-6)
			if r.Violated != bare {
				t.Errorf("%s, last coordinate without noise %v: %v", name, bare, r.Findings)
			}
		}
	}
}

// Answers to which noise is no law's are told apart by how many values come as they are.
func TestNoiseOfFewValues(t *testing.T) {
	m, err := privacy.New("randomized-response", func(p any) error {
		r := p.(*privacy.RandomizedResponse)
		r.Probability, r.Labels = .5, 2
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	release := account.Release{Parts: []account.Part{{Dim: 1, Clip: 1, Shift: 1, Norm: account.L1}}}
	stream := rng.Public(7, "labels")
	var answers []tensor.Vec
	for range 400 {
		v := privacy.Value{Float: tensor.Vec{1}}
		m.Perturb(&v, release, privacy.Charge{Noise: stream})
		answers = append(answers, v.Float)
	}
	for keep, violated := range map[float64]bool{.75: false, .9: true, .6: true} {
		target := &Target{Claim: Claim{Noise: []Noise{{Dim: 1, Keep: keep}}}}
		r := &Report{}
		target.laws(r, In, answers, tensor.Vec{1}, len(answers), 1e-6)
		if r.Violated != violated {
			t.Errorf("kept with probability .75, claimed %v: %v", keep, r.Checks)
		}
	}
}

// The contrast finds what the projection and the length of what is left do not give away
// within so few observations: guesses by it never err.
func TestLearnedScores(t *testing.T) {
	for name, fault := range map[string]func(x []float64){
		"":                             func([]float64) {},
		"a coordinate without noise":   func(x []float64) { x[3] = 0 },
		"two coordinates of one noise": func(x []float64) { x[4] = x[3] },
		"the second message without noise": func(x []float64) {
			for i := 50; i < 100; i++ {
				x[i] = 0
			}
		},
		"messages of opposite noise": func(x []float64) {
			for i := range 50 {
				x[50+i] = -x[i]
			}
		},
	} {
		s := rng.Public(8, name)
		var c contrast
		all := new(Scores)
		x := make([]float64, 100)
		for k := range 400 {
			if k == 80 {
				c.choose()
			}
			for _, w := range []Hypothesis{Out, In} {
				v := &sight{make([]float64, 100), make([]float64, 100), []int{50, 100}}
				s.Normals(x)
				fault(x)
				for i := range x {
					v.record[i] = .1 * float64(1+i%7) / 5
					v.apart[i] = float64(w)*v.record[i] + x[i]
				}
				if k < 80 {
					c.learn(v, float64(w))
					continue
				}
				_, score := c.scores(v)
				all.add(w, score)
			}
		}
		b := all.ByClopperPearson(Rule{Kind: Fixed, At: .5}, 1e-6, 1e-5)
		t.Logf("%s: epsilon at least %.3g, coordinates %d and %d", name, b.Epsilon, c.first, c.second)
		// 320 without an error show ln((1-u-delta)/u) for u = 1 - (beta/2)^(1/320).
		u := 1 - math.Pow(5e-7, 1./320)
		if want := math.Log((1 - u - 1e-5) / u); name != "" && math.Abs(b.Epsilon-want) > 1e-6 {
			t.Errorf("%s: epsilon at least %v, want %v", name, b.Epsilon, want)
		} else if name == "" && b.Epsilon > 1.5 {
			t.Errorf("nothing is wrong and epsilon is at least %v", b.Epsilon)
		}
	}
}

// A message to one neighbor that carries no noise is found at smoke scale, where the
// projection of all messages together has little to say.
func TestOneNeighborWithoutNoise(t *testing.T) {
	s := newSystem()
	target := s.target()
	plantNeighbor(target, 12)
	r, err := target.Step(context.Background(), Options{Observations: 400, Beta: 1e-3, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	if b := r.Bounds[0]; b.Epsilon > target.Claim.Epsilon {
		t.Errorf("the projection alone finds it: %+v", b)
	}
	if !r.Violated || r.Bounds[3].Score != "contrast" || !(r.Bounds[3].Epsilon > target.Claim.Epsilon) {
		t.Errorf("not found: %+v", r.Bounds)
	}
}
