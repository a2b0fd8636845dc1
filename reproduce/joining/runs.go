package joining

import (
	"fmt"
	"slices"
	"strconv"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// axes are those of all studies here. Records are an owner's for training, on the mean of
// owners, and empty where a data set has its own owners.
var axes = []string{"group", "owners", "records", "noise", "budget", "seed"}

// base trains by private Newton steps, of which nothing is tuned, and ends with every
// owner's own model. What owners are tested on is never trained on.
const base = `
name = "joining"

[topology]
graph = "complete"

[algorithm]
name = "newton"

[privacy]
target_delta = 1e-4

[evaluate]
on = "own"
every = 1000

[personal]
enabled = true
`

// Kinds of noise of a run.
const (
	ownNoise = "own"     // each owner adds noise for itself
	shared   = "shared"  // owners share noise, which adds up to that of one trusted curator
	central  = "central" // one trusted curator holds all records
	plain    = "none"    // no noise, not private
)

var (
	noises  = []string{ownNoise, shared, central}
	budgets = []string{"0.5", "1", "3", "8"}
)

// run is one run of a study.
type run struct {
	group           *group
	owners, records int
	noise, budget   string
	seed            int
}

func (r run) values() []string {
	records := ""
	if r.records > 0 {
		records = strconv.Itoa(r.records)
	}
	return []string{r.group.name, strconv.Itoa(r.owners), records, r.noise, r.budget, strconv.Itoa(r.seed)}
}

// tested is how many owners of a group are looked at, for the time that their own models
// take.
func (r run) tested() int {
	switch {
	case r.records == 0:
		return r.owners
	case r.group.slow:
		return min(r.owners, 4)
	}
	return min(r.owners, max(3, min(20, 2000/r.records)))
}

// mostAtDelta is how many records an owner has at most with a delta of 1e-4: with more it
// is too near to 1/n.
const mostAtDelta = 9000

// centralFit is one prior, as weak as one record, for the fit of all records at once.
var centralFit = []string{"personal.strengths=[1.0]", "personal.folds=2"}

func (r run) cell() sweep.Cell {
	c := sweep.Cell{Values: r.values()}
	set := reproduce.Setter(&c.Set)
	set("seed=%d", r.seed)
	set("topology.agents=%d", r.owners)
	if t := r.tested(); t < r.owners {
		set("evaluate.agents=%d", t)
	}
	c.Set = append(c.Set, r.group.set...)
	switch {
	case r.noise == central && r.group.natural:
		set("data.merge_groups=true")
		c.Set = append(c.Set, centralFit...)
	case r.noise == central:
		c.Set = append(c.Set, `data.partition="iid"`)
		c.Set = append(c.Set, centralFit...)
	default:
		c.Set = append(c.Set, r.group.dealt...)
	}
	if r.records > 0 {
		set("evaluate.validation=%g", r.group.held)
		set("data.limit=%d", int(float64(r.owners*r.records)/(1-r.group.held)))
	}
	if r.noise == plain {
		set(`privacy.mechanism="none"`)
		return c
	}
	set("privacy.target_epsilon=%s", r.budget)
	if r.noise == central && r.records > mostAtDelta {
		set("privacy.target_delta=1e-5")
	}
	if r.noise == shared {
		set(`privacy.mechanism="decor"`)
		set("privacy.pair_noise_ratio=50")
		set(`privacy.curious="none"`)
	}
	return c
}

// splits is the number of seeds, which draw what owners hold and what they are tested on.
// Defaults were chosen on others, below 101.
const splits = 20

func seeds(small bool) []int {
	if small {
		return []int{101}
	}
	all := make([]int, splits)
	for k := range all {
		all[k] = 101 + k
	}
	return all
}

// paysRuns are those of joining-pays with seed 0.
func paysRuns(small bool) (runs []run) {
	all := groups
	if small {
		all = []group{groups[0], groups[len(groups)-2]}
	}
	for k := range all {
		g := &all[k]
		for _, size := range g.sizes {
			r := run{group: g, owners: size.owners, records: size.records}
			for _, r.noise = range noises {
				if r.noise == shared && (g.persons || g.slow) {
					continue
				}
				for _, r.budget = range reproduce.Ends(budgets, small) {
					switch {
					case r.noise == central:
						runs = append(runs, r.pooled())
					case r.noise == ownNoise || r.budget == "1" || r.budget == "3" || small:
						runs = append(runs, r)
					}
				}
			}
			r.noise, r.budget = plain, "none"
			runs = append(runs, r)
			if small {
				break
			}
		}
	}
	return runs
}

// pooled is the run of one curator with all records. Groups that share records have it in
// common: it has the name of the first of them.
func (r run) pooled() run {
	first := slices.IndexFunc(groups, func(g group) bool {
		return slices.Equal(g.set, r.group.set) && g.held == r.group.held
	})
	return run{group: &groups[first], owners: 1, records: r.owners * r.records, noise: central,
		budget: r.budget}
}

func paysCells(small bool) []sweep.Cell {
	return reproduce.Distinct(overSeeds(paysRuns(small), small))
}

func overSeeds(runs []run, small bool) (cells []sweep.Cell) {
	for _, r := range runs {
		for _, r.seed = range seeds(small) {
			cells = append(cells, r.cell())
		}
	}
	return cells
}

// group is a way in which records belong to owners.
type group struct {
	name    string
	about   string
	figures []string // the first one counts
	set     []string
	dealt   []string // how records are dealt out
	natural bool     // owners are the data set's own
	slow    bool     // to fit: fewer runs, and few owners are looked at
	persons bool     // are protected, which shared noise does not do
	held    float64  // the part of an owner's records that it is tested on
	sizes   []size
}

// size is a number of owners, and of records of each for training.
type size struct{ owners, records int }

var (
	classes = []string{"auroc", "accuracy"}
	numbers = []string{"r2", "rmse"}
)

// columnsFrom writes the columns first to last as a list.
func columnsFrom(first, last int) string {
	list := "["
	for c := first; c <= last; c++ {
		if c > first {
			list += ", "
		}
		list += strconv.Itoa(c)
	}
	return list + "]"
}

// census are logistic regressions of income on 123 columns of the census.
func census(name, about, partition string, sizes []size, dealt ...string) group {
	return group{name: name, about: about, figures: classes,
		set: []string{`data.dataset="adult-a9a"`, `model.name="logistic"`, "model.intercept=true"},
		// half of an owner's records are its tests
		held: .5, sizes: sizes,
		dealt: append([]string{fmt.Sprintf("data.partition=%q", partition)}, dealt...)}
}

// groups are those of joining-pays.
var groups = []group{
	{name: "hospitals", about: "heart disease at the four hospitals that have collected the records",
		figures: classes, natural: true, sizes: []size{{owners: 4}},
		set: []string{`data.dataset="heart-disease"`, `data.partition="natural"`, `model.name="logistic"`,
			"model.intercept=true"}},
	census("census, alike", "income of people, dealt at random", "iid",
		[]size{{20, 50}, {20, 200}, {20, 750}, {50, 200}, {100, 50}, {100, 100}}),
	census("census, uneven", "income, classes dealt by a Dirichlet law of .5", "dirichlet",
		[]size{{20, 200}}, "data.beta=0.5"),
	census("census, less uneven", "income, classes dealt by a Dirichlet law of 2", "dirichlet",
		[]size{{100, 100}}, "data.beta=2"),
	census("census, by occupation", "income, owners sorted by the people's occupation", "by-value",
		[]size{{20, 200}, {100, 100}}, "data.columns="+columnsFrom(47, 60)),
	{name: "houses, by region", about: "house values in strips of California from west to east",
		figures: numbers, held: .5, sizes: []size{{10, 50}, {10, 200}, {10, 1000}},
		set: []string{`data.dataset="california-housing"`, `data.target="scaled"`, "data.symmetric=true",
			`model.name="least-squares"`, "model.intercept=true"},
		dealt: []string{`data.partition="by-value"`, "data.columns=[1]"}},
	{name: "tumours", about: "breast cancer at four clinics, dealt at random", figures: classes, held: .25,
		sizes: []size{{4, 106}},
		set:   []string{`data.dataset="breast-cancer"`, `model.name="logistic"`, "model.intercept=true"},
		dealt: []string{`data.partition="iid"`}},
	{name: "voices, by patient", about: "a score of Parkinson's disease by voice; every owner is a " +
		"patient, whose recordings are protected together", figures: []string{"rmse"},
		natural: true, persons: true,
		sizes: []size{{owners: 42}},
		set: []string{`data.dataset="parkinsons"`, `data.partition="natural"`, `data.holdout="records"`,
			`data.unit_column="subject#"`, `privacy.unit="person"`, "privacy.max_rows_per_person=200",
			`model.name="least-squares"`,
			"model.intercept=true"}},
	{name: "voices, by clinic", about: "the same at three clinics of about 8 patients for training and 5 " +
		"for tests, dealt at random", figures: []string{"rmse"}, persons: true, sizes: []size{{owners: 3}},
		set: []string{`data.dataset="parkinsons"`, "data.test_fraction=0.05", "evaluate.validation=0.4",
			`data.unit_column="subject#"`, `privacy.unit="person"`, "privacy.max_rows_per_person=200",
			`model.name="least-squares"`, "model.intercept=true"},
		dealt: []string{`data.partition="iid"`}},
	{name: "clothes, by kind", about: "pictures of ten kinds of clothing, three kinds to an owner, by 60 " +
		"fixed features; softmax regression",
		figures: classes, held: .5, slow: true, sizes: []size{{10, 200}},
		set: []string{`data.dataset="fashion-mnist"`, `data.features="scattering"`, "data.feature_norm=1.0",
			"data.feature_whiten=0.66", "data.feature_size=60", "data.test_limit=100",
			`model.name="logistic"`,
			"model.intercept=true"},
		dealt: []string{`data.partition="by-class"`, "data.classes=3"}},
}

// mapOwners and mapRecords span joining-map, as far as the records reach.
var (
	mapOwners  = []int{5, 20, 50, 100, 200}
	mapRecords = []int{25, 50, 100, 200, 500}
)

// mapGroup is the census dealt at random.
var mapGroup = groups[slices.IndexFunc(groups, func(g group) bool { return g.name == "census, alike" })]

// mapRuns are those of joining-map with seed 0.
func mapRuns(small bool) (runs []run) {
	owners, records := mapOwners, mapRecords
	if small {
		owners, records = owners[:2], records[:1]
	}
	for _, n := range owners {
		for _, m := range records {
			if float64(n*m)/(1-mapGroup.held) > 32561 {
				continue
			}
			for _, b := range []string{"1", "3"} {
				runs = append(runs, run{group: &mapGroup, owners: n, records: m, noise: ownNoise, budget: b})
			}
		}
	}
	return runs
}

func mapCells(small bool) (cells []sweep.Cell) { return overSeeds(mapRuns(small), small) }
