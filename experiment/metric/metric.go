// Package metric holds what a simulation is measured by. A probe may look at every
// agent's model and at all training records: nobody in a real run can, so that neither
// node nor owner may import this package.
//
// A probe is a value in a file of its own and a row of the table probes.
package metric

import (
	"slices"
	"strconv"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/experiment/rundir"
	"sotto/internal/parallel"
	"sotto/model"
	"sotto/privacy"
	"sotto/sim"
	"sotto/tensor"
	"sotto/topology"
)

// Params are the keys of [evaluate] that ask for probes.
type Params struct {
	// RMSE adds the root mean squared error of every agent, for model least-squares.
	RMSE bool `toml:"rmse,omitempty"`
	// Gradients is the number of training records, over all agents, whose losses and
	// gradients are measured at the mean of the models; 0: none. Only the simulation sees
	// them, no agent does.
	Gradients int `toml:"gradients,omitempty"`
	// Estimation adds the root mean square distance of every agent's model, and of the
	// mean of all models, from the hidden vector of generated data.
	Estimation bool `toml:"estimation,omitempty"`
	// Figures adds figures of the final models to the summary, beside a baseline: AUROC,
	// log loss, calibration, R2 and others (package model/score).
	Figures bool `toml:"figures,omitempty"`
	// Metrics are the names of further probes.
	Metrics []string `toml:"metrics,omitempty"`
}

// Validate checks the keys by themselves. Errors are config.Errors on keys of [evaluate].
func (p *Params) Validate() error {
	if p.Gradients < 0 {
		return config.Bad("gradients", p.Gradients, "0, or the number of training records")
	}
	named := map[string]bool{}
	for _, x := range probes {
		if x.asked == nil && x.on == nil {
			named[x.name] = true
		}
	}
	for _, name := range p.Metrics {
		if !named[name] {
			return config.Bad("metrics", name, config.OneOf(named))
		}
	}
	return nil
}

// A probe measures one thing, or several in one pass. It is at work where the run file
// asks for it, in every run that has what it looks at, or where [evaluate] metrics names
// it.
type probe struct {
	name    string
	asked   func(p *Params) bool // by a key of its own
	on      func(s *Scene) bool  // without being asked
	measure func(s *Scene, out *Rows)
}

// probes are all of them in the order of their rows.
var probes = []probe{tests, clips, estimation, consensus, gradients, objective, vectors, classes,
	parameterNorm}

func (x *probe) used(s *Scene) bool {
	switch {
	case x.asked != nil:
		return x.asked(s.Params)
	case x.on != nil:
		return x.on(s)
	}
	return slices.Contains(s.Params.Metrics, x.name)
}

func always(*Scene) bool { return true }

// Scene is a simulation that is looked at, with all that may be looked at.
type Scene struct {
	Run     Run
	Params  *Params
	Sim     sim.Runtime
	Agents  []Agent
	Model   model.Model
	Init    tensor.Vec
	Records Records
	Tests   Tests
	Graph   *topology.Graph // of the first round
	// Crew looks. Its scratch memory is that of the look before: making that of a large
	// network takes longer than a look at a few records.
	Crew *parallel.Crew[model.Workspace]
}

// Run is what probes may depend on beside the agents.
type Run struct {
	Pacing    agent.Pacing
	Walking   bool   // models go from agent to agent
	Steps     uint64 // of the whole run
	Delta     float64
	NoiseFree bool // a replication puts out iterates without noise
}

// Agent is one agent of the simulation.
type Agent struct {
	Algorithm agent.Algorithm // with what is around it
	Bare      agent.Algorithm
	Oracles   map[string]privacy.Oracle
}

// Records are those that agents train on.
type Records struct {
	Split   *data.Split
	Trained *data.Dataset // what oracles read: Split.Train, or its perturbed release
	Parts   [][]int32     // rows, by agent
}

// Tests are the records that models are tested on.
type Tests struct {
	Batches []*model.Batch // by agent
	Tested  []int          // the agents whose models are tested, ascending
	Honest  []int          // those that are no adversaries, ascending
	// Classify: outputs stand for classes, so that there is an accuracy.
	Classify bool
	Persons  []int32 // of the first records that all are tested on, or more; nil: each is one
}

// Rows are the rows of one evaluation.
type Rows struct {
	Round   uint64
	Worst   float64 // epsilon of the agent that has spent most
	Rows    []rundir.Row
	epsilon []float64 // by agent
	delta   float64
	each    bool // every agent has a row of its own
}

func (m *Rows) row(agent, metric string, value, epsilon float64) {
	m.Rows = append(m.Rows, rundir.Row{
		Round:   m.Round,
		Agent:   agent,
		Metric:  metric,
		Value:   value,
		Epsilon: epsilon,
		Delta:   m.delta,
	})
}

// all enters a value of all agents together.
func (m *Rows) all(metric string, value float64) { m.row("all", metric, value, m.Worst) }

// add enters the values of agents, and what they are in the mean and at most and least.
func (m *Rows) add(metric string, agents []int, values []float64) {
	if m.each {
		for k, i := range agents {
			m.row(strconv.Itoa(i), metric, values[k], m.epsilon[i])
		}
	}
	s := rundir.StatsOf(values)
	m.row("mean", metric, s.Mean, m.Worst)
	m.row("min", metric, s.Min, m.Worst)
	m.row("max", metric, s.Max, m.Worst)
}

// Measure looks at all agents' models once. epsilon is what each agent has spent.
func (s *Scene) Measure(epsilon []float64) *Rows {
	n := len(s.Tests.Tested)
	out := &Rows{Round: s.Sim.Done(), Worst: rundir.StatsOf(epsilon).Max, epsilon: epsilon,
		delta: s.Run.Delta, each: n <= rundir.SummaryThreshold}
	if s.Run.Walking { // what a model has cost is what the agent has spent that spent most
		out.epsilon = slices.Repeat([]float64{out.Worst}, n)
	}
	for k := range probes {
		if probes[k].used(s) {
			probes[k].measure(s, out)
		}
	}
	return out
}
