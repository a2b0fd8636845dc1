package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/privacy"
	"sotto/privacy/ledger"
)

// Where a data set does not say whose its test records are, every agent is tested on
// those that are held out of its own; partition natural keeps the groups' test records.
func TestOwnHeldOutRecords(t *testing.T) {
	e := build(t, "evaluate.validation=0.3", "evaluate.on=own")
	for i, rows := range e.Task.HeldOut {
		if len(rows) == 0 || e.Task.Tests[i].Len() != len(rows) {
			t.Fatalf("agent %d is tested on %d records, of %d held out", i, e.Task.Tests[i].Len(), len(rows))
		}
		for k, r := range rows {
			if !slices.Equal(e.Task.Tests[i].X.Row(k), e.Task.Split.Train.X.Row(int(r))) {
				t.Fatalf("agent %d: test record %d is none of its own", i, k)
			}
		}
	}
}

// Held-out records are no training records and no test records; each record has a coin of
// its own, of the stated bias: a binomial count, at a false-reject rate of 1e-6.
func TestHeldOutRecordsAreDisjoint(t *testing.T) {
	const share = .3
	e, whole := build(t, "evaluate.validation=0.3", "evaluate.on=validation"), build(t)
	seen := map[int32]string{}
	total, held := 0, 0
	for i := range e.Task.Parts {
		for _, set := range []struct {
			name string
			rows []int32
		}{{"training", e.Task.Parts[i]}, {"held-out", e.Task.HeldOut[i]}} {
			for _, r := range set.rows {
				if seen[r] != "" {
					t.Fatalf("record %d is a %s and a %s record", r, seen[r], set.name)
				}
				seen[r] = set.name
				if !slices.Contains(whole.Task.Parts[i], r) {
					t.Fatalf("agent %d got record %d from elsewhere", i, r)
				}
			}
		}
		total += len(whole.Task.Parts[i])
		held += len(e.Task.HeldOut[i])
	}
	if len(seen) != total {
		t.Errorf("%d of %d records are left", len(seen), total)
	}
	if sd := math.Sqrt(share * (1 - share) * float64(total)); math.Abs(float64(held)-share*float64(total)) >
		4.9*sd {
		t.Errorf("%d of %d records are held out, want %g of them", held, total, share)
	}
	if e.Task.Tests[0].Len() != held || e.Task.Validation == e.Task.Split.Test {
		t.Error("agents are not evaluated on the held-out records")
	}
	inTest := map[string]bool{}
	for r := range e.Task.Split.Test.Len() {
		inTest[fmt.Sprint(e.Task.Split.Test.X.Row(r))] = true
	}
	at := 0
	for i := range e.Task.HeldOut {
		for _, r := range e.Task.HeldOut[i] {
			row := fmt.Sprint(e.Task.Validation.X.Row(at))
			if row != fmt.Sprint(e.Task.Split.Train.X.Row(int(r))) ||
				e.Task.Validation.Labels[at] != e.Task.Split.Train.Labels[r] {
				t.Fatalf("held-out record %d is not record %d of the training data", at, r)
			}
			if inTest[row] {
				t.Fatalf("held-out record %d is a test record", at)
			}
			at++
		}
	}
	// Whether a record is held out does not depend on who has it.
	other := build(t, "evaluate.validation=0.3", "topology.agents=2", "topology.graph=path")
	for i := range other.Task.HeldOut {
		for _, r := range other.Task.HeldOut[i] {
			if seen[r] != "held-out" {
				t.Fatalf("record %d is held out by another partition only", r)
			}
		}
	}
}

// Trials share data and initial models, not noise and batches.
func TestTrialsAreIndependent(t *testing.T) {
	first, second, again := noisy(t, "trial=1"), noisy(t, "trial=2"), noisy(t, "trial=1")
	if !slices.Equal(first.Task.Init, second.Task.Init) ||
		fmt.Sprint(first.Task.Parts) != fmt.Sprint(second.Task.Parts) {
		t.Error("trials begin with other models or data")
	}
	hash := func(e *experiment.Experiment) string { return train(t, e, Options{}).Summary.RunHash }
	if a := hash(first); a == hash(second) || a != hash(again) || first.NoiseSeed() == noisy(t).NoiseSeed() {
		t.Error("trials share noise, or do not repeat")
	}
}

// noisy is the small run with noise that needs no search.
func noisy(t *testing.T, set ...string) *experiment.Experiment {
	t.Helper()
	return build(t, append(set, "privacy.target_epsilon=0", "privacy.noise_multiplier=2")...)
}

// scoredFile is a trial of a search that is charged: its agents release the accuracy on
// their held-out records.
const scoredFile = `rounds = 6
trial = 1

[topology]
agents = 3

[data]
dataset = "logistic-regression"
agents = 3
records = 130
dim = 2
partition = "natural"

[model]
name = "logistic"

[privacy]
noise_multiplier = 5.0
max_grad_norm = 1.0
sample_rate = 1.0
target_delta = 1e-5

[evaluate]
validation = 0.2
score = "accuracy"
score_noise_multiplier = 3.0
`

// A score that is released through the gate: its noise has the stated size around the
// true count (false-reject rate 1e-6), and its charge stands in the ledger beside
// training's, whatever the budget of training.
func TestScoreIsReleasedAndCharged(t *testing.T) {
	for _, set := range [][]string{{}, {"privacy.noise_multiplier=0", "privacy.target_epsilon=1.0"},
		{"privacy.noise=exact"}} {
		f, err := experiment.Parse("scored.toml", []byte(scoredFile), set)
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.BuildWith("", drawn)
		if err != nil {
			t.Fatal(err)
		}
		res := train(t, e, Options{})
		if res.Summary.Score == nil || res.Summary.Privacy[0].Charges != 7 {
			t.Fatalf("%v: score %v, %d charges; want one, and 7", set, res.Summary.Score,
				res.Summary.Privacy[0].Charges)
		}
		w, err := Start(e, Own(e), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Sim.Run(context.Background(), 6); err != nil {
			t.Fatal(err)
		}
		right := 0
		for i := range e.Task.HeldOut {
			for _, r := range e.Task.HeldOut[i] {
				z := 0.
				for k, x := range e.Task.Split.Train.X.Row(int(r)) {
					z += float64(x) * float64(w.Sim.Model(i)[k])
				}
				if (z > 0) == (e.Task.Split.Train.Labels[r] == 1) {
					right++
				}
			}
		}
		n := float64(e.Task.Validation.Len())
		if sd := 3 * math.Sqrt(3) / n; math.Abs(float64(*res.Summary.Score)-float64(right)/n) > 4.9*sd {
			t.Errorf("%v: score %g, the share of right answers is %g, noise %g", set, *res.Summary.Score,
				float64(right)/n, sd)
		}
		if _, err := ledger.VerifyRun(res.Dir); err != nil {
			t.Error(err)
		}
		if rows := string(read(t, res.Dir, rundir.MetricsFile)); strings.Contains(rows, "score") {
			t.Error("held-out figures without noise are in metrics.csv")
		}
	}
}

// Under add-remove what divides a score is public: the records that the constants of
// training stand for; of sums, which have none, the lower bound of all records.
func TestScoreIsOverAPublicNumber(t *testing.T) {
	for _, c := range []struct {
		set  []string
		held float64 // of three agents
	}{
		{[]string{"privacy.batch_size=20", "privacy.sample_rate=0.2"}, 3 * 100 * .2 / .8},
		{[]string{"algorithm.name=newton", "rounds=10", "privacy.sample_rate=0", "privacy.min_records=100"},
			3 * 100 * .2},
		{[]string{"algorithm.name=bcd", "topology.weights=objective", "clock.wakes=30",
			"algorithm.lambda=1.0", "algorithm.confidence=1.0", "privacy.sample_rate=0",
			"privacy.batch_size=100"}, 3 * 100 * .2 / .8},
	} {
		f, err := experiment.Parse("scored.toml", []byte(scoredFile),
			append(c.set, "privacy.adjacency=add-remove"))
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.BuildWith("", drawn)
		if err != nil {
			t.Fatal(err)
		}
		if got := heldRecords(e); math.Abs(got-c.held) > 1e-9 {
			t.Errorf("%v: %g held-out records, want %g", c.set, got, c.held)
		}
		s := &train(t, e, Options{}).Summary
		if s.Score == nil || !(math.Abs(float64(*s.Score)) < 10) {
			t.Errorf("%v: score %v", c.set, s.Score)
		}
		said := strings.Contains(fmt.Sprint(s.Notes), "of min_records")
		if bound := e.File.Privacy.MinRecords > 0; said != bound {
			t.Errorf("%v: notes %v", c.set, s.Notes)
		}
	}
}

// A score bounds what one record adds, not what an owner does: with unit owner it is
// refused before anything is trained.
func TestNoScoreOfOwners(t *testing.T) {
	f, err := experiment.Parse("scored.toml", []byte(scoredFile), []string{"privacy.unit=owner",
		"privacy.sample_rate=0", "algorithm.name=gossip-average", "model.name=mean", `evaluate.score="loss"`,
		"evaluate.score_clip=1.0", "privacy.adjacency=replace-one"})
	if err == nil {
		_, err = f.BuildWith("", drawn)
	}
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "evaluate.score" {
		t.Error(err)
	}
}

// Delta is held against all records of an owner, those that are held out included: 100
// records here, of which about 20 train. Under add-remove the public constants of
// training stand for more records in the same way.
func TestDeltaCountsHeldOutRecords(t *testing.T) {
	for delta, refused := range map[string]bool{"0.0101": true, "0.0099": false} { // 1/n is 0.01
		_, err := parse(t, "privacy.target_epsilon=0", "privacy.noise_multiplier=2", "privacy.batch_size=5",
			"evaluate.validation=0.8", "privacy.target_delta="+delta).BuildWith("", drawn)
		if errors.Is(err, privacy.ErrRefused) != refused || !refused && err != nil {
			t.Errorf("delta %s with 100 records of which 20 train: %v", delta, err)
		}
		_, err = parse(t, "privacy.target_epsilon=0", "privacy.noise_multiplier=2",
			"privacy.adjacency=add-remove", "privacy.sample_rate=0.25", "privacy.batch_size=5",
			"evaluate.validation=0.8", "privacy.target_delta="+delta).BuildWith("", drawn)
		if errors.Is(err, privacy.ErrRefused) != refused || !refused && err != nil {
			t.Errorf("add-remove, delta %s with 5/0.25 training records: %v", delta, err)
		}
	}
}
