package experiment

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sotto/config"
)

// CellRow is one finished cell of a sweep.
type CellRow struct {
	Cell   int
	Values []string // of the axes, in their order

	Accuracy           Spread // over agents; NaN for a regression
	Loss, Consensus    float64
	RMSE               float64 // mean over agents, of runs that are asked for it; NaN for others
	EpsilonLower       float64 // of the agent that spent most
	EpsilonUpper       float64
	Delta              float64
	Noise              float64 // noise multiplier of the first agent
	Charges            uint64  // of the first agent
	BytesSent          uint64  // by the agent that sent most
	ConfigDigest       string
	Engine, Arithmetic string
	RunHash            string
}

// cellColumns follow the axes in cells.csv.
var cellColumns = []string{"accuracy", "accuracy_min", "accuracy_max", "loss", "consensus_distance",
	"epsilon_lower", "epsilon_upper",
	"delta", "noise_multiplier", "charges", "bytes_sent", "config_digest", "engine", "arithmetic", "run_hash"}

// rmseColumn comes last in the cells of runs with [evaluate] rmse.
const rmseColumn = "rmse"

// cellHeader is the first line of a cells file.
func cellHeader(axes []string, rmse bool) []string {
	h := append(append([]string{"cell"}, axes...), cellColumns...)
	if rmse {
		h = append(h, rmseColumn)
	}
	return h
}

// axesOf returns the axes of a cells file by its first line, and whether it has the root
// mean squared error; nil for another file.
func axesOf(header []string) (axes []string, rmse bool) {
	n := len(header) - len(cellColumns)
	if n > 1 && header[len(header)-1] == rmseColumn {
		n, rmse = n-1, true
	}
	if n < 1 || !slices.Equal(header, cellHeader(header[1:n], rmse)) {
		return nil, false
	}
	return header[1:n:n], rmse
}

func newCellRow(cell int, values []string, s *Summary) CellRow {
	nan := math.NaN()
	r := CellRow{
		Cell:         cell,
		Values:       values,
		Accuracy:     Spread{nan, nan, nan},
		Loss:         float64(s.Loss),
		Consensus:    float64(s.ConsensusDistance),
		RMSE:         nan,
		EpsilonLower: math.Inf(-1),
		EpsilonUpper: math.Inf(-1),
		Delta:        s.Privacy[0].Delta,

		Noise:        float64(s.Privacy[0].Noise),
		Charges:      s.Privacy[0].Charges,
		BytesSent:    s.BytesSent,
		ConfigDigest: s.ConfigDigest,
		Engine:       s.Engine,
		Arithmetic:   s.Arithmetic,
		RunHash:      s.RunHash,
	}
	if s.Accuracy != nil {
		r.Accuracy = Spread{float64(s.Accuracy.Mean), float64(s.Accuracy.Min), float64(s.Accuracy.Max)}
	}
	if s.RMSE != nil {
		r.RMSE = float64(s.RMSE.Mean)
	}
	for _, p := range s.Privacy {
		if up := float64(p.Epsilon.Upper); up > r.EpsilonUpper {
			r.EpsilonLower, r.EpsilonUpper = float64(p.Epsilon.Lower), up
		}
	}
	return r
}

func (r *CellRow) fields(rmse bool) []string {
	f := append([]string{strconv.Itoa(r.Cell)}, r.Values...)
	for _, x := range []float64{r.Accuracy.Mean, r.Accuracy.Min, r.Accuracy.Max, r.Loss, r.Consensus,
		r.EpsilonLower, r.EpsilonUpper, r.Delta, r.Noise} {
		f = append(f, strconv.FormatFloat(x, 'g', -1, 64))
	}
	f = append(f, strconv.FormatUint(r.Charges, 10), strconv.FormatUint(r.BytesSent, 10), r.ConfigDigest,
		r.Engine, r.Arithmetic, r.RunHash)
	if rmse {
		f = append(f, strconv.FormatFloat(r.RMSE, 'g', -1, 64))
	}
	return f
}

// parseCell reads what fields writes.
func parseCell(f []string, axes int) (CellRow, error) {
	r := CellRow{RMSE: math.NaN()}
	var err error
	if r.Cell, err = strconv.Atoi(f[0]); err != nil || r.Cell < 0 {
		return r, config.Bad("cell", f[0], "a whole number, at least 0")
	}
	r.Values = f[1 : 1+axes]
	f = f[1+axes:]
	for k, dst := range []*float64{&r.Accuracy.Mean, &r.Accuracy.Min, &r.Accuracy.Max, &r.Loss, &r.Consensus,
		&r.EpsilonLower, &r.EpsilonUpper, &r.Delta, &r.Noise} {
		if *dst, err = strconv.ParseFloat(f[k], 64); err != nil {
			return r, config.Bad(cellColumns[k], f[k], "a number")
		}
	}
	for k, dst := range []*uint64{&r.Charges, &r.BytesSent} {
		if *dst, err = strconv.ParseUint(f[9+k], 10, 64); err != nil {
			return r, config.Bad(cellColumns[9+k], f[9+k], "a whole number, at least 0")
		}
	}
	r.ConfigDigest, r.Engine, r.Arithmetic, r.RunHash = f[11], f[12], f[13], f[14]
	if len(f) > len(cellColumns) {
		if r.RMSE, err = strconv.ParseFloat(f[15], 64); err != nil {
			return r, config.Bad(rmseColumn, f[15], "a number")
		}
	}
	return r, nil
}

func encodeCells(header []string, rows []CellRow) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(header) // a bytes.Buffer does not fail
	_, rmse := axesOf(header)
	for i := range rows {
		w.Write(rows[i].fields(rmse))
	}
	w.Flush()
	return b.Bytes()
}

// decodeCells reads a cells file; a last line without an end, which a crash leaves, is
// dropped. name is for errors.
func decodeCells(name string, b []byte) (header []string, rows []CellRow, err error) {
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	if len(b) == 0 {
		return nil, nil, nil
	}
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	header = lines[0]
	axes, _ := axesOf(header)
	if axes == nil {
		return nil, nil, &config.Error{
			File:    name,
			Line:    1,
			Found:   strings.Join(header, ","),
			Allowed: "cell, the axes, " + strings.Join(cellColumns, ", "),
		}
	}
	for i, f := range lines[1:] {
		r, err := parseCell(f, len(axes))
		if err != nil {
			var bad *config.Error
			if errors.As(err, &bad) {
				bad.File, bad.Line = name, i+2
			}
			return nil, nil, err
		}
		rows = append(rows, r)
	}
	return header, rows, nil
}

// ReadCells reads a cells file: the axes of its sweep, and its rows in the order of
// cells. Of several rows of a cell, which a stopped sweep leaves whose settings have
// changed, the last counts.
func ReadCells(path string) (axes []string, rows []CellRow, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	header, rows, err := decodeCells(path, b)
	if header == nil {
		return nil, nil, err
	}
	axes, _ = axesOf(header)
	return axes, newest(rows), err
}

// newest returns the last row of each cell, in the order of cells.
func newest(rows []CellRow) []CellRow {
	t := &cellTable{rows: map[int]CellRow{}}
	for _, r := range rows {
		t.rows[r.Cell] = r
	}
	return t.sorted()
}

// cellTable is the cells file of one shard, appended to row by row.
type cellTable struct {
	path   string
	header []string
	mu     sync.Mutex
	rows   map[int]CellRow
	file   *os.File
}

func cellsName(shard, shards int) string {
	if shards == 1 {
		return "cells.csv"
	}
	return fmt.Sprintf("cells-%d-of-%d.csv", shard, shards)
}

// openCells reads what earlier processes have finished and opens the file for more.
func openCells(dir string, s *Sweep, shard, shards int) (*cellTable, error) {
	t := &cellTable{path: filepath.Join(dir, cellsName(shard, shards)), rows: map[int]CellRow{},
		header: cellHeader(s.Axes, s.rmse)}
	b, err := os.ReadFile(t.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	header, rows, err := decodeCells(t.path, b)
	if err != nil {
		return nil, err
	}
	if header != nil && !slices.Equal(header, t.header) {
		return nil, &config.Error{
			File:    t.path,
			Line:    1,
			Found:   strings.Join(header, ","),
			Allowed: "the axes of this sweep: " + strings.Join(t.header, ","),
		}
	}
	for _, r := range rows {
		t.rows[r.Cell] = r
	}
	if err := writeAtomic(t.path, encodeCells(t.header, t.sorted())); err != nil {
		return nil, err
	}
	t.file, err = os.OpenFile(t.path, os.O_APPEND|os.O_WRONLY, 0o644)
	return t, err
}

func (t *cellTable) sorted() []CellRow {
	rows := make([]CellRow, 0, len(t.rows))
	for _, r := range t.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b CellRow) int { return a.Cell - b.Cell })
	return rows
}

// has reports whether a row of this configuration, engine and arithmetic is there. A row
// of another one is superseded by the next add.
func (t *cellTable) has(cell int, e *Experiment) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.rows[cell]
	return ok && r.ConfigDigest == e.Digest() && r.Engine == EngineVersion && r.Arithmetic == e.Arithmetic()
}

// add appends a row and waits until it is on disk.
func (t *cellTable) add(r CellRow) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := encodeCells(r.fields(t.rmse()), nil)
	if _, err := t.file.Write(line); err != nil {
		return err
	}
	t.rows[r.Cell] = r
	return t.file.Sync()
}

// finish writes the rows in the order of cells.
func (t *cellTable) finish() ([]CellRow, error) {
	rows := t.sorted()
	return rows, writeAtomic(t.path, encodeCells(t.header, rows))
}

func (t *cellTable) rmse() bool {
	_, rmse := axesOf(t.header)
	return rmse
}

func (t *cellTable) close() { t.file.Close() }

// MergeCells joins the cells files of a sweep's shards. Files must have the same axes;
// rows of one cell must agree, and no cell below the highest may be missing.
func MergeCells(paths []string) ([]byte, error) {
	var header []string
	merged := &cellTable{rows: map[int]CellRow{}}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		h, rows, err := decodeCells(path, b)
		if err != nil {
			return nil, err
		}
		if header == nil {
			header = h
		}
		if h == nil || !slices.Equal(h, header) {
			return nil, &config.Error{
				File:    path,
				Line:    1,
				Found:   strings.Join(h, ","),
				Allowed: strings.Join(header, ",") + ", as the first file",
			}
		}
		for _, r := range rows {
			if old, ok := merged.rows[r.Cell]; ok && !slices.Equal(old.fields(true), r.fields(true)) {
				return nil, &config.Error{
					File:    path,
					Key:     "cell",
					Found:   fmt.Sprintf("cell %d with other figures than in an earlier file", r.Cell),
					Allowed: "shards of one sweep",
				}
			}
			merged.rows[r.Cell] = r
		}
	}
	rows := merged.sorted()
	for i, r := range rows {
		if r.Cell != i {
			return nil, config.Bad("cell", fmt.Sprintf("no row of cell %d", i), "all shards of the sweep")
		}
	}
	return encodeCells(header, rows), nil
}
