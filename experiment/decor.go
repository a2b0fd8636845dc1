package experiment

import (
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account/network"
	"sotto/rng"
)

// decorMechanism is noise that neighbors share and that cancels in the mean of all
// agents.
const decorMechanism = "decor"

// CorrelatedNoise are the keys of [privacy] for mechanism decor.
type CorrelatedNoise struct {
	// PairRatio is the noise of each link over the agent's own, > 0.
	PairRatio float64 `toml:"pair_noise_ratio,omitempty"`
	// Curious says whose secrets the adversary has, who also sees every message:
	// "neighbors" (default), all neighbors of the agent in question, against whom its own
	// noise alone protects; "one", any one other agent; "none".
	Curious string `toml:"curious,omitempty"`
}

// curious are the values of the key in words.
var curious = map[string]string{"neighbors": "all its neighbors", "one": "any one other agent",
	"none": "none"}

// decorAlgorithms have every agent answer as many queries of one clip in the same rounds.
var decorAlgorithms = map[string]bool{"dsgd": true, "dsgt": true, "dinno": true, "gossip-sgd": true,
	averageAlgorithm: true}

// mostCurious bounds the agents of a run in which any one may be curious: as many systems
// of equations are solved.
const mostCurious = 400

func (p *privacyParams) validateCorrelated(algorithm string) error {
	if p.Mechanism != decorMechanism {
		switch {
		case p.PairRatio != 0:
			return config.Bad("pair_noise_ratio", p.PairRatio, "nothing with mechanism "+p.Mechanism)
		case p.Curious != "":
			return config.Bad("curious", p.Curious, "nothing with mechanism "+p.Mechanism)
		}
		return nil
	}
	if p.Curious == "" {
		p.Curious = "neighbors"
	}
	switch {
	case !decorAlgorithms[algorithm]:
		return config.Bad("mechanism", p.Mechanism, "gaussian with algorithm "+algorithm+
			": shared noise is for "+config.OneOf(decorAlgorithms)[len("one of "):])
	case !(p.PairRatio > 0 && p.PairRatio <= 1e4):
		return config.Bad("pair_noise_ratio", p.PairRatio, "above 0 and at most 10,000 with mechanism decor")
	case curious[p.Curious] == "":
		return config.Bad("curious", p.Curious, config.OneOf(curious))
	case p.Adaptive():
		return config.Bad("clipping", p.Kind,
			"constant with mechanism decor: noise of two clips would not cancel")
	}
	return p.validateNoise()
}

// validateDecor refuses what the covariance of shared noise does not hold for.
func (f *File) validateDecor() error {
	if f.priv.Mechanism != decorMechanism {
		return nil
	}
	if on := f.repl.switches(); on != "" {
		return f.at("replication", config.Bad("", on, "no switch with mechanism decor"))
	}
	if f.eval.Score != "" {
		return f.at("evaluate", config.Bad("score", f.eval.Score, "nothing with mechanism decor"))
	}
	return nil
}

// pairs are the agents' neighbors in the first round's graph, with whom they share noise
// in every round.
func (e *Experiment) pairs() ([][]agent.ID, error) {
	g, err := e.schedule.At(0)
	if err != nil {
		return nil, err
	}
	if g.Directed() {
		return nil, e.file.at("topology",
			config.Bad("graph", e.file.topo.Graph, "an undirected graph with mechanism decor"))
	}
	near := make([][]agent.ID, g.Agents())
	for i := range near {
		for _, n := range g.In(agent.ID(i)) {
			near[i] = append(near[i], n.ID)
		}
		slices.Sort(near[i])
	}
	return near, nil
}

// planDecor sets how much more each agent's noise counts than its own part.
func (e *Experiment) planDecor() error {
	near, err := e.pairs()
	if err != nil {
		return err
	}
	e.near = near
	p := &e.file.priv
	n := len(near)
	model := network.Decor{Agents: n, Own: 1, Pair: p.PairRatio}
	for i, js := range near {
		for _, j := range js {
			if int(j) > i {
				model.Links = append(model.Links, [2]int{i, int(j)})
			}
		}
	}
	factors := make([]float64, n)
	take := func(curious ...int) error {
		all, err := model.Multipliers(curious)
		for i, f := range all {
			if !slices.Contains(curious, i) {
				factors[i] = min(factors[i], f)
			}
		}
		return err
	}
	for i := range factors {
		factors[i] = math.Inf(1)
	}
	switch {
	case p.Curious == "neighbors" || n == 1:
		for i := range factors {
			factors[i] = 1
		}
	case p.Curious == "none":
		err = take()
	case n > mostCurious:
		return config.Bad("curious", p.Curious,
			fmt.Sprintf("neighbors or none for more than %d agents", mostCurious))
	default:
		for v := 0; v < n && err == nil; v++ {
			err = take(v)
		}
	}
	if err != nil {
		return err
	}
	batches := map[float64]bool{}
	for i := range e.plans {
		e.plans[i].factor = factors[i]
		if e.owned {
			e.plans[i].factor = factors[e.self]
		}
		batches[e.plans[i].batch] = true
	}
	if len(batches) > 1 {
		e.warnings = append(e.warnings,
			"mechanism decor: agents' batch sizes differ, so that the noise of pairs does not cancel in "+
				"the mean")
	}
	return nil
}

// settleDecor gives all agents the same own noise, enough for each one's target.
func (e *Experiment) settleDecor() error {
	own := e.file.priv.NoiseMultiplier
	if own == 0 {
		for i := range e.plans {
			own = max(own, e.plans[i].noiseMultiplier/e.plans[i].factor)
		}
	}
	for i := range e.plans {
		pl := &e.plans[i]
		pl.noiseMultiplier = own * pl.factor
		r, err := e.release(pl)
		if err != nil {
			return err
		}
		if err := e.price(pl, r); err != nil {
			return err
		}
	}
	return nil
}

// decor is agent i's mechanism.
func (e *Experiment) decor(i int) (privacy.Mechanism, error) { return e.decorOf(i, e.noiseSeed()) }

// decorOf is agent i's mechanism with secrets of a seed.
func (e *Experiment) decorOf(i int, seed uint64) (privacy.Mechanism, error) {
	return e.decorWith(&e.plans[i], agent.ID(i), func(j agent.ID) []byte {
		return rng.SimulatedPair(seed, uint32(i), uint32(j))
	})
}

// decorWith is the mechanism of an agent that shares secrets with its neighbors.
func (e *Experiment) decorWith(pl *plan, self agent.ID, secret func(agent.ID) []byte) (privacy.Mechanism,
	error) {
	p, own := &e.file.priv, pl.noiseMultiplier/pl.factor
	return privacy.NewDecor(privacy.Decor{
		NoiseMultiplier: own,
		Pair:            p.PairRatio * own,
		Effective:       max(own, pl.noiseMultiplier),
		Curious:         curious[p.Curious],
		Self:            self,
		Neighbors:       e.near[self],
		Secret:          secret,
	})
}

// mechanismOf is agent i's mechanism.
func (e *Experiment) mechanismOf(i int) (privacy.Mechanism, error) {
	if e.file.priv.Mechanism == decorMechanism {
		return e.decor(i)
	}
	return e.mechanism(e.plans[i].noiseMultiplier)
}
