package owner_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/owner"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/tensor"
)

const ownerAverage = `name = "average"
rounds = 6
[topology]
graph = "ring"
agents = 3
[data]
dataset = "csv"
partition = "natural"
path = "somebody.csv"
label = "class"
label_values = ["no", "yes"]
bounds = {x = [0, 100], y = [0, 100]}
[model]
name = "mean"
[algorithm]
name = "gossip-average"
[privacy]
unit = "owner"
adjacency = "replace-one"
max_grad_norm = 2.0
noise_multiplier = 0.001
target_delta = 1e-3
accountant = "rdp"
`

// An owner brings the mean of its records once, charged to the owner as the unit, and
// nothing in later rounds. Cells x and y lie between 0 and 100, uniformly, so that the
// means of bounded features lie at the middle of their range.
func TestOwnersAverage(t *testing.T) {
	path := ownTable(t)
	o, err := ownerOf(t, ownerAverage, path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := o.Terms()
	if err != nil {
		t.Fatal(err)
	}
	if x.Unit != account.Owner() || x.Adjacency != account.ReplaceOne || x.Charges != 1 || x.Batch != 1 ||
		x.NoiseKind != "exact" || x.Dim != 2 || x.Curious != "" || x.Uncharged != nil {
		t.Errorf("terms %+v", x)
	}
	gate, err := o.Gate(ledgerOf(t, &x, 1e7), "this run")
	if err != nil {
		t.Fatal(err)
	}
	answer, empty := make(tensor.Vec, 2), make(tensor.Vec, 2)
	gate.Begin(0, nil)
	if err := gate.Answer(&agent.Query{Oracle: "value", At: empty}, answer); err != nil {
		t.Fatal(err)
	}
	own, err := o.LocalBaseline(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The loss of θ on own test records is half their mean squared distance: least at
	// their mean, which those of 90 training records miss by little.
	if at, _ := o.Accuracy(answer); math.Abs(at-own) > .01 {
		t.Errorf("the answer has loss %v, the owner's mean %v", at, own)
	}
	if far, _ := o.Accuracy(tensor.Vec{answer[0] + .5, answer[1]}); !(far > own+.05) {
		t.Errorf("a vector far off has loss %v, the owner's mean %v", far, own)
	}
	a, err := o.Algorithm()
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for k := range uint64(6) {
		var out agent.Output
		if err := a.Step(&agent.Input{Kind: agent.Round, Round: k, View: &agent.View{SelfWeight: 1}},
			&out); err != nil {
			t.Fatal(err)
		}
		if out.Query != nil {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("%d queries, want 1", asked)
	}
	for key, set := range map[string]string{"network": "\n[evaluate]\nnetwork = true\n",
		"estimation": "\n[evaluate]\nestimation = true\n"} {
		if _, err := ownerOf(t, ownerAverage+set, path); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// In an average by random pairs an owner plans one charge, at the cost of one Gaussian of
// sensitivity 2 C, as the simulator does (TestPairsCostOneAnswer). What the simulator
// refuses with pairs, and the figure that a daemon does not print, are refused.
func TestOwnersAverageInPairs(t *testing.T) {
	path := ownTable(t)
	run := strings.NewReplacer("agents = 3", "agents = 3\nwake = \"pair\"", "0.001", "4.0", "rdp",
		"gdp").Replace(ownerAverage)
	o, err := ownerOf(t, run, path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := o.Terms()
	if err != nil || x.Charges != 1 {
		t.Errorf("terms %+v, %v", x, err)
	}
	want := gdp.Epsilon(2./4, 1e-3)
	if look, err := o.Outlook(); err != nil || look.Charges != 1 ||
		math.Abs(float64(look.Total.Upper)/want-1) > 1e-9 {
		t.Errorf("outlook %+v, %v; want epsilon %v", look, err, want)
	}
	for key, bad := range map[string]string{
		"acceleration": strings.Replace(run, "\"gossip-average\"",
			"\"gossip-average\"\nacceleration = \"chebyshev\"", 1),
		"network": run + "[evaluate]\nnetwork = true\n",
	} {
		if _, err := ownerOf(t, bad, path); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

const ownerDecor = `mechanism = "decor"
pair_noise_ratio = 4.0
noise_multiplier = 2.0
`

// sharing is an owner of ownerRun whose noise is shared with its two neighbors.
func sharing(t *testing.T, path, keys string) (*owner.Owner, error) {
	t.Helper()
	f, err := experiment.Parse("run.toml",
		[]byte(strings.Replace(ownerRun, "target_epsilon = 2.0\n", keys, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := f.ScheduleFor(5)
	if err != nil {
		t.Fatal(err)
	}
	return owner.New(f, owner.Options{
		Member: experiment.Member{Self: 1, Data: data.OwnFile{Path: path}, Graphs: g, Seed: 9},
		Secret: func(j agent.ID) []byte {
			return []byte{byte(j), 1, 2, 3}
		},
	})
}

// What all neighbors know protects nothing: then shared noise costs what own noise costs.
// Against fewer it counts for more.
func TestOwnersShareNoise(t *testing.T) {
	path := ownTable(t)
	last := 0.
	for _, curious := range []string{"neighbors", "one", "none"} {
		o, err := sharing(t, path, ownerDecor+"curious = \""+curious+"\"\n")
		if err != nil {
			t.Fatal(err)
		}
		x, err := o.Terms()
		if err != nil {
			t.Fatal(err)
		}
		if x.Curious != curious || x.NoiseKind != "fast" || x.Charges != 6 || !(x.Noise > last) ||
			curious == "neighbors" && x.Noise != 2 || len(x.Uncharged) != 0 {
			t.Errorf("curious %s: terms %+v", curious, x)
		}
		last = x.Noise
	}
	if _, err := sharing(t, path, strings.Replace(ownerDecor, "noise_multiplier", "target_epsilon",
		1)); err == nil || !strings.Contains(err.Error(), "noise_multiplier") {
		t.Errorf("a target without noise: %v", err)
	}
}

// After a crash in a round that had answers the owner abstains from answers of that
// round, because its neighbors' noise would be that of the answers before, and charges
// nothing; later rounds are answered.
func TestSharedNoiseServesOnce(t *testing.T) {
	o, err := sharing(t, ownTable(t), ownerDecor)
	if err != nil {
		t.Fatal(err)
	}
	x, err := o.Terms()
	if err != nil {
		t.Fatal(err)
	}
	l := ledgerOf(t, &x, 50)
	q, answer := &agent.Query{Oracle: "grad", At: make(tensor.Vec, 2), Clip: 1}, make(tensor.Vec, 2)
	for process, rounds := range [][]uint64{{0, 1, 2}, {2, 3}, {3, 4}} {
		gate, err := o.Gate(l, "this run")
		if err != nil {
			t.Fatal(err)
		}
		for k, round := range rounds {
			before := l.Head().Seq
			gate.Begin(round, nil)
			err := gate.Answer(q, answer)
			if again := process > 0 && k == 0; again != errors.Is(err, privacy.ErrAbstain) ||
				!again && err != nil || again && l.Head().Seq != before {
				t.Errorf("process %d, round %d: %v, ledger from %d to %d", process, round, err, before,
					l.Head().Seq)
			}
		}
	}
	other, err := o.Gate(l, "another run") // has other secrets
	if err != nil {
		t.Fatal(err)
	}
	if other.Begin(0, nil); other.Answer(q, answer) != nil {
		t.Error("another run abstains")
	}
}
