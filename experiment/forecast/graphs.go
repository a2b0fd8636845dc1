package forecast

import (
	"os"
	"path/filepath"

	"sotto/algo"
	"sotto/experiment"
	"sotto/experiment/exposure"
	"sotto/experiment/rundir"
	"sotto/topology"
)

// Graphs are the graphs of a finished run.
type Graphs struct {
	Schedule  topology.Schedule
	Whole     *topology.Graph // with all links that may be missing from a round
	Averaging int             // rounds of averaging of a run that does nothing else; 0: another
	Recursion algo.Recursion  // how it averages
	Release   *exposure.Release
}

// ReadGraphs reads them from a run directory. Graphs that stay the same are in its files;
// those that change are built again from the configuration. It refuses what CheckViews of
// package experiment does.
func ReadGraphs(dir string) (*Graphs, error) {
	g, err := rundir.ReadGraph(dir)
	if err != nil {
		return nil, err
	}
	r := &Graphs{Schedule: topology.Static(g), Whole: g}
	path := filepath.Join(dir, rundir.ConfigFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := experiment.Parse(path, b, nil)
	if err != nil {
		return nil, err
	}
	if err := experiment.CheckViews(f); err != nil {
		return nil, err
	}
	r.Averaging = experiment.AveragingRounds(f)
	if r.Recursion, err = experiment.Acceleration(f); err != nil {
		return nil, err
	}
	if r.Release, err = released(dir, f); err != nil {
		return nil, err
	}
	if f.Topology.Dropout == 0 && f.Topology.Wake == "" && !f.Topology.Directed() {
		return r, nil
	}
	if r.Schedule, err = f.Graphs(); err != nil {
		return nil, err
	}
	if f.Topology.Dropout == 0 {
		return r, nil
	}
	r.Whole, err = topology.Union(r.Schedule)
	return r, err
}
