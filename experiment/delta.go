package experiment

import (
	"fmt"
	"math"

	"sotto/config"
	"sotto/experiment/plan"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
)

// counter finds the public count that delta is compared with: of an owner's records, or
// of owners where each is a unit.
type counter struct {
	f     *File
	n     float64
	whom  string
	worse func(n, count float64) float64 // of two counts the one that delta is compared with
}

func newCounter(f *File) *counter {
	c := f.Pace.counter
	c.f = f
	switch k := f.Kind(); {
	case f.Privacy.unit == account.Owner() && k.Record:
		c.n, c.whom = float64(f.Topology.Agents), "set of owners, each of which is a unit"
	case f.Privacy.unit == account.Owner():
		c.n, c.whom = float64(f.Topology.Agents), "run, which counts owners"
	}
	return &c
}

// add takes an agent's count, with the records that it holds out.
func (c *counter) add(owned int, a *plan.Agent) {
	p, sampled := &c.f.Privacy, c.f.Kind().Batches == oracle.Sampled
	count := float64(owned)
	switch {
	case p.unit == account.Owner():
		return
	case p.adjacency.HidesCount() && sampled: // the public constants' own record count
		count = math.Round(p.BatchSize / p.SampleRate / (1 - c.f.Evaluate.Validation))
		if p.MinRecords > 0 {
			count = float64(p.MinRecords)
		}
	case p.adjacency.HidesCount():
		count = max(p.BatchSize, float64(p.MinRecords))
	case !sampled:
		count = float64(a.Public.Records)
	}
	switch {
	case count > 0:
		c.n = c.worse(c.n, count)
	case c.f.Kind().Batches == oracle.Mean: // the mean of no records counts as that of one
		c.n = c.worse(c.n, 1)
	}
}

func (c *counter) least() (n float64, whom string) { return c.n, c.whom }

// checkDelta refuses a delta at which a mechanism may publish a whole record.
func (e planner) checkDelta(n float64, whom string) error {
	p := &e.File.Privacy
	if p.TargetDelta < 1/n {
		return nil
	}
	if !p.understands(overrideDelta) {
		err := config.Bad("target_delta", p.TargetDelta,
			fmt.Sprintf("below 1/n = %.3g for the public n = %.0f of the %s, better below 1/(10 n); at 1/n "+
				"a mechanism may publish one whole record; privacy.i_understand = [\"delta\"] overrides "+
				"and is recorded", 1/n, n, whom))
		return fmt.Errorf("%w: %w", privacy.ErrRefused, e.File.At("privacy", err))
	}
	e.Notes.Overrides = append(e.Notes.Overrides,
		fmt.Sprintf("target_delta %g is not below 1/n for the %s, n = %.0f",
			p.TargetDelta, whom, n))
	return nil
}
