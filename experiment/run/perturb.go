package run

import (
	"fmt"

	"sotto/agent"
	"sotto/data"
	"sotto/experiment"
	"sotto/internal/parallel"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// perturb makes the public data set that training reads, and the charges of every agent
// for it.
func perturb(e *experiment.Experiment, pop Population, workers int) (*data.Dataset, [][]ledger.Record,
	error) {
	public := oracle.Perturbed(pop.Train)
	charges := make([][]ledger.Record, len(pop.Parts))
	err := parallel.For(len(pop.Parts), workers, func(i int) error {
		var err error
		if charges[i], err = perturbAgent(e, i, pop, public); err != nil {
			return fmt.Errorf("agent %d: %w", i, err)
		}
		return nil
	})
	return public, charges, err
}

func perturbAgent(e *experiment.Experiment, i int, pop Population, public *data.Dataset) ([]ledger.Record,
	error) {
	part := pop.Parts[i]
	if len(part) == 0 {
		return nil, nil
	}
	l := ledger.NewMemory(nil)
	gate := e.LocalGate(i, oracle.Records{Data: pop.Train, Index: part}, l,
		privacy.SimulatedKeys(pop.Seed))
	features, labels := make(tensor.Vec, len(part)*public.X.Cols), make(tensor.Vec, len(part))
	if err := gate.Answer(&agent.Query{Oracle: oracle.FeaturesName}, features); err != nil {
		return nil, err
	}
	if err := gate.Answer(&agent.Query{Oracle: oracle.LabelsName}, labels); err != nil {
		return nil, err
	}
	oracle.Fill(public, part, features, labels)
	var records []ledger.Record
	for r, err := range l.Records() {
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// release is what training reads: the records themselves, or what was made of them and
// the charges of every agent for it.
func release(e *experiment.Experiment, pop Population, workers int) (*data.Dataset, [][]ledger.Record,
	error) {
	if !e.File.Mechanism().Perturbs {
		return pop.Train, nil, nil
	}
	return perturb(e, pop, workers)
}
