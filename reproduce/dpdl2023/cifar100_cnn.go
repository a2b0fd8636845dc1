package dpdl2023

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sotto/experiment/sweep"
	"sotto/privacy/account"
	"sotto/reproduce"
)

// Table 4 and figure 2 with a network that plain processors can train: the whole of
// CIFAR-100, "cnn" (40,244 parameters) in place of DPResNet9, and step sizes of our own.

// cnnFolder is below the data folder, with the train.bin and test.bin of CIFAR-100.
const cnnFolder = "cifar-100-binary"

// cnnBase holds what its runs share: ten agents on the complete graph with 5,000 images
// each.
const cnnBase = `
name = "seed000-cifar100-cnn"
rounds = 25000

[topology]
agents = 10
graph = "complete"

[data]
dataset = "cifar-100"
partition = "a"

[model]
name = "cnn"

[algorithm]
schedule = "geometric"

[privacy]
target_delta = 1e-5

[evaluate]
every = 2500
`

// cnnRounds are a tenth of the paper's at scale short.
var cnnRounds = map[reproduce.Scale]int{reproduce.Smoke: smokeRounds, reproduce.Short: 2500,
	reproduce.Full: cifar100Rounds}

// cnnSteps are step sizes not private and at epsilon 10, chosen on CIFAR-10 (see
// cnnNotes) but for those of DP-DiNNO, which are the paper's.
var cnnSteps = map[string][2]step{
	"central": {{.015, .0015}, {.15, .015}},
	"dsgd":    {{.1, .01}, {2, .2}},
	"dsgt":    {{.25, .025}, {2, .2}},
	"dinno":   {{.005, .0005}, {.0075, .0005}},
}

// cnnClips are clip norms of private runs: the paper's, but for DP-DSGD and DP-DSGT,
// whose own is 10.
var cnnClips = map[string]int{"central": 1, "dsgd": 1, "dsgt": 1, "dinno": 10}

// cnnModes hold a budget for zero-out and for replace-one.
var cnnModes = []string{"sound", underDefinition}

// cnnCell writes r as settings of cnnBase.
func (r imageRun) cnnCell(seed int, scale reproduce.Scale) sweep.Cell {
	c := sweep.Cell{Values: []string{r.mode, r.overlap, r.method, r.budget, fmt.Sprint(seed)}}
	set := reproduce.Setter(&c.Set)
	s := cnnSteps[r.method][slices.Index(cifar100Budgets, r.budget)]
	set("seed=%d", seed)
	set("algorithm.name=%q", r.method)
	set("algorithm.step_size=%g", s.first)
	set("algorithm.step_size_final=%g", s.final)
	switch r.method {
	case centralRow:
		set("topology.agents=1")
		set("data.partition=\"iid\"")
		set("algorithm.momentum=0.9")
	case "dinno":
		set("algorithm.rho_scale=1.0003")
		set("algorithm.primal_steps=2")
	}
	if r.method != centralRow {
		set("data.t=%s", r.overlap)
	}
	rate := cifar100Rates[r.method].sound
	if r.budget == "none" {
		set("privacy.mechanism=\"none\"")
		if r.method == "dinno" {
			rate = .08 // 400 of 5,000 images
		}
	} else {
		set("privacy.target_epsilon=%s", r.budget)
		set("privacy.max_grad_norm=%d", cnnClips[r.method])
	}
	set("privacy.sample_rate=%g", rate)
	if r.mode == underDefinition {
		set("privacy.adjacency=\"replace-one\"")
	}
	set("rounds=%d", cnnRounds[scale])
	set("evaluate.every=%d", cnnRounds[scale])
	if scale == reproduce.Smoke {
		set("data.limit=200")
		set("evaluate.limit=%d", smokeTestImages)
		if r.method != centralRow {
			set("topology.agents=2")
		}
	} else {
		set("data.full=%q", cnnFolder)
	}
	return c
}

// cnnRuns are all runs of a scale, seeds apart.
func cnnRuns(scale reproduce.Scale) []imageRun {
	var runs []imageRun
	for _, m := range withCentral {
		ts := reproduce.Ends(overlaps, scale == reproduce.Smoke)
		if m == centralRow {
			ts = []string{""}
		}
		for _, mode := range cnnModes {
			for _, b := range cifar100Budgets {
				if b == "none" && mode != "sound" {
					continue // it has no adjacency
				}
				for _, t := range ts {
					runs = append(runs, imageRun{mode, t, m, b})
				}
			}
		}
	}
	return runs
}

// cnnCells are sound runs of every method, overlap and budget, which is held for zero-out
// and for replace-one. The short size has a tenth of the rounds.
func cnnCells(scale reproduce.Scale) []sweep.Cell {
	seeds := trials(scale == reproduce.Smoke)
	if scale != reproduce.Smoke {
		seeds = seeds[:cifar100Trials]
	}
	var cells []sweep.Cell
	for k := range seeds { // whole tables, one seed after the other
		for _, r := range cnnRuns(scale) {
			cells = append(cells, r.cnnCell(seeds[k], scale))
		}
	}
	return cells
}

// table4CNN sets the runs beside the published ones of a larger network.
func table4CNN(f *reproduce.Results) *reproduce.Document {
	g := collectImages(f)
	d := &reproduce.Document{Header: []string{"overlap t", "method", "budget", "published, DPResNet9",
		"cnn, budget for zero-out", "points below central", "published points below", "its epsilon, zero-out",
		"its epsilon, replace-one", "cnn, budget for replace-one", "its epsilon, replace-one",
		"its epsilon, zero-out"}}
	var failed error
	for _, b := range cifar100Budgets {
		for j, m := range withCentral {
			for k, t := range overlaps {
				if m == centralRow && k > 0 {
					continue
				}
				if m == centralRow {
					t = "" // it knows no overlap
				}
				r := imageRun{"sound", t, m, b}
				line, err := cnnLine(g, r, publishedTable4[b][j][k], publishedTable4[b][0][0])
				failed = cmp.Or(failed, err)
				if line != nil {
					d.Rows = append(d.Rows, append([]string{t, m, b}, line...))
				}
			}
		}
	}
	d.Figures = overlapFigures(g)
	d.Notes = cnnNotes(f.Scale)
	if failed != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("an epsilon is missing: %v", failed))
	}
	return d
}

// cnnLine is a row of table4CNN after its first columns; nil where nothing has been run.
func cnnLine(g images, r imageRun, was, central published) ([]string, error) {
	defined := r
	defined.mode = underDefinition
	ours, theirs := g.Accuracy(r), g.Accuracy(defined)
	if len(ours)+len(theirs) == 0 {
		return nil, nil
	}
	below, wasBelow := "", ""
	if r.method != centralRow {
		if c := g.Accuracy(imageRun{"sound", "", centralRow, r.budget}); len(c) > 0 && len(ours) > 0 {
			below = fmt.Sprintf("%.2f", c.Mean()-ours.Mean())
		}
		wasBelow = fmt.Sprintf("%.2f", central.mean-was.mean)
	}
	other, err := cnnUnder(g.Of(r), r, account.ReplaceOne)
	zero, second := cnnUnder(g.Of(defined), defined, account.ZeroOut)
	return reproduce.Cells(was, ours, below, wasBelow, g.Epsilon(r), other, theirs, g.Epsilon(defined), zero),
		cmp.Or(err, second)
}

// cnnUnder is the PLD upper end of a run's epsilon under another adjacency than its
// ledger's: all agents have one rate and one noise.
func cnnUnder(rows []sweep.Row, r imageRun, a account.Adjacency) (string, error) {
	switch {
	case len(rows) == 0:
		return "", nil
	case r.budget == "none":
		return "∞", nil
	}
	row := &rows[0]
	plan := account.DPSGD(a, cifar100Rates[r.method].sound, int(row.Charges))
	plan.NoiseMultiplier = row.Noise
	spent, err := account.Epsilon(plan, 1e-5)
	if err != nil {
		return "", fmt.Errorf("row %d, %v: %w", row.Cell, a, err)
	}
	return reproduce.Epsilon(spent.Upper), nil
}

// cnnNotes say what differs from the publication and how settings were chosen.
func cnnNotes(scale reproduce.Scale) []string {
	var steps []string
	for _, m := range withCentral {
		s := cnnSteps[m]
		steps = append(steps, fmt.Sprintf("%s %g to %g, and private %g to %g at clip %d", methodNames[m],
			s[0].first, s[0].final, s[1].first, s[1].final, cnnClips[m]))
	}
	n := []string{
		"accuracy in percent: mean over the ten agents' own models on the test images after the last " +
			"round, then mean and sd over seeds; published: Bayrooti, Gao, Prorok 2023 (arXiv 2306.13892), " +
			"Table 4, DPResNet9 with 7,802,724 parameters, noise that is too small for its claimed epsilon " +
			"10 (82.3 for DP-DSGD and DP-DSGT, zero-out)",
		"cnn: 40,244 parameters. Levels of accuracy are no comparison of algorithms with the paper's; what " +
			"compares is the order of the methods, their fall from t = 0 to 1 and their distance to central",
		"data: the whole of CIFAR-100, 5,000 images an agent, one Poisson batch of 250 expected images " +
			"under each noise draw (DP-DiNNO 50 for each of its two primal steps, 400 without noise; " +
			"central 250)",
		"step sizes, the best of two to four on CIFAR-10 (10,000 images, t = .5, 800 rounds, one seed, the " +
			"noise of the mean gradient as at scale short), those of DP-DSGD and DP-DSGT with privacy the " +
			"largest tried; DP-DiNNO's are the paper's, not searched: " + strings.Join(steps, "; "),
		"epsilons: PLD at delta 1e-5, from the ledgers for the adjacency of the budget, for the other from " +
			"noise, rate and number of charges; all agents have the same",
	}
	switch scale {
	case reproduce.Smoke:
		n = append(n, "scale smoke: two rounds, two agents, 200 images of the subset; the figures show only "+
			"that everything runs")
	case reproduce.Short:
		n = append(n, fmt.Sprintf("scale short: %d of 25,000 rounds; the noise is what epsilon 10 needs for "+
			"these", cnnRounds[scale]))
	}
	return n
}
