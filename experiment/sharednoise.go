package experiment

import (
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account/network"
)

// CorrelatedNoise are the keys of [privacy] for mechanism decor: noise that neighbors
// share and that cancels in the mean of all agents.
type CorrelatedNoise struct {
	// PairRatio is the noise of each link divided by the agent's own noise, > 0.
	PairRatio float64 `toml:"pair_noise_ratio,omitempty"`
	// Curious says whose secrets the adversary knows, besides seeing every message:
	// "neighbors" (default), those of all neighbors of the agent in question, so that
	// only the agent's own noise protects it; "one", those of any one other agent;
	// "none".
	Curious string `toml:"curious,omitempty"`
}

// curious are the values of the key in words.
var curious = map[string]string{"neighbors": "all its neighbors", "one": "any one other agent",
	"none": "none"}

// maxCurious bounds the agents of a run with any one curious: so many systems are solved.
const maxCurious = 400

func (q *CorrelatedNoise) validate(p *PrivacyParams, pairwise bool) error {
	switch {
	case !pairwise && q.PairRatio != 0:
		return config.Bad("pair_noise_ratio", q.PairRatio, "nothing with mechanism "+p.Mechanism)
	case !pairwise && q.Curious != "":
		return config.Bad("curious", q.Curious, "nothing with mechanism "+p.Mechanism)
	case !pairwise:
		return nil
	}
	if q.Curious == "" {
		q.Curious = "neighbors"
	}
	switch {
	case !(q.PairRatio > 0 && q.PairRatio <= 1e4):
		return config.Bad("pair_noise_ratio", q.PairRatio, "above 0 and at most 10,000 with mechanism decor")
	case curious[q.Curious] == "":
		return config.Bad("curious", q.Curious, config.OneOf(curious))
	}
	return nil
}

// linked are the agents' neighbors in the first round's graph, with whom they share noise
// in every round.
func linked(e *Experiment) ([][]agent.ID, error) {
	g, err := e.Graphs.Schedule.At(0)
	if err != nil {
		return nil, err
	}
	if g.Directed() {
		return nil, e.File.Refuse("topology.graph", e.File.Topology.Graph,
			"an undirected graph with mechanism {mechanism}")
	}
	with := make([][]agent.ID, g.Agents())
	for i := range with {
		for _, n := range g.In(agent.ID(i)) {
			with[i] = append(with[i], n.ID)
		}
		slices.Sort(with[i])
	}
	return with, nil
}

// sharedNoise is the scheme of mechanism decor.
func sharedNoise(e *Experiment) (privacy.Scheme, error) {
	with, err := linked(e)
	if err != nil {
		return nil, err
	}
	planner{e}.warnUnequal()
	p := &e.File.Privacy
	n := len(with)
	noise := network.Decor{Agents: n, Own: 1, Pair: p.PairRatio}
	for i, js := range with {
		for _, j := range js {
			if int(j) > i {
				noise.Links = append(noise.Links, [2]int{i, int(j)})
			}
		}
	}
	s := &privacy.Pairwise{With: with, Ratio: p.PairRatio, Curious: curious[p.Curious]}
	switch {
	case p.Curious == "neighbors" || n == 1:
		s.Factors = slices.Repeat([]float64{1}, n)
	case p.Curious == "none":
		s.Factors, err = noise.Multipliers(nil)
	case n > maxCurious:
		return nil, config.Bad("curious", p.Curious,
			fmt.Sprintf("neighbors or none for more than %d agents", maxCurious))
	default:
		s.Factors, err = noise.AgainstAnyOne()
	}
	return s, err
}

// normal says that noise is normal, an agent's own or shared.
func (m *Mechanism) normal() bool { return m.ExactView || m.Pairwise }

// Spread is the deviation of all noise in agent i's answers over that which counts.
func Spread(e *Experiment, i int) float64 {
	s, ok := e.Setup.Scheme.(*privacy.Pairwise)
	if !ok {
		return 1
	}
	id := e.Seats.ID(i)
	return math.Sqrt(1+float64(len(s.Neighbors(id)))*s.Ratio*s.Ratio) / s.Counts(id)
}

// warnUnequal says where shared noise does not cancel: sums are divided by nothing.
func (e planner) warnUnequal() {
	sums := e.File.Kind().Batches == oracle.Sum
	for i := range e.Plans {
		if !sums && e.Plans[i].Public.ExpectedBatchSize != e.Plans[0].Public.ExpectedBatchSize {
			e.Notes.Warnings = append(e.Notes.Warnings,
				"mechanism decor: agents' batch sizes differ, so that the noise "+
					"of pairs does not cancel in the mean")
			return
		}
	}
}
