package run

import (
	"math"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/experiment/forecast"
)

const decorSet = `privacy.mechanism="decor"`

// On a ring of 16 with own noise .25 and shared noise 4 times that, against an
// eavesdropper, one round has coefficient 4.1188 under replace-one, and 7.0714 with one
// curious agent (spec privacy.md 10.5, C = 1): mu² = 2c.
func TestDecorRun(t *testing.T) {
	ring := []string{decorSet, "topology.agents=16", "data.agents=16", "privacy.noise_multiplier=0.25",
		"privacy.pair_noise_ratio=4"}
	for curious, c := range map[string]float64{"none": 4.1188, "one": 7.0714, "neighbors": 32} {
		e := averages(t, append(ring, `privacy.curious="`+curious+`"`)...)
		s := train(t, e, Options{Workers: 2}).Summary
		mu := math.Sqrt(2 * c)
		delta := func(e float64) float64 { return phi(mu/2-e/mu) - math.Exp(e)*phi(-mu/2-e/mu) }
		for _, p := range s.Privacy {
			// c is printed to five digits: epsilon to about as many.
			if u := float64(p.Epsilon.Upper); !(delta(u*1.0002) < 1e-3 && delta(u*.999) > 1e-3) ||
				p.Charges != 1 {
				t.Errorf("curious %s: epsilon %v, delta there is %g; %d charges", curious, u, delta(u),
					p.Charges)
			}
		}
	}
}

// Shared noise cancels in the mean of all agents: what is left is that of own noise.
func TestDecorCancels(t *testing.T) {
	squares := func(set ...string) (sum float64) {
		for _, seed := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"} {
			e := averages(t, append(set, "seed="+seed, "rounds=120")...)
			s := train(t, e, Options{Workers: 2}).Summary
			sum += math.Pow(float64(s.Estimation.MeanModel), 2) / 10
		}
		return sum
	}
	decor := squares(decorSet, "privacy.noise_multiplier=0.25", "privacy.pair_noise_ratio=4",
		`privacy.curious="none"`)
	// 12/.0625 times the mean of 30 squares is that of chi square over 30: 5.5 standard
	// deviations, skewed, false reject below 1e-5.
	if ratio := decor * 12 / .0625; math.Abs(ratio-1) > 5.5*math.Sqrt(2./30) {
		t.Errorf("squared error is %.3f of what own noise gives", ratio)
	}
}

// A target is met by every agent: own noise is the same for all, so that those with more
// neighbors spend less.
func TestDecorTarget(t *testing.T) {
	e := averages(t, decorSet, "privacy.noise_multiplier=0", "privacy.target_epsilon=2",
		"privacy.pair_noise_ratio=3", `privacy.curious="none"`, `topology.graph="star"`,
		`topology.weights="metropolis"`)
	s := train(t, e, Options{Workers: 1}).Summary
	least, most := math.Inf(1), 0.
	for _, p := range s.Privacy {
		least, most = min(least, float64(p.Epsilon.Upper)), max(most, float64(p.Epsilon.Upper))
	}
	if !(most <= 2 && most > 1.99) || !(least < 1.9) {
		t.Errorf("epsilons from %v to %v, target 2", least, most)
	}
}

// The same noise trains: gradients of one batch a round, all agents with their own
// blocks.
func TestDecorTraining(t *testing.T) {
	for _, algorithm := range []string{"dsgd", "dsgt", "dinno", "gossip-sgd"} {
		s := train(t, build(t, `algorithm.name="`+algorithm+`"`, decorSet, "rounds=6",
			"privacy.pair_noise_ratio=2", `privacy.curious="one"`), Options{Workers: 2}).Summary
		if len(s.Privacy) == 0 || !(float64(s.Privacy[0].Epsilon.Upper) > 0) ||
			math.IsInf(float64(s.Privacy[0].Epsilon.Upper), 1) {
			t.Errorf("%s: %+v", algorithm, s.Privacy)
		}
	}
}

func TestDecorBadInput(t *testing.T) {
	good := []string{decorSet, "privacy.pair_noise_ratio=2"}
	for key, set := range map[string][]string{
		"privacy.pair_noise_ratio": {decorSet},
		"privacy.curious":          append(good, `privacy.curious="two"`),
		"privacy.mechanism":        append(good, `algorithm.name="km"`, `privacy.unit="record"`),
		"replication":              append(good, "replication.zero_start=true"),
		"topology.graph": append(good, `topology.graph="exp-directed"`,
			`algorithm.acceleration="plain"`),
		"pair_noise_ratio": {"privacy.pair_noise_ratio=2"},
	} {
		f, err := experiment.Parse("decor.toml", []byte(averageFile), set)
		if err == nil {
			_, err = f.BuildWith("", drawn)
		}
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

const loud = `
name = "noisy"
rounds = 1

[topology]
agents = 4
graph = "ring"

[data]
dataset = "glyphs"
train = 200
test = 20

[model]
name = "mlp"

[algorithm]
name = "dsgd"
step_size = 1.0
optimizer = "adam-bc"

[privacy]
noise_multiplier = 1000.0
target_delta = 1e-5
max_grad_norm = 0.5
batch_size = 10
`

// What an algorithm is told of the noise in its answers is their standard deviation, of
// which noise is next to all here: after one step of sgd from a common start a model is
// off by its answer. The standard deviation of 50,890 values is within 5 of its own:
// false reject 6e-7 for each of 8.
func TestAlgorithmsKnowTheNoise(t *testing.T) {
	shared := []string{decorSet, "privacy.pair_noise_ratio=2", `privacy.curious="one"`}
	for name, set := range map[string][]string{"own": nil, "shared": shared} {
		e, models := fitted(t, loud, append(set, "algorithm.optimizer=sgd")...)
		for i, m := range models {
			square, d := 0., float64(len(m))
			for k, x := range m {
				square += math.Pow(float64(x)-float64(e.Task.Init[k]), 2) / d
			}
			if got, want := math.Sqrt(square), e.Env(i).Noise; math.Abs(got/want-1) > 5/math.Sqrt(2*d) {
				t.Errorf("%s: agent %d is told of noise %v, has %v", name, i, want, got)
			}
		}
	}
	// a clip that changes has no noise that is known beforehand
	for name, set := range map[string][]string{
		"noise that is the same": nil, "clip": {"privacy.clipping=schedule", "privacy.clip_decay=0.9"},
	} {
		f, err := experiment.Parse("noisy.toml", []byte(loud), set)
		if err == nil {
			_, err = f.BuildWith("", drawn)
		}
		if wrong := err != nil && strings.Contains(err.Error(), "optimizer"); wrong != (set != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a plan says of shared noise is what the run then states; the noise of an answer is
// all of it, the agent's own and that of each of its links.
func TestPlanOfSharedNoise(t *testing.T) {
	few := []string{decorSet, "privacy.pair_noise_ratio=3", "topology.graph=star", "topology.agents=4"}
	small := append(few, "data.train=120", "rounds=3", "model.hidden=[2]", "privacy.batch_size=10")
	for name, c := range map[string]struct {
		text string
		set  []string
	}{
		"dsgd": {experimenttest.Small, small},
		"dinno": {strings.Replace(experimenttest.Small, "step_size = 0.5\n", "", 1),
			append(small, "algorithm.name=dinno", "privacy.target_epsilon=50")},
		"gossip-average": {experimenttest.Average, append(few, "data.agents=4")},
	} {
		for _, curious := range []string{"neighbors", "one", "none"} {
			f, err := experiment.Parse("run.toml", []byte(c.text),
				append(c.set[:len(c.set):len(c.set)], "privacy.curious="+curious))
			if err != nil {
				t.Fatal(err)
			}
			e, err := f.BuildWith("", drawn)
			if err != nil {
				t.Fatal(err)
			}
			p, err := forecast.Of(e)
			if err != nil {
				t.Fatal(err)
			}
			stated := train(t, e, Options{Workers: 1}).Summary.Privacy
			for i, a := range p.Agents {
				if a.Total != stated[i].Epsilon {
					t.Errorf("%s, %s: agent %d costs %v by plan, %v by its run", name, curious, i, a.Total,
						stated[i].Epsilon)
				}
				own := e.Plans[i].Noise / e.Setup.Scheme.Counts(agent.ID(i))
				want := own * math.Sqrt(1+9*float64(len(e.Setup.Scheme.Neighbors(agent.ID(i)))))
				want *= math.Sqrt(float64(p.Parameters)) / a.Batch
				if got := float64(a.NoiseToSignal); math.Abs(got/want-1) > 1e-9 {
					t.Errorf("%s, %s: agent %d has noise %v, want %v", name, curious, i, got, want)
				}
			}
		}
	}
}
