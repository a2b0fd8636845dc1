package experiment

import (
	"fmt"

	"sotto/data"
	"sotto/experiment/plan"
	"sotto/experiment/rundir"
)

// Outlook is what one agent of a run will be asked and what that costs, before anything
// is asked. All of it follows from the run file and public record counts.
type Outlook struct {
	Agent   int     `json:"agent"`
	Records int     `json:"records,omitempty"` // for training; 0 where the count is private
	Batch   float64 `json:"batch"`             // expected
	Rate    float64 `json:"sample_rate"`
	Noise   Figure  `json:"noise_multiplier"`
	// NoiseToSignal is the expected length of an answer's noise over the longest mean of
	// clipped gradients: z sqrt(d)/L.
	NoiseToSignal Figure        `json:"noise_to_signal"`
	Queries       int           `json:"queries"` // that the algorithm asks
	Charges       int           `json:"charges"` // that target_epsilon admits of them
	First         rundir.Bounds `json:"first"`   // epsilon of one charge
	Total         rundir.Bounds `json:"epsilon"` // of all charges
}

// Plan is what a simulation will do and cost.
type Plan struct {
	Name       string       `json:"name"`
	Algorithm  string       `json:"algorithm"`
	Dataset    string       `json:"dataset"`
	Model      string       `json:"model"`
	Parameters int          `json:"parameters"`
	Rounds     uint64       `json:"rounds"`
	Topology   rundir.Graph `json:"topology"`
	Agents     []Outlook    `json:"agents"`
	Delta      float64      `json:"delta"`
	Adjacency  string       `json:"adjacency"`
	Unit       string       `json:"unit"`
	Accountant string       `json:"accountant"`
	Warnings   []string     `json:"warnings,omitempty"`
	// Walk is what one agent learns that sees only the tokens it holds, where asked for.
	Walk *rundir.WalkFigures `json:"walk,omitempty"`
}

// Plan returns what is planned. Runs are refused of which it cannot be said before they
// have run.
func (e *Experiment) Plan() (Plan, error) {
	f := e.File
	p := Plan{
		Name:       f.Run.Name,
		Algorithm:  f.Algorithm.Name,
		Dataset:    f.Data.Dataset,
		Model:      f.Model.Name,
		Parameters: e.Task.Model.Dim(),
		Rounds:     f.Steps,
		Topology:   e.GraphSummary(),
		Delta:      f.Privacy.TargetDelta,
		Adjacency:  f.Privacy.adjacency.String(),
		Unit:       f.Privacy.unit.String(),
		Accountant: f.Privacy.Accountant,
		Warnings:   e.Notes.Warnings,
	}
	if who := f.Adversaries.Text(); who != "" {
		p.Warnings = append(p.Warnings[:len(p.Warnings):len(p.Warnings)],
			"adversaries to rehearse with, "+who)
	}
	if err := f.Check(unplannable); err != nil {
		return Plan{}, err
	}
	type kind struct { // agents of one kind have one outlook
		rate, batch, noise float64
		charges            int
	}
	seen := map[kind]Outlook{}
	for i := range e.Plans {
		pl := &e.Plans[i]
		k := kind{pl.Public.SampleRate, pl.Public.ExpectedBatch, pl.Noise, pl.Charges()}
		o, ok := seen[k]
		if !ok {
			var err error
			if o, err = e.Outlook(i); err != nil {
				return Plan{}, fmt.Errorf("agent %d: %w", i, err)
			}
			seen[k] = o
		}
		o.Agent, o.Records = i, pl.Public.Records
		p.Agents = append(p.Agents, o)
	}
	var err error
	p.Walk, err = e.walkFigures()
	return p, err
}

// Outlook returns what agent i's plan comes to.
func (e *Experiment) Outlook(i int) (Outlook, error) {
	p := &e.Plans[i]
	ratio := p.NoiseToSignal()
	if spread := e.File.Mechanism().Spread; spread > 0 {
		ratio *= spread
	}
	o := Outlook{
		Agent:         int(e.Seats.Self) + i,
		Records:       p.Public.Records,
		Batch:         p.Public.ExpectedBatch,
		Rate:          p.Public.SampleRate,
		Noise:         Figure(p.Noise),
		Queries:       p.Queries(),
		Charges:       p.Charges(),
		NoiseToSignal: Figure(ratio),
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

// Deal deals the records of the run's data set, training and test together, to its
// agents: see data.Deal.
func (e *Experiment) Deal(dataDir string) (files [][]byte, records []int, err error) {
	f := e.File
	files, records, err = data.Deal(f.Data.Dataset, dataDir, f.Data.Partition, f.Topology.Agents, f.Run.Seed,
		f.Section("data"))
	return files, records, f.At("data", err)
}

// Partition is the run's.
func (e *Experiment) Partition() string { return e.File.Data.Partition }
