package sweep

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/metric"
	"sotto/experiment/rundir"
	"sotto/internal/rowfile"
)

// Row is one finished cell of a sweep.
type Row struct {
	Cell   int
	Values []string // of the axes, in their order

	Accuracy rundir.Stats // over agents; NaN for a regression
	Tested
	RMSE         float64 // mean over agents, of runs that are asked for it; NaN for others
	EpsilonLower float64 // of the agent that spent most
	EpsilonUpper float64
	Delta        float64
	Noise        float64 // noise multiplier of the first agent
	Charges      uint64  // of the first agent
	BytesSent    uint64  // by the agent that sent most
	experiment.Origin
	RunHash string
}

// cellColumns follow the axes in cells.csv. What runs are asked for comes next: the root
// mean squared error, and the figures of [evaluate] figures. What the rows were made from
// comes last.
var cellColumns = []string{"accuracy", "accuracy_min", "accuracy_max", "loss", "consensus_distance",
	"epsilon_lower", "epsilon_upper",
	"delta", "noise_multiplier", "charges", "bytes_sent", "config_digest", "engine", "arithmetic", "run_hash"}

// Tested is what the models of a cell are on test records, in the mean over agents.
type Tested struct {
	Loss, Consensus float64
	Figures         []Figure // of runs that are asked for them; NaN: undefined
}

// asked is what rows have beside what all have.
type asked struct {
	rmse    bool
	figures []string
	// data: they say of which data they are. Rows of studies, whose data are drawn or
	// checked, do not.
	data bool
}

// dataColumn is the last one, of the digest of a row's data.
const dataColumn = "data_digest"

// baselineColumn begins the name of a figure of what knows labels alone: accuracy of a
// classifier, the root mean squared error of a regression.
const baselineColumn = "baseline_"

// figuresOf are the names of the figures of cells.
func figuresOf(t *experiment.Task) []string {
	name, classify := rundir.RMSE, t.Classifies()
	if classify {
		name = metric.Accuracy
	}
	return append([]string{baselineColumn + name}, metric.FigureNames(t.Model, classify)...)
}

// figureColumn begins the name of the column of a figure.
const figureColumn = "figure."

// cellHeader is the first line of a cells file.
func cellHeader(axes []string, more asked) []string {
	h := append(append([]string{"cell"}, axes...), cellColumns...)
	if more.rmse {
		h = append(h, rundir.RMSE)
	}
	for _, name := range more.figures {
		h = append(h, figureColumn+name)
	}
	if more.data {
		h = append(h, dataColumn)
	}
	return h
}

// axesOf returns the axes of a cells file by its first line, and what its runs were asked
// for; nil for another file.
func axesOf(header []string) (axes []string, more asked) {
	n := len(header)
	if n > 0 && header[n-1] == dataColumn {
		n, more.data = n-1, true
	}
	asks := n
	for n > 0 && strings.HasPrefix(header[n-1], figureColumn) {
		n--
	}
	for _, column := range header[n:asks] {
		more.figures = append(more.figures, strings.TrimPrefix(column, figureColumn))
	}
	if n > 0 && header[n-1] == rundir.RMSE {
		n, more.rmse = n-1, true
	}
	if n -= len(cellColumns); n < 1 || !slices.Equal(header, cellHeader(header[1:n], more)) {
		return nil, asked{}
	}
	return header[1:n:n], more
}

func newRow(cell int, values []string, s *rundir.Summary) Row {
	nan := math.NaN()
	r := Row{
		Cell:      cell,
		Values:    values,
		Accuracy:  rundir.Stats{Mean: nan, Min: nan, Max: nan},
		Tested:    Tested{Loss: float64(s.Loss), Consensus: float64(s.ConsensusDistance)},
		RMSE:      nan,
		Delta:     s.Privacy[0].Delta,
		Noise:     float64(s.Privacy[0].Noise),
		Charges:   s.Privacy[0].Charges,
		BytesSent: s.BytesSent,
		Origin: experiment.Origin{ConfigDigest: s.ConfigDigest, Engine: s.Engine,
			Arithmetic: s.Arithmetic},
		RunHash: s.RunHash,
	}
	if s.Accuracy != nil {
		r.Accuracy = *s.Accuracy
	}
	if s.RMSE != nil {
		r.RMSE = s.RMSE.Mean
	}
	if s.Figures != nil {
		for _, l := range s.Figures.Lines {
			f := Figure{l.Name, nan}
			if (l.Name == metric.Accuracy || l.Name == rundir.RMSE) && l.Baseline != nil {
				r.Figures = append(r.Figures, Figure{baselineColumn + l.Name, *l.Baseline})
			}
			if l.Over != nil {
				f.Value = l.Over.Mean
			}
			r.Figures = append(r.Figures, f)
		}
	}
	r.EpsilonLower, r.EpsilonUpper = s.Worst()
	return r
}

// Figure is a figure of a cell by name.
type Figure struct {
	Name  string
	Value float64
}

// Quality is how good the models of the cell are, by means over agents.
func (r *Row) Quality() []Figure {
	all := []Figure{{"accuracy", r.Accuracy.Mean}, {"loss", r.Loss}, {rundir.RMSE, r.RMSE}}
	for _, f := range r.Figures {
		said := func(b Figure) bool { return b.Name == f.Name && !math.IsNaN(b.Value) }
		if !slices.ContainsFunc(all[:3], said) {
			all = append(all, f)
		}
	}
	return slices.DeleteFunc(all, func(f Figure) bool { return math.IsNaN(f.Value) })
}

// figure is the value of a figure by name, NaN where there is none.
func (r *Row) figure(name string) float64 {
	for _, f := range r.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	return math.NaN()
}

func (r *Row) fields(more asked) []string {
	f := append([]string{strconv.Itoa(r.Cell)}, r.Values...)
	for _, x := range []float64{r.Accuracy.Mean, r.Accuracy.Min, r.Accuracy.Max, r.Loss, r.Consensus,
		r.EpsilonLower, r.EpsilonUpper, r.Delta, r.Noise} {
		f = append(f, strconv.FormatFloat(x, 'g', -1, 64))
	}
	f = append(f, strconv.FormatUint(r.Charges, 10), strconv.FormatUint(r.BytesSent, 10), r.ConfigDigest,
		r.Engine, r.Arithmetic, r.RunHash)
	if more.rmse {
		f = append(f, strconv.FormatFloat(r.RMSE, 'g', -1, 64))
	}
	for _, name := range more.figures {
		f = append(f, strconv.FormatFloat(r.figure(name), 'g', -1, 64))
	}
	if more.data {
		f = append(f, r.Data)
	}
	return f
}

// parseCell reads what fields writes.
func parseCell(f []string, axes int, more asked) (Row, error) {
	r := Row{RMSE: math.NaN()}
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
	f = f[len(cellColumns)-1:]
	if more.rmse {
		f = f[1:]
		if r.RMSE, err = strconv.ParseFloat(f[0], 64); err != nil {
			return r, config.Bad(rundir.RMSE, f[0], "a number")
		}
	}
	for k, name := range more.figures {
		v, err := strconv.ParseFloat(f[k+1], 64)
		if err != nil {
			return r, config.Bad(figureColumn+name, f[k+1], "a number")
		}
		r.Figures = append(r.Figures, Figure{name, v})
	}
	if more.data {
		r.Data = f[len(f)-1]
	}
	return r, nil
}

// cellCodec is how the cells of a sweep with this header are written.
func cellCodec(header []string) rowfile.Codec[Row] {
	axes, more := axesOf(header)
	before := more
	before.data = false
	return rowfile.Codec[Row]{
		Header:  header,
		Before:  cellHeader(axes, before),
		Key:     func(r Row) string { return strconv.Itoa(r.Cell) },
		Encode:  func(r Row) []string { return r.fields(more) },
		Decode:  func(f []string) (Row, error) { return parseCell(f, len(axes), more) },
		Compare: func(a, b Row) int { return a.Cell - b.Cell },
		Row:     "cell",
		Table:   "sweep",
		Columns: "the axes of this sweep: ",
		Foreign: foreignCells,
	}
}

// foreignCells says what the header of a cells file is, where this one is of another
// file.
func foreignCells(header []string) string {
	if axes, _ := axesOf(header); axes != nil {
		return ""
	}
	return "cell, the axes, " + strings.Join(cellColumns, ", ")
}

// readCellCodec is the codec of the cells file at path by its header, which is nil where
// the file is empty.
func readCellCodec(path string) (rowfile.Codec[Row], error) {
	header, err := rowfile.Header(path)
	if err != nil || header == nil {
		return rowfile.Codec[Row]{}, err
	}
	if kind := foreignCells(header); kind != "" {
		return rowfile.Codec[Row]{},
			&config.Error{File: path, Line: 1, Found: strings.Join(header, ","), Allowed: kind}
	}
	return cellCodec(header), nil
}

// ReadRows reads a cells file: the axes of its sweep, and its rows in the order of
// cells. Of several rows of a cell, which a stopped sweep leaves whose settings have
// changed, the last counts.
func ReadRows(path string) (axes []string, rows []Row, err error) {
	codec, err := readCellCodec(path)
	if err != nil || codec.Header == nil {
		return nil, nil, err
	}
	if rows, err = rowfile.Read(path, codec); err != nil {
		return nil, nil, err
	}
	axes, _ = axesOf(codec.Header)
	return axes, rows, nil
}

func cellsName(shard, shards int) string {
	if shards == 1 {
		return "cells.csv"
	}
	return fmt.Sprintf("cells-%d-of-%d.csv", shard, shards)
}

// openCells reads what earlier processes have finished and opens the file for more.
func openCells(dir string, s *Sweep, shard, shards int) (*rowfile.Table[Row], error) {
	return rowfile.Open(filepath.Join(dir, cellsName(shard, shards)), cellCodec(cellHeader(s.Axes, s.more)))
}
