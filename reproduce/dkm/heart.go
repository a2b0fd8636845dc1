package dkm

import (
	"fmt"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// The paper names medical data of several institutions as its reason, and has generated
// data alone. Here four hospitals train one logistic model.

var heartAxes = []string{"method", "epsilon", "step", "rounds", "seed"}

// heartBase holds what all runs share: every record in every round, complete graph.
const heartBase = `
name = "seed003-heart"

[topology]
graph = "complete"
agents = 4

[data]
dataset = "heart-disease"
partition = "natural"

[model]
name = "logistic"

[privacy]
adjacency = "replace-one"
sample_rate = 1.0
accountant = "gdp"
`

// heartAlpha is α of the iteration, below (1+λ_n)/2 = .5.
const heartAlpha = .49

// heart is one run. step is the length of a step along the mean gradient: αγ of the
// iteration.
type heart struct {
	method, epsilon string // "" without noise
	step            string
	rounds, seed    int
}

// heartMethods are the methods with the bound G of a record's gradient: a proximal
// operator scales features for it, and with an intercept no record has less than 1.
var heartMethods = []struct {
	name, title, clip string
}{
	{"dsgd", "DP-DSGD", "1.0"},
	{"forward", "DP-dKM, gradient operator", "1.0"},
	{"backward", "DP-dKM, proximal operator", "2.0"},
}

func (h heart) values() []string {
	return []string{h.method, h.epsilon, h.step, fmt.Sprint(h.rounds), fmt.Sprint(h.seed)}
}

func (h heart) cell(clip string) sweep.Cell {
	c := sweep.Cell{Values: h.values()}
	set := reproduce.Setter(&c.Set)
	set("seed=%d", h.seed)
	set("rounds=%d", h.rounds)
	set("evaluate.every=%d", h.rounds)
	if h.method == "dsgd" {
		set(`algorithm.name="dsgd"`)
		set("algorithm.step_size=%s", h.step)
	} else {
		set(`algorithm.name="km"`)
		set("algorithm.operator=%q", h.method)
		set("algorithm.alpha=%g", heartAlpha)
		set("algorithm.gamma=%s", reproduce.Exactly(reproduce.Number(h.step)/heartAlpha))
	}
	if h.epsilon == "" {
		set(`privacy.mechanism="none"`)
		return c
	}
	set("privacy.max_grad_norm=%s", clip)
	set("privacy.target_epsilon=%s", h.epsilon)
	set("privacy.target_delta=1e-3")
	if h.method != "dsgd" {
		set("algorithm.residual_clip=100.0") // G bounds what one record does
	}
	return c
}

// hearts calls f for every run without its seed, and the bound of its gradients.
func hearts(small bool, f func(h heart, title, clip string)) {
	steps, rounds := []string{"0.5", "1", "2"}, []int{20, 100}
	if small {
		steps, rounds = steps[:1], rounds[:1]
	}
	for _, eps := range []string{"", "3", "1"} {
		for _, m := range heartMethods {
			for _, k := range rounds {
				for _, s := range steps {
					f(heart{m.name, eps, s, k, 0}, m.title, m.clip)
				}
			}
		}
	}
}

func heartSeeds(small bool) []int {
	if small {
		return []int{1}
	}
	return []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
}

func heartCells(small bool) (cells []sweep.Cell) {
	hearts(small, func(h heart, _, clip string) {
		for _, h.seed = range heartSeeds(small) {
			cells = append(cells, h.cell(clip))
		}
	})
	return cells
}

func heartTable(f *reproduce.Results) *reproduce.Document {
	small := f.Scale == reproduce.Smoke
	g := reproduce.Group(f, heart.values)
	d := &reproduce.Document{Header: []string{"budget", "method", "rounds", "step", "accuracy (%)",
		"less DP-DSGD", "95 % interval", "true epsilon (replace-one)"}}
	hearts(small, func(h heart, title, _ string) {
		s := g.Accuracy(h)
		if len(s) == 0 {
			return
		}
		like := h
		like.method = "dsgd"
		gain, interval := "", ""
		both := g.Shared(h, like)
		if diff := both.Accuracy(h).Less(both.Accuracy(like)); h.method != "dsgd" && len(diff) > 1 {
			se, law := diff.Student()
			half := law.Quantile(.975) * se
			gain = fmt.Sprintf("%+.2f", diff.Mean())
			interval = fmt.Sprintf("%+.2f to %+.2f", diff.Mean()-half, diff.Mean()+half)
		}
		budget := h.epsilon
		if budget == "" {
			budget = "no noise"
		}
		d.Add(budget, title, h.rounds, h.step, s, gain, interval, g.Epsilon(h))
	})
	d.Notes = []string{
		"heart-disease, four hospitals (Cleveland, Hungary, Switzerland, Long Beach) with their own " +
			"records, logistic model, complete graph, every record in every round, Gaussian noise at delta " +
			"1e-3; step: that of DP-DSGD, αγ of the iteration with α = .49; a record's gradient is clipped " +
			"to 1 (gradient steps), or its features scaled so that it is at most 2 (proximal operator)",
		fmt.Sprintf("accuracy on the held-out records of all hospitals, mean over the models of the four, "+
			"mean ± sd over %d seeds, each with noise and held-out records of its own; differences are "+
			"paired over seeds, in points, at the same budget, rounds and step", len(heartSeeds(small))),
		"no step or number of rounds was chosen: all are here, and nobody can choose the best without " +
			"paying; runs without noise have no clip",
	}
	if small {
		d.Notes = append(d.Notes, "scale smoke: 20 rounds, one step, one seed")
	}
	return d
}
