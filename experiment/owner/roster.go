package owner

import (
	"fmt"
	"path/filepath"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment"
	"sotto/node"
	"sotto/topology"
)

// ReadRoster reads a roster and the run file that it is about; runFile "": the one that
// the roster names, beside it.
func ReadRoster(roster, runFile string) (*node.Roster, *experiment.File, error) {
	r, err := node.ReadRoster(roster)
	if err != nil {
		return nil, nil, err
	}
	if runFile == "" {
		runFile = filepath.Join(filepath.Dir(roster), r.RunFile)
	}
	f, b, err := experiment.ReadBytes(runFile)
	if err != nil {
		return nil, nil, err
	}
	if d := experiment.FileDigest(b); d != r.Experiment {
		return nil, nil, &config.Error{File: runFile, Found: "SHA-256 " + d,
			Allowed: r.Experiment + ", the experiment of " + roster}
	}
	return r, f, nil
}

// AgreedGraph wants the roster's weights to be those of the run file's graph, and returns
// it with the graphs of the rounds that it is the whole of.
func AgreedGraph(r *node.Roster, f *experiment.File) (*topology.Graph, topology.Schedule, error) {
	g, err := r.Topology()
	if err != nil {
		return nil, nil, err
	}
	s, err := f.ScheduleFor(r.MembersSeed())
	if err != nil {
		return nil, nil, err
	}
	want, err := topology.Union(s)
	if err != nil {
		return nil, nil, err
	}
	for i := range agent.ID(want.Agents()) {
		if g.SelfWeight(i) != want.SelfWeight(i) || !slices.Equal(g.In(i), want.In(i)) {
			return nil, nil, config.Bad(fmt.Sprintf("member[%d].weights", i), r.Members[i].Weights,
				"the weights of the run file's graph "+want.Name())
		}
	}
	return want, s, nil
}
