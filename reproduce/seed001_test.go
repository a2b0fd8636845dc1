package reproduce

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sotto/experiment/sweep"
	"strings"
	"testing"

	"sotto/data"
	"sotto/experiment/rundir"
	"sotto/internal/rowfile"
	"sotto/topology"
)

func runTasks(t *testing.T, dir string, keep *curveFile, tasks ...task) []sweep.Row {
	t.Helper()
	var cells []sweep.Cell
	for _, x := range tasks {
		cells = append(cells, x.cell(false))
	}
	s, err := sweep.New("test", []byte(seed001Base), seed001Axes, cells)
	if err != nil {
		t.Fatal(err)
	}
	opt := sweep.Options{Dir: dir, Discard: true}
	if keep != nil {
		opt.Keep = keep.keep
	}
	res, err := s.Run(context.Background(), opt)
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
		wakes:   1000,
		every:   1000,
	}
	rows := runTasks(t, t.TempDir(), nil, x)
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
	rows := runTasks(t, t.TempDir(), nil, smooth, local)
	if rows[0].Accuracy.Mean <= rows[1].Accuracy.Mean {
		t.Errorf("accuracy %g with neighbors, %g alone", rows[0].Accuracy.Mean, rows[1].Accuracy.Mean)
	}
	if rows[0].EpsilonUpper > 1.05 || rows[0].Charges != 1 {
		t.Errorf("epsilon %g in %d charges, at most 1.05 in one", rows[0].EpsilonUpper, rows[0].Charges)
	}
}

// Kept metrics read back by run and round; those of every agent have the mean that the
// row says. A torn last line is dropped, a line that is there twice counts once, and
// other columns and bad values are refused.
func TestCurves(t *testing.T) {
	dir := t.TempDir()
	x := task{
		mode:   "sound",
		method: "cd",
		points: "sphere",
		dim:    2,
		budget: "none",
		knob:   1,
		seed:   3,
		wakes:  300,
		every:  100,
	}
	y := x
	y.knob = 2
	rows := runTasks(t, dir, newCurveFile(dir, 0, 1, true), x, y)
	path := filepath.Join(dir, "curves.csv")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"whole": string(b),
		"twice": string(b) + strings.SplitN(string(b), "\n", 2)[1], "torn": string(b) + "00ff,3"} {
		all := curves{}
		kept, err := rowfile.Decode(path, []byte(text), curveCodec)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all.add(kept)
		for k := range rows {
			rounds, values := series(all.of(&rows[k]), "accuracy", "mean")
			if !slices.Equal(rounds, []uint64{0, 100, 200, 300}) ||
				math.Abs(values[3]-rows[k].Accuracy.Mean) > 1e-7 {
				t.Errorf("%s: accuracies %v in rounds %v, the row has %v", name, values, rounds,
					rows[k].Accuracy.Mean)
			}
			own := sample(rows001{curves: all}.byAgent(&rows[k]))
			if len(own) != 100 || math.Abs(own.mean()-rows[k].Accuracy.Mean) > 1e-7 {
				t.Errorf("%s: %d agents of mean accuracy %v", name, len(own), own.mean())
			}
		}
	}
	all, err := readCurves(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := tidyCurves(dir, rows, all); err != nil {
		t.Fatal(err)
	}
	once, _ := os.ReadFile(path)
	slices.Reverse(rows)
	if err := tidyCurves(dir, rows, all); err != nil {
		t.Fatal(err)
	}
	again, _ := os.ReadFile(path)
	if len(once) != len(again) || string(once) == string(again) {
		t.Error("the order of the file is not that of the rows")
	}
	head := strings.Join(curveColumns, ",") + "\n"
	for _, text := range []string{"a,b\n1,2\n", head + "aa,3,fma,x,mean,accuracy,1\n",
		head + "aa,3,fma,1,mean,accuracy,none\n"} {
		if _, err := rowfile.Decode(path, []byte(text), curveCodec); err == nil ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// An instance made again has the sizes of the run's, and the degrees of its graph.
func TestLinearProblem(t *testing.T) {
	p, err := newLinearProblem(4)
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
	if !slices.Equal(p.sizes, data.Inspect(split.Train).Groups) {
		t.Error("sizes depend on the dimension")
	}
	a, err := topology.Similarities["similarity"](func(any) error { return nil }, split.Hidden)
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
	gain, interval := pairedGain(sample{2, 4, 6}, sample{1, 2, 3})
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
	axes, rows, err := sweep.ReadRows("../docs/results/seed001-tuning/cells.csv")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(axes, seed001Axes) {
		t.Fatalf("axes %v", axes)
	}
	found, _ := best(rows)
	if len(found) != len(choices001) {
		t.Errorf("%d settings were searched, %d are chosen", len(found), len(choices001))
	}
	for _, c := range choices001 {
		if found[c.settingKey] != c.chosen {
			t.Errorf("%v: %v was chosen, the search found %v", c.settingKey, c.chosen, found[c.settingKey])
		}
	}
}

// The documents have a row for each setting and what their plots need, with figures from
// nothing but the rows and kept metrics.
func TestDocuments001(t *testing.T) {
	for name, want := range map[string]int{"seed001-figure2c": len(dims001) * (2 + len(budgets001)*7),
		"seed001-figure4": len(dims001) * len(figure4Budgets)} {
		s := Studies[name]
		f := &found{rows: rowsFor(s.cells(Full), func(v []string) float64 { return .8 }), curves: curves{},
			scale: Full}
		d := s.report(f)
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
	s := Studies["seed001-figure1"]
	f := &found{rows: rowsFor(s.cells(Full), func(v []string) float64 { return .8 }), curves: curves{},
		scale: Full}
	for i := range f.rows {
		r := &f.rows[i]
		r.ConfigDigest = fmt.Sprintf("%016d", i)
		k := curveKey(r.ConfigDigest, r.Engine, r.Arithmetic)
		for _, w := range []uint64{0, 1500} {
			f.curves[k] = append(f.curves[k],
				rundir.Row{Round: w, Agent: "mean", Metric: "accuracy", Value: .6 + float64(w)/1e4},
				rundir.Row{Round: w, Agent: "all", Metric: "objective", Value: 200},
				rundir.Row{Round: w, Agent: "all", Metric: "vectors_sent", Value: float64(w)})
		}
	}
	d := s.report(f)
	if len(d.Rows) != 2*(2+len(figure1Rhos)) || d.Rows[0][2] != "60.00 ± 0.00" ||
		d.Rows[0][6] != "2.00 ± 0.00" {
		t.Errorf("%q", d.Rows)
	}
	if c := d.Figures[1].Curves[0]; len(c.Points) != 2 || c.Points[1].X != 1500 ||
		math.Abs(c.Points[1].Y-.75) > 1e-12 {
		t.Errorf("%v", c.Points)
	}
}
