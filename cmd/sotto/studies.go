//go:build !operator

package main

import (
	"github.com/spf13/cobra"

	"sotto/bench"
	"sotto/cmd/sotto/calculator"
	"sotto/cmd/sotto/complete"
	"sotto/cmd/sotto/watch"
	"sotto/experiment/tune"
	"sotto/reproduce/papers"
)

// studies are the commands that an owner's machine does without.
func studies() []*cobra.Command {
	return []*cobra.Command{newRun(), newSweep(), newTune(), newReport(), newReproduce(),
		calculator.Topology(), watch.Demo(), calculator.New(), newAudit(), newBench(), newDoctor()}
}

// searchParams are the keys of sotto tune, beside those of runs.
func searchParams() any { return tune.Params() }

// namesOfStudies are what their commands take.
func namesOfStudies() complete.Names {
	names := complete.Names{Studies: papers.All.Names()}
	for _, name := range names.Studies {
		names.Studies = append(names.Studies, papers.All.Citation(name))
	}
	for i := range bench.Cases {
		names.Benches = append(names.Benches, bench.Cases[i].Name)
	}
	return names
}
