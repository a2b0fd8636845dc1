package dpdl2023

import (
	"fmt"
	"slices"

	"sotto/experiment/sweep"
	"sotto/privacy/account"
	"sotto/reproduce"
)

const centralRow = "central"

// table1Cells are sound and replicated runs of every graph, method and budget, and the
// central ones.
func table1Cells(small bool) []sweep.Cell {
	var runs []mnistRun
	for _, mode := range modes {
		for _, b := range reproduce.Ends(budgets, small) {
			if mode == "replication" && b == "none" {
				continue // nothing is unsound about it
			}
			runs = append(runs, mnistRun{mode: mode, fiedler: "", method: centralRow, budget: b})
		}
		for _, f := range reproduce.Ends(fiedlers, small) {
			for _, m := range methods {
				for _, b := range reproduce.Ends(budgets, small) {
					if mode == "replication" && m == "dinno" && b == "none" {
						continue // nothing is unsound about it: it has no mixing matrix
					}
					runs = append(runs, mnistRun{mode: mode, fiedler: f, overlap: "1", method: m, budget: b})
				}
			}
		}
	}
	// last, so that the others keep their numbers
	for _, b := range reproduce.Ends(budgets[1:], small) {
		runs = append(runs, mnistRun{mode: underDefinition, method: centralRow, budget: b})
		for _, f := range reproduce.Ends(fiedlers, small) {
			for _, m := range methods {
				runs = append(runs, mnistRun{mode: underDefinition, fiedler: f, overlap: "1", method: m,
					budget: b})
			}
		}
	}
	return overTrials(small, runs)
}

var accuracyHeader = []string{"method", "budget", "published", "sound", "difference in sd", "gap to central",
	"sound: epsilon, zero-out", "sound: epsilon, replace-one", "replication", "difference in sd",
	"replication: claimed epsilon, add-remove", "replication: epsilon, zero-out",
	"replication: epsilon, replace-one"}

// definedHeader is of sound runs that hold their budget under replace-one.
var definedHeader = []string{"sound under replace-one", "difference in sd", "its gap to central",
	"its epsilon, replace-one", "its epsilon, zero-out"}

// accuracies are rows of accuracies with what each run costs under both adjacencies.
type accuracies struct {
	*reproduce.Document
	g     *reproduce.Groups[mnistRun]
	costs *costs
}

func newAccuracies(f *reproduce.Results, first string) *accuracies {
	header := slices.Concat([]string{first}, accuracyHeader, definedHeader)
	return &accuracies{&reproduce.Document{Header: header,
		Notes: append(mnistNotes(f.Scale), adjacencyNotes...)}, collect(f), newCosts()}
}

// add appends a row unless nothing has been run for it. central are the accuracies of
// one curator's sound runs with this budget.
func (a *accuracies) add(first string, r mnistRun, p published, central reproduce.Sample) {
	sound, again, defined := r, r, r
	sound.mode, again.mode, defined.mode = "sound", "replication", underDefinition
	ours := a.g.Accuracy(defined)
	row := compared(a.g, sound, again, r.budget, p, central)
	if row == nil && len(ours) == 0 {
		return
	}
	if row == nil { // runs under replace-one alone
		row = reproduce.Cells(p, "", "", "", "", "", "", "", "")
	}
	last := len(row) - 1 // replication's own epsilon
	row = slices.Insert(row, last, a.costs.under(account.ZeroOut, again, a.g.Of(again)))
	row = slices.Insert(row, 5, a.costs.under(account.ReplaceOne, sound, a.g.Of(sound)))
	curator := a.g.Accuracy(mnistRun{mode: underDefinition, method: centralRow, budget: r.budget})
	if r.method == centralRow {
		curator = nil
	}
	row = append(row, reproduce.Cells(ours, p.deviations(ours), gap(ours, curator), a.g.Epsilon(defined),
		a.costs.under(account.ZeroOut, defined, a.g.Of(defined)))...)
	a.Rows = append(a.Rows, append([]string{first, r.method, r.budget}, row...))
}

// done returns the document, without the columns of modes that have not been run; where
// an epsilon could not be computed it says so.
func (a *accuracies) done() *reproduce.Document {
	a.DropEmpty()
	if a.costs.err != nil {
		a.Notes = append(a.Notes, fmt.Sprintf("an epsilon is missing: %v", a.costs.err))
	}
	return a.Document
}

// compared sets a sound and a replicated run beside the published figure; nil if neither
// has been run.
func compared[T any](g *reproduce.Groups[T], sound, again T, budget string, p published,
	central reproduce.Sample) []string {
	ours, theirs := g.Accuracy(sound), g.Accuracy(again)
	if len(ours)+len(theirs) == 0 {
		return nil
	}
	claim := ""
	if len(theirs) > 0 {
		claim = budget
		if budget == "none" {
			claim = "∞"
		}
	}
	return reproduce.Cells(p, ours, p.deviations(ours), gap(ours, central), g.Epsilon(sound), theirs,
		p.deviations(theirs), claim, g.Epsilon(again))
}

// gap is how far runs stay below one curator's; nothing without both.
func gap(ours, central reproduce.Sample) string {
	if len(ours) == 0 || len(central) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", central.Mean()-ours.Mean())
}

func table1(f *reproduce.Results) *reproduce.Document {
	a := newAccuracies(f, "λ2/n")
	central := map[string]reproduce.Sample{}
	for i, b := range budgets {
		r := mnistRun{mode: "sound", method: centralRow, budget: b}
		central[b] = a.g.Accuracy(r)
		a.add("", r, publishedCentral[i], nil)
	}
	for i, fiedler := range fiedlers {
		for j, m := range methods {
			for k, b := range budgets {
				r := mnistRun{fiedler: fiedler, overlap: "1", method: m, budget: b}
				a.add(fiedler, r, publishedTable1[i][j][k], central[b])
			}
		}
	}
	return a.done()
}

// table2Cells vary the overlap at the lowest connectivity, for two budgets.
func table2Cells(small bool) []sweep.Cell {
	var runs []mnistRun
	for _, mode := range modes {
		for _, b := range []string{"0.5", "10"} {
			for _, t := range reproduce.Ends(overlaps, small) {
				for _, m := range methods {
					runs = append(runs, mnistRun{mode: mode, fiedler: "0.06", overlap: t, method: m,
						budget: b})
				}
			}
		}
	}
	for _, mode := range modes { // central runs, which know no overlap, are those of table 1
		for _, b := range []string{"0.5", "10"} {
			runs = append(runs, mnistRun{mode: mode, fiedler: "", method: centralRow, budget: b})
		}
	}
	for _, b := range []string{"0.5", "10"} {
		for _, t := range reproduce.Ends(overlaps, small) {
			for _, m := range methods {
				runs = append(runs, mnistRun{mode: underDefinition, fiedler: "0.06", overlap: t, method: m,
					budget: b})
			}
		}
		runs = append(runs, mnistRun{mode: underDefinition, method: centralRow, budget: b})
	}
	return overTrials(small, runs)
}

func table2(f *reproduce.Results) *reproduce.Document {
	a := newAccuracies(f, "overlap t")
	for _, b := range []string{"0.5", "10"} {
		r := mnistRun{mode: "sound", method: centralRow, budget: b}
		central := a.g.Accuracy(r)
		a.add("", r, publishedCentral[slices.Index(budgets, b)], nil)
		for j, m := range methods {
			for k, t := range overlaps {
				r := mnistRun{fiedler: "0.06", overlap: t, method: m, budget: b}
				a.add(t, r, publishedTable2[b][j][k], central)
			}
		}
	}
	a.Notes = append(a.Notes,
		"the paper's text lacks the row of DP-DiNNO at epsilon 10; its central row is that of Table 1")
	return a.done()
}

// figure1 reads table 1 by method: accuracy over connectivity, and the range over graphs,
// which is small where a method is as invariant as claimed.
func figure1(f *reproduce.Results) *reproduce.Document {
	g := collect(f)
	d := &reproduce.Document{Header: []string{"method", "epsilon", "λ2/n 1", "0.7", "0.39", "0.06", "range",
		"published range", "sd over trials"}, Notes: mnistNotes(f.Scale)}
	for j, m := range methods {
		for k, b := range budgets {
			line := []string{m, b}
			var means, was, spread reproduce.Sample
			for i, fiedler := range fiedlers {
				s := g.Accuracy(mnistRun{mode: "sound", fiedler: fiedler, overlap: "1", method: m, budget: b})
				line = append(line, s.String())
				if len(s) > 0 {
					means, was = append(means, s.Mean()), append(was, publishedTable1[i][j][k].mean)
				}
				if len(s) > 1 {
					spread = append(spread, s.SD())
				}
			}
			sd := ""
			if len(spread) > 0 {
				sd = fmt.Sprintf("%.2f", spread.Mean())
			}
			if len(means) > 0 {
				d.Rows = append(d.Rows, append(line, extent(means), extent(was), sd))
			}
		}
	}
	d.Figures = append(connectivityFigures(g), budgetFigures(g)...)
	return d
}

// extent is the largest less the smallest; nothing of one, which has no range.
func extent(s reproduce.Sample) string {
	if len(s) < 2 {
		return ""
	}
	return fmt.Sprintf("%.2f", slices.Max(s)-slices.Min(s))
}

// stepGrid multiplies the published learning rates.
var stepGrid = []float64{.25, .5, 1, 2, 4}

func stepRuns() []mnistRun {
	var runs []mnistRun
	for _, m := range methods {
		s := publishedSteps[m][3]
		for _, f := range stepGrid {
			runs = append(runs, mnistRun{
				mode:    "sound",
				fiedler: "1",
				overlap: "1",
				method:  m,
				budget:  "1",
				step:    step{s.first * f, s.final * f},
			})
		}
	}
	return runs
}

func stepCells(small bool) []sweep.Cell { return overTrials(small, stepRuns()) }

func stepSizes(f *reproduce.Results) *reproduce.Document {
	g := collect(f)
	d := &reproduce.Document{Header: []string{"method", "step size", "times published", "accuracy",
		"epsilon, zero-out"}}
	for i, r := range stepRuns() {
		d.Add(r.method, fmt.Sprintf("%g to %g", r.step.first, r.step.final),
			fmt.Sprintf("%g", stepGrid[i%len(stepGrid)]), g.Accuracy(r), g.Epsilon(r))
	}
	d.Notes = append([]string{
		accuracyNote,
		soundNote + "; step sizes are multiples of the paper's, of DSGT too",
		graphNote,
		"step sizes are compared on the test set, as in the paper: the best of them is no estimate of " +
			"accuracy on new data",
	}, smokeNotes(f.Scale)...)
	return d
}

// adjacencyNotes say how epsilons of two adjacencies compare.
var adjacencyNotes = []string{
	"budget: what sound runs hold under zero-out, what replicated runs claim, and what the paper states " +
		"for replace-one; epsilons compare within one adjacency only",
	"sound under replace-one: runs that hold the budget for the adjacency of the paper's Definition 4.1, " +
		"with more noise and the step sizes of the other sound runs",
	"sound, zero-out, and replication, replace-one: the largest over agents and trials, from the ledgers. " +
		"The same runs under the other adjacency: the PLD upper end at delta 1e-5 of the agent with the " +
		"fewest records, which is the largest, at the noise that the budget gives it",
}

// What all tables of the MNIST runs say.
const (
	accuracyNote = "accuracy in percent: mean over the ten agents' own models on the MNIST test images " +
		"after the last round, then mean and sd over seeds; published: Bayrooti, Gao, Prorok 2023 (arXiv " +
		"2306.13892)"
	soundNote = "sound: epsilon is the PLD upper end under zero-out adjacency at delta 1e-5, from the " +
		"ledgers; Metropolis weights, simultaneous mixing"
	graphNote = "graphs are drawn anew for each seed to within .05 of the Fiedler value: the paper's were " +
		"never published; sampling rates are 256/m, the paper's 1/ceil(m/256)"
)

// smokeNotes say what the smallest size runs.
func smokeNotes(scale reproduce.Scale) []string {
	if scale != reproduce.Smoke {
		return nil
	}
	return []string{"scale smoke: ten rounds and 500 test images; the figures show only that everything runs"}
}

// mnistNotes says what differs from the publication.
func mnistNotes(scale reproduce.Scale) []string {
	return append([]string{accuracyNote, soundNote + "; step sizes are the paper's, those of DSGT and of " +
		"DSGD at epsilon .5 chosen on Fashion-MNIST, because the paper's are for mixing in place; " +
		"DSGT's gradients are clipped without noise too",
		"replication: mixing in place with row-normalised weights, gradients after mixing (DSGD), noise " +
			"by RDP under add-remove, claimed for replace-one, the adjacency which the paper states; it is " +
			"charged under replace-one, by PLD at delta 1e-5",
		graphNote,
	}, smokeNotes(scale)...)
}
