package attack

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"sotto/algo"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/internal/long"
	"sotto/privacy/account"
	"sotto/privacy/audit"
)

// attack runs one mode on an experiment. ok is false where the mode does not apply.
func attack(t *testing.T, e *experiment.Experiment,
	mode func(*audit.Target, context.Context, audit.Options) (*audit.Report, error),
	o audit.Options) (r *audit.Report, ok bool) {
	t.Helper()
	target, err := Target(e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err = mode(target, context.Background(), o)
	if audit.NotApplicable(err) {
		return nil, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, true
}

// audited are runs of every algorithm, and of every mechanism and way to clip and sample,
// that claim a finite epsilon.
var audited = map[string]func() (*experiment.Experiment, error){
	"dsgd": glyphRun("algorithm.order=mix-then-grad"),
	"dsgt": glyphRun("algorithm.name=dsgt", "algorithm.step_size=0.1"),
	"dinno": fileRun("small.toml", strings.Replace(experimenttest.Small, "step_size = 0.5\n", "", 1),
		append(few[:len(few):len(few)], "algorithm.name=dinno", "privacy.target_epsilon=50")...),
	"gossip-sgd":  glyphRun("algorithm.name=gossip-sgd"),
	"sgp":         glyphRun("algorithm.name=sgp", "topology.graph=exp-directed"),
	"central":     glyphRun("algorithm.name=central", "topology.agents=1", "topology.graph=complete"),
	"local":       glyphRun("algorithm.name=local"),
	"exact noise": glyphRun("privacy.noise=exact"),
	"replace-one": glyphRun("privacy.adjacency=replace-one", "privacy.accountant=pld"),
	"zero-out":    glyphRun("privacy.adjacency=zero-out"),
	"schedule":    glyphRun("privacy.clipping=schedule", "privacy.clip_decay=0.9"),
	"quantile":    glyphRun("privacy.clipping=quantile", "privacy.clip_count_std=5"),
	"bf16":        glyphRun("algorithm.messages=bf16"),
	"decor": glyphRun("privacy.mechanism=decor", "faults.drop=0", "privacy.curious=neighbors",
		"privacy.pair_noise_ratio=2"),
	"micro-batches": glyphRun("replication.microbatches=5", "privacy.target_epsilon=0",
		"privacy.noise_multiplier=2", "privacy.accountant=pld"),
	"bcd": clockedRun(),
	"laplace": clockedRun("privacy.mechanism=laplace", "algorithm.norm=l1",
		"privacy.accountant=pld", "privacy.target_epsilon=20"),
	"gossip-admm": fileRun("personal.toml",
		strings.Replace(experimenttest.Personal, "updates = 6", "local_steps = 2", 1),
		"algorithm.name=gossip-admm"),
	"km":             fileRun("km.toml", experimenttest.KM),
	"gossip-average": fileRun("average.toml", experimenttest.Average),
	"value a record": fileRun("average.toml", experimenttest.Average, "privacy.unit=record"),
	"walk":           fileRun("walk.toml", experimenttest.Walk),
	"newton":         fileRun("newton.toml", experimenttest.Newton),
	"boosting":       fileRun("boosting.toml", experimenttest.Boosting),
	"query":          fileRun("questions.toml", experimenttest.Questions),
	"exact answers": fileRun("questions.toml", experimenttest.Questions, "privacy.noise=exact",
		"privacy.adjacency=replace-one"),
	"local-fit": fileRun("personal.toml", strings.Replace(experimenttest.Personal, "updates = 6\n", "", 1),
		"algorithm.name=local-fit"),
	"model-propagation": fileRun("personal.toml",
		strings.Replace(experimenttest.Personal, "updates = 6\n", "", 1),
		"algorithm.name=model-propagation"),
	"local-dp": clockedRun(localSet...),
}

// localSet perturbs records once.
var localSet = []string{"privacy.mechanism=local-dp", "privacy.accountant=pld", "privacy.target_epsilon=4",
	"privacy.target_delta=1e-3", "privacy.feature_norm=0.5"}

// few makes the small run smaller.
var few = []string{"data.train=100", "data.test=10", "privacy.batch_size=5", "privacy.target_delta=1e-3"}

// drawn holds generated data that tests have in common: what is drawn once is never
// changed.
var drawn = data.NewCache()

func fileRun(name, text string, set ...string) func() (*experiment.Experiment, error) {
	return func() (*experiment.Experiment, error) {
		f, err := experiment.Parse(name, []byte(text), set)
		if err != nil {
			return nil, err
		}
		return f.BuildWith("", drawn)
	}
}

func glyphRun(set ...string) func() (*experiment.Experiment, error) {
	return fileRun("small.toml", experimenttest.Small, append(few[:len(few):len(few)], set...)...)
}

func clockedRun(set ...string) func() (*experiment.Experiment, error) {
	return fileRun("personal.toml", experimenttest.Personal, set...)
}

// No mode finds anything in a run as it is shipped: two of them, and with the tag long
// four. At beta 1e-6 a mode a run, all of
// them together raise a false alarm with a probability below 1e-4.
func TestAuditOfEveryAlgorithm(t *testing.T) {
	if testing.Short() {
		t.Skip("many observations on one goroutine: the race detector, which asks for short, has nothing " +
			"to find")
	}
	for name := range algo.Algorithms {
		if audited[name] == nil {
			t.Errorf("algorithm %s is not audited", name)
		}
	}
	modes := []struct {
		name string
		run  func(*audit.Target, context.Context, audit.Options) (*audit.Report, error)
		n    int
	}{{"step", (*audit.Target).Step, 60}, {"ledger", (*audit.Target).Ledger, 12},
		{"noise", (*audit.Target).Noise, 12}, {"sampler", (*audit.Target).Sampler, 60}}
	if !long.Tests {
		modes = modes[:2]
	}
	for name, make := range audited {
		t.Run(name, func(t *testing.T) {
			e, err := make()
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, m := range modes {
				r, ok := attack(t, e, m.run, audit.Options{Observations: m.n, Beta: 1e-6, Seed: 3})
				if !ok {
					said += " " + m.name + ": does not apply;"
					continue
				}
				if r.Violated {
					t.Errorf("%s: %v", m.name, r.Findings)
				}
				said += fmt.Sprintf(" %s: %v of %v;", m.name, r.EpsilonLower, r.Claimed)
			}
			t.Log(said)
		})
	}
}

// TestClaim12: the published attack on whole models shows epsilon .129 to .230 where 1 is
// claimed, and would not reveal C1. Ours refutes epsilon 10 of the micro-batch run: five
// Poisson batches at rate 1/100 under one noise draw that is charged as one step. Once on
// a record that is drawn into all of them, and with the tag long once with the sampler as
// it is, where a record falls into some batch about five times as often as claimed.
func TestClaim12(t *testing.T) {
	f, err := experiment.Parse("f.toml",
		fmt.Appendf(nil, experimenttest.Replicated, 25000, 400, "dsgd", "zero-out", 10,
			"noise_multiplier = 1.0724\ni_understand = ['delta']\n[replication]\nclaim = "+
				"true\nmicrobatches = "+
				"5\n[evaluate]\nevery = 25000"), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sampled bool
		n       int
	}{{false, 500}, {true, 60000}} {
		if c.sampled && !long.Tests {
			continue
		}
		r, _ := attack(t, e, (*audit.Target).Step,
			audit.Options{Observations: c.n, Beta: .01, Seed: 1, Sampled: c.sampled})
		t.Logf("sampled %v: epsilon at least %v, claimed %v: %v", c.sampled, r.EpsilonLower, r.Claimed,
			r.Findings)
		if !r.Violated {
			t.Errorf("sampled %v: not refuted: %+v", c.sampled, r)
		}
		// The true epsilon is 82.2.
		if lower, claim := float64(r.EpsilonLower), float64(r.Claimed); c.sampled &&
			!(lower > 10 && lower < 82.3 && math.Abs(claim-10) < .05) {
			t.Errorf("epsilon at least %v, claimed %v; want above 10, which is claimed, and below 82.3",
				lower, claim)
		}
	}
}

// AdaD2P answers with noise in proportion to the private gradient: without the record
// nothing is added to nothing, and the answer is exact. The attack never errs, so that
// its bound grows with the logarithm of the observations, beyond any finite epsilon.
func TestAdaptiveNoiseIsRefuted(t *testing.T) {
	e, err := glyphRun("algorithm.name=sgp", "topology.graph=exp-directed", "privacy.noise_multiplier=1.5",
		"privacy.target_epsilon=0", "privacy.max_grad_norm=3.5",
		"replication.claim=true", "replication.noise=adad2p")()
	if err != nil {
		t.Fatal(err)
	}
	before := 0.
	sizes := []int{100, 300, 900}
	if long.Tests {
		sizes = []int{100, 400, 1600}
	}
	for _, n := range sizes {
		r, _ := attack(t, e, (*audit.Target).Step, audit.Options{Observations: n, Beta: .01, Seed: 1})
		b := r.Bounds[1] // by the length of what is left
		t.Logf("%d observations: epsilon of one release at least %.3f (%v)", n, b.Epsilon, r.Findings)
		// With 4n/5 observations in each world, .3 of beta and no error the limits
		// are 1 - (.15 beta)^(5/(4n)).
		limit := 1 - math.Pow(.15*.01, 5/(4*float64(n)))
		if want := math.Log((1 - limit - e.File.Privacy.TargetDelta) / limit); math.Abs(b.Epsilon-want) >
			1e-6 {
			t.Errorf("%d observations: epsilon at least %g, want %g: the largest that so many can show", n,
				b.Epsilon, want)
		}
		if n > 100 && !r.Violated || b.Epsilon < before+1 {
			t.Errorf("%d observations: %+v", n, r)
		}
		before = b.Epsilon
	}
}

// What step shows of a plain DP-DSGD run is at least 80 % of what is true, with 2,000
// observations in each world at epsilon 4 and 8 and 4,000 at 1, twice as many with the
// tag long: fewer than the specification asks for, which the file with build tag audit
// takes.
func TestStepIsTight(t *testing.T) {
	if long.Tests {
		tight(t, 4000, 8000)
	} else {
		tight(t, 2000, 4000)
	}
}

func tight(t *testing.T, many, more int) {
	if testing.Short() {
		t.Skip("many observations on one goroutine: the race detector, which asks for short, has nothing " +
			"to find")
	}
	for _, c := range []struct {
		epsilon float64
		n       int
	}{{8, many}, {4, many}, {1, more}} {
		e, err := fileRun("small.toml", experimenttest.Small, "data.train=100", "data.test=10",
			"faults.drop=0",
			"topology.agents=2", "topology.graph=complete", "model.hidden=[2]",
			"privacy.batch_size=5", "privacy.target_delta=1e-3", "privacy.accountant=pld",
			fmt.Sprintf("privacy.target_epsilon=%g", c.epsilon))()
		if err != nil {
			t.Fatal(err)
		}
		r, _ := attack(t, e, (*audit.Target).Step, audit.Options{Observations: c.n, Beta: .05, Seed: 7})
		t.Logf("epsilon %g: at least %v of %v, ratio %v, %d observations; mu at least %.6g of %.4g",
			c.epsilon, r.EpsilonLower, r.Claimed, r.Ratio, r.Observations, r.Bounds[4].Mu,
			account.ClipShift(account.AddRemove)/e.Plans[0].Noise)
		if !(r.Ratio >= .8) || r.Violated {
			t.Errorf("epsilon %g: %+v", c.epsilon, r)
		}
	}
}

// What an audit says that a run has at least is no more than what another accountant
// proves that it has at most, whatever the run's own one is. By RDP it was 5 % more.
func TestTheLeastIsBelowTheMost(t *testing.T) {
	for _, accountant := range []string{"rdp", "pld"} {
		e, err := glyphRun("privacy.accountant=" + accountant)()
		if err != nil {
			t.Fatal(err)
		}
		target, err := Target(e, Options{})
		if err != nil {
			t.Fatal(err)
		}
		least, err := target.Claim.TotalOf(target.Claim.Mu)
		if err != nil {
			t.Fatal(err)
		}
		pl := &e.Plans[0]
		most, err := costOf(e, "pld", []account.PlanStep{account.Fixed(pl.Events[0], pl.Charges())})
		if err != nil || least > most.Upper || least < .98*most.Upper {
			t.Errorf("%s: at least %v, at most %v: %v", accountant, least, most, err)
		}
	}
}

// Under replace-one the sampler draws one of two records in either world. That is no
// violation, however little noise there is.
func TestSampledReplacementIsNoViolation(t *testing.T) {
	e, err := fileRun("replaced.toml", `rounds = 20
[topology]
graph = "complete"
agents = 2
[data]
dataset = "glyphs"
train = 400
test = 40
resize = 8
[model]
name = "logistic"
[algorithm]
name = "dsgd"
step_size = 0.1
[privacy]
adjacency = "replace-one"
noise_multiplier = 0.3
target_delta = 1e-4
batch_size = 100
`)()
	if err != nil {
		t.Fatal(err)
	}
	r, ok := attack(t, e, (*audit.Target).Step, audit.Options{Observations: 500, Beta: 1e-3, Sampled: true})
	if !ok || r.Violated {
		t.Errorf("%v, %+v", ok, r)
	}
}
