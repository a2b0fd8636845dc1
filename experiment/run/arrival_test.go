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

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

const line = `name = "line"
rounds = 3

[topology]
agents = 1
graph = "complete"

[data]
dataset = "csv"
target = "y"
test_fraction = 0.2
arrival = "uniform"

[model]
name = "least-squares"

[algorithm]
name = "central"
step_size = 0.1

[privacy]
mechanism = "none"
sample_rate = 1
`

// Gradient steps by hand on y = 3x at x = 1, 2, .., of which one record is there from the
// start, one comes before round 1 and two come too late: θ falls by .1 (1/4) Σ 2x(xθ - y)
// over those that are there, a quarter each whether the others have come or not.
func TestArrivalByHand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "line.csv")
	if err := os.WriteFile(path, []byte("x,y\n1,3\n2,6\n3,9\n4,12\n5,15\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := experiment.Parse("line.toml", []byte(line), []string{"data.path=" + path})
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.BuildWith("", drawn)
	if err != nil {
		t.Fatal(err)
	}
	if n := e.Task.Split.Train.Len(); n != 4 || len(e.Task.Arrivals) != 4 ||
		e.Plans[0].Public.ExpectedBatchSize != 4 {
		t.Fatalf("%d records, %d arrivals, normaliser %g", n, len(e.Task.Arrivals),
			e.Plans[0].Public.ExpectedBatchSize)
	}
	e.Task.Arrivals = []uint32{1, 0, 3, 3}
	e.Task.Init[0] = .5
	x := func(r int) float64 { return float64(e.Task.Split.Train.X.Row(r)[0]) }
	w, err := Start(e, Own(e), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	theta := .5
	for round, there := range [][]int{{1}, {0, 1}, {0, 1}} {
		if err := w.Sim.Run(context.Background(), uint64(round+1)); err != nil {
			t.Fatal(err)
		}
		sum := 0.
		for _, r := range there {
			sum += 2 * x(r) * (x(r)*theta - 3*x(r))
		}
		theta -= .1 * sum / 4
		if got := float64(w.Sim.Model(0)[0]); math.Abs(got-theta) > 2e-6*math.Abs(theta) {
			t.Errorf("after round %d: %g, by hand %g", round, got, theta)
		}
	}
}

var arrives = []string{"data.arrival=uniform", "data.arrival_start=0.3"}

// Each record comes by coins of its own: at the start with the stated probability, else
// before one of rounds 1 .. R-1, all alike (normal and chi-square tests at a false-reject
// rate of 1e-6 each). Other records do not matter.
func TestArrivalsAreUniform(t *testing.T) {
	const rounds, share = 12, .3
	e := build(t, append([]string{"data.train=4000"}, arrives...)...)
	n := float64(len(e.Task.Arrivals))
	counts := make([]float64, rounds)
	for _, at := range e.Task.Arrivals {
		counts[at]++
	}
	if d := math.Abs(counts[0] - share*n); n != 4000 || d > 4.9*math.Sqrt(n*share*(1-share)) {
		t.Errorf("%g of %g records are there at the start", counts[0], n)
	}
	chi, want := 0., (n-counts[0])/(rounds-1)
	for _, c := range counts[1:] {
		chi += (c - want) * (c - want) / want
	}
	if q := (distuv.ChiSquared{K: rounds - 2}).Survival(chi); q < 1e-6 {
		t.Errorf("chi-square %g over rounds, p-value %g: %v", chi, q, counts)
	}
	if few := build(t, arrives...).Task.Arrivals; len(few) != 500 ||
		!slices.Equal(few, e.Task.Arrivals[:500]) {
		t.Error("more records move the arrivals of the first")
	}
	if late := build(t, append([]string{"data.arrival_rounds=3"},
		arrives...)...).Task.Arrivals; slices.Max(late) != 2 {
		t.Errorf("arrivals up to round %d of 3", slices.Max(late))
	}
}

// arrivalCases are runs in rounds and in wakes, with faults, a warm start and pairs.
func arrivalCases(t *testing.T, name string, set ...string) *experiment.Experiment {
	t.Helper()
	if name == "rounds" || name == "dsgt" {
		if name == "dsgt" {
			set = append(set, "algorithm.name=dsgt")
		}
		return build(t, set...)
	}
	file := personalFile
	if name == "pairs" {
		file = strings.Replace(file, "updates = 6\n", "", 1)
	}
	for _, s := range personalCases[name] {
		if s != "algorithm.updates=0" {
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

// Arrival changes no charge, plan or statement; results do not depend on workers or on an
// interruption, and are others than those of records that are all there.
func TestArrival(t *testing.T) {
	for _, name := range []string{"rounds", "dsgt", "gaussian", "warm", "pairs", "faults", "add-remove"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			all, one := train(t, arrivalCases(t, name), Options{Out: out, Workers: 1}),
				train(t, arrivalCases(t, name, arrives...), Options{Out: out, Workers: 1})
			two := train(t, arrivalCases(t, name, arrives...), Options{Out: out, Workers: 2})
			sameFiles(t, one.Dir, two.Dir)
			if _, err := ledger.VerifyRun(one.Dir); err != nil {
				t.Error(err)
			}
			if bytes.Equal(read(t, one.Dir, rundir.ModelFile), read(t, all.Dir, rundir.ModelFile)) {
				t.Error("arrival changes nothing")
			}
			if !bytes.Equal(read(t, one.Dir, rundir.LedgerFile), read(t, all.Dir, rundir.LedgerFile)) ||
				!bytes.Equal(read(t, one.Dir, rundir.PrivacyFile), read(t, all.Dir, rundir.PrivacyFile)) {
				t.Error("arrival changes a charge or a statement")
			}
			for i := range one.Summary.Privacy {
				if a, b := one.Summary.Privacy[i], all.Summary.Privacy[i]; a.Epsilon != b.Epsilon ||
					a.Charges != b.Charges || a.Noise != b.Noise {
					t.Errorf("agent %d: %+v, without arrival %+v", i, one.Summary.Privacy[i],
						all.Summary.Privacy[i])
				}
			}
			e := arrivalCases(t, name, arrives...)
			_, r := interrupted(t, e, "", e.File.Steps/2)
			sameFiles(t, one.Dir, r.Dir)
		})
	}
}

// What an agent asks at its start is answered once: a resumed run charges nothing for it
// again and draws the noise of the run that was interrupted, also where no budget would
// refuse a second answer.
func TestResumeAsksNothingTwice(t *testing.T) {
	for name, made := range map[string]func() *experiment.Experiment{
		"without budget": func() *experiment.Experiment {
			return personalRun(t, "algorithm.start=fit", "algorithm.fit_lambda=0.1",
				"privacy.target_epsilon=0", "privacy.noise_multiplier=20")
		},
		"local-dp": func() *experiment.Experiment { return caseOf(t, "local-dp") },
	} {
		t.Run(name, func(t *testing.T) {
			one, again := interrupted(t, made(), "", 300)
			sameFiles(t, one.Dir, again.Dir)
			if a, b := one.Summary.Privacy[0].Charges, again.Summary.Privacy[0].Charges; a != b {
				t.Errorf("%d charges, %d of the resumed run", a, b)
			}
		})
	}
}

// Whatever one record holds and whenever it comes, a sum over the records that are there
// moves by at most 2C (C where only one of both data sets has it), in every round.
func TestArrivalSensitivity(t *testing.T) {
	const m, clip = 8, .25
	sums := func(scale float32, at uint32) (out []tensor.Vec) {
		d := &data.Dataset{
			X:       tensor.NewMat(m, 2),
			Shape:   [3]int{1, 1, 2},
			Labels:  make([]int32, m),
			Classes: 2,
		}
		rows, arrivals := make([]int32, m), make([]uint32, m)
		for r := range rows {
			rows[r], arrivals[r], d.Labels[r] = int32(r), uint32(r%4), int32(r%2)
			d.X.Row(r)[0], d.X.Row(r)[1] = float32(math.Cos(float64(r))), float32(math.Sin(float64(r)))
		}
		d.X.Row(3)[0], d.X.Row(3)[1], arrivals[3] = scale, -scale, at
		logistic, err := model.New("logistic", model.Shape{Height: 1, Width: 2, Channels: 1, Classes: 2}, nil)
		if err != nil {
			t.Fatal(err)
		}
		full, err := oracle.New(&oracle.Public{
			Model:             logistic,
			ExpectedBatchSize: m,
			ClipNorm:          clip,
			Adjacency:         account.ReplaceOne,
			Unit:              account.Record(),
		}, &agent.Query{Oracle: oracle.FullName})
		if err != nil {
			t.Fatal(err)
		}
		g, err := oracle.Arrive(full, oracle.Records{Data: d, Index: rows}, arrivals, oracle.NewPool())
		if err != nil {
			t.Fatal(err)
		}
		for round := range uint64(6) {
			g.(interface{ Begin(uint64) }).Begin(round)
			v := privacy.Value{Float: make(tensor.Vec, 2)}
			g.Evaluate(&v, &agent.Query{At: tensor.Vec{.1, .2}}, nil)
			out = append(out, v.Float)
		}
		return out
	}
	moved := func(a, b tensor.Vec) float64 {
		return math.Hypot(float64(a[0])-float64(b[0]), float64(a[1])-float64(b[1]))
	}
	a := sums(5, 1)
	for _, scale := range []float32{0, .1, -5, 1e30} {
		for _, at := range []uint32{0, 1, 4, 9} {
			for round, b := range sums(scale, at) {
				bound := 2 * clip
				if (round >= 1) != (uint32(round) >= at) {
					bound = clip
				}
				if d := moved(a[round], b); d > bound*(1+1e-5) {
					t.Errorf("scale %g, arrival %d, round %d: the sum moves by %g, more than %g", scale, at,
						round, d, bound)
				}
			}
		}
	}
	if d := moved(a[0], a[1]); d < clip/2 {
		t.Errorf("the arrivals before round 1 move the sum by %g only", d)
	}
}

func TestArrivalRefuses(t *testing.T) {
	for _, c := range []struct{ key, set string }{
		{"data.arrival", "data.arrival_start=0.5"},
		{"data.arrival", "data.arrival_rounds=5"},
		{"data.arrival", "data.arrival=poisson"},
		{"data.arrival_start", "data.arrival=uniform data.arrival_start=1"},
		{"data.arrival_start", "data.arrival=uniform data.arrival_start=-0.1"},
		{"data.arrival_rounds", "data.arrival=uniform data.arrival_rounds=1"},
		// 400 wakes of 24 agents are 16 each
		{"data.arrival_rounds", "data.arrival=uniform data.arrival_rounds=17"},
		{"data.arrival", "data.arrival=uniform clock.wakes=47"},
		{"data.arrival",
			"data.arrival=uniform topology.vectors=data privacy.mechanism=none privacy.target_epsilon=0"},
	} {
		_, err := buildPersonal(strings.Fields(c.set)...)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != c.key || bad.File == "" {
			t.Errorf("%s: %v", c.set, err)
		}
	}
	if e := personalRun(t, "data.arrival=uniform"); e.File.Data.ArrivalRounds != 16 ||
		!bytes.Contains(e.Effective, []byte("arrival_rounds = 16")) {
		t.Errorf("arrival over %d wakes", e.File.Data.ArrivalRounds)
	}
	_, err := buildRatings(ratingsDir(t, thirtyUsers), published,
		append([]string{"data.arrival=uniform", "topology.vectors=hidden"}, open...)...)
	var bad *config.Error
	if !errors.As(err, &bad) || bad.Key != "data.arrival" {
		t.Errorf("features from all ratings: %v", err)
	}
}
