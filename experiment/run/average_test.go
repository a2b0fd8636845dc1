package run

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/topology"
)

const averageFile = experimenttest.Average

func averages(t *testing.T, set ...string) *experiment.Experiment {
	t.Helper()
	f, err := experiment.Parse("average.toml", []byte(averageFile), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// phi is the normal distribution function.
func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// Each owner's value is released once, with noise on it; rounds of averaging cost nothing
// more. The agents end at the mean of the noisy values, whose distance from the mean of
// all values is that of the mean of 12 Gaussians of standard deviation .5.
func TestAverageRun(t *testing.T) {
	off := 0.
	for seed := range 20 {
		e := averages(t, fmt.Sprintf("seed=%d", seed+1))
		res := train(t, e, Options{Workers: 2})
		s := res.Summary
		for _, p := range s.Privacy {
			if p.Charges != 1 || p.Unit != "owner" || p.Adjacency != "replace-one" {
				t.Fatalf("%+v", p)
			}
			// One Gaussian of sensitivity 2 C and noise C/2: delta at epsilon in closed
			// form (Balle, Wang 2018).
			const mu = 4
			delta := func(e float64) float64 { return phi(mu/2-e/mu) - math.Exp(e)*phi(-mu/2-e/mu) }
			if u := float64(p.Epsilon.Upper); !(delta(u) <= 1e-3*(1+1e-9) && delta(u*.999) > 1e-3) {
				t.Fatalf("delta is %g at epsilon %v", delta(u), u)
			}
		}
		if float64(s.Estimation.Max)-float64(s.Estimation.MeanModel) > 1e-4 {
			t.Errorf("seed %d: after 39 rounds agents differ: %+v", seed+1, s.Estimation)
		}
		off += math.Pow(float64(s.Estimation.MeanModel), 2) / 20
	}
	// 12/.25 times the mean square is that of chi square over 60 degrees: mean 1,
	// standard deviation sqrt(2/60). False reject rate at 5.5 standard deviations, of
	// this skewed sum, below 1e-5.
	if ratio := off * 12 / .25; math.Abs(ratio-1) > 5.5*math.Sqrt(2./60) {
		t.Errorf("squared error is %.3f of what the noise gives", ratio)
	}
}

// One record is the unit where the run file says so: its owner's mean moves by 2 C/m.
func TestAverageOfRecords(t *testing.T) {
	e := averages(t, `privacy.unit="record"`, "data.records=200", "data.within=0.01",
		"privacy.noise_multiplier=0", "privacy.target_epsilon=1")
	s := train(t, e, Options{Workers: 1}).Summary
	if p := s.Privacy[0]; p.Unit != "record" ||
		!(float64(p.Epsilon.Upper) <= 1 && float64(p.Epsilon.Upper) > .99) {
		t.Errorf("%+v", p)
	}
	if m := float64(s.Estimation.MeanModel); !(m < .05) {
		t.Errorf("means of 200 records each at epsilon 1 are %g off", m)
	}
}

// Averaging from zero, as the authors' code does, ends at another multiple of the mean;
// without noise the published factor is measured.
func TestAverageFromZero(t *testing.T) {
	same := []string{`privacy.mechanism="none"`, "privacy.noise_multiplier=0",
		`algorithm.acceleration="paper"`, "algorithm.rho=0.8", "rounds=200"}
	sound := train(t, averages(t, same...), Options{Workers: 1}).Summary
	if m := float64(sound.Estimation.MeanModel); !(m < 1e-5) {
		t.Errorf("without noise the mean is %g off", m)
	}
	e := averages(t, append(same, "replication.zero_start=true")...)
	s := train(t, e, Options{Workers: 1}).Summary
	norm := e.Task.Split.GroundTruth.Row(0).Norm() / math.Sqrt(3)
	if got := float64(s.Estimation.MeanModel) / norm; math.Abs(got-.647) > 1e-3 {
		t.Errorf("the mean is %.4f of itself off, want .647 (multiplied by 1.647 at a gap of .2)", got)
	}
}

// Mean leaks over u != v of spec algorithms.md section 15, and a worst pair that learns
// all: neighbors. The method makes no difference to what rounds on one graph tell.
func TestAverageNetwork(t *testing.T) {
	for _, c := range []struct {
		graph, agents, rounds, method string
		mean                          float64
	}{
		{"ring", "16", "3", "plain", .2667}, {"ring", "16", "5", "plain", .5333},
		{"ring", "16", "5", "chebyshev", .5333}, {"ring", "16", "9", "plain", 1},
		{"hypercube", "64", "4", "plain", .2857}, {"hypercube", "64", "7", "chebyshev-ns", .4921},
	} {
		e := averages(t, `topology.graph="`+c.graph+`"`, "topology.agents="+c.agents, "data.agents="+c.agents,
			"rounds="+c.rounds, `algorithm.acceleration="`+c.method+`"`,
			"evaluate.network=true", "evaluate.agents=1", "data.dim=1", "privacy.noise_multiplier=2")
		n := train(t, e, Options{Workers: 1}).Summary.Network
		if n == nil || math.Abs(n.MeanLeak-c.mean) > 5e-5 || n.Leak != 1 || n.Epsilon.Upper < n.Local.Lower ||
			float64(n.MeanEpsilon) > float64(n.Local.Upper)*(1+1e-9) {
			t.Errorf("%s of %s, %s rounds, %s: %+v, want a mean leak of %.4f", c.graph, c.agents, c.rounds,
				c.method, n, c.mean)
		}
	}
}

// Randomised pairwise gossip keeps the mean: agents end at that of the noisy values as
// all together do, and it costs two messages a wake.
func TestAveragePairs(t *testing.T) {
	set := []string{`topology.wake="pair"`, `algorithm.acceleration="plain"`}
	s := train(t, averages(t, append(set, "rounds=1500")...), Options{Workers: 2}).Summary
	same := train(t, averages(t, `algorithm.acceleration="plain"`, "rounds=400"), Options{Workers: 1}).Summary
	if math.Abs(float64(s.Estimation.MeanModel-same.Estimation.MeanModel)) > 1e-6 ||
		float64(s.Estimation.Max-s.Estimation.MeanModel) > 1e-3 {
		t.Errorf("in pairs %+v, together %+v", s.Estimation, same.Estimation)
	}
	if s.Topology.Links != 12 || s.BytesSentTotal == 0 || s.BytesSentTotal > same.BytesSentTotal {
		t.Errorf("%d links, %d bytes sent, %d together", s.Topology.Links, s.BytesSentTotal,
			same.BytesSentTotal)
	}
	// What an observer learns is exact for the wakes that were drawn: after one it has
	// its partner's value whole, and others nothing.
	n := train(t, averages(t, append(set, "rounds=2", "evaluate.network=true")...),
		Options{Workers: 1}).Summary.Network
	if n.Leak != 1 || math.Abs(n.MeanLeak-2./(12*11)) > 1e-12 {
		t.Errorf("after one wake %+v", n)
	}
	// In three agents' two wakes {0,1}, {1,2} agent 2 gets (x0+x1)/2: leak 1/2 of each,
	// and agent 1 both others' values: x0, x2.
	e := averages(t, append(set, "rounds=3", "topology.agents=3", "data.agents=3", `topology.graph="path"`,
		"evaluate.network=true", "privacy.target_delta=1e-2", "seed="+pathSeed(t))...)
	n = train(t, e, Options{Workers: 1}).Summary.Network
	if want := (1. + 1 + 1 + .5 + .5) / 6; math.Abs(n.MeanLeak-want) > 1e-9 {
		t.Errorf("after two wakes %+v, want a mean leak of %v", n, want)
	}
}

// pathSeed is a seed with which the pairs 0-1 and then 1-2 of a path wake.
func pathSeed(t *testing.T) string {
	t.Helper()
	for seed := range uint64(100) {
		s, err := topology.Build(topology.Spec{Graph: "path", Agents: 3, Seed: seed, Pairwise: true},
			func(any) error {
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		first, _ := s.At(1)
		second, err := s.At(2)
		if err == nil && first.Weight(0, 1) > 0 && second.Weight(1, 2) > 0 {
			return fmt.Sprint(seed)
		}
	}
	t.Fatal("no seed of a hundred")
	return ""
}

func TestAverageBadInput(t *testing.T) {
	for key, set := range map[string][]string{
		"privacy.unit":                    {`privacy.unit="group"`},
		"privacy.adjacency":               {`privacy.adjacency="add-remove"`},
		"privacy.batch_size":              {"privacy.batch_size=5"},
		"privacy.sample_rate":             {"privacy.sample_rate=0.5"},
		"privacy.clipping":                {`privacy.clipping="schedule"`, "privacy.clip_decay=0.9"},
		"privacy.target_delta":            {"privacy.target_delta=0.1"},
		"model.name":                      {`model.name="least-squares"`},
		"topology.wake":                   {`topology.wake="both"`},
		"algorithm.acceleration in pairs": {`topology.wake="pair"`},
		"topology.dropout":                {`topology.wake="pair"`, "topology.dropout=0.1"},
		"evaluate.network":                {"evaluate.network=true", "faults.drop=0.1"},
		"replication.zero_start": {`algorithm.name="dsgd"`, `privacy.unit="record"`,
			"replication.zero_start=true"},
		"algorithm.acceleration": {"replication.zero_start=true",
			`algorithm.acceleration="chebyshev-ns"`},
	} {
		f, err := experiment.Parse("average.toml", []byte(averageFile), set)
		if err == nil {
			_, err = f.BuildWith("", drawn)
		}
		if err == nil || !strings.Contains(err.Error(), strings.Fields(key)[0]) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
