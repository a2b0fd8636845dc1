package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/experiment/run"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/ledger"
)

// A field that a program sets after Parse changed the configuration that is kept with a
// run's results, and not the run; Build and Run refuse it by its key.
func TestAChangedFileIsRefused(t *testing.T) {
	for key, set := range map[string]func(f *experiment.File){
		"seed":                  func(f *experiment.File) { f.Run.Seed++ },
		"rounds":                func(f *experiment.File) { f.Run.Rounds++ },
		"topology.agents":       func(f *experiment.File) { f.Topology.Agents++ },
		"data.partition":        func(f *experiment.File) { f.Data.Partition = "shards" },
		"model.name":            func(f *experiment.File) { f.Model.Name = "linear" },
		"algorithm.name":        func(f *experiment.File) { f.Algorithm.Name = "dsgt" },
		"privacy.adjacency":     func(f *experiment.File) { f.Privacy.Adjacency = "add-remove" },
		"privacy.unit":          func(f *experiment.File) { f.Privacy.Unit = "user" },
		"privacy.target_delta":  func(f *experiment.File) { f.Privacy.TargetDelta /= 1000 },
		"privacy.max_grad_norm": func(f *experiment.File) { f.Privacy.MaxGradNorm *= 2 },
		"evaluate.every":        func(f *experiment.File) { f.Evaluate.Every++ },
		"clock.wakes":           func(f *experiment.File) { f.Clock.Wakes++ },
		"File.Steps":            func(f *experiment.File) { f.Steps++ },
	} {
		check := func(from string, err error) {
			t.Helper()
			var bad *config.Error
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), key+": found") ||
				!strings.Contains(err.Error(), "experiment.Parse") {
				t.Errorf("%s: %s says %v", key, from, err)
			}
		}
		f, err := experiment.Parse("small.toml", []byte(experimenttest.Small), nil)
		if err != nil {
			t.Fatal(err)
		}
		set(f)
		_, err = f.Build("")
		check("Build", err)
		_, err = experiment.BuildOn(f, nil)
		check("BuildOn", err)
		e := small(t)
		set(e.File)
		_, err = run.Run(context.Background(), e, run.Options{Out: t.TempDir()})
		check("Run", err)
	}
	if _, err := experiment.BuildOn(nil, nil); err == nil {
		t.Error("no file builds")
	}
	if _, err := (&experiment.File{}).Build(""); err == nil {
		t.Error("a File of the program's own builds")
	}
}

// What the package fills in itself is no change: a file can be built twice, and be made
// that of other members.
func TestAFileIsBuiltAgain(t *testing.T) {
	f, err := experiment.Parse("small.toml", []byte(experimenttest.Small), nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.Build("")
	if err != nil || again.Identity() != first.Identity() {
		t.Errorf("built again: %v", err)
	}
	if err := experiment.Resize(f, f.Topology.Agents+1); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Build(""); err != nil {
		t.Errorf("of another number of members: %v", err)
	}
}

// Noise that is not what plans were priced by answers nothing: it would be charged by
// other events, or by none.
func TestNoiseIsThatOfThePlan(t *testing.T) {
	for _, noise := range []privacy.Scheme{nil, privacy.Fixed{Answers: privacy.Withheld{}},
		privacy.Fixed{Answers: privacy.PostProcessed{}}, privacy.Fixed{Answers: privacy.None{}}} {
		e := small(t)
		seat := experiment.Seat{Ledger: ledger.NewMemory(nil)}
		if _, err := e.Party(seat); err != nil {
			t.Fatal(err)
		}
		e.Setup.Scheme = noise
		var bad *config.Error
		if _, err := e.Party(seat); !errors.As(err, &bad) || bad.Key != "Setup.Scheme" {
			t.Errorf("%v: Party says %v", noise, err)
		}
		if _, err := run.Run(context.Background(), e, run.Options{}); !errors.As(err, &bad) ||
			bad.Key != "Setup.Scheme" {
			t.Errorf("%v: Run says %v", noise, err)
		}
	}
}

// Shared noise whose factors a program changed made own parts smaller than those that the
// plan is priced by, at the same charge; lists that the scheme shares are its own.
func TestSharedNoiseIsThatOfThePlan(t *testing.T) {
	for name, change := range map[string]func(s *privacy.Pairwise){
		"factor":   func(s *privacy.Pairwise) { s.Factors[0] *= 1.5 },
		"factors":  func(s *privacy.Pairwise) { s.Factors = nil },
		"ratio":    func(s *privacy.Pairwise) { s.Ratio *= 2 },
		"neighbor": func(s *privacy.Pairwise) { s.With[0][0]++ },
		"with":     func(s *privacy.Pairwise) { s.With = s.With[:1] },
		"curious":  func(s *privacy.Pairwise) { s.Curious = "nobody" },
	} {
		e := small(t, "privacy.mechanism=decor", "privacy.pair_noise_ratio=3", "privacy.curious=none")
		seat := experiment.Seat{Ledger: ledger.NewMemory(nil), Secret: run.SimulatedSecret(1, 0)}
		if _, err := e.Party(seat); err != nil {
			t.Fatal(err)
		}
		change(e.Setup.Scheme.(*privacy.Pairwise))
		var bad *config.Error
		if _, err := e.Party(seat); !errors.As(err, &bad) || bad.Key != "Setup.Scheme" {
			t.Errorf("%s: Party says %v", name, err)
		}
	}
}

// A record that is with an agent twice, or with two agents, was charged once: the ledger
// of each agent states what its own answers cost of records that are there once.
func TestRecordsAreThoseOfOneAgent(t *testing.T) {
	for name, change := range map[string]func(e *experiment.Experiment){
		"twice": func(e *experiment.Experiment) { e.Task.Parts[0][1] = e.Task.Parts[0][0] },
		"two":   func(e *experiment.Experiment) { e.Task.Parts[0][1] = e.Task.Parts[1][0] },
		"below": func(e *experiment.Experiment) { e.Task.Parts[1][0] = -1 },
		"above": func(e *experiment.Experiment) { e.Task.Parts[1][0] = 1 << 30 },
		"plans": func(e *experiment.Experiment) { e.Plans = e.Plans[:1] },
		"none":  func(e *experiment.Experiment) { e.Task.Split = nil },
	} {
		e := small(t)
		change(e)
		var bad *config.Error
		if _, err := run.Run(context.Background(), e, run.Options{Out: t.TempDir()}); !errors.As(err, &bad) {
			t.Errorf("%s: Run says %v", name, err)
		}
	}
	e := small(t)
	for _, index := range [][]int32{{3, 4, 3}, {4, 4}, {-1}, {1 << 30}} {
		var bad *config.Error
		if _, err := e.Party(experiment.Seat{Ledger: ledger.NewMemory(nil), Pool: oracle.NewPool(),
			Records: oracle.Records{Data: e.Task.Split.Train, Index: index}}); !errors.As(err, &bad) ||
			bad.Key != "privacy.records" {
			t.Errorf("rows %d: Party says %v", index, err)
		}
	}
}

// Arguments that a program forgot or took from elsewhere are errors with their names.
func TestArgumentsAreNamed(t *testing.T) {
	e := small(t)
	_, nobody := e.Party(experiment.Seat{Self: 9, Ledger: ledger.NewMemory(nil)})
	_, noLedger := e.Party(experiment.Seat{Fresh: true})
	_, nothing := run.Run(context.Background(), nil, run.Options{})
	_, _, noAgent := e.Algorithm(99)
	_, unbound := e.Bind(&experiment.Seat{Self: 99})
	_, empty := run.Start(e, run.Population{}, 1, nil)
	_, started := run.Start(nil, run.Population{}, 1, nil)
	_, below := run.Below(context.Background(), nil, t.TempDir(), "")
	_, unspent := run.Spent(nil, nil)
	_, noFile := experiment.Decode(nil)
	_, _, joined := (&experiment.File{}).Join(experiment.Member{})
	short := experiment.Seat{Ledger: ledger.NewMemory(nil), Arrival: []uint32{},
		Records: oracle.Records{Data: e.Task.Split.Train, Index: e.Task.Parts[0]}, Pool: oracle.NewPool()}
	_, arrived := e.Party(short)
	for _, c := range []struct {
		key string
		err error
	}{{"experiment", started}, {"experiment", below}, {"experiment or ledger", unspent},
		{"self", nobody}, {"ledger", noLedger}, {"experiment", nothing}, {"self", noAgent}, {"self", unbound},
		{"population", empty}, {"run file", noFile}, {"run file", joined},
		{"run file", (&experiment.File{}).CheckDeployable()}, {"privacy.arrival", arrived}} {
		var bad *config.Error
		if !errors.As(c.err, &bad) || bad.Key != c.key {
			t.Errorf("%s: %v", c.key, c.err)
		}
	}
	if _, err := run.Start(e, run.Own(e), 1, [][]ledger.Record{}); !errors.Is(err, run.ErrCheckpoint) {
		t.Errorf("ledgers of nobody: %v", err)
	}
	if a := e.PlanOf(99); a != nil {
		t.Errorf("a plan of nobody: %v", a)
	}
	if env := e.Env(99); env.Agents != 0 {
		t.Errorf("an agent that is not there knows of %d", env.Agents)
	}
}
