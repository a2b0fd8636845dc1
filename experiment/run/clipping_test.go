package run

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/privacy/account"
)

// Clips of a schedule, of released answers and of quantiles under three algorithms: the
// budget is spent, no more, the files do not depend on workers, and quantile pays for its
// counts with noise on the gradients: z^-2 = z_eff^-2 - (2σ_b)^-2 with z_eff the noise of
// constant clips.
func TestAdaptiveClips(t *testing.T) {
	const batch = 20
	for _, algorithm := range []string{"dsgd", "dsgt", "sgp"} {
		name := "algorithm.name=" + algorithm
		constant := build(t, name).Plans[0].Noise
		for _, keys := range [][]string{
			{"privacy.clipping=schedule", "privacy.clip_decay=0.9"},
			{"privacy.clipping=released"},
			{"privacy.clipping=quantile"},
			{"privacy.clipping=quantile", "privacy.noise=exact"},
		} {
			if algorithm != "sgp" && len(keys) == 2 && keys[1] == "privacy.noise=exact" {
				continue
			}
			t.Run(fmt.Sprint(algorithm, keys), func(t *testing.T) {
				e := build(t, append(keys, name)...)
				want := constant
				if e.File.Privacy.Kind == "quantile" {
					sigma := 2. * batch / 20
					want = 1 / math.Sqrt(1/(constant*constant)-1/(sigma*sigma))
				}
				if got := e.Plans[0].Noise; math.Abs(got-want) > 2e-3*want {
					t.Errorf("noise multiplier %v, want %v", got, want)
				}
				one := train(t, e, Options{Workers: 1})
				two := train(t, e, Options{Workers: 2})
				sameFiles(t, one.Dir, two.Dir)
				eps := float64(one.Summary.Privacy[0].Epsilon.Upper)
				if eps > 6 || eps < 5.5 {
					t.Errorf("epsilon %v, the target is 6", eps)
				}
				if !(float64(one.Summary.Loss) < 10) {
					t.Errorf("loss %v", one.Summary.Loss)
				}
			})
		}
	}
}

// Metrics tell the clip: C_0 r^k with k = 4 after five rounds of a schedule, and nothing
// where it is constant.
func TestClipMetric(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want float64
	}{{[]string{"privacy.clipping=schedule", "privacy.clip_decay=0.9"}, math.Pow(.9, 4)}, {nil, 0}} {
		rows, err := rundir.ReadMetrics(train(t, build(t, c.set...), Options{Workers: 1}).Dir)
		if err != nil {
			t.Fatal(err)
		}
		got := 0.
		for _, r := range rows {
			if r.Round == 5 && r.Metric == "clip" && r.Agent == "mean" {
				got = r.Value
			}
		}
		if math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: clip %v, want %v", c.set, got, c.want)
		}
	}
}

func TestPushRuns(t *testing.T) {
	e := build(t, "algorithm.name=sgp", "topology.graph=exp-directed", "topology.dropout=0.1",
		"topology.window=6", "faults.drop=0.2")
	one, two := train(t, e, Options{Workers: 1}), train(t, e, Options{Workers: 2})
	sameFiles(t, one.Dir, two.Dir)
}

func TestPushRefusals(t *testing.T) {
	for key, set := range map[string][]string{
		"faults.late":            {"algorithm.name=sgp", "faults.late=use", "faults.delay=0.1"},
		"replication.mix":        {"algorithm.name=sgp", "replication.mix=gauss-seidel"},
		"topology.graph":         {"topology.graph=exp-directed", "topology.dropout=0.1"},
		"topology.weights":       {"topology.weights=column"},
		"topology.window":        {"topology.window=3"},
		"privacy.clip_decay":     {"privacy.clipping=schedule"},
		"replication.noise":      {"replication.noise=adad2p"},
		"privacy.clip_count_std": {"privacy.clip_count_std=1"},
	} {
		f, err := experiment.Parse("small.toml", []byte(small), set)
		if err == nil {
			_, err = f.BuildWith("", drawn)
		}
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%v: %v, want a config.Error on %s", set, err, key)
		}
	}
}

// AdaD2P and ConstD2P run as published: their ledgers say epsilon infinite, and what
// would be claimed, RDP's epsilon of sampled Gaussians of that noise, stands beside it.
func TestPublishedNoise(t *testing.T) {
	for _, name := range []string{"adad2p", "constd2p"} {
		e := build(t, "algorithm.name=sgp", "algorithm.step_size=0.0005", "topology.graph=exp-directed",
			"privacy.noise_multiplier=1.5", "privacy.target_epsilon=0",
			"privacy.max_grad_norm=3.5", "replication.claim=true", "replication.noise="+name)
		res := train(t, e, Options{Workers: 1})
		for _, p := range res.Summary.Privacy {
			if !math.IsInf(float64(p.Epsilon.Upper), 1) || !math.IsInf(float64(p.Epsilon.Lower), 1) {
				t.Errorf("%s: epsilon %v, want infinity", name, p.Epsilon)
			}
		}
		want := account.DPSGD(account.AddRemove, e.Plans[0].Public.SampleRate, 12)
		want.Accountant, want.NoiseMultiplier = "rdp", 1.5
		claim, err := account.Epsilon(want, 1e-4)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(res.Summary.ClaimedEpsilon); math.Abs(got-claim.Upper) > 1e-9*got {
			t.Errorf("%s: claimed epsilon %v, want %v", name, got, claim.Upper)
		}
		if !(float64(res.Summary.Loss) < 1e3) {
			t.Errorf("%s: loss %v", name, res.Summary.Loss)
		}
	}
}
