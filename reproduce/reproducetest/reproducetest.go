// Package reproducetest has what tests of studies share.
package reproducetest

import (
	"fmt"
	"slices"
	"testing"

	"sotto/experiment"
	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// Runs makes a row for each cell, with a digest whose first digits are its own.
func Runs(cells []sweep.Cell, accuracy func(v []string) float64) []sweep.Row {
	rows := Rows(cells, accuracy)
	for i := range rows {
		rows[i].ConfigDigest, rows[i].Engine, rows[i].Arithmetic = fmt.Sprintf("%016x%048d", i, 0),
			experiment.EngineVersion, "fma"
	}
	return rows
}

// Rows makes a row for each cell with the given accuracy.
func Rows(cells []sweep.Cell, accuracy func(v []string) float64) []sweep.Row {
	var rows []sweep.Row
	for i, c := range cells {
		r := sweep.Row{Cell: i, Values: c.Values, EpsilonUpper: 9.99}
		r.Accuracy.Mean = accuracy(c.Values)
		rows = append(rows, r)
	}
	return rows
}

// CheckRows says what is wrong with the table of a study that is no sweep, made with one
// worker and with two.
func CheckRows(t *testing.T, name string, tables [2]*reproduce.Document) {
	t.Helper()
	d := tables[0]
	width := len(d.Header)
	if !slices.Equal(d.Header[width-4:], []string{reproduce.SeedColumn, reproduce.EngineColumn,
		reproduce.DigestColumn, reproduce.HashColumn}) ||
		!slices.Contains(d.Notes, reproduce.RowNote) {
		t.Errorf("%s: columns %q, notes %q", name, d.Header, d.Notes)
	}
	seen := map[string]bool{}
	for i, r := range d.Rows {
		if len(r) != width || r[width-3] != reproduce.Engine() || len(r[width-2]) != 64 ||
			len(r[width-1]) != 64 {
			t.Errorf("%s: row %q", name, r)
		}
		if seen[r[width-2]] {
			t.Errorf("%s: two rows have the settings of row %d", name, i)
		}
		seen[r[width-2]] = true
		if !slices.Equal(r, tables[1].Rows[i]) {
			t.Errorf("%s: row %d is another with two workers: %q and %q", name, i, r, tables[1].Rows[i])
		}
	}
}
