package run

import (
	"context"
	"errors"
	"math"
	"testing"

	"sotto/config"
	"sotto/experiment"
)

// Precision bf16 is another run than float32, refused where nothing can be rounded, and
// learns as well on the built-in task.
func TestPrecision(t *testing.T) {
	run := func(precision string) (*experiment.Experiment, float64) {
		t.Helper()
		f, err := experiment.Read("", []string{"rounds=40", "topology.agents=4", "data.train=2000",
			"data.test=500",
			"model.precision=" + precision, "privacy.batch_size=64", "privacy.noise=fast"})
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.BuildWith("", drawn)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(context.Background(), e, Options{Out: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return e, float64(res.Summary.Accuracy.Mean)
	}
	half, a := run("bf16")
	full, b := run("float32")
	if half.Identity() == full.Identity() {
		t.Error("the precision is not part of a run's identity")
	}
	if math.Abs(a-b) > .03 {
		t.Errorf("accuracy %.3f in bf16, %.3f in float32", a, b)
	}
	f, err := experiment.Read("", []string{"model.precision=fp8"})
	if err == nil {
		_, err = f.BuildWith("", drawn)
	}
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "model.precision" {
		t.Errorf("precision fp8: %v", err)
	}
}

const central = `
rounds = 10
topology.agents = 1
topology.graph = "complete"
data.train = 4000
data.test = 500
model.name = "cnn"
algorithm.name = "central"
privacy.target_epsilon = 5.0
privacy.batch_size = 200
`

// One agent's batch is shared among workers, without a change of bits.
func TestWorkersShareOneAgentsBatch(t *testing.T) {
	var hashes []string
	for _, workers := range []int{1, 3} {
		f, err := experiment.Parse("central.toml", []byte(central), nil)
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.BuildWith("", drawn)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(context.Background(), e, Options{Out: t.TempDir(), Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, res.Summary.RunHash)
	}
	if hashes[0] != hashes[1] {
		t.Errorf("one worker gives %s, three give %s", hashes[0], hashes[1])
	}
}
