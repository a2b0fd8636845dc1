package experiment

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"sotto/config"
)

// Clips of a schedule, of released answers and of quantiles under three algorithms: the budget is spent, no more, the files
// do not depend on workers, and quantile pays for its counts with noise on the gradients: z^-2 = z_eff^-2 - (2σ_b)^-2 with
// z_eff the noise of constant clips.
func TestAdaptiveClips(t *testing.T) {
	const batch = 20
	for _, algorithm := range []string{"dsgd", "dsgt", "sgp"} {
		name := "algorithm.name=" + algorithm
		constant := build(t, name).plans[0].noiseMultiplier
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
				if e.file.priv.Kind == "quantile" {
					sigma := 2. * batch / 20
					want = 1 / math.Sqrt(1/(constant*constant)-1/(sigma*sigma))
				}
				if got := e.plans[0].noiseMultiplier; math.Abs(got-want) > 2e-3*want {
					t.Errorf("noise multiplier %v, want %v", got, want)
				}
				one := run(t, e, Options{Workers: 1})
				two := run(t, e, Options{Workers: 2})
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

func TestPushRuns(t *testing.T) {
	e := build(t, "algorithm.name=sgp", "topology.graph=exp-directed", "topology.dropout=0.1", "topology.window=6", "faults.drop=0.2")
	one, two := run(t, e, Options{Workers: 1}), run(t, e, Options{Workers: 2})
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
		"privacy.clip_count_std": {"privacy.clip_count_std=1"},
	} {
		f, err := Parse("small.toml", []byte(small), set)
		if err == nil {
			_, err = f.Build("")
		}
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%v: %v, want a config.Error on %s", set, err, key)
		}
	}
}
