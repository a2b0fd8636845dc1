package exposure

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"sotto/agent"
	"sotto/config"
	"sotto/internal/decimal"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/account/network"
	"sotto/topology"
)

// Settings describe one private averaging over a [Source] and who looks at it.
type Settings struct {
	Rounds    int
	Method    string  // see [algo.Recursion]; of a run that averages its own is used
	Dimension float64 // of method jacobi
	// Noise is the multiplier; 0: 1, or what Epsilon, against everyone, asks for. Mu is
	// the GDP parameter of one release; 0: that of normal noise with this multiplier.
	Noise, Mu, Epsilon, Delta float64
	Adjacency                 string
	SecureSum                 bool
	// Adversary is as in [network.ParseAdversary]; everyEach: each agent for itself.
	Adversary string
}

// everyEach names all agents, each for itself.
const everyEach = "all"

// Check refuses numbers out of range.
func (s *Settings) Check() error {
	switch {
	case !(s.Noise >= 0) || math.IsInf(s.Noise, 1):
		return config.Bad("noise_multiplier", s.Noise, "finite numbers above 0")
	case !(s.Epsilon >= 0) || s.Epsilon > 1000:
		return config.Bad("epsilon", s.Epsilon, "above 0 and at most 1000")
	case !(s.Delta > 0 && s.Delta < 1):
		return config.Bad("delta", s.Delta, "above 0 and below 1")
	case s.Rounds < 0 || s.Rounds > 100_000:
		return config.Bad("rounds", s.Rounds, "0 to 100000")
	}
	return nil
}

// A Case is one private averaging and those who look at it, for the network accountant.
type Case struct {
	Graph       *topology.Graph // of the first round, with all its links
	Adversaries []network.Adversary
	Gossip      network.Gossip
	Adjacency   account.Adjacency
	Noise, Mu   float64 // the multiplier, and the GDP parameter of one release
	Delta       float64
	Local       account.Interval // epsilon of one release, against everyone
	Dropout     float64
	Notes       []string
}

// NewCase makes it.
func NewCase(src *Source, s *Settings) (*Case, error) {
	err := s.Check()
	if err != nil {
		return nil, err
	}
	base := src.Whole
	c := &Case{Graph: base, Delta: s.Delta, Dropout: src.Dropout, Notes: src.Notes}
	if c.Adjacency, err = account.ParseAdjacency(s.Adjacency); err != nil {
		return nil, err
	}
	shift := account.ClipShift(c.Adjacency)
	switch {
	case s.Epsilon > 0:
		enough := decimal.Digits(shift/gdp.Mu(s.Epsilon, s.Delta), 6, true)
		if c.Noise, err = strconv.ParseFloat(enough, 64); err != nil {
			return nil, err
		}
	case s.Noise > 0:
		c.Noise = s.Noise
	default:
		c.Noise = 1
	}
	c.Mu = cmp.Or(s.Mu, shift/c.Noise)
	c.Local = local(c.Mu, s.Delta)
	c.Gossip = network.Gossip{Agents: base.Agents(), SecureSum: s.SecureSum}
	if c.Gossip.Rounds, err = src.mixing(s.Rounds); err != nil {
		return nil, err
	}
	if c.Gossip.Method, err = s.averaging(src); err != nil {
		return nil, err
	}
	if s.Adversary == everyEach {
		c.Adversaries = observers(base.Agents())
		return c, nil
	}
	a, err := network.ParseAdversary(s.Adversary)
	c.Adversaries = []network.Adversary{a}
	return c, err
}

// local is epsilon of a release with this GDP parameter, against everyone, with the
// rounding of its exact formula.
func local(mu, delta float64) account.Interval {
	e := gdp.Epsilon(mu, delta)
	return account.Interval{Lower: e * (1 - 1e-12), Upper: e * (1 + 1e-12)}
}

// observers are all agents, each for itself.
func observers(agents int) []network.Adversary {
	all := make([]network.Adversary, agents)
	for v := range all {
		all[v] = network.Observer(v)
	}
	return all
}

// averaging is the method with the eigenvalues of the graph: a run's own with those of
// its first round's.
func (s *Settings) averaging(src *Source) (network.Method, error) {
	r, env, g := src.Recursion, agent.Env{}, src.Whole
	var err error
	if r.Acceleration == "" {
		if r.Acceleration = s.Method; s.Method == "jacobi" {
			r.Dimension = s.Dimension
		}
	} else if g, err = src.Schedule.At(0); err != nil {
		return network.Method{}, err
	}
	switch r.Acceleration {
	case "chebyshev", "chebyshev-ns", "paper":
		info, err := topology.Analyze(g)
		if err != nil {
			return network.Method{}, err
		}
		if !info.Computed {
			return network.Method{}, config.Bad("acceleration", r.Acceleration,
				"plain or jacobi where the eigenvalues are not computed: "+info.NotComputed)
		}
		env.Graph.SLEM, env.Graph.Lambda2 = 1-info.AbsoluteGap, info.Lambda2
	}
	steps, err := r.Coefficients(env, s.Rounds)
	return network.Averaging(r.Acceleration, steps), err
}

// isMember reports that agent u belongs to a.
func isMember(u int, a network.Adversary) bool { return slices.Contains(a.Members(), u) }

// distances are the least numbers of links from any member of a to each agent, -1 for
// those who listen from outside.
func (c *Case) distances(a network.Adversary) []int {
	d := make([]int, c.Graph.Agents())
	for i := range d {
		d[i] = -1
	}
	var rows topology.Rows
	queue := a.Members()
	for _, m := range queue {
		d[m] = 0
	}
	for at := 0; at < len(queue); at++ {
		i := agent.ID(queue[at])
		for _, nbs := range [][]agent.Neighbor{rows.In(c.Graph, i), rows.Out(c.Graph, i)} {
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
