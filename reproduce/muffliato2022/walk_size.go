package muffliato2022

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sotto/experiment/exposure"
	"sotto/privacy/account/gdp"
	"sotto/privacy/account/network"
	"sotto/report/plot"
	"sotto/reproduce"
	"sotto/rng"
	"sotto/topology"
)

// walkSizes are the numbers of agents of the figure of losses over n, and the number of
// walks that are drawn.
var walkSizes = map[reproduce.Scale]struct {
	agents []int
	walks  int
}{reproduce.Smoke: {[]int{5, 20}, 2}, reproduce.Full: {[]int{5, 10, 20, 50, 100, 200, 400}, 10}}

const (
	sizeDelta = 1e-7
	// sizeVisits are the steps for each agent, and the contributions of one.
	sizeVisits = 100
)

// walkLoss is one line of the table: epsilon_0 of one contribution and agents.
type walkLoss struct {
	eps0   float64
	agents int

	local, network reproduce.Sample // as published: of agents, and of pairs
	theory         float64          // the published curve
	all, mixture   float64          // against who sees every message, and against one agent
}

// walkOverAgents draws the published figure of the random walk's privacy over the number
// of agents, and beside it what holds: exact composition and the mixture.
func walkOverAgents(ctx context.Context, opt reproduce.Options) (*reproduce.Document, error) {
	size := walkSizes[opt.Scale]
	d := reproduce.NewTable("epsilon of one", "agents", "local, published (not exact)",
		"network, published mean (not a bound)",
		"least", "largest", "network, published curve", "against all, exact",
		"network, mixture (proved)", "mixture/exact")
	fig := plot.Figure{
		Name:    "walk-agents",
		Title:   "Privacy of a random walk over its agents (dashed: as published)",
		XLabel:  "agents",
		YLabel:  "epsilon",
		LogX:    true,
		LogY:    true,
		Markers: true,
		Caption: "Complete graph, 100 contributions of each agent. Against all: exact composition; " +
			"network: the mixture, against one agent. Dashed: as published, of the same colour the mean " +
			"over drawn walks.",
	}
	for _, eps0 := range []float64{.1, .4} {
		var curves [5]plot.Curve
		for k, name := range []string{"against all", "network"} {
			name = fmt.Sprintf("%s, %g", name, eps0)
			curves[2*k] = plot.Curve{Name: name}
			curves[2*k+1] = plot.Curve{Name: name + ", published", Like: name, Dashed: true}
		}
		curves[4] = plot.Curve{Name: fmt.Sprintf("network, published curve, %g", eps0), Dashed: true}
		for _, n := range size.agents {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			l := walkLoss{eps0: eps0, agents: n}
			if err := l.compute(size.walks); err != nil {
				return nil, err
			}
			l.row(d, size.walks)
			x := float64(n)
			ends := func(s reproduce.Sample) plot.Point {
				return plot.Point{X: x, Y: s.Mean(), Low: slices.Min(s), High: slices.Max(s)}
			}
			for k, p := range []plot.Point{reproduce.At(x, l.all), ends(l.local), reproduce.At(x, l.mixture),
				ends(l.network), reproduce.At(x, l.theory)} {
				curves[k].Points = append(curves[k].Points, p)
			}
		}
		fig.Curves = append(fig.Curves, curves[:]...)
	}
	d.Figures = append(d.Figures, fig)
	d.Notes = walkSizeNotes(size.walks)
	if opt.Scale == reproduce.Smoke {
		d.Notes = append(d.Notes, "scale smoke: few agents and walks")
	}
	return d, nil
}

func walkSizeNotes(walks int) []string {
	return []string{
		fmt.Sprintf("complete graph, %d steps for each agent, every one noised so that it costs the "+
			"epsilon of the first column at delta %g; hops to a uniform agent, which may be the same one",
			sizeVisits, sizeDelta),
		fmt.Sprintf("local, published: advanced composition of an agent's visits in %d drawn walks, mean",
			walks),
		"network, published mean: Cyffers and Bellet's public figure over the same walks. Each time that " +
			"the token comes back to an observer after m steps, another agent is charged " +
			"epsilon_0/sqrt(m) if the observer had sent to it or receives from it, twice that if both, " +
			"and otherwise the same after sampling with rate 1-(1-1/n)^m; charges are composed by " +
			"Kairouz, Oh, Viswanath's formula. Mean, least and largest over pairs and walks. Claimed: " +
			"epsilons are composed as if they were without delta, each with a delta of its own; a mean " +
			"is no guarantee for any pair",
		"network, published curve: the public code's 3 epsilon_0/sqrt(n) for each of 200 contributions, " +
			"composed by the better of the plain and the advanced theorem (claimed)",
		fmt.Sprintf("against all, exact: %d Gaussian releases, each of the epsilon of the first column "+
			"at delta %g, at that delta in all; mixture: the same against one agent that does not know "+
			"the path, at that delta in all (network.WalkMixture). It holds for convex, smooth losses, "+
			"steps of at most 2 over the smoothness and secret hops, and an agent that stops after %d "+
			"contributions",
			sizeVisits, sizeDelta, sizeVisits),
		reproduce.RowNote,
	}
}

// compute fills the line.
func (l *walkLoss) compute(walks int) error {
	n := uint64(l.agents)
	for w := range walks {
		s := rng.Public(1, "seed004-walkn", n, uint64(w))
		path := make([]int, sizeVisits*l.agents) // from agent 0
		for i := range path[1:] {
			path[1+i] = int(s.Below(n))
		}
		losses, visits := cycleLosses(l.agents, l.eps0, path)
		for o, of := range losses {
			l.local = append(l.local, advanced(l.eps0, float64(visits[o])))
			for v, x := range of {
				if v != o {
					l.network = append(l.network, x)
				}
			}
		}
	}
	each := 3 * l.eps0 / math.Sqrt(float64(l.agents))
	l.theory = min(advanced(each, 2*sizeVisits), 2*sizeVisits*each)
	mu := gdp.Mu(l.eps0, sizeDelta)
	l.all = gdp.Epsilon(mu*math.Sqrt(sizeVisits), sizeDelta)
	g, err := drawGraph("complete", l.agents, 1, nil)
	if err != nil {
		return err
	}
	hops, err := exposure.Mixing(topology.Static(g), 1)
	if err != nil {
		return err
	}
	mixture := network.WalkMixture{
		Agents:      l.agents,
		Hops:        hops[0],
		Steps:       sizeVisits * l.agents,
		Visits:      sizeVisits,
		Mu:          mu,
		Conditions:  network.Conditions{Convex: true, Smoothness: 1, StepSize: 1, SecretHops: true},
		Contraction: 1,
		LocalSteps:  1,
	}
	pair, err := mixture.Pairs([][2]int{{1, 0}}, sizeDelta)
	if err != nil {
		return err
	}
	l.mixture = pair[0]
	return nil
}

// row appends the line.
func (l *walkLoss) row(d *reproduce.Document, walks int) {
	figures := []float64{l.local.Mean(), l.network.Mean(), slices.Min(l.network), slices.Max(l.network),
		l.theory, l.all, l.mixture, l.mixture / l.all}
	cells := reproduce.Cells(l.eps0, l.agents)
	for _, x := range figures {
		cells = append(cells, fmt.Sprintf("%.4g", x))
	}
	d.AddRow(cells, "1", fmt.Sprintf("seed004-walkn epsilon %g delta %g agents %d visits %d walks %d", l.eps0,
		sizeDelta, l.agents, sizeVisits, walks), figures...)
}

// advanced is the advanced composition of k releases of eps, each of them without delta.
func advanced(eps, k float64) float64 {
	return math.Sqrt(2*k*math.Log(1/sizeDelta))*eps + k*eps*math.Expm1(eps)
}

// charges are sums over what an observer's visits charge one agent.
type charges struct{ sum, drift, square float64 }

func (c *charges) add(eps, times float64) {
	c.sum += times * eps
	c.drift += times * eps * math.Expm1(eps) / (math.Exp(eps) + 1)
	c.square += times * eps * eps
}

// composed is the homogeneous formula of Kairouz, Oh, Viswanath 2015, as the public code
// has it, for so many charges.
func (c *charges) composed(times int) float64 {
	delta := float64(times) * sizeDelta
	root := math.Sqrt(c.square)
	tail := min(math.Log(1/delta), math.Log(math.E+root/delta))
	return min(c.sum, c.drift+root*math.Sqrt(2*tail))
}

// cycleLosses is what the public code charges agent v for observer o, at [o][v], when the
// token goes along path, and how often it comes to each. The start is no visit, and every
// agent is taken to have sent to agent 0 at the time 0.
func cycleLosses(agents int, eps0 float64, path []int) (losses [][]float64, visits []int) {
	last, sentTo, visits := make([]int, agents), make([]int, agents), make([]int, agents)
	all := make([]charges, agents) // of agents that are neither
	some := make([][]charges, agents)
	for o := range some {
		some[o] = make([]charges, agents)
	}
	for i := 1; i < len(path); i++ {
		o, from := path[i], path[i-1]
		m := float64(i - last[o])
		known := eps0 / math.Sqrt(m)
		sampled := math.Log1p(-math.Expm1(m*math.Log1p(-1/float64(agents))) * math.Expm1(known))
		all[o].add(sampled, 1)
		if sentTo[o] == from {
			some[o][from].add(2*known, 1)
			some[o][from].add(sampled, -1)
		} else {
			for _, v := range []int{sentTo[o], from} {
				some[o][v].add(known, 1)
				some[o][v].add(sampled, -1)
			}
		}
		sentTo[from], last[o] = o, i
		visits[o]++
	}
	losses = make([][]float64, agents)
	for o := range losses {
		losses[o] = make([]float64, agents)
		for v, c := range some[o] {
			c.sum, c.drift, c.square = c.sum+all[o].sum, c.drift+all[o].drift, c.square+all[o].square
			if visits[o] > 0 {
				losses[o][v] = c.composed(visits[o])
			}
		}
	}
	return losses, visits
}
