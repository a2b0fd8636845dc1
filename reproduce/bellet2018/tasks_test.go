package bellet2018

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"sotto/data/summary"
	"sotto/experiment/sweep"

	"sotto/data"
	"sotto/experiment/rundir"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
	"sotto/topology"
)

func runTasks(t *testing.T, dir string, tasks ...task) []sweep.Row {
	t.Helper()
	var cells []sweep.Cell
	for _, x := range tasks {
		cells = append(cells, x.cell(false))
	}
	s, err := sweep.New("test", []byte(taskBase), taskAxes, cells)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Run(context.Background(), sweep.Options{Dir: dir, Discard: true})
	if err != nil {
		t.Fatal(err)
	}
	return res.Rows
}

// The published noise, 2/(ε_t m) on each coordinate, is Laplace noise whose guarantee is
// p ε_t where gradients have an L1 norm up to p: with one update at a claim of .5 and p =
// 2, epsilon 1 + 2 ln(1 - δ) at δ (the Laplace mechanism's privacy profile, Balle et al.
// 2020).
func TestPublishedNoise(t *testing.T) {
	x := task{
		mode:    "replication",
		method:  "published",
		points:  "cube",
		dim:     2,
		budget:  "0.5",
		updates: 1,
		knob:    .04,
		seed:    1,
		span:    span{1000, 1000},
	}
	rows := runTasks(t, t.TempDir(), x)
	if got, want := rows[0].EpsilonUpper, 1+2*math.Log(1-math.Exp(-5)); math.Abs(got-want) > 1e-3 {
		t.Errorf("epsilon %g, want %g", got, want)
	}
	if rows[0].Noise != 2/(.5*2) {
		t.Errorf("noise multiplier %g, want 2", rows[0].Noise)
	}
}

// At two features one smoothed answer gains over local-only training at each budget of
// the paper (by 1 to 3 points in five instances; here one instance and 1.05).
func TestSmoothedAnswersGain(t *testing.T) {
	smooth := task{
		mode:    "sound",
		method:  "smooth-gaussian",
		points:  "cube",
		dim:     2,
		budget:  "1.05",
		updates: 1,
		knob:    .8,
		seed:    7,
	}.length()
	local := localTask(2)
	local.seed = 7
	rows := runTasks(t, t.TempDir(), smooth, local)
	if rows[0].Accuracy.Mean <= rows[1].Accuracy.Mean {
		t.Errorf("accuracy %g with neighbors, %g alone", rows[0].Accuracy.Mean, rows[1].Accuracy.Mean)
	}
	if rows[0].EpsilonUpper > 1.05 || rows[0].Charges != 1 {
		t.Errorf("epsilon %g in %d charges, at most 1.05 in one", rows[0].EpsilonUpper, rows[0].Charges)
	}
}

// An instance made again has the sizes of the run's, and the degrees of its graph.
func TestLinearProblem(t *testing.T) {
	p, err := newLinearProblem(taskAgents, 4)
	if err != nil {
		t.Fatal(err)
	}
	split, err := data.Load("linear-tasks", "", 4, func(p any) error {
		p.(*data.LinearTasksParams).Dim, p.(*data.LinearTasksParams).Points = 30, "cube"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.sizes, summary.Of(split.Train).Groups) {
		t.Error("sizes depend on the dimension")
	}
	a, err := topology.Similarities["similarity"](func(any) error { return nil }, split.GroundTruth)
	if err != nil {
		t.Fatal(err)
	}
	degrees := make([]float64, len(p.sizes))
	for _, e := range a.Edges {
		degrees[e.I] += e.Weight
		degrees[e.J] += e.Weight
	}
	for i := range degrees {
		if math.Abs(degrees[i]-p.degrees[i]) > 1e-5*degrees[i] {
			t.Errorf("agent %d has the degree %g, its graph says %g", i, p.degrees[i], degrees[i])
		}
	}
}

// Two agents with one record and two, degree 1, in p = 3 with μ = 1: c = .5, 1; λ = 1,
// .5; B_i = 1 + c(.25 + 2λ) = 2.125, 2.25; σ = 2 c λ = 1; C = 1 - 1/(2·2.25) = 7/9. With
// s_i = 2/m_i = 2, 1 the noise term is 3/(2·2.125)·(1 + 1) = 1.41176.
func TestBoundTerms(t *testing.T) {
	p := linearProblem{sizes: []int{1, 2}, degrees: []float64{1, 1}}
	c, noise := p.terms(3, 2)
	if math.Abs(c-7./9) > 1e-12 || math.Abs(noise-1.411764705882353) > 1e-12 {
		t.Errorf("C = %g, noise %g", c, noise)
	}
}

// Differences 1, 2, 3 have mean 2 and sd 1: the interval is 2 ± 4.302653/√3 (Student's t
// with two degrees of freedom).
func TestPairedGain(t *testing.T) {
	gain, interval := pairedGain(reproduce.Sample{2, 4, 6}, reproduce.Sample{1, 2, 3})
	if gain != "+2.00" || interval != "-0.48 to +4.48" {
		t.Errorf("%s, %s", gain, interval)
	}
}

// An equal split is itself; late allocations have the less weighted noise and published
// ones the more, as C17 says.
func TestPredictedRatio(t *testing.T) {
	row := sweep.Row{Values: []string{"3"}}
	ratios := map[string]float64{}
	for _, alloc := range allocs {
		x, err := predictedRatio(alloc, &row)
		if err != nil {
			t.Fatal(err)
		}
		ratios[alloc] = x
	}
	if math.Abs(ratios["equal"]-1) > 1e-12 ||
		!(ratios["late"] < ratios["expected"] && ratios["expected"] < 1 && ratios["paper"] > 1) {
		t.Error(ratios)
	}
}

// Every setting of the figures was searched, with the choice that the committed search
// shows.
func TestChoices(t *testing.T) {
	axes, rows, err := sweep.ReadRows("../../docs/results/seed001-tuning/cells.csv")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(axes, taskAxes) {
		t.Fatalf("axes %v", axes)
	}
	found, _ := best(&reproduce.Results{Rows: rows})
	settings := 0
	for s, list := range choices {
		for i, c := range list {
			key := settingKey{s, budgetsOf(s.method)[i]}
			if found[key] != c {
				t.Errorf("%v: %v was chosen, the search found %v", key, c, found[key])
			}
			settings++
		}
	}
	if len(found) != settings {
		t.Errorf("%d settings were searched, %d are chosen", len(found), settings)
	}
}

// The documents have a row for each setting and what their plots need, with figures from
// nothing but the rows and kept metrics.
func TestDocuments(t *testing.T) {
	for name, want := range map[string]int{"figure2c": len(dims) * (2 + len(claimedBudgets)*7),
		"figure4": len(dims) * len(figure4Budgets)} {
		s := Paper.Studies[name]
		f := &reproduce.Results{Rows: reproducetest.Runs(s.Cells(reproduce.Full),
			func(v []string) float64 { return .8 }), Curves: reproduce.Curves{},
			Scale: reproduce.Full}
		d := s.Report(f)
		if len(d.Rows) != want {
			t.Errorf("%s has %d rows, want %d", name, len(d.Rows), want)
		}
		for _, fig := range d.Figures {
			for _, c := range fig.Curves {
				if len(c.Points) == 0 {
					t.Errorf("%s: %s has no points in %s", name, c.Name, fig.Name)
				}
			}
		}
	}
	s := Paper.Studies["figure1"]
	f := &reproduce.Results{Rows: reproducetest.Runs(s.Cells(reproduce.Full),
		func(v []string) float64 { return .8 }), Curves: reproduce.Curves{},
		Scale: reproduce.Full}
	for i := range f.Rows {
		r := &f.Rows[i]
		r.ConfigDigest = fmt.Sprintf("%016d", i)
		k := reproduce.CurveKey(r)
		for _, w := range []uint64{0, 1500} {
			f.Curves[k] = append(f.Curves[k],
				rundir.Row{Round: w, Agent: "mean", Metric: "accuracy", Value: .6 + float64(w)/1e4},
				rundir.Row{Round: w, Agent: "all", Metric: "objective", Value: 200},
				rundir.Row{Round: w, Agent: "all", Metric: "vectors_sent", Value: float64(w)})
		}
	}
	d := s.Report(f)
	if len(d.Rows) != 2*(2+len(figure1Rhos)) || d.Rows[0][2] != "60.00 ± 0.00" ||
		d.Rows[0][6] != "2.00 ± 0.00" {
		t.Errorf("%q", d.Rows)
	}
	if c := d.Figures[1].Curves[0]; len(c.Points) != 2 || c.Points[1].X != 1500 ||
		math.Abs(c.Points[1].Y-.75) > 1e-12 {
		t.Errorf("%v", c.Points)
	}
}

// Instances with an agent that has no neighbor are passed over, as the graph itself
// finds them, and what stands in their place runs.
func TestLinkedSeeds(t *testing.T) {
	const agents, first, n = allocAgents, 7001, 20
	alone := func(seed int) bool {
		split, err := drawTasks(agents, 10, uint64(seed))
		if err != nil {
			t.Fatal(err)
		}
		a, err := topology.Similarities["similarity"](func(any) error { return nil }, split.GroundTruth)
		if err != nil {
			t.Fatal(err)
		}
		linked := map[int]bool{}
		for _, e := range a.Edges {
			linked[int(e.I)], linked[int(e.J)] = true, true
		}
		return len(linked) < agents
	}
	var want []int
	skipped := 0
	for seed := first; len(want) < n; seed++ {
		if alone(seed) {
			skipped = seed
		} else {
			want = append(want, seed)
		}
	}
	if skipped == 0 {
		t.Fatal("no instance has an agent alone: the test shows nothing")
	}
	if got := linkedSeeds(agents, first, n); !slices.Equal(got, want) {
		t.Errorf("seeds %v, want %v", got, want)
	}
	x := allocTask("equal")
	x.seed = want[n-1]
	if rows := runTasks(t, t.TempDir(), x); len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
}
