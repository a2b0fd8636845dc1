package bellet2018

import (
	"math"
	"strconv"
	"strings"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// taskAxes are the axes of every sweep over the linear tasks of "Fast and
// Differentially Private Algorithms for Decentralized Collaborative Machine Learning"
// (arXiv 1705.08435). knob is μ, or κ of the methods that smooth; other holds "key value"
// pairs.
var taskAxes = []string{"mode", "method", "points", "dim", "budget", "updates", "knob", "other", "seed"}

// taskBase holds what all its runs share: a hundred agents with a hidden linear rule
// each, on the oracle's graph of similar rules.
const taskBase = `
name = "seed001"

[topology]
graph = "similarity"
agents = 100

[data]
dataset = "linear-tasks"
partition = "natural"

[model]
name = "logistic"

[evaluate]
on = "own"
`

// paperDelta is the δ of all private experiments of the paper, exp(-5). Here it is below
// 1/m, since no agent has more than 100 records.
var paperDelta = math.Exp(-5)

// task is one run on the linear tasks.
type task struct {
	mode, method string // methodNames
	// cube: in [-1, 1]^p, all labels of the test part right; sphere: on the unit sphere,
	// wrong labels there too
	points  string
	dim     int
	budget  string // total epsilon, or "none"
	updates int    // of each agent; 0: one in each wake
	knob    float64
	other   string // one of others, or nothing
	seed    int
	span
}

// span is how many wakes a run has, and after how many it is evaluated.
type span struct{ wakes, every int }

// methodNames are the methods by name, as documents describe them.
var methodNames = map[string]string{
	"local":           "local-only",
	"cd":              "coordinate descent without privacy",
	"admm":            "gossip ADMM without privacy",
	"published":       "coordinate descent with the published noise",
	"cd-gaussian":     "coordinate descent, Gaussian",
	"cd-laplace":      "coordinate descent, L1 clip and Laplace",
	"smooth-gaussian": "one answer, smoothed, Gaussian",
	"smooth-laplace":  "one answer, smoothed, Laplace",
	"local-dp":        "records perturbed, then coordinate descent",
}

// The smoothing methods are ours: every agent asks for one noisy gradient, at zero, and
// coordinate descent goes on with that answer, which costs nothing more: it solves Q with
// linear losses. λ and μ are 1 in κ = 2 μ λ, which says how far an agent's own answer
// outweighs its neighbors'; c_i = (m_i/max m)² weighs answers by the precision of their
// noise.

// warmEpsilon is what the warm starts of figure 2(b) claim to cost.
const warmEpsilon = .05

// others are the settings behind the axis "other".
var others = map[string][]string{
	"": nil,
	"warm": {`algorithm.start="fit"`, "algorithm.fit_lambda=0.5", "algorithm.propagate=5",
		"privacy.warm_epsilon=0.05"},
	// output perturbation (Chaudhuri, Monteleoni, Sarwate 2011) at .05, with λ = .5, with
	// the paper's λ_i = 1/m_i, and with noise as long as that of the published kind
	// (figure2.go)
	"output": {`algorithm.start="fit"`, "algorithm.fit_lambda=0.5", "algorithm.propagate=5",
		`privacy.warm_mechanism="k-norm"`, "privacy.warm_epsilon=0.05"},
	"output 1/m": {`algorithm.start="fit"`, "algorithm.propagate=5", `privacy.warm_mechanism="k-norm"`,
		"privacy.warm_epsilon=0.05"},
	"output published": {`algorithm.start="fit"`, "algorithm.fit_lambda=0.5", "algorithm.propagate=5",
		`privacy.warm_mechanism="k-norm"`, "privacy.feature_norm=10.0", "privacy.warm_epsilon=3.5355"},
	"zero-out": {`privacy.adjacency="zero-out"`},
	"rho .003": {"algorithm.rho=0.003"},
	"rho .01":  {"algorithm.rho=0.01"},
	"rho .1":   {"algorithm.rho=0.1"},
	"rho 10":   {"algorithm.rho=10.0"},
	"churn .1": {"faults.churn=0.1"},
	"churn .3": {"faults.churn=0.3"},
	"churn .5": {"faults.churn=0.5"},
	// agents that differ, and records that come (unequal.go)
	"budgets .15 1.05":     {"privacy.target_epsilon=0.0", "privacy.agent_epsilon=[0.15, 1.05]"},
	"budgets .15 .55 1.05": {"privacy.target_epsilon=0.0", "privacy.agent_epsilon=[0.15, 0.55, 1.05]"},
	"budgets .15 1.05, updates 4 16": {"privacy.target_epsilon=0.0",
		"privacy.agent_epsilon=[0.15, 1.05]", "algorithm.agent_updates=[4, 16]"},
	"arrival .5":              arriving("0.5"),
	"arrival .25":             arriving("0.25"),
	"arrival 0":               arriving("0.0"),
	"answers 16":              {"algorithm.updates=16"},
	"arrival .5, answers 16":  append(arriving("0.5"), "algorithm.updates=16"),
	"arrival .25, answers 16": append(arriving("0.25"), "algorithm.updates=16"),
	"arrival 0, answers 16":   append(arriving("0.0"), "algorithm.updates=16"),
}

// arriving has a share of the records there at the start and the others come during the
// first 16 wakes of their agent.
func arriving(start string) []string {
	return []string{`data.arrival="uniform"`, "data.arrival_start=" + start, "data.arrival_rounds=16"}
}

// values are those of taskAxes.
func (t task) values() []string {
	updates := ""
	if t.updates > 0 {
		updates = strconv.Itoa(t.updates)
	}
	return []string{t.mode, t.method, t.points, strconv.Itoa(t.dim), t.budget, updates,
		reproduce.Exactly(t.knob), t.other, strconv.Itoa(t.seed)}
}

// cell writes t as settings of taskBase.
func (t task) cell(small bool) sweep.Cell {
	c := sweep.Cell{Values: t.values()}
	set := reproduce.Setter(&c.Set)
	if small {
		t.wakes, t.every = min(t.wakes, 200), min(t.every, 100)
		if t.budget == "optimum" {
			t.wakes = 400
		}
	}
	set("seed=%d", t.seed)
	set("clock.wakes=%d", t.wakes)
	set("evaluate.every=%d", t.every)
	set("data.dim=%d", t.dim)
	smoothness := .25
	if t.points == "cube" {
		set(`data.points="cube"`)
		set("data.test_flip=0.0")
		smoothness = float64(t.dim) / 4
	}
	if method, special := specials[strings.SplitN(t.method, "-", 2)[0]]; special {
		method(t, set)
		return c
	}
	switch t.method {
	case "local":
		set(`algorithm.name="local-fit"`)
	case "admm":
		set(`algorithm.name="gossip-admm"`)
		set(`algorithm.start="fit"`)
		set("algorithm.mu=%g", t.knob)
		set("algorithm.smoothness=%g", smoothness)
	case "smooth-gaussian", "smooth-laplace":
		set(`algorithm.name="bcd"`)
		set("algorithm.mu=1.0")
		set("algorithm.lambda=%g", t.knob/2)
		set("algorithm.smoothness=1e-9") // the linear losses have no curvature
		set("algorithm.confidence_power=2.0")
		set(`algorithm.after="average"`)
		set("algorithm.updates=1")
	default:
		set(`algorithm.name="bcd"`)
		set("algorithm.mu=%g", t.knob)
		set("algorithm.smoothness=%g", smoothness)
		if t.method == "cd" && t.updates == 0 || t.method == "local-dp" {
			set(`algorithm.start="fit"`)
		}
		if t.updates > 0 {
			set("algorithm.updates=%d", t.updates)
		}
	}
	t.noise(set)
	c.Set = append(c.Set, others[t.other]...)
	return c
}

// specials write the settings of methods by the first part of their names.
var specials = map[string]func(t task, set func(format string, args ...any)){"bound": task.bounded,
	"alloc": task.allocated, "convex": task.convex}

// noise writes the privacy of t.
func (t task) noise(set func(format string, args ...any)) {
	set("privacy.target_delta=%s", reproduce.Exactly(paperDelta))
	switch t.method {
	case "local", "cd", "admm":
		set(`privacy.mechanism="none"`)
		return
	case "local-dp":
		set(`privacy.mechanism="local-dp"`)
		set(`privacy.adjacency="replace-one"`)
		set("privacy.target_epsilon=%s", t.budget)
		return
	}
	set(`privacy.adjacency="replace-one"`)
	switch t.method {
	case "published":
		// Scale 2 L0/(ε_t m) on each coordinate with L0 = 1, and no clipping: right if
		// gradients were bounded by 1 in L1. In the cube they are bounded by p: a clip to
		// p does nothing, and relative to it the scale is 2/(ε_t p).
		total, err := strconv.ParseFloat(t.budget, 64)
		if err != nil {
			panic(err) // written in this package
		}
		if strings.HasPrefix(t.other, "output") {
			total -= warmEpsilon
		}
		set(`privacy.mechanism="laplace"`)
		set(`privacy.accountant="pld"`)
		set(`algorithm.norm="l1"`)
		set("privacy.max_grad_norm=%d.0", t.dim)
		set("privacy.noise_multiplier=%s", reproduce.Exactly(2*float64(t.updates)/(total*float64(t.dim))))
	case "cd-laplace", "smooth-laplace":
		set(`privacy.mechanism="laplace"`)
		set(`privacy.accountant="pld"`)
		set(`algorithm.norm="l1"`)
		// half of a usual gradient at zero in the cube
		set("privacy.max_grad_norm=%s", reproduce.Exactly(float64(t.dim)/8))
		set("privacy.target_epsilon=%s", t.budget)
	case "cd-gaussian", "smooth-gaussian":
		set(`privacy.mechanism="gaussian"`)
		set(`privacy.accountant="gdp"`)
		// half of a usual gradient at zero in the cube
		set("privacy.max_grad_norm=%s", reproduce.Exactly(math.Sqrt(float64(t.dim)/48)))
		set("privacy.target_epsilon=%s", t.budget)
	}
}

// taskRows finds the rows of a task's runs, over seeds.
type taskRows struct{ *reproduce.Groups[task] }

func collectTasks(f *reproduce.Results) taskRows { return taskRows{reproduce.Group(f, task.values)} }

// shared have the rows of instances that all these runs have.
func (r taskRows) shared(runs ...task) taskRows { return taskRows{r.Shared(runs...)} }

// instanceOf is the seed of a row's problem instance.
func instanceOf(row *sweep.Row) (uint64, error) {
	return strconv.ParseUint(reproduce.SeedOf(row), 10, 64)
}

// reporter reads what the runs of a study have left.
type reporter = func(*reproduce.Results) *reproduce.Document

// sized has a table of the smallest size say so: its notes are of the full one.
func sized(report reporter) reporter {
	return func(f *reproduce.Results) *reproduce.Document {
		d := report(f)
		if f.Scale == reproduce.Smoke {
			d.Notes = append(d.Notes, "scale smoke: one problem instance (of allocations two), 200 wakes "+
				"(400 to an optimum, 2,000 with records that arrive); other notes are of the full size")
		}
		return d
	}
}

// resultSeeds are the problem instances of the results; the first scores of searches are
// of validationSeeds.
func resultSeeds(small bool) []int {
	if small {
		return []int{1}
	}
	return []int{1, 2, 3, 4, 5}
}
