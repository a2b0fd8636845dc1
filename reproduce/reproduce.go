// Package reproduce runs the experiments of published papers again and sets the results
// beside the published ones. It holds what all papers need: a [Study], its rows on disk,
// tables, figures and documents. Each paper is a package of its own below it, and package
// papers lists them.
//
// Most tables and figures are a sweep of runs (package experiment/sweep) and a way to
// read its rows; statements about convergence are simulations of problems whose constants
// are known. Sound rows keep the promise that their epsilon states; rows of mode
// "replication" do what the publication did, and show the epsilon that it claims beside
// the true one.
package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"sotto/config"
	"sotto/experiment/run"
	"sotto/experiment/sweep"
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

	// Cells returns the runs of a study that is a sweep over Axes, as settings beside
	// those of Base, and Report reads what they have left.
	Cells  func(Scale) []sweep.Cell
	Axes   []string
	Base   string
	Report func(*Results) *Document
	Short  bool // has a short size of its own
	Curves bool // keeps metrics over time, and the figures of owners' own models: see PersonalMetric
	Agents bool // and the last accuracy of every agent
	// Classes keeps the last accuracy of every class too, mean and least over agents.
	Classes bool

	// Make makes the document of a study that is no sweep.
	Make func(context.Context, Options) (*Document, error)
}

// Results are what the runs of a study have left.
type Results struct {
	Rows   []sweep.Row
	Times  map[RunKey]RunTime
	Curves Curves
	Scale  Scale
}

// TwoSizes are the cells of a study that has no short size.
func TwoSizes(cells func(small bool) []sweep.Cell) func(Scale) []sweep.Cell {
	return func(s Scale) []sweep.Cell { return cells(s == Smoke) }
}

// Sweep says that the study is a sweep of runs, which cells.csv has; the others are made
// whole each time.
func (s Study) Sweep() bool { return s.Cells != nil }

// Sizes are the scales at which the study can run.
func (s *Study) Sizes() []Scale {
	if s.Short {
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
	// Whole refuses that where a run is missing.
	Whole bool
	Sweep sweep.Options // Out and Dir are set from Dir
}

// document runs the study.
func (s *Study) document(ctx context.Context, name string, opt Options) (*Document, error) {
	if s.Cells == nil {
		if opt.Finished || opt.Sweep.Shards > 1 {
			return nil, config.Bad("study", name,
				"a study that is a sweep of runs: this one is a simulation, made whole each time")
		}
		return s.Make(ctx, opt)
	}
	f := &Results{Scale: opt.Scale}
	var err error
	var unsure []string
	if opt.Finished {
		f.Rows, unsure, err = s.finished(name, opt)
	} else {
		f.Rows, err = s.sweep(ctx, name, opt)
	}
	if err != nil {
		return nil, err
	}
	if f.Times, err = ReadTimes(opt.Dir); err != nil {
		return nil, err
	}
	if f.Curves, err = readCurves(opt.Dir); err != nil {
		return nil, err
	}
	if err := s.hasCurves(f, opt.Dir); err != nil {
		return nil, err
	}
	if s.Curves && !opt.Finished && opt.Sweep.Shards <= 1 {
		if err := tidyCurves(opt.Dir, f.Rows, f.Curves); err != nil {
			return nil, err
		}
	}
	d := s.Report(f)
	d.Notes = append(d.Notes, unsure...)
	if all := len(s.Cells(opt.Scale)); len(f.Rows) < all {
		d.Notes = append(d.Notes,
			fmt.Sprintf("%d of %d runs are finished; the others are missing from the figures", len(f.Rows),
				all))
	}
	return d, nil
}

// hasCurves refuses rows whose kept metrics are gone: tables would be made without them.
func (s *Study) hasCurves(f *Results, dir string) error {
	missing := 0
	for i := range f.Rows {
		if s.Curves && len(f.Curves.of(&f.Rows[i])) == 0 {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	return &config.Error{File: filepath.Join(dir, "curves.csv"), Key: "metrics",
		Found: fmt.Sprintf("none of %d of %s", missing, config.Count(len(f.Rows), "run")),
		Allowed: "those of every run that has a row in cells.csv; a run is made again, metrics and all, " +
			"where its row is taken out"}
}

// sweep runs the cells that have no row yet, and notes how long each took.
func (s *Study) sweep(ctx context.Context, name string, opt Options) ([]sweep.Row, error) {
	study, err := sweep.New(name, []byte(s.Base), s.Axes, s.Cells(opt.Scale))
	if err != nil {
		return nil, err
	}
	times, curves := newBeside("times", &opt, timeCodec), newBeside("curves", &opt, curveCodec)
	opt.Sweep.Dir, opt.Sweep.Discard = opt.Dir, true
	// Written before the row: a run without a row runs again, and is kept the same twice.
	opt.Sweep.Keep = func(row sweep.Row, res *run.Result) error {
		if s.Curves {
			kept, err := keptOf(&row, res.Dir, s)
			if err != nil {
				return err
			}
			if err := curves.add(kept...); err != nil {
				return err
			}
		}
		return times.add(timeOf(&row, &res.Summary))
	}
	res, err := study.Run(ctx, opt.Sweep)
	err = cmp.Or(err, times.close(), curves.close())
	if err != nil {
		return nil, err
	}
	return res.Rows, nil
}
