package bellet2018

import (
	"fmt"
	"slices"
	"strconv"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// The knobs of every method are chosen on problem instances of other seeds than those of
// the results, as the paper chose the number of updates.
var validationSeeds = []int{101, 102, 103}

var dims = []int{2, 10, 20, 50, 100}

var claimedBudgets = []string{"1.05", "0.55", "0.15"}

// searched are the methods whose knobs are searched, and where.
var searched = []struct {
	method  string
	knobs   []float64
	updates []int
	others  []string
}{
	{"cd", []float64{.04, .1, .2, .5, 1, 2, 5}, []int{0}, []string{""}},
	{"cd-gaussian", []float64{.04, .2, 1}, []int{1, 4, 16}, []string{""}},
	{"cd-laplace", []float64{.04, .2, 1}, []int{1, 4, 16}, []string{""}},
	{"smooth-gaussian", []float64{.1, .2, .4, .8, 1.6}, []int{1}, []string{"", "zero-out"}},
	{"smooth-laplace", []float64{.1, .2, .4, .8, 1.6}, []int{1}, []string{"", "zero-out"}},
}

// budgetsOf are the budgets a method has results for.
func budgetsOf(method string) []string {
	if method == "cd" {
		return []string{"none"}
	}
	return claimedBudgets
}

// length sets how long a method runs: until nothing changes any more.
func (t task) length() task {
	switch t.method {
	case "local":
		t.wakes = 100
	case "smooth-gaussian", "smooth-laplace":
		t.wakes = 10_000
	default:
		t.wakes = 3000
	}
	t.every = t.wakes
	return t
}

// searchTasks are the runs of the search on one instance, with one method's settings
// apart.
func searchTasks(seed int, small bool, each func(t task)) {
	for _, s := range searched {
		for _, dim := range dims {
			if small && dim != 2 {
				continue
			}
			for _, other := range s.others {
				for _, budget := range reproduce.Ends(budgetsOf(s.method), small) {
					for _, updates := range s.updates {
						for _, knob := range s.knobs {
							each(task{
								mode:    "sound",
								method:  s.method,
								points:  "cube",
								dim:     dim,
								budget:  budget,
								updates: updates,
								knob:    knob,
								other:   other,
								seed:    seed,
							}.length())
						}
					}
				}
			}
		}
	}
}

func tuningCells(small bool) []sweep.Cell {
	var cells []sweep.Cell
	seeds := validationSeeds
	if small {
		seeds = seeds[:1]
	}
	for _, seed := range seeds {
		searchTasks(seed, small, func(t task) { cells = append(cells, t.cell(small)) })
	}
	return cells
}

// chosen is what the search has found.
type chosen struct {
	updates int
	knob    float64
}

// setting is what knobs are chosen for, and settingKey at which budget.
type setting struct {
	method, other string
	dim           int
}

type settingKey struct {
	setting
	budget string
}

// best finds the settings of the highest mean accuracy over validation seeds; of equal
// ones the first of the search.
func best(f *reproduce.Results) (map[settingKey]chosen, map[settingKey]reproduce.Sample) {
	r := collectTasks(f)
	found, scores := map[settingKey]chosen{}, map[settingKey]reproduce.Sample{}
	searchTasks(validationSeeds[0], false, func(t task) {
		k := settingKey{setting{t.method, t.other, t.dim}, t.budget}
		if s := r.Accuracy(t); len(s) > 0 && (len(scores[k]) == 0 || s.Mean() > scores[k].Mean()) {
			found[k], scores[k] = chosen{t.updates, t.knob}, s
		}
	})
	return found, scores
}

// tuning lists what was chosen.
func tuning(f *reproduce.Results) *reproduce.Document {
	found, scores := best(f)
	d := &reproduce.Document{Header: []string{"method", "setting", "p", "epsilon", "updates of an agent",
		"μ or κ", "accuracy, validation instances"}}
	for _, s := range searched {
		for _, other := range s.others {
			for _, dim := range dims {
				for _, b := range budgetsOf(s.method) {
					k := settingKey{setting{s.method, other, dim}, b}
					if c, ok := found[k]; ok {
						updates := strconv.Itoa(c.updates)
						if c.updates == 0 {
							updates = "each wake"
						}
						d.Add(methodNames[s.method], other, dim, b, updates, reproduce.Exactly(c.knob),
							scores[k])
					}
				}
			}
		}
	}
	d.Notes = []string{fmt.Sprintf("problem instances of seeds %v; the results are those of seeds %v, "+
		"other rules, points and noise", validationSeeds, resultSeeds(false))}
	if f.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: 200 wakes, one instance")
	}
	return d
}

// tuned applies what the search found.
func (t task) tuned() task {
	found := choices[setting{t.method, t.other, t.dim}]
	i := slices.Index(budgetsOf(t.method), t.budget)
	if i < 0 || i >= len(found) {
		panic(fmt.Sprintf("nothing was chosen for %v", t)) // a mistake in this package
	}
	t.updates, t.knob = found[i].updates, found[i].knob
	return t.length()
}
