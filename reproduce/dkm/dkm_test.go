package dkm

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/experiment/sweep"
	"sotto/report/plot"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// Every iteration finds its own rows: errors of .5 for what is sent and .25 for what is
// put out are in its line, infinity beside the claim of published forms alone, and the
// panels have a curve for each run.
func TestIterationTables(t *testing.T) {
	for study, lines := range map[string]int{"seed003-figure1": 1 + 8*6, "seed003-figure2": 3*7 + 9*8,
		"seed003-figure3": 12*7 + 12*8} {
		s := Paper.Studies[strings.TrimPrefix(study, "seed003-")]
		rows := reproducetest.Runs(s.Cells(reproduce.Full), func([]string) float64 { return 0 })
		if len(rows) != 20*lines {
			t.Errorf("%s: %d runs, want 20 times %d", study, len(rows), lines)
		}
		kept := reproduce.Curves{}
		for i := range rows {
			rows[i].ConfigDigest = fmt.Sprintf("%016x%048x", i, 0) // curves go by the first sixteen digits
			k := reproduce.CurveKey(&rows[i])
			kept[k] = []rundir.Row{{Round: 0, Agent: "all", Metric: "estimation_rmse", Value: 1},
				{Round: 200, Agent: "all", Metric: "estimation_rmse", Value: .5}}
			if rows[i].EpsilonUpper = .5; rows[i].Values[0] == "published" {
				rows[i].EpsilonUpper = math.Inf(1)
				kept[k] = append(kept[k], rundir.Row{
					Round:  200,
					Agent:  "all",
					Metric: "estimation_rmse_noise_free",
					Value:  .25,
				})
			}
		}
		d := s.Report(&reproduce.Results{Rows: rows, Curves: kept, Scale: reproduce.Full})
		if len(d.Rows) != lines {
			t.Errorf("%s: %d lines, want %d", study, len(d.Rows), lines)
		}
		for _, r := range d.Rows {
			published, none := strings.HasPrefix(r[4], "published"), r[4] == "no noise"
			if (r[6] != "") != published || (r[8] == "∞") != (published || none) ||
				!strings.HasPrefix(r[10], "0.5") || (r[11] != "") != (published || none) {
				t.Errorf("%s: %q", study, r)
			}
		}
		for _, f := range d.Figures {
			if !slices.ContainsFunc(f.Curves, func(c plot.Curve) bool {
				return strings.HasPrefix(c.Name, "published")
			}) {
				t.Errorf("%s: %s has no published curve", study, f.Name)
			}
		}
	}
}

// One round of each form runs: the published one claims what it does not keep, the sound
// one keeps it.
func TestIterationRuns(t *testing.T) {
	base := iteration{loss: "logistic", method: "SPGD", graph: "complete", agents: 3}
	for _, i := range versions(base, "3", "1e-3") {
		i.rounds, i.seed = 2, 1
		s, err := sweep.New("test", []byte(iterationBase), iterationAxes,
			[]sweep.Cell{i.cell(false)})
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Run(context.Background(),
			sweep.Options{Dir: t.TempDir(), Discard: true, Workers: 1})
		if err != nil {
			t.Fatalf("%s: %v", i.name(), err)
		}
		if eps := res.Rows[0].EpsilonUpper; math.IsInf(eps, 1) != (i.form == "published") ||
			i.form != "published" && math.Abs(eps-3) > .01 {
			t.Errorf("%s: epsilon %v", i.name(), eps)
		}
	}
}

// Every choice of the scan has rows of its own, and its settings say what its axes do.
func TestScan(t *testing.T) {
	s := Paper.Studies["scan"]
	cells := s.Cells(reproduce.Full)
	rows := reproducetest.Runs(cells, func([]string) float64 { return 0 })
	// 5 values of α at two lengths in 4 versions, 6 schedules, 5 values of λ in 2
	// versions of which one each is among the former, 6 schedules of the published form
	const lines = 40 + 6 + 8 + 18
	if len(rows) != 20*lines {
		t.Errorf("%d runs, want 20 times %d", len(rows), lines)
	}
	d := s.Report(&reproduce.Results{Rows: rows, Curves: reproduce.Curves{}, Scale: reproduce.Full})
	if len(d.Rows) != lines {
		t.Errorf("%d lines, want %d", len(d.Rows), lines)
	}
	for _, c := range cells {
		if _, err := sweep.New("test", []byte(s.Base), s.Axes, []sweep.Cell{c}); err != nil {
			t.Fatalf("%v: %v", c.Values, err)
		}
		want := []string{"algorithm.alpha=" + c.Values[9], "algorithm.l1=" + c.Values[11]}
		if c.Values[10] != "" {
			want = append(want, `algorithm.alpha_schedule="inverse"`, "algorithm.alpha_tau="+c.Values[10])
		}
		if got := c.Set[len(c.Set)-len(want):]; !slices.Equal(got, want) {
			t.Fatalf("%v: %q, want %q", c.Values, got, want)
		}
	}
}

// Theorem 1 misses the largest distance at K = 1 by the number of records; Theorem 5 the
// part of the mean: on the complete graph the noise's mean alone is p M = 50, where it
// allows 2·10·(4λ² + 1) = 20 (measured mean of 200 draws, sd about .8).
func TestTheorems(t *testing.T) {
	d, err := theorems(context.Background(), reproduce.Options{Scale: reproduce.Smoke})
	if err != nil {
		t.Fatal(err)
	}
	holds := map[string]string{}
	for _, r := range d.Rows {
		holds[strings.Join(r[:3], " ")] = r[6]
		if r[0] == "1" && r[1] == "ring, K = 1" && r[2] == "largest distance" {
			if got, bound := reproduce.Number(r[3]), reproduce.Number(r[4]); math.Abs(got/bound-20) > .01 {
				t.Errorf("largest distance %v, bound %v, want 20 times that", got, bound)
			}
		}
		// On the complete graph λ = 0: of the second sum only α_{k-1} is left. Where the
		// record is drawn in every round and saturates B with either sign, the mean
		// iterate moves by 2B α_k/M in each.
		if r[0] == "1" && r[1] == "complete, K = 5, α_k = 0.3/(1 + k/5)" && r[2] == "largest distance" {
			bound, apart := 0., 0.
			for k := range 5 {
				a := .3 / (1 + float64(k)/5)
				apart += 2 * a / 5
				bound += 2 * a / 100
				if k > 0 {
					bound += 4 * (1 + 2*a) * .3 / (1 + float64(k-1)/5)
				}
			}
			if got := reproduce.Number(r[3]); math.Abs(got/apart-1) > .01 {
				t.Errorf("largest distance %v, want %v", got, apart)
			}
			if got := reproduce.Number(r[4]); math.Abs(got/bound-1) > 1e-3 {
				t.Errorf("bound %v, want %v", got, bound)
			}
		}
	}
	for what, want := range map[string]string{
		"1 ring, K = 1 largest distance":                                 "no",
		"1 ring, K = 5 largest distance":                                 "yes",
		"1 ring, K = 5, α_k = 0.3/(1 + k/5) expected distance":           "yes",
		"1 ring, K = 5, α_k = 0.3/(1 + k/5) largest distance":            "yes",
		"5 complete, μ = 1 squared norm after mixing":                    "no",
		"5 complete, μ = 0 squared norm after mixing":                    "yes",
		"2 memoriser, ε = 0, δ = 1e-3, M = 1, R = 10 generalisation gap": "no",
	} {
		if holds[what] != want {
			t.Errorf("%s: %q, want %q", what, holds[what], want)
		}
	}
}

// TestClaim51: Theorem 2 bounds the generalisation gap by (1-e^-eps) R + e^-eps M delta.
// With M = 1, epsilon 0, a loss in [0, R] and R = 10 a memoriser that puts out its data
// with probability delta = 1e-3 has the gap .01, and the bound is .001: the second term
// lacks a factor R. The sound form R (1-e^-eps) + R e^-eps delta holds. The memoriser is
// drawn on a million records, of which it is given two; with 4 million draws the mean gap
// is off by more than 6 standard errors with probability below 2e-9.
func TestClaim51(t *testing.T) {
	const largest, delta, universe, given, draws = 10., 1e-3, 1e6, 2., 4_000_000
	r := rand.New(rand.NewPCG(51, 1))
	sum := 0.
	for range draws {
		if r.Float64() < delta { // the data, with loss 0 on them
			sum += largest * (universe - given) / universe
		}
	}
	gap, error := sum/draws, largest*math.Sqrt(delta/draws)
	if want := memoriserGap(delta, largest); math.Abs(gap-want) > 6*error+1e-6*want {
		t.Errorf("gap %v, want %v within %v", gap, want, 6*error)
	}
	published, sound := gapBounds(0, delta, 1, largest)
	if gap < 9*published {
		t.Errorf("gap %v, published bound %v", gap, published)
	}
	if gap > sound+6*error || math.Abs(sound-.01) > 1e-12 || math.Abs(published-.001) > 1e-12 {
		t.Errorf("gap %v, sound bound %v, published %v", gap, sound, published)
	}
	if loose, _ := gapBounds(math.Ln2, 0, 5, largest); math.Abs(loose-largest/2) > 1e-12 {
		t.Errorf("the first term at epsilon ln 2 is %v, want half of R", loose)
	}
}
