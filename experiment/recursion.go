package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"sotto/agent"
	"sotto/algo"
	"sotto/oracle"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// averager is an algorithm that releases one value and then averages.
type averager interface{ Coefficients(rounds int) [][3]float64 }

// Recursion is how the algorithm averages what is released once.
func (e *Experiment) Recursion() (network.Method, error) {
	alg, err := e.Factory(e.Env(0))
	if err != nil {
		return network.Method{}, err
	}
	return network.Averaging(e.File.Algorithm.Name, alg.(averager).Coefficients(int(e.File.Steps))), nil
}

// checkRecursion refuses recursions for one matrix where agents meet in pairs.
func (e planner) checkRecursion() error {
	if e.File.Topology.Wake != pairWake {
		return nil
	}
	if m, err := e.Recursion(); err == nil && m.Name != network.Plain().Name {
		return e.File.Refuse("algorithm.acceleration", "an accelerated one",
			"plain where agents wake in pairs: the others are for one matrix")
	}
	return nil
}

// unmixed is what averaging may leave of the answers to questions: as much as messages of
// float32 tell apart, however many records there are. Intervals are of noise alone.
const unmixed = 1e-7

// CheckMixing refuses to ask questions where rounds of averaging are too few, so that an
// owner's answers would be its own more than everybody's, or where the graph is not known
// beforehand, or messages are lost. Any sum over owners is then right up to 1e-7 of the
// root of the sum of squares of what each one brings. It refuses tables' algorithms too,
// whose averages need more rounds than there are.
func CheckMixing(f *File, g *topology.Graph) error {
	info, err := topology.Analyze(g)
	if err != nil {
		return err
	}
	known := &Graphs{Spectrum: info, LambdaMin: lowest(g, &info)}
	return cmp.Or(checkMixing(f, known), checkAverages(f, known))
}

// checkAverages makes an agent of a tables' algorithm, in dimension 1: it counts rounds.
func checkAverages(f *File, g *Graphs) error {
	if !slices.Contains(f.Spec.Asks, oracle.GradientSumName) {
		return nil
	}
	e := planner{&Experiment{File: f}}
	if err := e.prepare(); err != nil {
		return err
	}
	if err := e.newFactory(); err != nil {
		return err
	}
	t := agent.Table{Outputs: 1, Norm: 1, Slope: 1, Curvature: 1}
	if !slices.Contains([]string{"logistic", "poisson", "huber"}, f.Model.Name) {
		t.Target = 1 // its loss may be a square, which takes fewer answers
	}
	_, err := e.Factory(agent.Env{Agents: f.Topology.Agents, Dim: 1, Rounds: f.Steps, Graph: g.known(),
		Init: tensor.Vec{0}, Table: t})
	return f.At("algorithm", err)
}

func checkMixing(f *File, g *Graphs) error {
	n := f.Topology.Agents
	if !Asks(f) || n == 1 {
		return nil
	}
	r, err := recursionOf(f)
	if err != nil {
		return err
	}
	need, err := r.Rounds(agent.Env{Agents: n, Graph: g.known()}, unmixed/float64(n))
	switch {
	case err != nil:
		return f.At("algorithm", err)
	case f.Topology.Dropout != 0:
		return f.Refuse("topology.dropout", f.Topology.Dropout,
			"0 with algorithm {algorithm}: how many rounds of averaging are enough would be chance")
	case f.Topology.Wake != "":
		return f.Refuse("topology.wake", f.Topology.Wake,
			"nothing with algorithm {algorithm}: how many meetings are enough would be chance")
	case f.Faults != sim.DefaultFaults():
		return f.Refuse("faults", "lost or late messages",
			"none with algorithm {algorithm}: all answers would lack them")
	case need == 0:
		return f.Refuse("topology.graph", f.Topology.Graph,
			"one whose spectrum is known, and that mixes in at most 65536 rounds, with algorithm {algorithm}")
	case uint64(AveragingRounds(f)) < need:
		return f.Refuse("rounds", f.Run.Rounds, fmt.Sprintf("at least %d with algorithm {algorithm}: the "+
			"answer, then %d of averaging on this graph; after fewer an owner's answers are its own more "+
			"than everybody's", need+1, need))
	}
	return nil
}

// maxObservers bounds the agents of a run whose every observer's view is computed.
const maxObservers = 256

// AveragingRounds returns for how many rounds the run averages values, where it does
// nothing else; 0: it does.
func AveragingRounds(f *File) int {
	if f.Has(algo.OneRelease) {
		return int(f.Steps) - 1
	}
	return 0
}

// Acceleration returns how a run that only averages values does so.
func Acceleration(f *File) (algo.Recursion, error) {
	if AveragingRounds(f) == 0 {
		return algo.Recursion{}, nil
	}
	return recursionOf(f)
}

// recursionOf is what [algorithm] says of averaging.
func recursionOf(f *File) (algo.Recursion, error) {
	var p algo.AverageParams
	e := planner{&Experiment{File: f}}
	if err := e.prepare(); err != nil {
		return p.Recursion, err
	}
	err := f.At("algorithm", f.Section("algorithm")(&p))
	p.Set(e.Setup.Setting)
	p.Acceleration = cmp.Or(p.Acceleration, network.Plain().Name)
	return p.Recursion, err
}

// CheckViews refuses an averaging whose noise or mixing is another than the exact views
// of its agents are computed for.
func CheckViews(f *File) error {
	switch {
	case AveragingRounds(f) == 0:
		return nil
	case !f.Mechanism().ExactView:
		return f.Refuse("privacy.mechanism", f.Privacy.Mechanism, "normal noise of each agent's own, which "+
			"alone has an exact view; the figure against everyone holds")
	case !Asks(f) && f.Privacy.unit != account.Owner():
		return f.Refuse("privacy.unit", f.Privacy.Unit, "owner: with this unit an agent's noise goes by its "+
			"number of records, which neither a roster nor a run directory says; a simulation with "+
			"evaluate.network = true states the figures, and the figure against everyone holds")
	case !f.Faultless():
		return f.Refuse("faults", "faults or agents that attack", "none: mixing was not what was planned, "+
			"and who learned what is not known; the figure against everyone holds")
	}
	return nil
}

// Graphs builds the graphs of a run whose graph needs no data.
func (f *File) Graphs() (topology.Schedule, error) {
	e := builder{&Experiment{File: f}}
	if err := e.planner().prepare(); err != nil {
		return nil, err
	}
	err := e.buildGraph(tensor.Mat{})
	return e.Graphs.Schedule, err
}
