//go:build !operator

package exposure

import (
	"fmt"
	"math"
	"slices"

	"sotto/config"
	"sotto/privacy/account/network"
	"sotto/report/plot"
)

const (
	// mostDrawn is the number of agents whose heat map is still legible.
	mostDrawn = 512
	// mostColluders ends the curve of growing coalitions.
	mostColluders = 16
)

// Drawings are the kinds that [Views.Draw] makes.
var Drawings = []string{"heatmap", "distance", "coalition", "graph"}

// Draw makes a drawing; "": a heat map of several adversaries, the graph of one.
func (r *Views) Draw(kind string) (plot.Drawing, error) {
	if kind == "" {
		kind = "graph"
		if len(r.views) > 1 {
			kind = "heatmap"
		}
	}
	title := fmt.Sprintf("%s, %d agents, %s", r.Graph.Name(), r.Gossip.Agents,
		config.Count(len(r.Gossip.Rounds), "round"))
	switch kind {
	case "heatmap":
		return r.heatMap(title)
	case "distance":
		return r.distancePlot(title), nil
	case "coalition":
		return r.coalitionPlot(title)
	}
	return r.colouredGraph()
}

func (r *Views) heatMap(title string) (plot.Drawing, error) {
	if n := r.Gossip.Agents; n > mostDrawn {
		return nil, config.Bad("agents", n, fmt.Sprintf("at most %d in a heat map", mostDrawn))
	}
	h := plot.HeatMap{
		Name:   "leak",
		Title:  "Leak, " + title,
		XLabel: "adversary",
		YLabel: "agent",
		Caption: "Share of the local privacy loss of each agent that an adversary gets. Grey: its own " +
			"members.",
	}
	for _, a := range r.Adversaries {
		h.Columns = append(h.Columns, a.String())
	}
	for u := range r.Gossip.Agents {
		h.Rows = append(h.Rows, fmt.Sprint(u))
		row := make([]float64, len(r.views))
		for i, v := range r.views {
			if row[i] = v.Leak[u]; r.member(u, i) {
				row[i] = math.NaN()
			}
		}
		h.Values = append(h.Values, row)
	}
	return h, nil
}

func (r *Views) distancePlot(title string) plot.Drawing {
	most, mean := plot.Curve{Name: "largest"}, plot.Curve{Name: "mean (not a guarantee)"}
	for _, s := range r.byDistance() {
		x := float64(s.distance)
		most.Points = append(most.Points, plot.Point{X: x, Y: s.most, Low: s.most, High: s.most})
		mean.Points = append(mean.Points, plot.Point{X: x, Y: s.mean, Low: s.mean, High: s.mean})
	}
	return plot.Figure{
		Name:    "distance",
		Title:   "Leak by distance, " + title,
		XLabel:  "links from the adversary",
		YLabel:  "leak",
		Curves:  []plot.Curve{most, mean},
		Markers: true,
		Caption: "Share of the local privacy loss that an adversary gets of agents at a distance.",
	}
}

// coalitionPlot lets the first member of the adversary, or agent 0, be joined by the
// agents next to it, nearest first.
func (r *Views) coalitionPlot(title string) (plot.Drawing, error) {
	first := network.Observer(0)
	if m := r.Adversaries[0].Members(); len(m) > 0 {
		first = network.Observer(m[0])
	}
	d := r.distances(first)
	order := make([]int, r.Gossip.Agents)
	for u := range order {
		order[u] = u
	}
	far := func(u int) int { // agents that no link joins come last
		if d[u] < 0 {
			return len(d)
		}
		return d[u]
	}
	slices.SortStableFunc(order, func(a, b int) int { return far(a) - far(b) })
	var grown []network.Adversary
	for k := 1; k < len(order) && k <= mostColluders; k++ {
		grown = append(grown, network.Coalition(order[:k]...))
	}
	views, err := r.Gossip.Views(grown)
	if err != nil {
		return nil, err
	}
	most, mean := plot.Curve{Name: "largest among the others"},
		plot.Curve{Name: "mean of the others (not a guarantee)"}
	for k, v := range views {
		x, y := float64(k+1), v.Leak[v.Worst()]
		most.Points = append(most.Points, plot.Point{X: x, Y: y, Low: y, High: y})
		mean.Points = append(mean.Points, plot.Point{X: x, Y: v.Mean(), Low: v.Mean(), High: v.Mean()})
	}
	return plot.Figure{
		Name:    "coalition",
		Title:   fmt.Sprintf("Leak to agent %s and its nearest, %s", first, title),
		XLabel:  "members of the coalition",
		YLabel:  "leak",
		Curves:  []plot.Curve{most, mean},
		Markers: true,
		Caption: "Share of the local privacy loss that a growing coalition gets of the agents outside it.",
	}, nil
}

// colouredGraph shows what the first adversary learns about each agent.
func (r *Views) colouredGraph() (plot.Drawing, error) {
	g, err := plot.NewGraph("observed", r.Graph)
	if err != nil {
		return nil, err
	}
	g.Title = fmt.Sprintf("What adversary %s learns, %s", r.Adversaries[0],
		config.Count(len(r.Gossip.Rounds), "round"))
	g.ValueLabel, g.Caption = "leak",
		"Colour: share of the local privacy loss that the adversary gets, violet none to yellow all; "+
			"grey: its own members."
	for u := range g.Nodes {
		if g.Nodes[u].Value = r.views[0].Leak[u]; r.member(u, 0) {
			g.Nodes[u].Value = math.NaN()
		}
	}
	return g, nil
}
