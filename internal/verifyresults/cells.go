package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/experiment/sweep"
	"sotto/reproduce/papers"
	"sotto/tensor"
)

// studyTables are the rows of studies that were run at full size.
const studyTables = "docs/results/*/cells.csv"

// cell is a row of a study's table.
type cell struct {
	folder string // of the table
	axes   []string
	row    sweep.Row
}

func (c *cell) name() string { return fmt.Sprintf("%s/%d", c.folder, c.row.Cell) }

// readCells reads the tables of all studies.
func readCells() ([]cell, error) {
	paths, err := filepath.Glob(studyTables)
	if err != nil {
		return nil, err
	}
	var cells []cell
	for _, path := range paths {
		axes, rows, err := sweep.ReadRows(path)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			cells = append(cells, cell{filepath.Base(filepath.Dir(path)), axes, r})
		}
	}
	return cells, nil
}

// here says that this program on this machine can give the row's bits.
func (c *cell) here() bool {
	arithmetic := "fma"
	if tensor.Kernels() == "portable" {
		arithmetic = "portable"
	}
	return c.row.Engine == experiment.EngineVersion &&
		(c.row.Arithmetic == arithmetic || c.row.Arithmetic == "amx" && tensor.HasAMX() ||
			c.row.Arithmetic == "dot" && tensor.HasDotBF16())
}

// again runs the study's run that the row is of, found by its configuration digest, and
// compares.
func (c *cell) again() error {
	fmt.Printf("running %s again: %v = %v\n", c.name(), c.axes, c.row.Values)
	e, err := papers.All.Row(c.axes, &c.row, cmp.Or(os.Getenv("SOTTO_DATA"), "data"))
	if err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	out, err := os.MkdirTemp("", "sotto-results-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(out)
	res, err := run.Run(context.Background(), e, run.Options{Out: out})
	if err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	return same(c.name(), res.Summary.ConfigDigest, c.row.ConfigDigest, res.Summary.RunHash, c.row.RunHash)
}
