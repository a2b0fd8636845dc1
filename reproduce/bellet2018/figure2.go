package bellet2018

import (
	"strconv"
	"strings"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// figure2Updates are T/n of figures 2(a) and 2(b).
var figure2Updates = []int{1, 2, 4, 8}

// figure2Kinds are the methods of figures 2(a), from zero, and 2(b), after a warm start,
// with the value of the axis "other".
var figure2Kinds = map[string][][2]string{
	"": {{"published", ""}, {"cd-gaussian", ""}, {"cd-laplace", ""}},
	"warm": {{"published", "output"}, {"published", "output 1/m"}, {"published", "output published"},
		{"cd-gaussian", "warm"}},
}

// warmStarts say what the warm starts of figure 2(b) are. The paper spreads perturbed
// local models over the graph (Remark 4); its section B, which says how they are
// perturbed, is not in our text, where both kinds of perturbation are related work.
//
// "output published" has noise of the published kind: Laplace of scale s = 2/(2λ m .05)
// on each coordinate, as if minimisers moved by 2/(2λ m) in L1. A vector of p such values
// has a root mean square norm of s √(2p); K-norm noise at ε has one of √(p(p+1)) Δ/ε, Δ =
// 2√p/(2λ m) for features of norm √p. Both are equal, but for p + 1 in p's place, at ε =
// .05 √p √(p/2) = 3.5355 where p = 100.
var warmStarts = map[string]string{
	"output":           "output perturbation",
	"output 1/m":       "output perturbation, λ_i = 1/m_i",
	"output published": "noise as if in L1",
	"warm":             "normal noise",
}

// figure2Tasks are private runs at epsilon .5 over the number of updates, from zero or
// after a warm start that has cost .05 more, or claims to.
func figure2Tasks(other string) []named {
	budget := "0.5"
	if other == "warm" {
		budget = "0.55"
	}
	var list []named
	for _, kind := range figure2Kinds[other] {
		mode := "sound"
		if kind[0] == "published" {
			mode = "replication"
		}
		for _, updates := range figure2Updates {
			list = append(list, named{strconv.Itoa(updates) + " updates", task{
				mode:    mode,
				method:  kind[0],
				points:  "cube",
				dim:     100,
				budget:  budget,
				updates: updates,
				knob:    .04,
				other:   kind[1],
				span:    span{2000, 100},
			}})
		}
	}
	return list
}

func figure2Cells(other string) func(bool) []sweep.Cell {
	return func(small bool) []sweep.Cell {
		return overSeeds(small, figure2Tasks(other))
	}
}

func figure2(other string) func(f *reproduce.Results) *reproduce.Document {
	return func(f *reproduce.Results) *reproduce.Document {
		r := collectTasks(f)
		d := &reproduce.Document{Header: []string{"mode", "method", "updates of an agent", "accuracy",
			"published", "Q/n", "claimed epsilon", "true epsilon"}}
		name, said := "figure2a", map[int]string{4: "75, the best", 8: "the objective diverges"}
		if other == "warm" {
			name, said = "figure2b", map[int]string{4: "80 to 81", 8: "80 to 81"}
		}
		plots := map[[2]string][]named{}
		for _, t := range figure2Tasks(other) {
			if len(r.Of(t.task)) == 0 {
				continue
			}
			claim, published := "", ""
			if t.method == "published" {
				claim, published = t.budget[1:], said[t.updates]
			}
			kind := [2]string{t.method, t.other}
			d.Add(t.mode, figure2Name(kind), t.updates, r.Accuracy(t.task), published,
				r.objective(t.task), claim, r.Epsilon(t.task))
			plots[kind] = append(plots[kind], t)
		}
		for _, kind := range figure2Kinds[other] {
			file := kind[0]
			if kind[0] == "published" && kind[1] != "" {
				file = strings.NewReplacer(" 1/m", "-own", " ", "-").Replace(kind[1])
			}
			for _, metric := range []string{"accuracy", "objective"} {
				d.Figures = append(d.Figures, r.overWakes(name+"-"+metric+"-"+file, figure2Name(kind),
					metric, false, plots[kind]))
			}
		}
		d.Notes = append([]string{
			"100 agents, p = 100, μ = .04, λ_i = 1/m_i, the same noise in each update, delta = exp(-5), " +
				"replace-one",
			"published noise: Laplace of scale 2/(ε_t m) on each coordinate, as if gradients had an " +
				"L1 norm of 1 at most; without clipping it is bounded by p = 100 in the cube. True " +
				"epsilon: of that bound, composed exactly"}, warmNotes[other]...)
		return d
	}
}

// figure2Name describes a method and its warm start.
func figure2Name(kind [2]string) string {
	name := methodNames[kind[0]]
	if start := warmStarts[kind[1]]; start != "" {
		name += "; start: " + start
	}
	return name
}

// warmNotes are those of figure 2(b) alone.
var warmNotes = map[string][]string{"warm": {
	"the paper's section B, which says how its private local models are made, is not in the text that " +
		"was reproduced. All starts here are minimisers of the " +
		"own loss with λ = .5 (one: the paper's λ_i = 1/m_i) and noise for .05 of epsilon, then five own " +
		"wakes of model propagation",
	"output perturbation (Chaudhuri, Monteleoni, Sarwate 2011): noise of density exp(-.05 |b| / Δ), Δ the " +
		"L2 sensitivity, for features scaled to norm 1 at most, which truly costs .05",
	"noise as if in L1: as long as Laplace noise of scale 2/(2 λ m .05) on each coordinate is in the root " +
		"mean square, features as they are: what the published rule for gradients would make of a " +
		"minimiser; it truly costs 3.5355",
	"objective perturbation is not offered here"}}
