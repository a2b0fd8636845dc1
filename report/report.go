// Package report makes pages and plots of finished runs, from their files alone: it
// trains nothing and reads no data. A page is one HTML file that needs no network; its
// only script lets figures show parts of their axes.
package report

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/experiment/runfile"
	"sotto/report/plot"
)

// File is one file of a report.
type File struct {
	Name  string
	Bytes []byte
}

// run is what a report shows of one run.
type run struct {
	*rundir.Run
	keys  map[string]string // the configuration's dotted keys and values
	asked *asked            // nil: the run asked nothing
}

func newRun(r *rundir.Run) (*run, error) {
	doc, err := runfile.Parse(filepath.Join(r.Dir, rundir.ConfigFile), r.Config)
	if err != nil {
		return nil, err
	}
	keys := doc.Values()
	keys["engine"] = r.Summary.Engine
	asked, err := parseAnswers(r.Dir, r.Answers)
	return &run{Run: r, keys: keys, asked: asked}, err
}

// Read makes a report of finished runs: the HTML page, every plot as SVG with its values
// as CSV, and what settings differ in as CSV. paths are run directories, sweep
// directories or folders of run directories; engine is the version of this program, whose
// runs others are told from. The same runs give the same bytes. A node's state directory,
// alone, has a page of its own, see Node.
func Read(engine string, paths []string) (page []byte, plots []File, err error) {
	if i := slices.IndexFunc(paths, rundir.IsNode); i >= 0 {
		if len(paths) > 1 {
			return nil, nil, &config.Error{File: paths[i], Found: "a node's directory beside others",
				Allowed: "a node's directory alone: its page is for its owner"}
		}
		page, err = Node(engine, paths[i])
		return page, nil, err
	}
	dirs, err := rundir.Find(paths)
	if err != nil {
		return nil, nil, err
	}
	runs := make([]*rundir.Run, len(dirs))
	for i, dir := range dirs {
		if runs[i], err = rundir.Read(dir); err != nil {
			return nil, nil, err
		}
	}
	return Make(engine, runs)
}

// Make is [Read] of runs that are in memory.
func Make(engine string, finished []*rundir.Run) (page []byte, plots []File, err error) {
	runs := make([]*run, len(finished))
	for i, r := range finished {
		if runs[i], err = newRun(r); err != nil {
			return nil, nil, err
		}
	}
	p, drawings, err := buildReport(engine, runs)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range drawings {
		var svg, values bytes.Buffer
		if err := plot.WriteSVG(&svg, d); err != nil {
			return nil, nil, err
		}
		if err := plot.WriteValues(&values, d); err != nil {
			return nil, nil, err
		}
		plots = append(plots, File{d.FileName() + ".svg", svg.Bytes()},
			File{d.FileName() + ".csv", values.Bytes()})
	}
	var b bytes.Buffer
	err = WriteHTML(&b, p)
	return b.Bytes(), append(plots, p.files...), err
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
