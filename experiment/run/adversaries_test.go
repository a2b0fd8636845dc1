package run

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
)

// Whatever an adversary sends, every owner's ledger is byte for byte the one of a run
// among honest agents, its own included, under robust mixing too; files do not depend on
// workers, and figures over agents leave the adversary out.
func TestAdversariesChangeNoLedger(t *testing.T) {
	set := []string{"topology.graph=complete", "rounds=4"}
	honest := train(t, build(t, set...), Options{Workers: 1})
	want := read(t, honest.Dir, rundir.LedgerFile)
	for _, attack := range []string{"sign-flip", "large-norm", "alie", "stale"} {
		keys := append([]string{"faults.adversaries=[2]", "faults.attack=" + attack}, set...)
		if attack == "large-norm" {
			keys = append(keys, "faults.attack_scale=3e38", "algorithm.mixing=clipped",
				"algorithm.mixing_clip=0.5")
		}
		one, two := train(t, build(t, keys...), Options{Workers: 1}),
			train(t, build(t, keys...), Options{Workers: 3})
		sameFiles(t, one.Dir, two.Dir)
		if !bytes.Equal(read(t, one.Dir, rundir.LedgerFile), want) {
			t.Errorf("%s: the ledgers are not those of a run among honest agents", attack)
		}
		if bytes.Equal(read(t, one.Dir, rundir.ModelFile), read(t, honest.Dir, rundir.ModelFile)) {
			t.Errorf("%s changes nothing", attack)
		}
		metrics := string(read(t, one.Dir, rundir.MetricsFile))
		if strings.Contains(metrics, ",2,accuracy,") || !strings.Contains(metrics, ",3,accuracy,") {
			t.Errorf("%s: metrics of agent 2, or none of agent 3:\n%s", attack, metrics)
		}
		if s := one.Summary; !strings.HasPrefix(s.Adversaries, "agents 2: "+attack) || len(s.Privacy) != 5 ||
			s.Privacy[2].Charges != 4 {
			t.Errorf("%s: summary %+v", attack, s)
		}
	}
}

// One of eight agents sends values of 1000. Plain mixing then learns nothing: ten
// classes, at most 20 % right. Clipped and trimmed mixing stay within three standard
// errors of a difference of two accuracies on as many test records, although an eighth of
// the data is gone.
func TestRobustMixingSurvivesAnAdversary(t *testing.T) {
	const tests = 1000
	accuracy := func(keys ...string) float64 {
		set := append([]string{"topology.graph=complete", "topology.agents=8", "data.train=16000",
			fmt.Sprint("data.test=", tests), "model.name=logistic", "rounds=40",
			"algorithm.step_size=1.0", "privacy.batch_size=200", "evaluate.every=40",
			"faults.drop=0"}, keys...)
		file := strings.Replace(small, "hidden = [8]\n", "", 1)
		f, err := experiment.Parse("small.toml", []byte(file), set)
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.BuildWith("", drawn)
		if err != nil {
			t.Fatal(err)
		}
		return float64(train(t, e, Options{}).Summary.Accuracy.Mean)
	}
	base := accuracy()
	margin := 3 * math.Sqrt(2*base*(1-base)/tests)
	bad := []string{"faults.adversaries=[2]", "faults.attack=large-norm"}
	if got := accuracy(bad...); got > .2 {
		t.Errorf("plain mixing reaches %.3f beside an adversary", got)
	}
	for _, rule := range [][]string{
		{"algorithm.mixing=clipped", "algorithm.mixing_clip=0.3"},
		{"algorithm.mixing=clipped", "algorithm.mixing_trim=1"},
		{"algorithm.mixing=trimmed", "algorithm.mixing_trim=1"},
	} {
		if got := accuracy(append(rule, bad...)...); got < base-margin {
			t.Errorf("%v: %.3f, want at least %.3f - %.3f", rule, got, base, margin)
		}
	}
}

func TestBadAdversaries(t *testing.T) {
	for name, c := range map[string]struct {
		set []string
		key string
	}{
		"wakes": {[]string{"algorithm.name=bcd", "faults.adversaries=[1]", "faults.attack=stale"},
			"faults.adversaries"},
		"local": {[]string{"algorithm.name=local", "faults.adversaries=[1]", "faults.attack=stale"},
			"faults.adversaries"},
		"beyond":    {[]string{"faults.adversaries=[5]", "faults.attack=stale"}, "faults.adversaries"},
		"no attack": {[]string{"faults.adversaries=[1]"}, "faults.attack"},
		"nobody":    {[]string{"faults.attack=stale"}, "faults.attack"},
		// a ring
		"trim":   {[]string{"algorithm.mixing=trimmed", "algorithm.mixing_trim=1"}, "algorithm.mixing_trim"},
		"mixing": {[]string{"algorithm.mixing=mean"}, "algorithm.mixing"},
	} {
		f, err := experiment.Parse("small.toml", []byte(small), c.set)
		if err == nil {
			_, err = f.BuildWith("", drawn)
		}
		var e *config.Error
		if !errors.As(err, &e) || e.Key != c.key || e.File == "" {
			t.Errorf("%s: got %v, want key %s", name, err, c.key)
		}
	}
}

// Naming the default is the same run, and neither rule nor adversaries stand in the
// configuration of a run without them.
func TestPlainMixingIsTheDefault(t *testing.T) {
	plain, named := build(t), build(t, "algorithm.mixing=plain")
	if plain.Digest() != named.Digest() {
		t.Error("mixing = plain is another run")
	}
	for _, key := range []string{"mixing", "adversaries", "attack"} {
		if bytes.Contains(plain.Effective, []byte(key)) {
			t.Errorf("the configuration of a run without it has key %s", key)
		}
	}
}
