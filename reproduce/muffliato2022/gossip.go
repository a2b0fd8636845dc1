package muffliato2022

import (
	"context"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/experiment/exposure"
	"sotto/privacy/account/network"
	"sotto/report/plot"
	"sotto/reproduce"
	"sotto/topology"
)

// gossipGraph is one graph of the study of private gossip averaging.
type gossipGraph struct {
	name      string
	agents    int
	params    func(any)
	settings  string // params as text
	observers int    // spread evenly over the agents
}

// gossipGraphs are the graphs of the published figure, of 2,048 agents (2,025 on the
// grid), or of 64.
func gossipGraphs(scale reproduce.Scale) []gossipGraph {
	n, side, observers := 2048, 45, 4
	radius := .07
	if scale == reproduce.Smoke {
		n, side, observers, radius = 64, 8, 1, .3
	}
	return []gossipGraph{
		{"hypercube", n, nil, "", 1}, // all agents are alike
		{"er", n, func(p any) {
			p.(*topology.ERParams).P = math.Log(float64(n)) / float64(n)
		}, "p ln(n)/n", observers},
		{"geometric", n, func(p any) {
			p.(*topology.GeometricParams).Radius = radius
		}, fmt.Sprintf("radius %g", radius), observers},
		{"grid", side * side, nil, "", observers},
	}
}

// observed is a graph whose pairs are looked at. Its settings are those of the rows.
type observed struct {
	name, seed, settings string
	graph                *topology.Graph
	observers            int // spread evenly over the agents
}

// observe draws the graph.
func (c *gossipGraph) observe() (o observed, err error) {
	o = observed{
		name:      c.name,
		seed:      "1",
		settings:  fmt.Sprintf("graph %s %s", c.name, c.settings),
		observers: c.observers,
	}
	o.graph, err = drawGraph(c.name, c.agents, 1, c.params)
	return o, err
}

// gossipTable has a row for each distance.
func gossipTable() *reproduce.Document {
	return reproduce.NewTable("graph", "agents", "rounds", "distance", "pairs", "formula, mean (not a bound)",
		"exact, mean (not a guarantee)", "exact, largest", "exact above formula")
}

// gossipFigure is a plot of losses over distance.
func gossipFigure(name, title string) plot.Figure {
	return plot.Figure{
		Name:    name,
		Title:   title,
		XLabel:  "links between the two agents",
		YLabel:  "share of the local loss",
		LogY:    true,
		Markers: true,
		Caption: "Mean over pairs, which is no guarantee for any. Dashed: the published formula, which is " +
			"not a bound.",
	}
}

// figureA sets the published pairwise loss of private gossip averaging beside the
// exact one, over the distance of two agents.
func figureA(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	d := gossipTable()
	fig := gossipFigure("figa", "Privacy loss over distance (dashed: published formula)")
	for _, c := range gossipGraphs(opt.Scale) {
		o, err := c.observe()
		if err != nil {
			return nil, err
		}
		if err := addGossip(ctx, d, &fig, &o, 1); err != nil {
			return nil, err
		}
	}
	d.Figures = append(d.Figures, fig)
	d.Notes = append(gossipNotes(1),
		"an agent at the same distance from two observers counts twice; hypercube: one observer stands "+
			"for all")
	return d, nil
}

func gossipNotes(noise float64) []string {
	return []string{
		fmt.Sprintf("losses are shares of the local Renyi divergence a D^2/(2 s^2), the loss against "+
			"everyone; s = %g; Metropolis weights; rounds as in the public code: ceil(ln(n max(.25, "+
			"s^2)/s^2)/sqrt(1 - lambda_2))", noise),
		"formula: sum over received messages as if each had noise of its own, claimed (TestClaim37, " +
			"TestClaim38); exact: leverage scores of everything that the observer receives and its own " +
			"value, proved",
		"rounds may be accelerated: the exact figures are those of plain, Chebyshev and Jacobi averaging " +
			"alike, the formula that of plain averaging",
		reproduce.RowNote,
	}
}

// publishedRounds is the published number of rounds.
func publishedRounds(g *topology.Graph, noise float64) (int, error) {
	info, err := topology.Analyze(g)
	if err != nil {
		return 0, err
	}
	if !info.Computed {
		return 0, fmt.Errorf("%s: eigenvalues are not computed: %s", g.Name(), info.NotComputed)
	}
	n, v := float64(g.Agents()), noise*noise
	return int(math.Ceil(math.Log(n*math.Max(.25, v)/v) / math.Sqrt(1-info.Lambda2))), nil
}

// addGossip appends what observers learn at each distance.
func addGossip(ctx context.Context, d *reproduce.Document, fig *plot.Figure, c *observed,
	noise float64) error {
	g := c.graph
	rounds, err := publishedRounds(g, noise)
	if err != nil {
		return err
	}
	mixing, err := exposure.Mixing(topology.Static(g), rounds)
	if err != nil {
		return err
	}
	gossip := network.Gossip{Agents: g.Agents(), Rounds: mixing}
	var at []pairLosses
	for k := range c.observers {
		v := k * g.Agents() / c.observers
		if err := ctx.Err(); err != nil {
			return err
		}
		view, err := gossip.View(network.Observer(v))
		if err != nil {
			return err
		}
		formula, err := gossip.MuffliatoPrinted(v)
		if err != nil {
			return err
		}
		for u, far := range linksFrom(g, v) {
			if far <= 0 {
				continue
			}
			for len(at) < far {
				at = append(at, pairLosses{})
			}
			at[far-1].add(formula[u], view.Leak[u])
		}
	}
	exact, printed := plot.Curve{Name: c.name},
		plot.Curve{Name: c.name + ", formula", Dashed: true, Like: c.name}
	for k, l := range at {
		if l.pairs == 0 {
			continue
		}
		x, pairs := float64(k+1), float64(l.pairs)
		exact.Points = append(exact.Points,
			reproduce.At(x, l.exact/pairs))
		printed.Points = append(printed.Points, reproduce.At(x, l.formula/pairs))
		d.AddRow(reproduce.Cells(c.name, g.Agents(), rounds, k+1, l.pairs, l.formula/pairs, l.exact/pairs,
			l.most, fmt.Sprintf("%d of %d", l.above, l.pairs)),
			c.seed, fmt.Sprintf("private gossip averaging %s agents %d observers %d noise %g distance %d",
				c.settings, g.Agents(), c.observers, noise, k+1),
			float64(rounds), pairs, l.formula/pairs, l.exact/pairs, l.most, float64(l.above))
	}
	fig.Curves = append(fig.Curves, exact, printed)
	return nil
}

// pairLosses are those of pairs at one distance.
type pairLosses struct {
	pairs, above         int
	formula, exact, most float64
}

func (l *pairLosses) add(formula, exact float64) {
	l.pairs++
	l.formula += formula
	l.exact += exact
	l.most = math.Max(l.most, exact)
	if exact > formula*(1+1e-9) {
		l.above++
	}
}

// linksFrom are the least numbers of links from v, -1 where there is no way.
func linksFrom(g *topology.Graph, v int) []int {
	d := make([]int, g.Agents())
	for i := range d {
		d[i] = -1
	}
	d[v] = 0
	queue := []agent.ID{agent.ID(v)}
	for at := 0; at < len(queue); at++ {
		for _, nb := range g.In(queue[at]) {
			if d[nb.ID] < 0 {
				d[nb.ID] = d[queue[at]] + 1
				queue = append(queue, nb.ID)
			}
		}
	}
	return d
}
