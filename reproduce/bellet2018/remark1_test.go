package bellet2018

import (
	"math"
	"testing"

	"sotto/data/summary"
	"sotto/experiment/run"
	"sotto/experiment/sweep"

	"sotto/experiment/rundir"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// n/(n + t) (distance/2 + Q(0) - Q*), by hand: 100/200 (4/2 + 5 - 1) = 3.
func TestRemark1Bound(t *testing.T) {
	o := convexOptimum{start: 5, least: 1, distance: 4}
	if got := o.bound(100); got != 3 {
		t.Errorf("%g, want 3", got)
	}
}

// Where coordinate descent ends is where L-BFGS does, to the error that 20,000 wakes
// leave, and never below it by more than float32 makes. Q(0) is ln 2 times the weights of
// all losses.
func TestConvexOptimum(t *testing.T) {
	x := convexTask(2)
	x.seed, x.wakes, x.every = 2, 20_000, 20_000
	o, err := newConvexOptimum(2, 2)
	if err != nil {
		t.Fatal(err)
	}
	split, err := drawTasks(taskAgents, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	p, most, sum := linked(split), 0, 0.
	for _, m := range summary.Of(split.Train).Groups {
		most = max(most, m)
	}
	for i, m := range p.sizes {
		sum += p.degrees[i] * float64(m) / float64(most)
	}
	if want := sum * math.Ln2; math.Abs(o.start/want-1) > 1e-12 {
		t.Errorf("Q(0) = %g, want %g", o.start, want)
	}
	end := math.NaN()
	study, err := sweep.New("test", []byte(taskBase), taskAxes, []sweep.Cell{x.cell(false)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = study.Run(t.Context(), sweep.Options{Dir: t.TempDir(), Discard: true,
		Keep: func(_ sweep.Row, res *run.Result) error {
			rows, err := rundir.ReadMetrics(res.Dir)
			for _, r := range rows {
				if r.Metric == "objective" && r.Agent == "all" {
					end = r.Value
				}
			}
			return err
		}})
	if err != nil {
		t.Fatal(err)
	}
	if gap := end - o.least; !(gap > -1e-4) || !(gap < 1e-2) {
		t.Errorf("coordinate descent ends at %g, the minimum is %g", end, o.least)
	}
}

// The document says that a bound is exceeded where a run stays above it.
func TestRemark1Document(t *testing.T) {
	s := Paper.Studies["remark1"]
	f := &reproduce.Results{Rows: reproducetest.Runs(s.Cells(reproduce.Smoke),
		func([]string) float64 { return .8 }), Curves: reproduce.Curves{}, Scale: reproduce.Smoke}
	o, err := newConvexOptimum(2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Rows {
		k := reproduce.CurveKey(&f.Rows[i])
		for _, w := range []uint64{0, 500, 2000} {
			q := o.least + .5*o.bound(w)
			if w == 2000 {
				q = o.least + 1.01*o.bound(w)
			}
			f.Curves[k] = append(f.Curves[k],
				rundir.Row{Round: w, Agent: "all", Metric: "objective", Value: q})
		}
	}
	d := s.Report(f)
	if len(d.Rows) < 2 || d.Rows[0][4] != "yes" || d.Rows[1][4] != "no" {
		t.Fatalf("%q", d.Rows)
	}
	// From .5·100/600 to 1.01·100/2100 of one constant while t is four times as large.
	want := math.Log((1.01/2100)/(.5/600)) / math.Log(4)
	if got := reproduce.Number(d.Rows[1][5]); math.Abs(got-want) > .0051 {
		t.Errorf("slope %g, want %g", got, want)
	}
}
