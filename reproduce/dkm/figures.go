package dkm

import (
	"fmt"
	"slices"

	"sotto/report/plot"
	"sotto/reproduce"
)

const errorLabel = "distance from the hidden vector"

// plot draws a study: against rounds for each problem, or against the number of agents
// for each graph.
func (r iterated) plot(d *reproduce.Document, study string) {
	type panel struct{ file, title string }
	panels := map[panel]*plot.Figure{}
	var order []panel
	at := func(p panel, x string, log bool) *plot.Figure {
		f := panels[p]
		if f == nil {
			f = &plot.Figure{
				Name:    p.file,
				Title:   p.title,
				XLabel:  x,
				YLabel:  errorLabel,
				LogY:    true,
				LogX:    log,
				Markers: log,
				Caption: "Mean over problem instances; band or bars: one standard deviation. Of the mean " +
					"model that is sent. The published form's epsilon is infinite.",
			}
			panels[p], order = f, append(order, p)
		}
		return f
	}
	seen := map[string]bool{}
	for _, i := range iterations[study]() {
		points := r.over(i, "estimation_rmse")
		if len(points) == 0 {
			continue
		}
		if study == "seed003-figure3" {
			p := panel{fmt.Sprintf("figure3-%s-%s", i.loss, i.graph),
				fmt.Sprintf("Error over the number of agents, %s, %s", i.loss, i.graph)}
			f := at(p, "agents", true)
			k := slices.IndexFunc(f.Curves, func(c plot.Curve) bool { return c.Name == i.name() })
			if k < 0 {
				k = len(f.Curves)
				f.Curves = append(f.Curves, plot.Curve{Name: i.name()})
			}
			last := points[len(points)-1]
			last.X = float64(i.agents)
			f.Curves[k].Points = append(f.Curves[k].Points, last)
			continue
		}
		p := panel{fmt.Sprintf("figure2-%s-%s-%s", i.loss, i.method, i.graph),
			fmt.Sprintf("%s, %s, %s", i.loss, i.method, i.graph)}
		if study == "seed003-figure1" {
			budget := [2]string{i.epsilon, i.delta}
			if i.noise == "none" { // in every panel: it is drawn with the first of them
				budget = figure1Budgets()[0]
			}
			p = panel{"figure1-" + budget[0] + "-" + budget[1],
				"epsilon " + budget[0] + ", delta " + budget[1]}
		}
		if key := p.file + i.name(); !seen[key] {
			seen[key] = true
			f := at(p, "round", false)
			f.Curves = append(f.Curves, plot.Curve{Name: i.name(), Points: points})
		}
	}
	for _, p := range order {
		d.Figures = append(d.Figures, *panels[p])
	}
}
