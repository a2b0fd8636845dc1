// Package reproduce runs the experiments of published papers again and sets the results
// beside the published ones. Most tables and figures are a sweep of runs (package
// experiment) and a way to read its rows; statements about convergence are simulations of
// problems whose constants are known. Sound rows keep the promise that their epsilon
// states; rows of mode "replication" do what the publication did, and show the epsilon
// that it claims beside the true one.
package reproduce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sotto/experiment/sweep"

	"sotto/config"
	"sotto/experiment"
	"sotto/report/plot"
)

// Scale is the size of a study.
type Scale string

const (
	Smoke Scale = "smoke" // seconds: everything runs, the figures mean nothing
	Short Scale = "short" // a stated part of a study whose full size takes weeks
	Full  Scale = "full"  // the publication's size
)

// Scales are all sizes.
var Scales = []Scale{Smoke, Short, Full}

// Study is one table, figure or statement of a publication.
type Study struct {
	Title string

	// cells returns the runs of a study that is a sweep over axes, and report reads what
	// they have left.
	cells  func(Scale) []sweep.Cell
	axes   []string
	base   string
	report func(*found) *Document
	short  bool // has a short size of its own
	curves bool // keeps metrics over time
	agents bool // and the last accuracy of every agent

	// simulate makes the document of a study that is no sweep, on as many goroutines as
	// there are workers.
	simulate func(ctx context.Context, scale Scale, workers int) (*Document, error)
	// compute is simulate for a study of files in the data folder.
	compute func(ctx context.Context, scale Scale, dataDir string) (*Document, error)
}

// found is what the runs of a study have left.
type found struct {
	rows   []sweep.Row
	times  map[timeKey]runTime
	curves curves
	scale  Scale
}

// Studies are the tables, figures and statements by name.
var Studies = map[string]Study{
	"seed000-table1": {Title: "accuracy over graphs, algorithms and budgets, MNIST, one digit an agent",
		axes: seed000Axes, base: seed000Base, cells: twoSizes(table1Cells), report: rowsOnly(table1)},
	"seed000-table2": {Title: "accuracy over the overlap of the agents' data, MNIST, Fiedler value .06",
		axes: seed000Axes, base: seed000Base, cells: twoSizes(table2Cells), report: rowsOnly(table2)},
	"seed000-table3": {Title: "seconds a run, private and not, MNIST", axes: seed000Axes,
		base: seed000Base, cells: twoSizes(table3Cells), report: table3},
	"seed000-table4": {Title: "accuracy over the overlap of the agents' data, CIFAR-100, DPResNet9",
		axes: cifar100Axes, base: cifar100Base, cells: table4Cells, report: table4, short: true},
	"seed000-table5": {
		Title:   "membership inference on a blank image, digits 0 to 2, three agents, epsilon 1, delta 1e-2",
		compute: table5},
	"seed000-figure1": {Title: "accuracy over the normalised Fiedler value (the rows of table 1)",
		axes: seed000Axes, base: seed000Base, cells: twoSizes(table1Cells), report: rowsOnly(figure1)},
	"seed000-figure2": {
		Title: "range of accuracy over the overlap of the agents' data (the rows of table 4)",
		axes:  cifar100Axes, base: cifar100Base, cells: table4Cells, report: figure2, short: true},
	"seed000-lr": {
		Title: "accuracy over step sizes, three algorithms, MNIST, complete graph, epsilon 1",
		axes:  seed000Axes, base: seed000Base, cells: twoSizes(stepCells), report: rowsOnly(stepSizes)},
	"seed001-figure1": {Title: "coordinate descent and ADMM without privacy, linear tasks, p = 100",
		axes: seed001Axes, base: seed001Base, cells: twoSizes(figure1Cells001), report: figure1of001,
		curves: true},
	"seed001-figure2a": {Title: "private coordinate descent from zero, over the number of updates",
		axes: seed001Axes, base: seed001Base, cells: twoSizes(figure2Cells("")), report: figure2of001(""),
		curves: true},
	"seed001-figure2b": {Title: "private coordinate descent after a private warm start", axes: seed001Axes,
		base: seed001Base, cells: twoSizes(figure2Cells("warm")), report: figure2of001("warm"), curves: true},
	"seed001-figure2c": {Title: "accuracy over dimensions and budgets", axes: seed001Axes,
		base: seed001Base, cells: twoSizes(figure2cCells), report: figure2c},
	"seed001-figure3": {Title: "gain over local-only training by local data size", axes: seed001Axes,
		base: seed001Base, cells: twoSizes(figure3Cells), report: figure3, curves: true, agents: true},
	"seed001-figure4": {
		Title: "records perturbed before training, the baseline of local differential privacy",
		axes:  seed001Axes, base: seed001Base, cells: twoSizes(figure4Cells001), report: figure4of001},
	"seed001-theorem2": {Title: "the bound of Theorem 2, corrected, beside the measured error",
		axes: seed001Axes, base: seed001Base, cells: twoSizes(theorem2Cells), report: theorem2, curves: true},
	"seed001-allocation": {Title: "allocations of a budget over wakes beside what C17 predicts",
		axes: seed001Axes, base: seed001Base, cells: twoSizes(allocationCells), report: allocation,
		curves: true},
	"seed001-churn": {Title: "accuracy while agents are away", axes: seed001Axes, base: seed001Base,
		cells: twoSizes(churnCells), report: churn, curves: true},
	"seed001-tuning": {Title: "the search for hyper-parameters, linear tasks, validation instances",
		axes: seed001Axes, base: seed001Base, cells: twoSizes(tuningCells), report: rowsOnly(tuning)},
	"seed000-recipe": {
		Title: "a recipe beside the best published cell of table 1, MNIST, one digit an agent",
		axes:  recipeAxes, base: recipeBase, cells: twoSizes(recipeCells), report: rowsOnly(recipe)},
	"seed000-convergence": {
		Title:    "the bound (23) beside the measured distance to the optimum, strongly convex problems",
		simulate: convergence},
	"seed001-movielens": {
		Title: "root mean squared error of personal models, MovieLens-100K (which you supply)",
		axes:  movieLensAxes, base: movieLensBase, cells: twoSizes(movieLensCells),
		report: rowsOnly(movieLens)},
	"seed002-figure1": {Title: "gradient norms of AdaD2P, ConstD2P and ClipD2P, ResNet-18, CIFAR-10",
		axes: seed002Axes, base: seed002Base, cells: pushCells(figure1Pushes),
		report: pushReport("figure1", figure1Pushes), short: true, curves: true},
	"seed002-figure2": {Title: "AdaD2P, ConstD2P and ClipD2P at equal noise scales, ResNet-18, CIFAR-10",
		axes: seed002Axes, base: seed002Base, cells: pushCells(figure2Pushes),
		report: pushReport("figure2", figure2Pushes), short: true, curves: true},
	"seed002-figure3": {
		Title: "AdaD2P over noise scales, and all methods at the least, ResNet-18, CIFAR-10",
		axes:  seed002Axes, base: seed002Base, cells: pushCells(figure3Pushes), report: scaleReport,
		short: true, curves: true},
	"seed002-figure4": {
		Title: "AdaD2P, ConstD2P and ClipD2P at equal noise scales, two-layer network, MNIST",
		axes:  seed002Axes, base: seed002Base, cells: pushCells(figure4Pushes),
		report: pushReport("figure4", figure4Pushes), curves: true},
	"seed002-bounds": {
		Title: "the noise terms of (11) and (13) on the runs' own gradient norms (the rows of figure 4)",
		axes:  seed002Axes, base: seed002Base, cells: pushCells(figure4Pushes), report: boundsReport,
		curves: true},
	"seed002-search": {Title: "clips and steps of sound adaptive forms, chosen on Fashion-MNIST",
		axes: seed002Axes, base: seed002Base, cells: searchCells, report: search, curves: true},
	"seed002-adaptive": {Title: "sound adaptive forms against constant clips at equal true epsilon, MNIST",
		axes: seed002Axes, base: seed002Base, cells: adaptiveCells, report: adaptive, curves: true},
	"seed003-figure1": {Title: "noise families over budgets, least squares, five agents, complete graph",
		axes: seed003Axes, base: seed003Base, cells: twoSizes(iterationCells("seed003-figure1")),
		report: iterationTable("seed003-figure1"), curves: true},
	"seed003-figure2": {Title: "error over rounds by graph, loss and method, epsilon .5, delta 1e-3",
		axes: seed003Axes, base: seed003Base, cells: twoSizes(iterationCells("seed003-figure2")),
		report: iterationTable("seed003-figure2"), curves: true},
	"seed003-figure3": {
		Title: "error over the number of agents by graph and loss, epsilon .5, delta 1e-3", axes: seed003Axes,
		base: seed003Base, cells: twoSizes(iterationCells("seed003-figure3")),
		report: iterationTable("seed003-figure3"), curves: true},
	"seed003-theorems": {
		Title:    "Theorems 1, 2, 3 and 5 beside measured sensitivity, generalisation gap and error",
		simulate: theorems003},
	"seed004-walk": {
		Title: "random-walk SGD on houses: central, network and local noise, complete, hypercube, " +
			"geometric graph", axes: walk004Axes, base: walk004Base, cells: twoSizes(walk004Cells),
		report: walk004, curves: true},
	"seed000-theorem51": {Title: "the error floor over noise and dimension, strongly convex problems",
		simulate: theorem51},
	"seed004-decor": {
		Title: "noise that neighbors share beside central and own noise at one epsilon, MNIST, ring and " +
			"4-regular graph", axes: decor004Axes, base: decor004Base, cells: twoSizes(decor004Cells),
		report: rowsOnly(decor004)},
	"seed004-sgd": {
		Title: "strongly convex gossip SGD beside its theorem, noise by the published formula and by " +
			"exact leaks", simulate: sgd004},
	"seed004-table": {
		Title: "utility of private averages on complete graph, expander, arbitrary graph and ring against " +
			"central and local noise", simulate: table004},
	"seed004-figa": {
		Title:    "private gossip averaging: the published pairwise loss beside the exact one, over distance",
		simulate: figureA004},
	"seed004-figb": {Title: "the same on a social graph (SNAP ego-Facebook 1912, which you supply)",
		compute: figureB004},
	"seed004-gd": {Title: "gossip gradient descent: losses of pairs on one graph and on fresh ones",
		simulate: gd004},
}

// twoSizes are the cells of a study that has no short size.
func twoSizes(cells func(small bool) []sweep.Cell) func(Scale) []sweep.Cell {
	return func(s Scale) []sweep.Cell { return cells(s == Smoke) }
}

// rowsOnly is a report that needs no times.
func rowsOnly(report func(rows []sweep.Row, small bool) *Document) func(*found) *Document {
	return func(f *found) *Document { return report(f.rows, f.scale == Smoke) }
}

// Sweep says that the study is a sweep of runs, which cells.csv has; the others are made
// whole each time.
func (s Study) Sweep() bool { return s.cells != nil }

// Names returns the names of all studies in order.
func Names() []string { return slices.Sorted(maps.Keys(Studies)) }

// sizes are the scales at which the study can run.
func (s *Study) sizes() []Scale {
	if s.short {
		return Scales
	}
	return []Scale{Smoke, Full}
}

// Options say how to run a study; they change no result.
type Options struct {
	Dir   string // cells.csv, times.csv, the tables and the plots are written here
	Scale Scale
	// Finished reports on the runs that cells.csv has, and runs none.
	Finished bool
	Sweep    sweep.Options // Out and Dir are set from Dir
}

// Run runs what is missing of the named study and returns its document, which is also
// written to Dir as CSV, Markdown and LaTeX, its plots as SVG and CSV. A sweep that was
// stopped goes on when it is called again.
func Run(ctx context.Context, name string, opt Options) (*Document, error) {
	s, ok := Studies[name]
	if !ok {
		return nil, config.Bad("study", name, config.OneOf(Studies))
	}
	if !slices.Contains(s.sizes(), opt.Scale) {
		return nil, config.Bad("scale", string(opt.Scale), fmt.Sprintf("one of %v for this study", s.sizes()))
	}
	d, err := s.document(ctx, name, opt)
	if err != nil {
		return nil, err
	}
	d.Name, d.Title = name, s.Title
	return d, d.write(opt.Dir)
}

// document runs the study.
func (s *Study) document(ctx context.Context, name string, opt Options) (*Document, error) {
	if s.cells == nil {
		if opt.Finished || opt.Sweep.Shards > 1 {
			return nil, config.Bad("study", name,
				"a study that is a sweep of runs: this one is a simulation, made whole each time")
		}
		if s.compute != nil {
			return s.compute(ctx, opt.Scale, opt.Sweep.DataDir)
		}
		return s.simulate(ctx, opt.Scale, opt.Sweep.Workers)
	}
	f := &found{scale: opt.Scale}
	var err error
	if opt.Finished {
		f.rows, err = s.finished(opt)
	} else {
		f.rows, err = s.sweep(ctx, name, opt)
	}
	if err != nil {
		return nil, err
	}
	if f.times, err = readTimes(opt.Dir); err != nil {
		return nil, err
	}
	if f.curves, err = readCurves(opt.Dir); err != nil {
		return nil, err
	}
	if s.curves && !opt.Finished && opt.Sweep.Shards <= 1 {
		if err := tidyCurves(opt.Dir, f.rows, f.curves); err != nil {
			return nil, err
		}
	}
	d := s.report(f)
	if all := len(s.cells(opt.Scale)); len(f.rows) < all {
		d.Notes = append(d.Notes,
			fmt.Sprintf("%d of %d runs are finished; the others are missing from the figures", len(f.rows),
				all))
	}
	return d, nil
}

// sweep runs the cells that have no row yet, and notes how long each took.
func (s *Study) sweep(ctx context.Context, name string, opt Options) ([]sweep.Row, error) {
	cells, err := sweep.New(name, []byte(s.base), s.axes, s.cells(opt.Scale))
	if err != nil {
		return nil, err
	}
	times := &timeFile{dir: opt.Dir, shard: opt.Sweep.Shard, shards: opt.Sweep.Shards}
	progress := opt.Sweep.Progress
	opt.Sweep.Dir, opt.Sweep.Discard = opt.Dir, true
	var kept *curveFile
	if s.curves {
		kept = newCurveFile(opt.Dir, opt.Sweep.Shard, opt.Sweep.Shards, s.agents)
		opt.Sweep.Keep = kept.keep
	}
	opt.Sweep.Progress = func(p sweep.Progress) {
		times.add(&p)
		if progress != nil {
			progress(p)
		}
	}
	res, err := cells.Run(ctx, opt.Sweep)
	for _, stop := range []func() error{times.close, kept.close} {
		if stopErr := stop(); err == nil {
			err = stopErr
		}
	}
	if err != nil {
		return nil, err
	}
	return res.Rows, nil
}

// finished reads the rows that are there. Rows of other settings than the study's, and of
// other engines, are left out.
func (s *Study) finished(opt Options) ([]sweep.Row, error) {
	path := filepath.Join(opt.Dir, "cells.csv")
	axes, rows, err := sweep.ReadRows(path)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(axes, s.axes) {
		return nil, &config.Error{
			File:    path,
			Line:    1,
			Found:   fmt.Sprintf("axes %v", axes),
			Allowed: fmt.Sprintf("the axes of this study, %v", s.axes),
		}
	}
	cells := s.cells(opt.Scale)
	return slices.DeleteFunc(rows, func(r sweep.Row) bool {
		return r.Cell >= len(cells) || !slices.Equal(r.Values, cells[r.Cell].Values) ||
			r.Engine != experiment.EngineVersion
	}), nil
}

// write puts the document into dir: its table in three forms, and its plots as SVG with
// their values as CSV.
func (d *Document) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := map[string][]byte{d.Name + ".csv": d.CSV(), d.Name + ".md": d.Markdown(),
		d.Name + ".tex": d.LaTeX()}
	for _, f := range d.Figures {
		var picture, values bytes.Buffer
		if err := errors.Join(plot.WriteSVG(&picture, f), plot.WriteCSV(&values, f)); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		files[f.Name+".svg"], files[f.Name+".csv"] = picture.Bytes(), values.Bytes()
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	return nil
}
