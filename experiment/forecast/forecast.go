// Package forecast says what a run is going to cost and to tell, before it runs: all of
// it follows from the run file and public record counts.
package forecast

import (
	"fmt"

	"sotto/experiment"
	"sotto/experiment/plan"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
)

// Agent is what one agent of a run will be asked and what that costs, before anything
// is asked. All of it follows from the run file and public record counts.
type Agent struct {
	Who
	Records int             `json:"records,omitempty"` // for training; 0 where the count is private
	Batch   float64         `json:"batch"`             // expected
	Rate    float64         `json:"sample_rate"`
	Noise   jsonfloat.Float `json:"noise_multiplier"`
	// NoiseToSignal is the expected length of an answer's noise over the longest mean of
	// clipped gradients: z sqrt(d)/L.
	NoiseToSignal jsonfloat.Float `json:"noise_to_signal"`
	Queries       int             `json:"queries"` // that the algorithm asks
	Charges       int             `json:"charges"` // that target_epsilon admits of them
	First         rundir.Bounds   `json:"first"`   // epsilon of one charge
	Total         rundir.Bounds   `json:"epsilon"` // of all charges
}

// Who is an agent by number and, where its owner has one, by name.
type Who struct {
	Agent int    `json:"agent"`
	Name  string `json:"name,omitempty"`
}

// Forecast is what a simulation will do and cost.
type Forecast struct {
	Name       string       `json:"name"`
	Algorithm  string       `json:"algorithm"`
	Dataset    string       `json:"dataset"`
	Model      string       `json:"model"`
	Parameters int          `json:"parameters"`
	Rounds     uint64       `json:"rounds"`
	Topology   rundir.Graph `json:"topology"`
	Agents     []Agent      `json:"agents"`
	Delta      float64      `json:"delta"`
	Adjacency  string       `json:"adjacency"`
	Unit       string       `json:"unit"`
	Accountant string       `json:"accountant"`
	Said
	// Walk is what one agent learns that sees only the tokens it holds, where asked for.
	Walk *rundir.WalkFigures `json:"walk,omitempty"`
}

// Said is what a plan says in words.
type Said struct {
	Warnings []string `json:"warnings,omitempty"`
	// Questions say how far the answers to a run's questions are off.
	Questions []string `json:"questions,omitempty"`
}

// Of returns what is planned. Runs are refused of which it cannot be said before they
// have run.
func Of(e *experiment.Experiment) (Forecast, error) {
	f := e.File
	p := Forecast{
		Name:       f.Run.Name,
		Algorithm:  f.Algorithm.Name,
		Dataset:    f.Data.Dataset,
		Model:      f.Model.Name,
		Parameters: e.Task.Model.Dim(),
		Rounds:     f.Steps,
		Topology:   Graph(e),
		Delta:      f.Privacy.TargetDelta,
		Adjacency:  e.Setup.Target.Adjacency.String(),
		Unit:       experiment.UnitText(f),
		Accountant: f.Privacy.Accountant,
		Said:       Said{e.Notes.Warnings, experiment.Expectations(e)},
	}
	if who := f.Adversaries.Text(); who != "" {
		p.Warnings = append(p.Warnings[:len(p.Warnings):len(p.Warnings)],
			"adversaries to rehearse with, "+who)
	}
	if r := f.Privacy.Reserve; r > 0 {
		p.Warnings = append(p.Warnings[:len(p.Warnings):len(p.Warnings)], fmt.Sprintf(
			"reserve: the noise is that of %d more charges of every kind, for answers that crashes of nodes "+
				"lose; a simulation makes none of them", r))
	}
	if err := f.Check(experiment.Unplannable); err != nil {
		return Forecast{}, err
	}
	type kind struct { // agents of one kind have one forecast
		rate, batch, noise, spread float64
		charges                    int
	}
	seen, names := map[kind]Agent{}, experiment.NamesOf(e)
	for i := range e.Plans {
		pl := &e.Plans[i]
		k := kind{pl.Public.SampleRate, pl.Public.ExpectedBatchSize, pl.Noise, experiment.Spread(e, i),
			pl.Charges()}
		o, ok := seen[k]
		if !ok {
			var err error
			if o, err = OfAgent(e, i); err != nil {
				return Forecast{}, fmt.Errorf("agent %d: %w", i, err)
			}
			seen[k] = o
		}
		if o.Agent, o.Records = i, pl.Public.Records; i < len(names.Agents) {
			o.Name = names.Agents[i]
		}
		p.Agents = append(p.Agents, o)
	}
	if w := Warn(f, p.Agents); w != "" {
		p.Warnings = append(p.Warnings[:len(p.Warnings):len(p.Warnings)], w)
	}
	var err error
	p.Walk, err = Walk(e)
	return p, err
}

// OfAgent returns what agent i's plan comes to.
func OfAgent(e *experiment.Experiment, i int) (Agent, error) {
	p := &e.Plans[i]
	ratio := p.NoiseToSignal() * experiment.Spread(e, i)
	if spread := e.File.Mechanism().Spread; spread > 0 {
		ratio *= spread
	}
	o := Agent{
		Who:           Who{Agent: int(e.Seats.Self) + i},
		Records:       p.Public.Records,
		Batch:         p.Public.ExpectedBatchSize,
		Rate:          p.Public.SampleRate,
		Noise:         jsonfloat.Float(p.Noise),
		Queries:       p.Queries(),
		Charges:       p.Charges(),
		NoiseToSignal: jsonfloat.Float(ratio),
	}
	costs := p.Costs()
	if len(costs) == 0 {
		return o, nil
	}
	if len(costs) == 1 {
		costs[0].Times = o.Charges
	}
	first, err := e.Setup.Target.Cost(plan.Cost{Event: costs[0].Event, Times: min(1, o.Charges)})
	if err != nil {
		return o, err
	}
	total, err := e.Setup.Target.Cost(costs...)
	o.First, o.Total = rundir.NewBounds(first.Lower, first.Upper),
		rundir.NewBounds(total.Lower, total.Upper)
	return o, err
}
