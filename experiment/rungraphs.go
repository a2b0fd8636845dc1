package experiment

import (
	"os"
	"path/filepath"

	"sotto/algo"
	"sotto/experiment/rundir"
	"sotto/tensor"
	"sotto/topology"
)

// RunGraphs are the graphs of a finished run.
type RunGraphs struct {
	Schedule  topology.Schedule
	Whole     *topology.Graph // with all links that may be missing from a round
	Averaging int             // rounds of averaging of a run that does nothing else; 0: another
}

// Averaging returns for how many rounds the run averages values, where it does nothing
// else; 0: it does.
func (f *File) Averaging() int {
	if f.Has(algo.OneRelease) {
		return int(f.Steps) - 1
	}
	return 0
}

// ReadRunGraphs reads them from a run directory. Graphs that stay the same are in its
// files; those that change are built again from the configuration.
func ReadRunGraphs(dir string) (*RunGraphs, error) {
	g, err := rundir.ReadGraph(dir)
	if err != nil {
		return nil, err
	}
	r := &RunGraphs{Schedule: topology.Static(g), Whole: g}
	path := filepath.Join(dir, rundir.ConfigFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(path, b, nil)
	if err != nil {
		return nil, err
	}
	r.Averaging = f.Averaging()
	if f.Topology.Dropout == 0 && f.Topology.Wake == "" && !f.Directed() {
		return r, nil
	}
	e := &Experiment{File: f}
	if err := e.prepare(); err != nil {
		return nil, err
	}
	if err := e.buildGraph(tensor.Mat{}); err != nil {
		return nil, err
	}
	r.Schedule = e.Graphs.Schedule
	if f.Topology.Dropout == 0 {
		return r, nil
	}
	r.Whole, err = topology.Whole(e.Graphs.Schedule)
	return r, err
}
