package attack

import (
	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/privacy/audit"
	"sotto/topology"
)

// LiveRun is a run among nodes that an auditor drives. All but the attacked member know
// nothing private.
type LiveRun struct {
	Attacked agent.ID
	Graph    *topology.Graph   // of all rounds, or the mean of Graphs
	Graphs   topology.Schedule // nil where all rounds have one
	Rounds   uint64
	Dim      int // length of answers
	Push     bool
	BF16     bool
	Member   func(i int) (agent.Algorithm, error) // the state machine of another member
}

// LiveDrive runs attacked as the node of member r.Attacked among nodes of the others. It
// returns what that node has sent to one neighbor with the step after which done is true.
// Package experiment does not link the network, so that its caller brings this.
type LiveDrive func(r LiveRun, attacked agent.Algorithm, g audit.Gate, done func() bool) ([]agent.Message,
	error)

// live is audit.Target.Live.
func (a *auditor) live(drive LiveDrive,
	dim int) (func(agent.Algorithm, audit.Gate, func() bool) ([]agent.Message, error), error) {
	e, f := a.e, a.e.File
	switch {
	case !f.InRounds() || f.Mechanism().Perturbs:
		return nil, f.At("algorithm",
			config.Bad("name", f.Algorithm.Name,
				"an algorithm that works in rounds, for an audit among nodes"))
	case f.Topology.Agents < 2:
		return nil,
			f.At("topology", config.Bad("agents", f.Topology.Agents, "at least 2 for an audit among nodes"))
	case f.Topology.Dropout != 0:
		return nil, f.At("topology", config.Bad("dropout", f.Topology.Dropout,
			"0 for an audit among nodes: nobody may hear the step that is attacked"))
	case f.Topology.Wake != "":
		return nil, f.At("topology", config.Bad("wake", f.Topology.Wake,
			"nothing for an audit among nodes: nobody may hear the step that is attacked"))
	}
	r := LiveRun{
		Attacked: agent.ID(a.agent),
		Rounds:   f.Steps,
		Dim:      dim,
		Push:     f.Has(algo.Mass),
		BF16:     f.Algorithm.Short(),
		Member:   a.stateMachine,
	}
	var err error
	if r.Graph, err = topology.Whole(e.Graphs.Schedule); err != nil {
		return nil, f.At("topology", err)
	}
	if len(topology.Period(e.Graphs.Schedule)) != 1 {
		r.Graphs = e.Graphs.Schedule
	}
	return func(attacked agent.Algorithm, g audit.Gate, done func() bool) ([]agent.Message, error) {
		return drive(r, attacked, g, done)
	}, nil
}
