package dkm

import (
	"fmt"
	"slices"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// The paper states neither α nor the number of rounds, and searches λ on a grid that it
// does not give. scan says how much the figures depend on our choices.

var scanAxes = slices.Insert(slices.Clone(iterationAxes), len(iterationAxes)-1, "alpha", "halved after",
	"lambda")

// scan is a run of the iteration with choices of its own.
type scan struct {
	iteration
	alpha  string
	tau    int // rounds until α is halved, in the schedule α/(1 + k/τ); 0: constant
	lambda string
}

var (
	scanAlphas  = []string{"0.0005", "0.005", "0.05", "0.15", "0.49"}
	scanLambdas = []string{"0", "0.0003", "0.003", "0.03", "0.3"}
)

// scans are the different runs without their seeds: least squares, five agents, complete
// graph, epsilon .5, delta 1e-3.
func scans() (list []scan) {
	base := iteration{loss: "squares", method: "SPGD", graph: "complete", agents: 5}
	run := func(form, noise string, rounds int, alpha string, tau int, lambda string) {
		i := base
		i.form, i.noise, i.rounds = form, noise, rounds
		if noise != "none" {
			i.epsilon, i.delta = "0.5", "1e-3"
		}
		list = append(list, scan{i, alpha, tau, lambda})
	}
	for _, k := range []int{iterationRounds, iterationRounds / 10} {
		for _, a := range scanAlphas {
			run("published", "none", k, a, 0, "0.003")
			run("published", "laplace", k, a, 0, "0.003")
			run("published", "truncated-gaussian", k, a, 0, "0.003")
			run("all-noisy", "gaussian", k, a, 0, "0.003")
		}
	}
	for _, a := range scanAlphas[2:] {
		for _, tau := range []int{5, 50} {
			run("all-noisy", "gaussian", iterationRounds, a, tau, "0.003")
		}
	}
	for _, l := range scanLambdas {
		run("published", "none", iterationRounds, "0.49", 0, l)
		run("all-noisy", "gaussian", iterationRounds/10, "0.49", 0, l)
	}
	for _, a := range scanAlphas[2:] { // behind all others: rows keep their numbers
		for _, tau := range []int{5, 50} {
			for _, noise := range []string{"none", "laplace", "truncated-gaussian"} {
				run("published", noise, iterationRounds, a, tau, "0.003")
			}
		}
	}
	return list
}

func (s scan) values(small bool) []string {
	v := s.iteration.values(small)
	tau := ""
	if s.tau > 0 {
		tau = fmt.Sprint(s.tau)
	}
	return slices.Insert(v, len(v)-1, s.alpha, tau, s.lambda)
}

func (s scan) cell(small bool) sweep.Cell {
	c := s.iteration.cell(small)
	c.Values = s.values(small)
	set := reproduce.Setter(&c.Set)
	c.Set = append(c.Set, lastAlone(c.Values))
	set("algorithm.alpha=%s", s.alpha)
	set("algorithm.l1=%s", s.lambda)
	if s.tau > 0 {
		set(`algorithm.alpha_schedule="inverse"`)
		set("algorithm.alpha_tau=%d", s.tau)
	}
	return c
}

func scanCells(small bool) []sweep.Cell {
	var cells []sweep.Cell
	for _, s := range scans() {
		for _, s.seed = range instances(small) {
			cells = append(cells, s.cell(small))
		}
	}
	return reproduce.Distinct(cells)
}

func scanTable(f *reproduce.Results) *reproduce.Document {
	small := f.Scale == reproduce.Smoke
	g := reproduce.Group(f, func(s scan) []string { return s.values(small) })
	d := &reproduce.Document{Header: []string{"run", "rounds", "α", "α halved after", "λ", "claimed epsilon",
		"true epsilon", "noise of an answer", "error of what is sent", "error of what is put out"}}
	seen := map[scan]bool{}
	for _, s := range scans() {
		rows := g.Of(s)
		if seen[s] || len(rows) == 0 {
			continue
		}
		seen[s] = true
		noise, claimed := fmt.Sprintf("%.3g", rows[len(rows)-1].Noise), ""
		if s.noise == "none" {
			noise = ""
		} else if s.form == "published" {
			claimed = s.epsilon
		}
		name := s
		name.iteration.rounds = iterationRounds // which have a column
		v := s.values(small)
		d.Add(name.name(), rows[0].Values[8], s.alpha, v[len(v)-3], s.lambda, claimed, g.Epsilon(s), noise,
			g.Last(s, "estimation_rmse", "all").Significant(),
			g.Last(s, "estimation_rmse_noise_free", "all").Significant())
	}
	d.Notes = append(d.Notes,
		"error: root mean square over coordinates of the distance of the mean of all agents' models "+
			"from the hidden vector, mean ± sd over problem instances; always guessing 0 has an error "+
			"of about 1",
		"published: Theorem 1's noise at B = 1 for the claimed epsilon and all α_k of the run; the true "+
			"epsilon is infinite, because iterates are put out without noise; noise of an answer: of the "+
			"first, α_0/α_k times that in later ones",
		"nobody can choose the best line of a table without paying: it is chosen on the hidden vector",
		fmt.Sprintf("least squares, five agents of 100 records, complete graph, delta 1e-3, %d problem "+
			"instances", len(instances(small))))
	if small {
		d.Notes = append(d.Notes, "scale smoke: 20 rounds, one instance")
	}
	return d
}
