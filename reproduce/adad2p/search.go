package adad2p

import (
	"fmt"
	"slices"
	"strings"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// trueBudgets are true epsilons, at delta 1e-5 under add-remove, at which clips that
// adapt are compared with constant ones.
var trueBudgets = []string{"1", "3", "10"}

// adaptiveForms are constant clips, with a constant step as in the paper or one that
// falls tenfold, and the sound forms of adaptive noise: clips that fall by the given
// factor over the run, that follow a charged quantile, or that follow released answers.
var adaptiveForms = []string{"", "falling 0.1", "schedule 0.3", "schedule 0.1", "quantile", "released"}

// formName is a form for people.
func formName(form string) string {
	name, amount, _ := strings.Cut(form, " ")
	return map[string]string{"": "constant clip", "falling": "constant clip, step falls to " + amount,
		"schedule": "clip falls to " + amount,
		"quantile": "clip at a released quantile", "released": "clip follows released answers"}[name]
}

// searchedClips and searchedSteps are the grid of every form: the clip at first, and the
// step times that clip, which is the most that a round without noise moves a model.
var (
	searchedClips = []float64{.3, 3}
	searchedSteps = []float64{.03, .1, .3}
)

// longest is a step of the larger clip alone: below it accuracies still rose.
const longest = 1.

// searchPushes are the runs on Fashion-MNIST that choose clip and step for each form and
// budget.
func searchPushes() []push {
	var list []push
	add := func(budget, form string, clip, move float64) {
		p := push{
			mode:   "sound",
			data:   "fashion-mnist",
			method: "sgp",
			noise:  "epsilon " + budget,
			clip:   clip,
			form:   form,
			step:   step{first: move / clip},
		}
		list = append(list, p.withStep())
	}
	for _, budget := range trueBudgets {
		for _, form := range adaptiveForms {
			for _, clip := range searchedClips {
				for _, move := range searchedSteps {
					add(budget, form, clip, move)
				}
			}
		}
	}
	for _, budget := range trueBudgets {
		for _, form := range adaptiveForms {
			add(budget, form, searchedClips[1], longest)
		}
	}
	return list
}

// withStep lets the step of form "falling" fall.
func (p push) withStep() push {
	if name, amount, ok := strings.Cut(p.form, " "); ok && name == "falling" {
		p.step.final = p.step.first * reproduce.Number(amount)
	}
	return p
}

// searchCells have one seed at every size: they choose, they are no result.
func searchCells(scale reproduce.Scale) []sweep.Cell {
	list := searchPushes()
	if scale == reproduce.Smoke {
		list = append(list[:2:2], list[len(list)-2:]...)
	}
	var cells []sweep.Cell
	for _, p := range list {
		p.seed = 101
		cells = append(cells, p.cell(scale))
	}
	return cells
}

// search tables the best setting of each form and budget.
func search(f *reproduce.Results) *reproduce.Document {
	r := collectPush(f)
	d := &reproduce.Document{Header: []string{"epsilon", "form", "clip", "step", "accuracy", "runner-up",
		"true epsilon"}}
	groups := map[string][]push{}
	var order []string
	for _, p := range searchPushes() {
		key := p.noise + p.form
		if len(r.Of(p)) == 0 {
			continue
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], p)
	}
	for _, key := range order {
		list := groups[key]
		slices.SortStableFunc(list, func(a, b push) int {
			switch x, y := r.Accuracy(a).Mean(), r.Accuracy(b).Mean(); {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		best, second := list[0], ""
		if len(list) > 1 {
			second = r.Accuracy(list[1]).String()
		}
		d.Add(best.noise[len("epsilon "):], formName(best.form), reproduce.Exactly(best.clip),
			best.step.first, r.Accuracy(best), second, r.Epsilon(best))
	}
	d.Notes = []string{fmt.Sprintf("Fashion-MNIST, seed 101, stochastic gradient push over the directed "+
		"exponential graph, 2,200 rounds, Poisson batches of %d of 3,000 records; clips %v, steps of %v "+
		"over the clip, with the larger clip also %g", soundBatch, searchedClips, searchedSteps, longest)}
	d.Notes = append(d.Notes, smokeNotes(f.Scale, "fashion-mnist")...)
	return d
}
