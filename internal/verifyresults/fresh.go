package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/experiment/run"
	"sotto/reproduce"
	"sotto/reproduce/papers"
)

// fresher is added to every seed of a group: no table has seeds so large.
const fresher = 70_000

// group is what a study ran with several seeds: rows that differ in the seed alone.
type group struct {
	rows  []*cell
	seeds []uint64
	long  bool // a row took longer than asked for
}

// fresh runs random groups of rows again, each run with a seed that no table has, and
// sets the means of their main figure side by side: the accuracy, or the loss of a
// regression. Equal laws put the difference within two standard errors of a difference
// 19 times in 20, or less often in groups of few seeds; the p value is Welch's.
func fresh(count int, seconds float64) error {
	groups, err := readGroups(seconds)
	if err != nil {
		return err
	}
	rand.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	groups = spreadOut(groups)
	if len(groups) == 0 {
		return fmt.Errorf("%s have no group of three seeds and more for %s", studyTables, machine())
	}
	fmt.Println("| rows | figure | seeds | in the table | with other seeds | standard errors | p |")
	fmt.Println("|---|---|---|---|---|---|---|")
	within, done := 0, min(count, len(groups))
	for _, g := range groups[:done] {
		apart, err := g.again()
		if err != nil {
			return err
		}
		if apart <= 2 {
			within++
		}
	}
	fmt.Printf("\n%d of %d within two standard errors\n", within, done)
	return nil
}

// spreadOut puts groups into an order in which every study has had its turn before any
// has a second one.
func spreadOut(groups []*group) []*group {
	turns := map[string]int{}
	turn := make(map[*group]int, len(groups))
	for _, g := range groups {
		folder := g.rows[0].folder
		turn[g] = turns[folder]
		turns[folder]++
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(turn[a], turn[b]) })
	return groups
}

// readGroups reads the groups of three seeds and more whose rows can be had here, and,
// but with 0, were made in at most that many seconds each.
func readGroups(seconds float64) ([]*group, error) {
	cells, err := readCells()
	if err != nil {
		return nil, err
	}
	times := map[string]map[reproduce.RunKey]reproduce.RunTime{}
	byKey := map[string]*group{}
	var keys []string
	for i := range cells {
		c := &cells[i]
		at := slices.Index(c.axes, "seed")
		if at < 0 || !c.here() {
			continue
		}
		took, ok := times[c.folder]
		if !ok {
			if took, err = reproduce.ReadTimes(filepath.Join("docs/results", c.folder)); err != nil {
				return nil, err
			}
			times[c.folder] = took
		}
		seed, err := strconv.ParseUint(c.row.Values[at], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: seed %q is no number", c.name(), c.row.Values[at])
		}
		key := c.folder + " " + strings.Join(slices.Delete(slices.Clone(c.row.Values), at, at+1), " ")
		g := byKey[key]
		if g == nil {
			g = new(group)
			byKey[key] = g
			keys = append(keys, key)
		}
		g.rows, g.seeds = append(g.rows, c), append(g.seeds, seed)
		if t, ok := took[reproduce.TimeKey(&c.row)]; seconds > 0 && (!ok || t.Seconds > seconds) {
			g.long = true
		}
	}
	var groups []*group
	for _, key := range keys {
		if g := byKey[key]; len(g.rows) >= 3 && !g.long {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// again runs the group with other seeds, prints both means and returns their difference
// in standard errors of a difference.
func (g *group) again() (float64, error) {
	first := g.rows[0]
	regression := math.IsNaN(first.row.Accuracy.Mean)
	what := "accuracy, %"
	if regression {
		what = "loss"
	}
	var was, is reproduce.Sample
	for i, c := range g.rows {
		e, err := papers.All.WithSeed(c.axes, &c.row, g.seeds[i]+fresher,
			cmp.Or(os.Getenv("SOTTO_DATA"), "data"))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.name(), err)
		}
		out, err := os.MkdirTemp("", "sotto-results-")
		if err != nil {
			return 0, err
		}
		res, err := run.Run(context.Background(), e, run.Options{Out: out})
		if e := os.RemoveAll(out); err == nil {
			err = e
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.name(), err)
		}
		if regression {
			was, is = append(was, c.row.Loss), append(is, float64(res.Summary.Loss))
		} else {
			was, is = append(was, 100*c.row.Accuracy.Mean), append(is, 100*res.Summary.Accuracy.Mean)
		}
	}
	apart, p := welch(was, is)
	seeds := fmt.Sprintf("%d to %d, %d to %d", slices.Min(g.seeds), slices.Max(g.seeds),
		slices.Min(g.seeds)+fresher, slices.Max(g.seeds)+fresher)
	at := slices.Index(first.axes, "seed")
	fmt.Printf("| %s: %s | %s | %s | %s | %s | %.2f | %.2f |\n", first.name(),
		strings.Join(slices.Delete(slices.Clone(first.row.Values), at, at+1), " "), what, seeds,
		was.Significant(), is.Significant(), apart, p)
	return apart, nil
}

// welch returns how far two means are apart in standard errors of their difference, and
// the two-sided p value of Welch's test. Equal means without any spread are 0 apart.
func welch(a, b reproduce.Sample) (apart, p float64) {
	va, vb := a.SD()*a.SD()/float64(len(a)), b.SD()*b.SD()/float64(len(b))
	d := math.Abs(a.Mean() - b.Mean())
	if d == 0 {
		return 0, 1
	}
	se := math.Sqrt(va + vb)
	if se == 0 {
		return math.Inf(1), 0
	}
	nu := (va + vb) * (va + vb) / (va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
	return d / se, 2 * distuv.StudentsT{Sigma: 1, Nu: nu}.Survival(d/se)
}
