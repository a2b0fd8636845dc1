package tune

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"

	"sotto/data"
	"sotto/experiment"
	"sotto/rng"
)

// rowsWith makes members with these scores, each with its number for a value.
func rowsWith(scores ...float64) []Trial {
	var rows []Trial
	for i, s := range scores {
		rows = append(rows, Trial{
			Generation: 1,
			Trial:      i + 1,
			Score:      s,
			Values:     []string{strconv.Itoa(i + 1)},
		})
	}
	return rows
}

func populationOf(quantile, resample float64, space ...string) *Search {
	t := &Search{p: tuneParams{Method: methodPBT, Quantile: quantile, Resample: resample, Seed: 5}}
	for _, flag := range space {
		d, err := parseSpaceFlag(flag)
		if err != nil {
			panic(err)
		}
		t.space = append(t.space, d)
	}
	return t
}

// evolved is evolve where all values can be run.
func evolved(t *testing.T, s *Search, g int, rows []Trial) []member {
	t.Helper()
	next, err := s.evolve(g, rows, func(int, []string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// After a generation the bottom quarter, and nobody else, goes on from a member of the
// top quarter, with that member's value times 1.2 or .8; both factors and all donors
// occur.
func TestPopulationExploitsAndExplores(t *testing.T) {
	// top quarter: 2 and 6; bottom: 4 (no number) and 3
	rows := rowsWith(.5, .9, .1, math.NaN(), .6, .8, .3, .4)
	pop := populationOf(.25, 0, "k=uniform:0.1:1000")
	donors, factors := map[int]int{}, map[float64]int{}
	const n = 400
	for g := 1; g <= n; g++ {
		for i, m := range evolved(t, pop, g, rows) {
			x, _ := strconv.ParseFloat(m.values[0], 64)
			if n := i + 1; n != 3 && n != 4 {
				if m.from != n || x != float64(n) {
					t.Fatalf("member %d of the upper three quarters goes on from %d with %g", n, m.from, x)
				}
				continue
			}
			if m.from != 2 && m.from != 6 {
				t.Fatalf("member %d copies member %d, which is not in the top quarter", i+1, m.from)
			}
			donors[m.from]++
			factors[math.Round(1e9*x/float64(m.from))/1e9]++
		}
	}
	// Two members in each generation: binomial counts of 800, at a false-reject rate of
	// 1e-6 each.
	half := 4.9 * math.Sqrt(2*n) / 2
	if len(donors) != 2 || math.Abs(float64(donors[2]-n)) > half {
		t.Errorf("donors %v, want 2 and 6 alike", donors)
	}
	if len(factors) != 2 || math.Abs(float64(factors[1.2]-n)) > half ||
		math.Abs(float64(factors[.8]-n)) > half {
		t.Errorf("factors %v, want 1.2 and .8 alike", factors)
	}
}

// A quarter is rounded up, and at most half; numbers stay in their range; choices move to
// a neighbour.
func TestPopulationRules(t *testing.T) {
	for _, tc := range []struct {
		members, copies int
		quantile        float64
	}{{2, 1, .25}, {3, 1, .25}, {4, 1, .25}, {5, 2, .25}, {8, 2, .25}, {9, 3, .25}, {5, 2, .5},
		{10, 1, .01}} {
		var scores []float64
		for i := range tc.members {
			scores = append(scores, float64(i))
		}
		moved := 0
		pop := populationOf(tc.quantile, 0, "k=uniform:0.1:1000")
		for i, m := range evolved(t, pop, 3, rowsWith(scores...)) {
			if m.from != i+1 {
				moved++
			}
		}
		if moved != tc.copies {
			t.Errorf("%d of %d members copy at quantile %g, want %d", moved, tc.members, tc.quantile,
				tc.copies)
		}
	}
	pop := populationOf(.25, 0, "a=uniform:0.9:1.1", "b=x,y,z", "c=integer:1:100")
	seen := map[string]bool{}
	for g := range 200 {
		v := pop.space.explore([]string{"1", "y", "10"}, pop.p.Resample, rng.Public(11, "explore", uint64(g)))
		if v[0] != "0.9" && v[0] != "1.1" || v[1] != "x" && v[1] != "z" || v[2] != "8" && v[2] != "12" {
			t.Fatalf("1, y, 10 becomes %v", v)
		}
		seen[v[1]] = true
		if v := pop.space.explore([]string{"1", "x", "10"}, pop.p.Resample,
			rng.Public(11, "explore", uint64(g))); v[1] != "x" &&
			v[1] != "y" {
			t.Fatalf("x becomes %s", v[1])
		}
	}
	if len(seen) != 2 {
		t.Errorf("y moves to %v only", seen)
	}
	// With probability resample a value is drawn anew: binomial, false-reject rate 1e-6.
	pop = populationOf(.25, .25, "a=uniform:0:1000000")
	const n = 4000
	fresh := 0
	for g := range n {
		if v := pop.space.explore([]string{"1000"}, pop.p.Resample,
			rng.Public(11, "explore", uint64(g)))[0]; v != "1200" &&
			v != "800" {
			fresh++
		}
	}
	if math.Abs(float64(fresh)-n/4) > 4.9*math.Sqrt(n*.25*.75) {
		t.Errorf("%d of %d values are drawn anew, want a quarter", fresh, n)
	}
}

// A member that copies another has exactly its weights and its round, and goes on from
// there as a run with the copier's values, noise and batches would; members that never
// copy end with the bits of single runs.
func TestMembersGoOnFromWeights(t *testing.T) {
	s := tinySearch(t, "method = \"pbt\"\npopulation = 3\ninterval = 5", "algorithm.optimizer=momentum",
		"algorithm.momentum=0.5",
		"privacy.mechanism=gaussian", "privacy.noise_multiplier=2.0", "privacy.target_delta=1e-3",
		"rounds=10")
	res := search(t, s, Options{Workers: 2})
	w := &searching{t: s, dir: t.TempDir(), cache: data.NewCache()}
	var states [][32]byte
	for n := 1; n <= 3; n++ {
		e := w.mustBuild(t, n)
		r, err := w.continued(e, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Advance(context.Background(), 5); err != nil {
			t.Fatal(err)
		}
		if err := r.Save(w.memberDir(1, n)); err != nil {
			t.Fatal(err)
		}
		states = append(states, r.Digest())
	}
	donor, copier := 1, 2
	r, err := w.continued(w.mustBuild(t, copier), 1, donor)
	if err != nil {
		t.Fatal(err)
	}
	if r.Digest() != states[donor-1] {
		t.Error("the copy does not have the whole state of the member it copies")
	}
	if n := r.Ledgers[0].Head().Seq; n != 5 {
		t.Errorf("its ledgers hold %d charges, want the 5 of the member it copies", n)
	}
	if err := r.Advance(context.Background(), 10); err != nil {
		t.Fatal(err)
	}
	own, err := w.continued(w.mustBuild(t, donor), 1, donor)
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Advance(context.Background(), 10); err != nil {
		t.Fatal(err)
	}
	if r.Digest() == own.Digest() {
		t.Error("the copy goes on with the other member's values and noise")
	}
	for _, row := range res.Rows {
		e := w.mustBuild(t, row.Trial)
		if row.Generation != 2 || row.From != row.Trial {
			continue
		}
		alone := train(t, e)
		if got := float64(alone.Summary.Accuracy.Mean); got != row.Accuracy {
			t.Errorf("member %d, which never copied, has accuracy %g; a run alone has %g", row.Trial,
				row.Accuracy, got)
		}
	}
	wider := *s
	wider.set = append(slices.Clone(s.set), "model.hidden=[5]")
	f, err := wider.trial(2, s.candidate(2))
	if err != nil {
		t.Fatal(err)
	}
	wide, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.continued(wide, 1, donor); err == nil {
		t.Error("weights of another model are taken")
	}
}

func (w *searching) mustBuild(t *testing.T, n int) *experiment.Experiment {
	t.Helper()
	e, err := w.build(n, w.t.candidate(uint64(n)))
	if err != nil {
		t.Fatal(err)
	}
	return e
}
