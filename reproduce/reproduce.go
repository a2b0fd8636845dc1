// Package reproduce runs the experiments of published papers again and sets the results beside the published ones: every
// table and figure is a sweep of runs (package experiment) and a way to read its rows. Sound rows keep the promise that
// their epsilon states; rows of mode "replication" do what the publication did, and show the epsilon that it claims
// beside the true one.
package reproduce

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sotto/config"
	"sotto/experiment"
)

// Study is one table or figure of a publication.
type Study struct {
	Title string
	// cells returns the runs. A small study finishes in less than a minute and shows that everything works; its
	// figures mean nothing.
	cells  func(small bool) []experiment.Cell
	axes   []string
	base   string
	report func(rows []experiment.CellRow, small bool) *Document
}

// Studies are the tables and figures by name.
var Studies = map[string]Study{
	"seed000-table1":  {Title: "accuracy over graphs, algorithms and budgets, MNIST, one digit an agent", axes: seed000Axes, base: seed000Base, cells: table1Cells, report: table1},
	"seed000-table2":  {Title: "accuracy over the overlap of the agents' data, MNIST, Fiedler value .06", axes: seed000Axes, base: seed000Base, cells: table2Cells, report: table2},
	"seed000-figure1": {Title: "accuracy over the normalised Fiedler value (the rows of table 1)", axes: seed000Axes, base: seed000Base, cells: table1Cells, report: figure1},
	"seed000-lr":      {Title: "accuracy over step sizes, three algorithms, MNIST, complete graph, epsilon 1", axes: seed000Axes, base: seed000Base, cells: stepCells, report: stepSizes},
}

// Names returns the names of all studies in order.
func Names() []string { return slices.Sorted(maps.Keys(Studies)) }

// Options say how to run a study; they change no result.
type Options struct {
	Dir   string // cells.csv and the tables are written here
	Small bool
	Sweep experiment.SweepOptions // Out and Dir are set from Dir
}

// Run runs what is missing of the named study and returns its document, which is also written to Dir as CSV, Markdown and
// LaTeX. A run that was stopped goes on when it is called again.
func Run(ctx context.Context, name string, opt Options) (*Document, error) {
	s, ok := Studies[name]
	if !ok {
		return nil, config.Bad("study", name, config.OneOf(Studies))
	}
	sweep, err := experiment.NewSweep(name, []byte(s.base), s.axes, s.cells(opt.Small))
	if err != nil {
		return nil, err
	}
	opt.Sweep.Dir, opt.Sweep.Discard = opt.Dir, true
	res, err := sweep.Run(ctx, opt.Sweep)
	if err != nil {
		return nil, err
	}
	d := s.report(res.Rows, opt.Small)
	d.Name, d.Title = name, s.Title
	for extension, write := range map[string]func(*Document) []byte{"csv": (*Document).CSV, "md": (*Document).Markdown, "tex": (*Document).LaTeX} {
		if err := os.WriteFile(filepath.Join(opt.Dir, name+"."+extension), write(d), 0o644); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return d, nil
}
