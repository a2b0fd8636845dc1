package attack

import (
	"context"
	"errors"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/privacy/audit"
	"sotto/privacy/ledger/ledgertest"
	"sotto/tensor"
)

// liveTarget is a small run under audit among nodes.
func liveTarget(t *testing.T, set ...string) *audit.Target {
	t.Helper()
	target, err := tryLive(t, set...)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func tryLive(t *testing.T, set ...string) (*audit.Target, error) {
	t.Helper()
	f, err := experiment.Read("",
		append([]string{"topology.agents=3", "topology.graph=complete", "rounds=3", "data.train=60",
			"data.test=10", "privacy.batch_size=5", "privacy.sample_rate=0.25", "data.classes=10",
			"model.hidden=[2]", "evaluate.every=3",
			"privacy.target_epsilon=0", "privacy.noise_multiplier=0.5", "privacy.target_delta=1e-3",
			"privacy.adjacency=add-remove", "privacy.accountant=pld"}, set...))
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	return Target(e, Options{Live: true, Files: ledgertest.NewCrashFS()})
}

// Frames of real nodes say what the claim says: with the multiplier .5, of mu 2, eighty
// observations in each world exclude mu .2 and do not exclude 2. At beta 1e-3 the first
// fails by chance less than once in 1,000 runs (it needs about 22 wrong guesses of 80 in
// both worlds, where 12.7 are expected), the second by the bound's own level.
func TestAuditStepAmongNodes(t *testing.T) {
	target := liveTarget(t)
	o := audit.Options{Observations: 80, Beta: 1e-3}
	r, err := target.Step(context.Background(), o)
	if err != nil || r.Violated {
		t.Fatalf("%+v, %v", r, err)
	}
	// Beside the shift a thousandth is charged for the rounding of sums.
	if mu := target.Claim.Mu; !(mu > 2 && mu <= 2*(1+0x1p-10)*(1+1e-15)) {
		t.Errorf("mu %v is claimed, want 2 and a thousandth", mu)
	}
	t.Logf("mu at least %v of %v", r.Bounds[4].Mu, target.Claim.Mu)
	target.Claim.Mu = .2
	if r, err = target.Step(context.Background(), o); err != nil || !r.Violated {
		t.Errorf("with noise for mu 2 the claim .2 stands: %+v, %v", r, err)
	}
}

// A node that leaves the noise out of what it sends to its last neighbor is found in
// fewer observations than smoke scale has: 96 without an error exclude mu 2.4.
func TestAuditOfEveryNeighborAmongNodes(t *testing.T) {
	target := liveTarget(t)
	toNeighbors(1, 2, 1, func(_, bare tensor.Vec) tensor.Vec { return bare })(target)
	r, err := target.Step(context.Background(), audit.Options{Observations: 120, Beta: 1e-3})
	if err != nil || !r.Violated {
		t.Errorf("%+v, %v", r, err)
	}
}

// Every way to send in rounds can be observed among nodes; other runs are refused.
func TestAuditAmongNodesOfEveryAlgorithm(t *testing.T) {
	for _, set := range [][]string{
		{"algorithm.name=dsgt", "algorithm.step_size=0.1"}, {"algorithm.name=gossip-sgd"},
		{"algorithm.messages=bf16"},
		{"algorithm.name=sgp", "topology.graph=exp-directed", "topology.agents=4"},
		{"privacy.clipping=quantile", "privacy.clip_count_std=5"},
	} {
		r, err := liveTarget(t, set...).Step(context.Background(),
			audit.Options{Observations: 10, Beta: 1e-6})
		if err != nil || r.Violated || r.Observations != 20 {
			t.Errorf("%v: %+v, %v", set, r, err)
		}
	}
	for key, set := range map[string][]string{
		"topology.agents":  {"topology.agents=1", "topology.graph=complete", "algorithm.name=central"},
		"topology.dropout": {"topology.agents=4", "topology.graph=complete", "topology.dropout=0.1"},
	} {
		var bad *config.Error
		if _, err := tryLive(t, set...); !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s among nodes: %v", key, err)
		}
	}
}
