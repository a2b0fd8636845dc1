package experiment

import (
	"fmt"

	"sotto/algo"
	"sotto/sim"
)

// remarks say what a reader must know before believing the figures of a run, in the
// order of its summary; "" is nothing. What concerns one feature stands in that feature's
// own file.
var remarks = []func(e *Experiment, s sim.Stats) string{
	simulatedRemark, privateRemark, centralRemark, replicationRemark, adversariesRemark, tokensRemark,
	objectiveRemark, arrivalsRemark, oneSidedRemark, validationRemark, scoreRemark,
	tunedRemark, personsRemark, foldRemark,
}

// Remarks lists them for a run with these messages, then its warnings and overrides.
func (e *Experiment) Remarks(s sim.Stats) []string {
	var all []string
	for _, remark := range remarks {
		if text := remark(e, s); text != "" {
			all = append(all, text)
		}
	}
	for _, w := range e.Notes.Warnings {
		all = append(all, "warning: "+w)
	}
	for _, o := range e.Notes.Overrides {
		all = append(all, "override: "+o)
	}
	return all
}

func simulatedRemark(e *Experiment, _ sim.Stats) string {
	if !e.File.Private() {
		return ""
	}
	return "noise is simulated: its streams are derived from the seed, so this run protects " +
		"nobody; epsilon is what the same run with secret noise would cost"
}

func centralRemark(e *Experiment, _ sim.Stats) string {
	if e.File.Has(algo.Central) {
		return "central, not decentralized: one trusted site holds all data"
	}
	return ""
}

func replicationRemark(e *Experiment, _ sim.Stats) string {
	if on := e.File.Replication.String(); on != "" {
		return "replication of a published procedure that is not sound: " + on
	}
	return ""
}

func adversariesRemark(e *Experiment, _ sim.Stats) string {
	if who := e.File.Adversaries.Text(); who != "" {
		return "adversaries to rehearse with, " + who +
			": accuracy, loss and consensus distance are of the other agents; epsilon covers all"
	}
	return ""
}

func oneSidedRemark(_ *Experiment, s sim.Stats) string {
	if s.OneSided > 0 {
		return fmt.Sprintf("%d links lost one direction of a round: the mean of all models is then not "+
			"preserved", s.OneSided)
	}
	return ""
}

func tunedRemark(e *Experiment, _ sim.Stats) string { return e.File.Tuned.Text() }
