package forecast

import (
	"fmt"

	"sotto/data"
	"sotto/experiment"
	"sotto/model"
	"sotto/privacy/account"
)

// Newton steps are suggested up to so many parameters an output, of which the noisy
// matrix of second moments has the square over two, and to so many agents, who all hear
// each other.
const (
	mostRows   = 200
	mostHeard  = 200
	tableAsks  = 9 // one matrix, eight gradients
	tableSteps = tableAsks + 1
)

// tabular is a suggestion for a small table: Newton steps, of which nothing is left to be
// chosen, and an own model for every owner. nil: the run is not for a small table, or
// does something that these do not.
func tabular(e *experiment.Experiment) *Suggestion {
	f, m := e.File, e.Task.Model
	glm, linear := model.Linear(m)
	agents := f.Topology.Agents
	if !linear || m.Dim() > mostRows || agents < 2 || agents > mostHeard {
		return nil
	}
	t := &e.Setup.Target
	r, err := account.Noise(account.DPSGD(t.Adjacency, 1, tableAsks),
		account.Budget{Epsilon: f.Privacy.TargetEpsilon, Delta: f.Privacy.TargetDelta})
	if err != nil {
		return nil
	}
	s := &Suggestion{Noise: r.NoiseMultiplier,
		Drop: []string{"privacy.batch_size", "privacy.sample_rate", "privacy.max_grad_norm",
			"algorithm.step_size", "algorithm.step_size_final", "algorithm.schedule"},
		Keys: []Key{
			{"", "rounds", tableSteps, "one matrix of second moments and eight gradients, each averaged " +
				"in one round"},
			{"algorithm", "name", "newton", "the model is linear in its few parameters: steps, clips and " +
				"batches follow from public bounds"},
			{"topology", "graph", "complete", "all average with all, so that one round is enough for an " +
				"average"},
		}}
	if !glm.Intercept {
		s.Keys = append(s.Keys, Key{"model", "intercept", true, "a constant costs one parameter"})
	}
	if e.Task.Split.Test.Groups != nil && data.ByGroups(f.Data.Partition) {
		s.Keys = append(s.Keys, Key{"evaluate", "on", "own", "every owner is tested on its own records"},
			Key{"personal", "enabled", true, "every owner ends with a model of its own around the shared " +
				"one: nothing of it leaves, nothing is charged"})
	}
	if _, err := experiment.Changed(f, s.Drop, s.set()); err != nil {
		return nil // another mechanism, unit, graph or way of running
	}
	return s
}

// set are the keys as settings of a run file.
func (s *Suggestion) set() (all []string) {
	for _, k := range s.Keys {
		name := k.Key
		if k.Section != "" {
			name = k.Section + "." + name
		}
		all = append(all, fmt.Sprintf("%s=%v", name, k.Value))
	}
	return all
}
