package muffliato2022

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"

	"sotto/agent"
	"sotto/algo"
	"sotto/experiment/exposure"
	"sotto/experiment/run"
	"sotto/experiment/rundir"
	"sotto/privacy/account/network"
	"sotto/reproduce"
	"sotto/topology"
)

// averager is a graph with the published number of rounds of accelerated averaging.
type averager struct {
	name           string // as published
	family, params string // of topology, and settings of a run file
	alike          bool   // all agents are: one observer stands for all
	agents         int
	averaging
}

// averaging is what the rounds cost and do.
type averaging struct {
	degree int
	gap    float64 // 1 - λ_2
	rounds int
	// Mean losses over all agents but the observer, divided by n, of the worst observer
	// that is looked at, in units of αΔ²/(2s²).
	formula, exact float64
	second         float64 // the same by the second line of the published theorem
	worst          float64 // largest exact loss of a pair
	spread         float64 // ‖P‖_F² of the matrix P that the rounds amount to: 1 if averages are exact
}

// averagers are the graphs of the published table; an expander is a random 4-regular
// graph.
func averagers(agents int) []averager {
	return []averager{
		{name: "complete", family: "complete", alike: true},
		{name: "expander", family: "regular", params: "topology.degree=4"},
		{name: "hypercube", family: "hypercube", alike: true},
		{name: "arbitrary", family: "geometric",
			params: fmt.Sprintf("topology.radius=%g",
				math.Round(100*math.Sqrt(3*math.Log(float64(agents))/(math.Pi*float64(agents))))/100)},
		{name: "ring", family: "ring", alike: true},
	}
}

// settings are those of the graph in a run file.
func (a *averager) settings() []string {
	set := []string{fmt.Sprintf("topology.graph=%q", a.family), fmt.Sprintf("topology.agents=%d", a.agents),
		fmt.Sprintf("data.agents=%d", a.agents)}
	if a.params != "" {
		set = append(set, a.params)
	}
	return set
}

// drawGraph draws one graph of a family with Metropolis weights. edit changes the
// family's parameters; nil changes nothing.
func drawGraph(family string, agents int, seed uint64, edit func(params any)) (*topology.Graph, error) {
	s, err := topology.New(family, "", agents, seed, func(p any) error {
		if edit != nil {
			edit(p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.At(0)
}

// Of more agents that are not alike than mostObservers, someObservers are looked at,
// spread evenly.
const mostObservers, someObservers = 256, 32

// observers are the agents that are looked at.
func (a *averager) observers() []int {
	count := a.agents
	switch {
	case a.alike:
		count = 1
	case a.agents > mostObservers:
		count = someObservers
	}
	list := make([]int, count)
	for k := range list {
		list[k] = k * a.agents / count
	}
	return list
}

// text is the graph, and how many observers are looked at where these are few of many, as
// settings of a row.
func (a *averager) text() string {
	set := a.settings()
	if !a.alike && a.agents > mostObservers {
		set = append(set, fmt.Sprintf("observers %d", someObservers))
	}
	return strings.Join(set, " ")
}

// measure looks at the graph with every agent as the observer, or some.
func (a *averager) measure(ctx context.Context, agents int) error {
	a.agents = agents
	var radius float64
	fmt.Sscanf(a.params, "topology.radius=%g", &radius)
	g, err := drawGraph(a.family, agents, 1, func(p any) {
		switch p := p.(type) {
		case *topology.RegularParams:
			p.Degree = 4
		case *topology.GeometricParams:
			p.Radius = radius
		}
	})
	if err != nil {
		return err
	}
	info, err := topology.Analyze(g)
	if err != nil {
		return err
	}
	a.gap = info.Gap
	for i := range agent.ID(agents) {
		a.degree = max(a.degree, g.Degree(i))
	}
	if a.rounds, err = publishedRounds(g, 1); err != nil {
		return err
	}
	mixing, err := exposure.Mixing(topology.Static(g), a.rounds)
	if err != nil {
		return err
	}
	if err := a.losses(ctx, &network.Gossip{Agents: agents, Rounds: mixing}); err != nil {
		return err
	}
	rounds, err := algo.Recursion{Acceleration: "paper"}.Coefficients(
		agent.Env{Graph: agent.Graph{Lambda2: info.Lambda2}},
		a.rounds)
	a.spread = spreadOf(g, rounds)
	return err
}

// losses are those of all pairs.
func (a *averager) losses(ctx context.Context, g *network.Gossip) error {
	for _, v := range a.observers() {
		if err := ctx.Err(); err != nil {
			return err
		}
		view, err := g.View(network.Observer(v))
		if err != nil {
			return err
		}
		printed, err := g.MuffliatoPrinted(v)
		if err != nil {
			return err
		}
		walk, err := g.MuffliatoWalkPrinted(v)
		if err != nil {
			return err
		}
		formula, second, exact := 0., 0., 0.
		for u, leak := range view.Leak {
			if u != v {
				formula, second, exact = formula+printed[u], second+walk[u], exact+leak
				a.worst = max(a.worst, leak)
			}
		}
		n := float64(a.agents)
		a.formula, a.second, a.exact = max(a.formula, formula/n), max(a.second, second/n),
			max(a.exact, exact/n)
	}
	return nil
}

// spreadOf is ‖P‖_F² of rounds of averaging with these coefficients.
func spreadOf(g *topology.Graph, rounds [][3]float64) float64 {
	n := g.Agents()
	square := func() [][]float64 {
		rows := make([][]float64, n)
		for i := range rows {
			rows[i] = make([]float64, n)
		}
		return rows
	}
	now, before := square(), square()
	for i := range now {
		now[i][i] = 1
	}
	for _, coefficients := range rounds {
		a, b, c := coefficients[0], coefficients[1], coefficients[2]
		next := square()
		for i, row := range next {
			own := a*g.SelfWeight(agent.ID(i)) + b
			for u := range row {
				row[u] = own*now[i][u] - c*before[i][u]
			}
			for _, nb := range g.In(agent.ID(i)) {
				for u, x := range now[nb.ID] {
					row[u] += a * nb.Weight * x
				}
			}
		}
		now, before = next, now
	}
	sum := 0.
	for _, row := range now {
		for _, x := range row {
			sum += x * x
		}
	}
	return sum
}

// runOnce runs a run file with settings in a directory that is removed.
func runOnce(ctx context.Context, text string, set []string) (*rundir.Summary, error) {
	return runOnceOn(ctx, text, set, "")
}

// runOnceOn is runOnce with a folder of data sets.
func runOnceOn(ctx context.Context, text string, set []string, data string) (*rundir.Summary, error) {
	dir, err := os.MkdirTemp("", "sotto-study-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	e, err := reproduce.Build(text, set, data)
	if err != nil {
		return nil, err
	}
	r, err := run.Run(ctx, e, run.Options{Out: dir, Workers: 1})
	if err != nil {
		return nil, err
	}
	return &r.Summary, nil
}
