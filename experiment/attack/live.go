package attack

import (
	"sotto/agent"
	"sotto/algo"
	"sotto/experiment"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
	"sotto/topology"
)

// liveRun is a run among nodes that an auditor drives. All but the attacked member know
// nothing private.
type liveRun struct {
	attacked agent.ID
	graph    *topology.Graph   // of all rounds, or the mean of graphs
	graphs   topology.Schedule // nil where all rounds have one
	rounds   uint64
	dim      int // length of answers
	push     bool
	bf16     bool
	member   func(i int) (agent.Algorithm, error) // the state machine of another member
	files    ledger.FS                            // for checkpoints; nil: the operating system's
}

// live is audit.Target.Live.
func (a *auditor) live(files ledger.FS,
	dim int) (func(agent.Algorithm, audit.Gate, func() bool) ([]agent.Message, error), error) {
	e, f := a.e, a.e.File
	if err := f.Check(experiment.Unheard); err != nil {
		return nil, err
	}
	r := &liveRun{
		attacked: agent.ID(a.agent),
		rounds:   f.Steps,
		dim:      dim,
		push:     f.Has(algo.Mass),
		bf16:     f.Algorithm.Short(),
		member:   a.stateMachine,
		files:    files,
	}
	var err error
	if r.graph, err = topology.Union(e.Graphs.Schedule); err != nil {
		return nil, f.At("topology", err)
	}
	if len(topology.Period(e.Graphs.Schedule)) != 1 {
		r.graphs = e.Graphs.Schedule
	}
	return r.observe, nil
}
