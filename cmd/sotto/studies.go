//go:build !operator

package main

import (
	"github.com/spf13/cobra"

	"sotto/cmd/sotto/calculator"
	"sotto/reproduce/papers"
)

func init() {
	completions["reproduce"] = func() []string { return papers.All.Names() }
}

// studies are the commands that an owner's machine does without.
func studies() []*cobra.Command {
	return []*cobra.Command{newRun(), newSweep(), newTune(), newReport(), newReproduce(),
		newTopology(), calculator.New(), newAudit(), newBench(), newDoctor()}
}
