package dpdl2023

import (
	"sotto/report/plot"
	"sotto/reproduce"
)

// Plots of tables. Measured accuracies are marks with one sd over seeds on either side;
// published ones are dashed lines of the same colour, without marks.

const seedBars = "Mean over agents and seeds; bars: one standard deviation over seeds. Dashed: published."

func (p published) point(x float64) plot.Point {
	return reproduce.At(x, p.mean/100)
}

// budgetName is a budget for people.
func budgetName(b string) string {
	if b == "none" {
		return "not private"
	}
	return "epsilon " + b
}

var methodNames = map[string]string{"central": "central", "dsgd": "DP-DSGD", "dsgt": "DP-DSGT",
	"dinno": "DP-DiNNO"}

// against draws ours as marks and theirs, which have an X for every one of ours, as a
// dashed line of the same colour.
func against(f *plot.Figure, name string, ours, theirs []plot.Point) {
	if len(ours) == 0 {
		return
	}
	f.Curves = append(f.Curves, plot.Curve{Name: name, Points: ours},
		plot.Curve{Name: name + ", published", Points: theirs, Dashed: true, Like: name})
}

// connectivityFigures draw table 1 over the Fiedler value, one plot for each method as in
// the paper's Figure 1.
func connectivityFigures(g *reproduce.Groups[mnistRun]) []plot.Figure {
	var out []plot.Figure
	for j, m := range methods {
		f := plot.Figure{
			Name:    "figure1-" + m,
			Title:   methodNames[m] + " (dashed: published)",
			XLabel:  "normalized Fiedler value of the graph (1: complete)",
			YLabel:  "accuracy (%)",
			Percent: true,
			Markers: true,
			Caption: seedBars,
		}
		for k, b := range budgets {
			var ours, theirs []plot.Point
			for i := len(fiedlers) - 1; i >= 0; i-- { // from sparse to complete
				x := reproduce.Number(fiedlers[i])
				if s := g.Accuracy(mnistRun{mode: "sound", fiedler: fiedlers[i], overlap: "1", method: m,
					budget: b}); len(s) > 0 {
					ours = append(ours, s.Percent(x))
				}
				theirs = append(theirs, publishedTable1[i][j][k].point(x))
			}
			against(&f, budgetName(b), ours, theirs)
		}
		if len(f.Curves) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// budgetFigures draw table 1 over epsilon, one plot for each graph.
func budgetFigures(g *reproduce.Groups[mnistRun]) []plot.Figure {
	var out []plot.Figure
	for i, fiedler := range fiedlers {
		f := plot.Figure{
			Name:    "accuracy-epsilon-" + fiedler,
			Title:   "Normalized Fiedler value " + fiedler + " (dashed: published)",
			XLabel:  "epsilon at delta 1e-5",
			YLabel:  "accuracy (%)",
			Percent: true,
			Markers: true,
			LogX:    true,
			Caption: seedBars + " Epsilon: ours under zero-out, published as claimed for replace-one.",
		}
		draw := func(m string, was func(k int) published, r mnistRun) {
			var ours, theirs []plot.Point
			for k := len(budgets) - 1; k > 0; k-- { // rising, without the one that is not private
				r.mode, r.method, r.budget = "sound", m, budgets[k]
				if s := g.Accuracy(r); len(s) > 0 {
					ours = append(ours, s.Percent(reproduce.Number(budgets[k])))
				}
				theirs = append(theirs, was(k).point(reproduce.Number(budgets[k])))
			}
			against(&f, methodNames[m], ours, theirs)
		}
		draw(centralRow, func(k int) published { return publishedCentral[k] }, mnistRun{})
		for j, m := range methods {
			draw(m, func(k int) published {
				return publishedTable1[i][j][k]
			}, mnistRun{fiedler: fiedler, overlap: "1"})
		}
		if len(f.Curves) > 2 { // more than the central row
			out = append(out, f)
		}
	}
	return out
}

// overlapFigures draw table 4 over the overlap, one plot for each budget as in the
// paper's Figure 2, central as a level.
func overlapFigures(g images) []plot.Figure {
	var out []plot.Figure
	for _, b := range cifar100Budgets {
		if f := overlapFigure(g, b); len(f.Curves) > 0 {
			out = append(out, f)
		}
	}
	return out
}

func overlapFigure(g images, budget string) plot.Figure {
	title := map[string]string{"none": "Not private", "10": "Private, epsilon 10"}[budget]
	fig := plot.Figure{
		Name:    "figure2-" + map[string]string{"none": "not-private", "10": "private"}[budget],
		Title:   title + " (dashed: published)",
		XLabel:  "overlap t (1: every agent has classes of its own)",
		YLabel:  "accuracy (%)",
		Percent: true,
		Markers: true,
		Caption: seedBars,
	}
	for j, m := range withCentral {
		var ours, theirs []plot.Point
		for k, t := range overlaps {
			if s := g.Accuracy(imageRun{"sound", t, m, budget}); len(s) > 0 {
				ours = append(ours, s.Percent(reproduce.Number(t)))
			}
			theirs = append(theirs, publishedTable4[budget][j][k].point(reproduce.Number(t)))
		}
		against(&fig, methodNames[m], ours, theirs)
	}
	return fig
}
