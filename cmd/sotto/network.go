package main

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
	"sotto/topology"
)

// networkFlags describe one private averaging and who looks at it.
type networkFlags struct {
	graph                      graphFlags
	family, run, roster        string
	rounds                     int
	given                      bool // --rounds
	steps                      int
	adversary, method          string
	dimension                  float64
	noise, epsilon, delta      float64
	adjacency, output, drawing string
	secureSum, reference       bool
	reconstruct                bool
}

func newAccountNetwork() *cobra.Command {
	var f networkFlags
	c := &cobra.Command{
		Use: "network",
		Short: "Who learns what about whom when values are released once, with noise, and averaged over a " +
			"graph",
		Long: `Every agent releases one value with Gaussian noise and the network averages for some rounds. The figures say how much of an agent's local
privacy loss an observer, a coalition or a listener gets: leak 1 is all of it, 0 nothing, and epsilon follows by the exact Gaussian
formula. They stand beside the local guarantee against everyone and do not replace it. They hold for averaging, not for training over many
rounds, where other agents react to an agent's update.`,
		Example: "  sotto account network --topology path --agents 3 --rounds 2 --adversary 2\n  sotto " +
			"account network --topology hypercube --agents 256 --rounds 10 --adversary all --output svg > " +
			"heat.svg\n" +
			"  sotto account network --roster roster.toml --rounds 5 --adversary {0,3} --epsilon 1",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.given = cmd.Flags().Changed("rounds")
			if f.steps != 1 {
				if err := f.checkTraining(); err != nil {
					return err
				}
				return f.writeTraining(cmd.OutOrStdout())
			}
			r, err := f.compute()
			if err != nil {
				return err
			}
			return f.write(cmd.OutOrStdout(), r)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.family, "topology", "", "graph family, see sotto topology show")
	fl.StringVar(&f.run, "run", "",
		"the graphs of this run directory, in place of --topology; a run that averages has its own number "+
			"of rounds")
	fl.StringVar(&f.roster, "roster", "", "the graphs of this roster, in place of --topology")
	fl.IntVar(&f.graph.agents, "agents", 10, "number of agents")
	fl.StringVar(&f.graph.weights, "weights", "",
		"metropolis, uniform, lazy, max-degree, or column for push-sum")
	fl.Uint64Var(&f.graph.seed, "graph-seed", 1, "seed of random graphs")
	fl.Float64Var(&f.graph.dropout, "dropout", 0, "probability that a link is missing from a round")
	fl.BoolVar(&f.graph.pairs, "pairs", false,
		"in every round one random agent averages with one random neighbor, and the others wait")
	fl.StringArrayVar(&f.graph.set, "set", nil, "parameter of the graph, key=value (repeatable)")
	fl.IntVar(&f.rounds, "rounds", 10, "rounds of averaging, 0 to 100000")
	fl.IntVar(&f.steps, "steps", 1,
		"releases of each agent, with the rounds of averaging after each: what a partial view tells of "+
			"training is an estimate, never a guarantee")
	fl.StringVar(&f.adversary, "adversary", "all",
		"an agent (3), a coalition ({3,7}), all (every agent for itself), all-messages or eavesdropper")
	fl.StringVar(&f.method, "method", "plain", "plain, chebyshev, chebyshev-ns, jacobi or paper")
	fl.Float64Var(&f.dimension, "dimension", 2, "jacobi: spectral dimension of the graph, 1 for rings")
	fl.Float64Var(&f.noise, "noise-multiplier", 0, "noise standard deviation over the clip; default 1")
	fl.Float64Var(&f.epsilon, "epsilon", 0,
		"in place of --noise-multiplier: the local epsilon, against everyone, that sets the noise")
	fl.Float64Var(&f.delta, "delta", 1e-5, "delta, above 0 and below 1")
	fl.StringVar(&f.adjacency, "adjacency", "add-remove", "add-remove, replace-one or zero-out")
	fl.BoolVar(&f.secureSum, "secure-sum", false,
		"every agent gets only the weighted sum of a round's messages to it")
	fl.BoolVar(&f.reference, "reference", false,
		"print the published per-message formula beside the exact figures; it is not a bound")
	fl.BoolVar(&f.reconstruct, "reconstruct", false,
		"say also whose values an adversary would get exactly if nothing were noised")
	fl.StringVar(&f.output, "output", "table", "table, json, csv or svg")
	fl.StringVar(&f.drawing, "draw", "",
		"svg: heatmap, distance, coalition or graph; default: heatmap for several adversaries, else graph")
	return c
}

// networkResult is what the figures of an averaging are made from.
type networkResult struct {
	graph       *topology.Graph // of the first round, with all its links
	adversaries []network.Adversary
	views       []*network.View
	formula     [][]float64 // by adversary; nil: not asked for, or no single observer
	determined  []*network.Reconstruction
	gossip      network.Gossip
	adjacency   account.Adjacency
	noise, mu   float64
	local       account.Interval
	notes       []string
}

func (f *networkFlags) check() error {
	switch {
	case !slices.Contains([]string{"table", "json", "csv", "svg"}, f.output):
		return usageError{fmt.Errorf("--output: found %q, allowed: table, json, csv, svg", f.output)}
	case !slices.Contains([]string{"", "heatmap", "distance", "coalition", "graph"}, f.drawing):
		return usageError{fmt.Errorf("--draw: found %q, allowed: heatmap, distance, coalition, graph",
			f.drawing)}
	case f.noise != 0 && f.epsilon != 0:
		return usageError{errors.New("--epsilon sets the noise: no --noise-multiplier beside it")}
	case !(f.noise >= 0) || math.IsInf(f.noise, 1):
		return config.Bad("--noise-multiplier", f.noise, "finite numbers above 0")
	case !(f.epsilon >= 0) || f.epsilon > 1000:
		return config.Bad("--epsilon", f.epsilon, "above 0 and at most 1000")
	case !(f.delta > 0 && f.delta < 1):
		return config.Bad("--delta", f.delta, "above 0 and below 1")
	case f.rounds < 0 || f.rounds > 100_000:
		return config.Bad("--rounds", f.rounds, "0 to 100000")
	}
	return nil
}

// described reads the averaging and who looks at it.
func (f *networkFlags) described() (*networkResult, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	src, err := f.source()
	if err != nil {
		return nil, err
	}
	base := src.whole
	if src.rounds > 0 && !f.given {
		f.rounds = src.rounds
	}
	r := &networkResult{graph: base, notes: src.notes}
	if r.adjacency, err = account.ParseAdjacency(f.adjacency); err != nil {
		return nil, err
	}
	shift := account.ClipShift(r.adjacency)
	switch {
	case f.epsilon > 0:
		r.noise = shift / account.GaussianMu(f.epsilon, f.delta)
	case f.noise > 0:
		r.noise = f.noise
	default:
		r.noise = 1
	}
	r.mu = shift / r.noise
	e := account.GaussianEpsilon(r.mu, f.delta)
	r.local = account.Interval{Lower: e * (1 - 1e-12), Upper: e * (1 + 1e-12)}
	r.gossip = network.Gossip{Agents: base.Agents(), SecureSum: f.secureSum}
	if r.gossip.Rounds, err = src.mixing(f.rounds); err != nil {
		return nil, err
	}
	if r.gossip.Method, err = f.averaging(base, len(r.gossip.Rounds)); err != nil {
		return nil, err
	}
	if r.adversaries, err = f.adversaries(base.Agents()); err != nil {
		return nil, err
	}
	return r, nil
}

func (f *networkFlags) compute() (*networkResult, error) {
	r, err := f.described()
	if err != nil {
		return nil, err
	}
	if r.views, err = r.gossip.Views(r.adversaries); err != nil {
		return nil, err
	}
	if f.reconstruct {
		for _, a := range r.adversaries {
			d, err := r.gossip.Reconstruct(a)
			if err != nil {
				return nil, err
			}
			r.determined = append(r.determined, d)
		}
	}
	return r, f.printed(r)
}

// averaging is the method with the eigenvalues of the graph.
func (f *networkFlags) averaging(g *topology.Graph, rounds int) (network.Method, error) {
	r, env := algo.Recursion{Acceleration: f.method}, agent.Env{}
	switch f.method {
	case "jacobi":
		r.Dimension = f.dimension
	case "chebyshev", "chebyshev-ns", "paper":
		info, err := topology.Analyze(g)
		if err != nil {
			return network.Method{}, err
		}
		if !info.Computed {
			return network.Method{}, config.Bad("--method", f.method,
				"plain or jacobi where the eigenvalues are not computed: "+info.NotComputed)
		}
		env.Rho, env.Second = 1-info.AbsoluteGap, info.Lambda2
	}
	steps, err := r.Coefficients(env, rounds)
	var bad *config.Error
	if errors.As(err, &bad) {
		bad.Key = map[string]string{"acceleration": "--method", "spectral_dimension": "--dimension"}[bad.Key]
	}
	return network.Averaging(f.method, steps), err
}

func (f *networkFlags) adversaries(agents int) ([]network.Adversary, error) {
	if f.adversary != "all" {
		a, err := network.ParseAdversary(f.adversary)
		return []network.Adversary{a}, err
	}
	out := make([]network.Adversary, agents)
	for v := range out {
		out[v] = network.Observer(v)
	}
	return out, nil
}

// printed fills in the published formula.
func (f *networkFlags) printed(r *networkResult) error {
	if !f.reference {
		return nil
	}
	r.formula = make([][]float64, len(r.adversaries))
	for i, a := range r.adversaries {
		if m := a.Members(); len(m) == 1 {
			var err error
			if r.formula[i], err = r.gossip.MuffliatoPrinted(m[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// distances are the least numbers of links from any member of a to each agent, -1 for
// those who listen from outside.
func (r *networkResult) distances(a network.Adversary) []int {
	d := make([]int, r.graph.Agents())
	for i := range d {
		d[i] = -1
	}
	queue := a.Members()
	for _, m := range queue {
		d[m] = 0
	}
	for at := 0; at < len(queue); at++ {
		i := agent.ID(queue[at])
		for _, nbs := range [][]agent.Neighbor{r.graph.In(i), r.graph.Out(i)} {
			for _, nb := range nbs {
				if d[nb.ID] < 0 {
					d[nb.ID] = d[i] + 1
					queue = append(queue, int(nb.ID))
				}
			}
		}
	}
	return d
}
