//go:build !operator

package run

import (
	"math"

	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/report"
	"sotto/report/plot"
	"sotto/topology"
)

// pagesOf are the page and the plots of a run.
func pagesOf(f *rundir.Run) (page []byte, plots []plotFile, err error) {
	page, files, err := report.Make(experiment.EngineVersion, []*rundir.Run{f})
	for _, p := range files {
		plots = append(plots, plotFile{p.Name, p.Bytes})
	}
	return page, plots, err
}

// placed are the places of agents in a drawing of their graph, from 0 to 1; nil where it
// cannot be drawn.
func placed(g *topology.Graph) (at [][2]float32) {
	d, err := plot.NewGraph("", g)
	if err != nil {
		return nil
	}
	for _, p := range d.Nodes {
		at = append(at, [2]float32{float32(math.Round(1e4*p.X) / 1e4), float32(math.Round(1e4*p.Y) / 1e4)})
	}
	return at
}
