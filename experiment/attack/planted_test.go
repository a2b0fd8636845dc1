package attack

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/internal/long"
	"sotto/privacy/audit"
)

// fault is what is planted in a run: in what its attacked seat is made of, or in what the
// auditor gets.
type fault struct {
	seat   func(e *experiment.Experiment, s *experiment.Seat)
	target func(t *audit.Target)
}

// A plantedFault is a fault and the mode that must find it at smoke scale; "": none does,
// for a reason that docs/results/audit.md gives.
type plantedFault struct {
	name, caught string
	fault        fault
	set          []string // other keys of the run file
	message      int      // which step attacks; 0: the first
}

func seat(name, caught string, p plant, set ...string) plantedFault {
	return plantedFault{name, caught, fault{seat: p}, set, 0}
}

// smokeModes have the sizes of "sotto audit all --scale smoke" (auditModes in cmd/sotto);
// keys are drawn in processes of their own, see TestPlantedKeys.
var smokeModes = []struct {
	name string
	run  func(*audit.Target, context.Context, audit.Options) (*audit.Report, error)
	n    int
}{{"step", (*audit.Target).Step, 400}, {"noise", (*audit.Target).Noise, 64},
	{"sampler", (*audit.Target).Sampler, 300}, {"ledger", (*audit.Target).Ledger, 20}}

// smokeShare is what each mode has of beta .01 there.
const smokeShare = .01 / 7

// plantedRun is the run that a review planted its faults in: glyphs, an MLP of 8 units,
// DP-DSGD of four agents, Gaussian noise of multiplier 1. Without the tag long its images
// are small.
func plantedRun(t *testing.T, set ...string) *experiment.Experiment {
	t.Helper()
	base := []string{"topology.agents=4", "faults.drop=0", "model.hidden=[8]", "privacy.target_epsilon=0",
		"privacy.noise_multiplier=1", "privacy.target_delta=1e-5", "rounds=30", "privacy.accountant=rdp",
		"data.train=200", "data.test=10"}
	if !long.Tests {
		base = append(base, "data.resize=6", "model.hidden=[4]")
	}
	e, err := fileRun("small.toml", experimenttest.Small, append(base, set...)...)()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func plantedTarget(t *testing.T, p *plantedFault) *audit.Target {
	t.Helper()
	e := plantedRun(t, p.set...)
	var edit func(*experiment.Seat)
	if p.fault.seat != nil {
		edit = func(s *experiment.Seat) { p.fault.seat(e, s) }
	}
	target, err := newTarget(e, Options{}, edit)
	if err != nil {
		t.Fatal(err)
	}
	if p.fault.target != nil {
		p.fault.target(target)
	}
	return target
}

var everyMode = flag.Bool("modes", false, "every mode looks for every fault, for docs/results/audit.md")

// Every fault is found by the mode that is named, at smoke scale; one that docs/results
// calls missed by none. With the tag long the images are of full size. With -modes what
// every mode finds, and in which time, is said as well.
func TestPlanted(t *testing.T) {
	for _, p := range plantedFaults() {
		t.Run(p.name, func(t *testing.T) {
			began := time.Now()
			target := plantedTarget(t, &p)
			var found []string
			for _, m := range smokeModes {
				if m.name != p.caught && p.caught != "" && !*everyMode {
					continue
				}
				r, err := m.run(target, context.Background(),
					audit.Options{Observations: m.n, Beta: smokeShare, Message: p.message})
				if err != nil && m.name != p.caught { // not applicable, or the run stops
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", m.name, err)
				}
				if r.Violated {
					found = append(found, m.name+": "+strings.SplitN(r.Findings[0], " (", 2)[0])
				}
				switch {
				case m.name == p.caught && !r.Violated:
					t.Errorf("%s finds nothing: %+v", m.name, r)
				case p.caught == "" && r.Violated:
					t.Errorf("%s finds what docs/results/audit.md calls missed: %v", m.name, r.Findings)
				}
			}
			t.Logf("| %s | %s | %.1f |", p.name, strings.Join(found, "; "), time.Since(began).Seconds())
		})
	}
}

// The run without a fault is called violated at most once in four audits of a mode, with
// the tag long in at most three of 200 of each: at beta 1e-3 more have a probability
// below 6e-6 and 6e-5.
func TestPlantedFalseAlarms(t *testing.T) {
	audits, allowed := 4, 1
	if long.Tests {
		audits, allowed = 200, 3
	}
	e := plantedRun(t, "data.resize=6", "model.hidden=[4]")
	target, err := Target(e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range smokeModes {
		began, alarms := time.Now(), 0
		for k := range uint64(audits) {
			r, err := m.run(target, context.Background(),
				audit.Options{Observations: m.n, Beta: 1e-3, Seed: 100 + k})
			if err != nil {
				t.Fatal(err)
			}
			if r.Violated {
				alarms++
				t.Log(r.Findings)
			}
		}
		t.Logf("%s: %d alarms in %d audits, %.0f s", m.name, alarms, audits, time.Since(began).Seconds())
		if alarms > allowed {
			t.Errorf("%s: %d alarms in %d audits of a right run, allowed %d", m.name, alarms, audits, allowed)
		}
	}
}
