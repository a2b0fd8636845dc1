package muffliato2022

import (
	"fmt"
	"math"
	"sync"

	"sotto/experiment/exposure"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/account/network"
	"sotto/topology"
)

// walkDelta is that of all runs.
const walkDelta = 1e-6

// network are the cells of what agent 0 learns at a noise over the clip: the worst pair
// by the printed form, worst and mean by the mixture.
func (w walker) network(noise float64, small bool) ([]string, error) {
	if w.budget == "central" {
		return []string{"", "", ""}, nil
	}
	w = w.sized(small)
	worst, ok, err := w.printed(noise, small)
	if err != nil {
		return nil, err
	}
	cells := []string{"mixes too slowly", "refused: the clip may bind", ""}
	if ok {
		cells[0] = fmt.Sprintf("%.3f", worst)
	}
	if w.mode != "hidden" {
		return cells, nil
	}
	g, hops, err := w.hops(small)
	if err != nil {
		return nil, err
	}
	local := gdp.Epsilon(math.Sqrt(walkMost)/noise, walkDelta) * (1 + 1e-12)
	f, err := exposure.Walk(g, &network.WalkMixture{
		Agents: w.agents,
		Hops:   hops,
		Steps:  w.steps,
		Visits: walkMost,
		Mu:     1 / noise,
		Conditions: network.Conditions{
			Convex:     true,
			Smoothness: .5,
			StepSize:   walkSteps[w.budget].sound,
			SecretHops: true,
		},
		Contraction: 1,
		LocalSteps:  1,
	}, walkDelta, account.Interval{Upper: local})
	if err != nil {
		return nil, err
	}
	cells[1], cells[2] = fmt.Sprintf("%.3f", float64(f.Epsilon)), fmt.Sprintf("%.3f", float64(f.MeanEpsilon))
	return cells, nil
}

// hops is the graph of the first seed and its matrix.
func (w walker) hops(small bool) (*topology.Graph, *network.Matrix, error) {
	g, err := drawGraph(w.graph, w.agents, 1, func(p any) {
		if r, ok := p.(*topology.GeometricParams); ok {
			r.Radius = map[bool]float64{true: .4, false: .07}[small]
		}
	})
	if err != nil {
		return nil, nil, err
	}
	m, err := exposure.Mixing(topology.Static(g), 1)
	if err != nil {
		return nil, nil, err
	}
	return g, m[0], nil
}

// printedAtOne holds the coefficient of the worst pair at noise 1 by graph, agents and
// steps: it falls with the square of the noise.
var printedAtOne sync.Map

type printedKey struct {
	graph         string
	agents, steps int
}

// printed is the published epsilon of agent 0's worst pair. On the complete graph W =
// 11'/n leaves the first term alone.
func (w walker) printed(noise float64, small bool) (eps float64, ok bool, err error) {
	n, t := float64(w.agents), float64(w.steps)
	if w.graph == "complete" {
		return network.PrintedEpsilon(t*math.Log(t)/(noise*noise*n*n), walkDelta), true, nil
	}
	key := printedKey{w.graph, w.agents, w.steps}
	c, found := printedAtOne.Load(key)
	if !found {
		_, m, err := w.hops(small)
		if err != nil {
			return 0, false, err
		}
		all, ok, err := network.WalkPrintedObserver(m, w.agents, 0, 1, w.steps)
		if err != nil || !ok {
			return 0, false, err
		}
		worst := 0.
		for _, x := range all[1:] {
			worst = max(worst, x)
		}
		c = worst
		printedAtOne.Store(key, c)
	}
	return network.PrintedEpsilon(c.(float64)/(noise*noise), walkDelta), true, nil
}
