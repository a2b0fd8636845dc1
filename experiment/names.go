package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sotto/experiment/rundir"
)

// NamesOf are those that the data set has for classes and features and, where agents hold
// the records of their owners, for agents. Names that only number are none.
func NamesOf(e *Experiment) rundir.Names {
	var n rundir.Names
	d := e.Task.Split.Train
	if e.Task.Classifies() && speak(d.ClassNames, "") {
		n.Classes = slices.Clone(d.ClassNames)
	}
	if len(d.Columns) == d.X.Cols {
		n.Features = slices.Clone(d.Columns)
	}
	agents := e.File.Topology.Agents
	if e.File.Data.Partition != "natural" || !speak(d.GroupNames, "agent ") ||
		agents > rundir.SummaryThreshold || agents > len(d.GroupNames) {
		return n
	}
	held := make([][]string, agents) // as partition natural deals them
	for g, name := range d.GroupNames {
		held[g%agents] = append(held[g%agents], name)
	}
	for _, names := range held {
		n.Agents = append(n.Agents, strings.Join(names, " + "))
	}
	return n
}

// speak reports whether a name is anything but its number after a prefix.
func speak(names []string, prefix string) bool {
	for i, name := range names {
		if name != prefix+strconv.Itoa(i) {
			return true
		}
	}
	return false
}

// agentNamed is agent i for people: its number, and its name where it has one.
func agentNamed(e *Experiment, i int) string {
	if names := NamesOf(e); len(names.Agents) > 0 {
		return fmt.Sprintf("%d (%s)", i, names.Agent(i))
	}
	return strconv.Itoa(i)
}
