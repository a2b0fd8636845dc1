package owner

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment"
	"sotto/node"
	"sotto/node/roster"
	"sotto/topology"
)

// NewRoster begins the roster of an experiment, whose run file is at path: without
// members, with the schema that the run file names.
func NewRoster(path string, terms *roster.Terms) (*roster.Roster, error) {
	f, b, err := experiment.ReadBytes(path)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(f.CheckDeployable(), experiment.CheckAlgorithm(f)); err != nil {
		return nil, err
	}
	if terms != nil {
		if err := waits(f, terms.Missing); err != nil {
			return nil, err
		}
	}
	r, err := roster.New(filepath.Base(path), b, f.Topology.Agents, terms)
	if err != nil {
		return nil, err
	}
	s, err := experiment.SchemaOf(f)
	switch {
	case err != nil:
		return nil, f.At("data", err)
	case s != nil && !s.Confirmed:
		return nil, f.At("data", config.Bad("schema", strings.TrimSpace(s.Name+" with confirmed = false"),
			"a schema whose values all owners have agreed on"))
	case s != nil:
		r.Schema = string(s.Encode())
	}
	if err := experiment.PinModel(f); err != nil {
		return nil, err
	}
	graphs, err := f.ScheduleFor(0)
	if err != nil {
		return nil, err
	}
	graph, err := topology.Union(graphs)
	if err != nil {
		return nil, err
	}
	var c node.Config // what every node would refuse at its start
	if terms != nil {
		c.Missing = terms.Missing
	}
	x := protocolOf(f)
	x.tell(&c, graph, graphs)
	return r, c.Check()
}

// ReadRoster reads a roster and the run file that it is about; runFile "": the one that
// the roster names, beside it.
func ReadRoster(path, runFile string) (*roster.Roster, *experiment.File, error) {
	r, err := roster.Read(path)
	if err != nil {
		return nil, nil, err
	}
	if runFile == "" {
		runFile = filepath.Join(filepath.Dir(path), r.RunFile)
	}
	f, b, err := experiment.ReadBytes(runFile)
	if err != nil {
		return nil, nil, err
	}
	if d := experiment.FileDigest(b); d != r.Experiment {
		return nil, nil, &config.Error{File: runFile, Found: "SHA-256 " + d,
			Allowed: r.Experiment + ", the experiment of " + path}
	}
	if err := experiment.AgreeSchema(f, path, r.Schema); err != nil {
		return nil, nil, err
	}
	if r.Epoch != nil {
		if err := experiment.Resize(f, r.Size); err != nil {
			return nil, nil, err
		}
		if r.Epoch.Round >= f.Run.Rounds {
			return nil, nil, &config.Error{File: path, Key: "epoch.round", Found: fmt.Sprint(r.Epoch.Round),
				Allowed: fmt.Sprintf("below %d, the rounds of the run", f.Run.Rounds)}
		}
	}
	return r, f, nil
}

// AgreedGraph wants the roster's weights to be those of the run file's graph, and returns
// it with the graphs of the rounds that it is the whole of.
func AgreedGraph(r *roster.Roster, f *experiment.File) (*topology.Graph, topology.Schedule, error) {
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
