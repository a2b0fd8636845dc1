package run

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

const personalFile = experimenttest.Personal

func personalRun(t *testing.T, set ...string) *experiment.Experiment {
	t.Helper()
	e, err := buildPersonal(set...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func buildPersonal(set ...string) (*experiment.Experiment, error) {
	f, err := experiment.Parse("personal.toml", []byte(personalFile), set)
	if err != nil {
		return nil, err
	}
	return f.Build(os.Getenv("SOTTO_DATA"))
}

var personalCases = map[string][]string{
	"gaussian": nil,
	"laplace":  {"privacy.mechanism=laplace", "algorithm.norm=l1", "privacy.accountant=pld"},
	"exact":    {"privacy.noise=exact", "privacy.accountant=pld"},
	"late":     {"algorithm.alloc=late", "algorithm.contraction=0.99"},
	"paper":    {"algorithm.alloc=paper", "algorithm.contraction=0.995"},
	"unequal": {"privacy.target_epsilon=0", "privacy.agent_epsilon=[0.5, 1, 2]",
		"algorithm.agent_updates=[3, 6]"},
	"warm": {"algorithm.start=fit", "algorithm.fit_lambda=0.1", "algorithm.propagate=4",
		"privacy.warm_epsilon=0.3"},
	"warm shared": {"algorithm.start=fit", "algorithm.fit_lambda=0.1"},
	"k-norm": {"algorithm.start=fit", "algorithm.fit_lambda=0.1", "privacy.warm_epsilon=0.3",
		"privacy.warm_mechanism=k-norm", "privacy.accountant=pld", "topology.agents=3", "data.agents=3",
		"topology.threshold=0"},
	"add-remove": {"privacy.adjacency=add-remove", "privacy.batch_size=50", "algorithm.lambda=0.02",
		"algorithm.confidence=0.5"},
	"pairs":  {"algorithm.name=gossip-admm", "algorithm.updates=0", "algorithm.local_steps=2"},
	"faults": {"faults.drop=0.2", "faults.latency=1.5", "faults.churn=0.2"},
	"local-dp": {"privacy.mechanism=local-dp", "privacy.accountant=pld", "algorithm.start=fit",
		"algorithm.fit_lambda=0.1"},
	"unlimited": {"algorithm.updates=0"},
}

// caseOf drops keys that another algorithm does not know.
func caseOf(t *testing.T, name string) *experiment.Experiment {
	t.Helper()
	file := personalFile
	if name == "pairs" {
		file = strings.Replace(file, "updates = 6\n", "", 1)
	}
	var set []string
	for _, s := range personalCases[name] {
		if s != "algorithm.updates=0" || name == "unlimited" {
			set = append(set, s)
		}
	}
	f, err := experiment.Parse("personal.toml", []byte(file), set)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return e
}

// Every way to spend a budget spends at most the budget, and nearly all of it where all
// planned queries are asked; what the statements say follows from the ledgers; and no
// byte depends on the number of workers.
func TestPersonalBudgets(t *testing.T) {
	for name := range personalCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := caseOf(t, name)
			out := t.TempDir()
			one, two := train(t, e, Options{Out: out, Workers: 1}),
				train(t, caseOf(t, name), Options{Out: out, Workers: 2})
			sameFiles(t, one.Dir, two.Dir)
			if _, err := ledger.VerifyRun(one.Dir); err != nil {
				t.Error(err)
			}
			for _, l := range one.Summary.Privacy {
				target := 1.
				if name == "unequal" {
					target = []float64{.5, 1, 2}[l.Agent%3]
				}
				planned := uint64(e.Plans[l.Agent].Queries())
				if eps := float64(l.Epsilon.Upper); eps > target || l.Charges == planned && eps < .97*target {
					t.Errorf("agent %d spent %g of %g in %d charges of %d planned", l.Agent, eps, target,
						l.Charges, planned)
				}
				if name == "local-dp" {
					planned += 2 // features and labels; what follows is charged as nothing
					if float64(l.Epsilon.Upper) < .97 {
						t.Errorf("agent %d spent %g of 1", l.Agent, float64(l.Epsilon.Upper))
					}
				}
				if l.Charges > planned || l.Charges == 0 && name != "faults" {
					t.Errorf("agent %d: %d charges, %d planned", l.Agent, l.Charges, planned)
				}
			}
			if n := one.Summary.Links.Exhausted; n > 0 {
				t.Errorf("%d queries were refused although all were planned", n)
			}
		})
	}
}

// What each agent plans is what the paper and the specification say it asks.
func TestPersonalPlans(t *testing.T) {
	e := caseOf(t, "unequal")
	for i := range e.Plans {
		if want := []int{3, 6}[i%2]; e.Plans[i].Queries() != want {
			t.Errorf("agent %d plans %d queries, want %d", i, e.Plans[i].Queries(), want)
		}
	}
	// Equal split, exact Gaussian: T answers of multiplier z cost as much as one of z/√T.
	e = caseOf(t, "gaussian")
	one := personalRun(t, "algorithm.updates=1")
	if ratio := e.Plans[0].Noise / one.Plans[0].Noise; math.Abs(ratio-math.Sqrt(6)) >
		1e-4 {
		t.Errorf("six answers need %g times the noise of one, want %g", ratio, math.Sqrt(6))
	}
	// Laplace: scale 2 clips T/ε (with PLD at delta 1e-5 a little less).
	e = caseOf(t, "laplace")
	if b := e.Plans[0].Noise; b > 12*(1+1e-5) || b < 11.5 {
		t.Errorf("Laplace scale %g over the clip, pure composition needs 12", b)
	}
	// Late: the last update is the quietest, the sum of 1/z² is that of the budget.
	e, equal := caseOf(t, "late"), caseOf(t, "gaussian")
	for i := range e.Plans {
		sum, last := 0., math.Inf(1)
		for _, a := range e.Plans[i].Asks {
			z := e.Plans[i].Noise * a.Query.Noise
			sum += float64(a.Times) / (z * z)
			if a.Query.Noise > last {
				t.Errorf("agent %d: noise rises to %g", i, a.Query.Noise)
			}
			last = a.Query.Noise
		}
		z := equal.Plans[i].Noise
		if math.Abs(sum*z*z/6-1) > 1e-4 {
			t.Errorf("agent %d: late spends %g of the equal split's budget", i, sum*z*z/6)
		}
	}
}

// An interrupted run goes on to the bytes of an uninterrupted one, and a recorded list of
// wakes gives them again.
func TestPersonalResumeAndReplay(t *testing.T) {
	for _, name := range []string{"faults", "warm", "pairs", "late"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := train(t, caseOf(t, name), Options{})
			ctx, cancel := context.WithCancel(context.Background())
			opt := Options{Out: t.TempDir(), Progress: func(at, _ uint64, _ string) {
				if at == 300 {
					cancel()
				}
			}}
			_, err := Run(ctx, caseOf(t, name), opt)
			var halt *Interrupted
			if !errors.As(err, &halt) || halt.Round != 300 {
				t.Fatalf("not interrupted: %v", err)
			}
			r, err := Resume(context.Background(), halt.Dir, "", Options{})
			if err != nil {
				t.Fatal(err)
			}
			sameFiles(t, whole.Dir, r.Dir)
		})
	}
	recorded := train(t, personalRun(t, "clock.record=true"), Options{})
	list := filepath.Join(recorded.Dir, rundir.WakesFile)
	again := train(t, personalRun(t, "clock.replay="+list, "seed=5"), Options{})
	if !bytes.Equal(read(t, recorded.Dir, rundir.MetricsFile), read(t, again.Dir, rundir.MetricsFile)) {
		t.Error("the replayed run has other bytes")
	}
	if b := read(t, again.Dir, rundir.ConfigFile); !bytes.Contains(b, []byte("replay_digest")) {
		t.Error("the replayed list is not part of the configuration")
	}
	for key, set := range map[string][]string{
		"clock.wakes":         {"clock.replay=" + list, "clock.wakes=401"},
		"clock.replay_digest": {"clock.replay=" + list, "clock.replay_digest=00"},
		"agent":               {"clock.replay=" + list, "topology.agents=23", "data.agents=23"},
	} {
		_, err := buildPersonal(set...)
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.HasSuffix(bad.Key, key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// Without noise the objective falls from evaluation to evaluation and the models beat
// those of agents on their own; nothing of a local-fit run leaves an agent.
func TestPersonalModelsHelp(t *testing.T) {
	free := []string{"privacy.mechanism=none", "privacy.target_epsilon=0", "privacy.accountant=pld",
		"algorithm.updates=0", "clock.wakes=1200", "evaluate.every=200", "data.dim=40"}
	together := train(t, personalRun(t, append(free, "algorithm.start=fit")...), Options{})
	last := math.Inf(1)
	for _, v := range metricOf(t, together.Dir, "objective") {
		if v > last {
			t.Errorf("the objective rose from %g to %g", last, v)
		}
		last = v
	}
	file := strings.Replace(strings.Replace(personalFile, "updates = 6\n", "", 1), `"bcd"`, `"local-fit"`, 1)
	f, err := experiment.Parse("local.toml", []byte(file),
		[]string{"privacy.mechanism=none", "privacy.target_epsilon=0", "data.dim=40"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	alone := train(t, e, Options{})
	if alone.Summary.BytesSentTotal != 0 || alone.Summary.Privacy[0].Epsilon.Upper != 0 {
		t.Errorf("local-fit sent %d bytes at epsilon %v", alone.Summary.BytesSentTotal,
			alone.Summary.Privacy[0].Epsilon)
	}
	if a, b := alone.Summary.Accuracy.Mean, together.Summary.Accuracy.Mean; b < a {
		t.Errorf("together %.3f, alone %.3f", b, a)
	}
}

// metricOf returns a metric of all agents together, by evaluation.
func metricOf(t *testing.T, dir, name string) (values []float64) {
	t.Helper()
	rows, err := rundir.DecodeMetrics("metrics.csv", read(t, dir, rundir.MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Metric == name && r.Agent == "all" {
			values = append(values, r.Value)
		}
	}
	if len(values) < 2 {
		t.Fatalf("%s: %d values", name, len(values))
	}
	return values
}

// People of the Parkinsons data and hospitals of the heart-disease data as agents with
// models of their own.
func TestPersonalTasks(t *testing.T) {
	if os.Getenv("SOTTO_DATA") == "" {
		t.Skip("SOTTO_DATA not set: needs parkinsons-telemonitoring and heart-disease")
	}
	common := []string{"topology.graph=complete", "privacy.target_epsilon=2", "algorithm.start=fit",
		"algorithm.fit_lambda=0.05", "privacy.warm_epsilon=0.5", "privacy.feature_norm=2"}
	for name, c := range map[string]struct {
		agents int
		lines  [2]string // in place of the linear task's
		set    []string
	}{
		"parkinsons": {42, [2]string{"holdout = \"records\"", ""},
			[]string{"topology.agents=42", "data.dataset=parkinsons", "model.name=huber", "model.delta=0.05",
				"clock.wakes=500", "evaluate.on=own"}},
		"heart-disease": {4, [2]string{"", ""},
			[]string{"topology.agents=4", "data.dataset=heart-disease", "clock.wakes=80", "evaluate.on=own"}},
	} {
		file := strings.Replace(personalFile, "agents = 24\ndim = 6\ntest = 30\n", c.lines[0]+"\n", 1)
		f, err := experiment.Parse("tasks.toml", []byte(file), append(slices.Clone(common), c.set...))
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.Build(os.Getenv("SOTTO_DATA"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := train(t, e, Options{})
		if len(r.Summary.Privacy) != c.agents || !(float64(r.Summary.Privacy[0].Epsilon.Upper) <= 2) ||
			!(float64(r.Summary.Loss) < 10) {
			t.Errorf("%s: %d agents, epsilon %v, loss %v", name, len(r.Summary.Privacy),
				r.Summary.Privacy[0].Epsilon, r.Summary.Loss)
		}
	}
}

func TestPersonalRefuses(t *testing.T) {
	for key, set := range map[string][]string{
		"privacy.mechanism":         {"privacy.mechanism=discrete-laplace"},
		"privacy.mechanism laplace": {"privacy.mechanism=laplace"},
		"privacy.agent_epsilon":     {"privacy.agent_epsilon=[1]"},
		"privacy.warm_epsilon":      {"privacy.warm_epsilon=-1.0"},
		"privacy.warm_mechanism":    {"privacy.warm_mechanism=k-norm"},
		"privacy.feature_norm":      {"privacy.feature_norm=-1.0"},
		"privacy.sample_rate":       {"privacy.sample_rate=0.5"},
		"privacy.batch_size":        {"privacy.adjacency=add-remove"},
		// exp(-5) is above 1/148
		"privacy.target_delta": {"privacy.target_delta=0.0067379469990854671", "data.records_max=400"},
		"topology.weights":     {"topology.weights=metropolis"},
		"topology.vectors":     {"topology.vectors=labels"},
		"topology.graph":       {"data.agents=25", "data.merge_groups=true"},
		"evaluate.agents":      {"evaluate.agents=25"},
		"faults.delay":         {"faults.delay=0.5"},
		"evaluate.score": {"privacy.mechanism=laplace", "privacy.accountant=kov", "algorithm.norm=l1",
			"evaluate.validation=0.3", "evaluate.score=accuracy", "evaluate.on=validation"},
		"faults.latency": {"faults.latency=nan"},
		"faults.churn":   {"faults.churn=1.0"},
		// there is no fit
		"privacy.warm_epsilon without": {"privacy.warm_epsilon=0.3"},
		"privacy.feature_norm without": {"privacy.feature_norm=3.0"},
		"model.name":                   {"model.name=mlp", "algorithm.start=fit", "algorithm.fit_lambda=0.1"},
		"algorithm.contraction":        {"algorithm.alloc=late"},
		"clock.wake":                   {"clock.wake=3"},
	} {
		e, err := buildPersonal(set...)
		if err == nil {
			_, err = Run(context.Background(), e, Options{Out: t.TempDir()})
		}
		var bad *config.Error
		key, _, _ = strings.Cut(key, " ")
		if !errors.As(err, &bad) || bad.Key != key || bad.File == "" {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := experiment.Parse("small.toml", []byte(small+"\n[clock]\nwakes = 3\n"), nil); err == nil {
		f, _ := experiment.Parse("small.toml", []byte(small+"\n[clock]\nwakes = 3\n"), nil)
		if _, err := f.BuildWith("", drawn); err == nil {
			t.Error("an algorithm in rounds took a clock")
		}
	}
}

// The guarantee of a run does not cover a graph that was made from training records, nor
// records that were shifted by their own mean: both are refused, or shown to break the
// stated sensitivity.
func TestClaim20(t *testing.T) {
	_, err := buildPersonal("topology.graph=knn", "topology.vectors=data")
	var bad *config.Error
	if !errors.Is(err, privacy.ErrRefused) || !errors.As(err, &bad) || bad.Key != "topology.vectors" {
		t.Errorf("a graph from private records: %v", err)
	}
	if _, err := buildPersonal("topology.graph=knn", "topology.vectors=data", "privacy.mechanism=none",
		"privacy.target_epsilon=0"); err != nil {
		t.Errorf("the same in a run that is not private: %v", err)
	}
	// As if it were public, the run would cost what its answers do at the noise.
	e, err := buildPersonal("topology.graph=knn", "topology.vectors=data", "replication.uncharged=true",
		"privacy.target_epsilon=0", "privacy.noise_multiplier=4", "topology.agents=12", "data.agents=12")
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.Plans {
		a := &e.Plans[i]
		want, err := e.Setup.Target.Cost(a.Costs()...)
		if err != nil || a.Claim != want.Upper || !(a.Claim > 1 && a.Claim < 100) {
			t.Errorf("agent %d claims %v, want %v (%v)", i, a.Claim, want.Upper, err)
		}
	}

	// Ten ratings, nine of 3 and one of 5 or 1. The user's mean is subtracted first: the
	// one rating turns the sign of all residuals, and the clipped mean gradient moves by
	// 1.6 C where the release states 2 C/10.
	const m, clip = 10, .1
	means := func(last float32) float64 {
		d := &data.Dataset{X: tensor.NewMat(m, 1), Shape: [3]int{1, 1, 1}, Targets: make([]float32, m)}
		index := make([]int32, m)
		mean := (9*3 + last) / m
		for r := range m {
			d.X.Row(r)[0], d.Targets[r], index[r] = 1, 3-mean, int32(r)
		}
		d.Targets[m-1] = last - mean
		lsq, err := model.New("least-squares", model.Shape{Height: 1, Width: 1, Channels: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := &oracle.Full{
			Model:      lsq,
			Records:    oracle.Records{Data: d, Index: index},
			Normaliser: m,
			ClipNorm:   clip,
			Norm:       account.L2,
			Adjacency:  account.ReplaceOne,
			Unit:       account.Record(),
			Pool:       oracle.NewPool(),
		}
		if err := f.Validate(); err != nil {
			t.Fatal(err)
		}
		v := privacy.Value{Float: make(tensor.Vec, 1)}
		f.Evaluate(&v, &agent.Query{At: tensor.Vec{0}}, nil)
		r, err := f.Describe(&agent.Query{At: tensor.Vec{0}})
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Parts[0].Clip * r.Parts[0].Shift * r.Scale; math.Abs(s-2*clip/m) > 1e-12 {
			t.Fatalf("the release states %g, want 2C/m", s)
		}
		return float64(v.Float[0]) * r.Scale
	}
	if moved := math.Abs(means(5) - means(1)); math.Abs(moved-1.6*clip) > 1e-4*clip {
		t.Errorf("one rating moves the mean by %g C, want 1.6 C", moved/clip)
	}
}
