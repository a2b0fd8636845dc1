package experiment

import (
	"sotto/agent"
	"sotto/algo"
	"sotto/config"
)

// validateAdversaries checks the adversaries of [faults].
func (f *File) validateAdversaries() error {
	if len(f.adv.Agents) > 0 && (f.pacing != algo.Rounds || f.alg.Name == "central" ||
		f.alg.Name == "local") {
		return config.Bad("adversaries", f.adv.Agents, "none with algorithm "+f.alg.Name+
			": only agents that send to all neighbors in every round attack")
	}
	return f.adv.Complete(f.topo.Agents)
}

// honest lists the agents that are no adversaries, ascending; where tokens walk, which
// carry the models, the tokens.
func (e *Experiment) honest() []int {
	var agents []int
	for k := range e.file.tokn.Count {
		agents = append(agents, k)
	}
	if agents != nil {
		return agents
	}
	for i := range e.file.topo.Agents {
		if !e.file.adv.Has(i) {
			agents = append(agents, i)
		}
	}
	return agents
}

// pick returns the elements of xs at the given places.
func pick(xs, at []int) []int {
	picked := make([]int, len(at))
	for k, i := range at {
		picked[k] = xs[i]
	}
	return picked
}

// countNeighbors finds the fewest neighbors that an agent hears in the first round.
func (e *Experiment) countNeighbors() error {
	g, err := e.schedule.At(0)
	if err != nil {
		return err
	}
	e.neighbors = g.Agents()
	for i := range agent.ID(g.Agents()) {
		e.neighbors = min(e.neighbors, len(g.In(i)))
	}
	return nil
}
