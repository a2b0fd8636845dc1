package main

import (
	"slices"
	"strings"
	"testing"
)

// Rows of studies are named by their folder and number; those of another engine or
// arithmetic cannot be had here.
func TestReadCells(t *testing.T) {
	t.Chdir("../..")
	cells, err := readCells()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(cells, func(c cell) bool {
		return c.name() == "seed000/0" && slices.Contains(c.axes, "fiedler")
	}) {
		t.Fatalf("no row seed000/0 among %d", len(cells))
	}
	c := cells[0]
	c.row.Engine = "0"
	if c.here() {
		t.Error("a row of engine 0 is taken for this one's")
	}
	if err := c.again(); err == nil || !strings.Contains(err.Error(), `engine: found "0"`) {
		t.Errorf("a row of engine 0 is run again: %v", err)
	}
	c = cells[0]
	c.row.Arithmetic = "another"
	if c.here() {
		t.Error("a row of another arithmetic is taken for this one's")
	}
	if err := check("seed000/999999", 0); err == nil || !strings.Contains(err.Error(), "no such row") {
		t.Errorf("a row that is not there: %v", err)
	}
}
