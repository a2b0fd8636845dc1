package adad2p

import (
	"testing"

	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// Rows without the metrics that lay beside them, in a folder that has lost curves.csv,
// make a table and no panic.
func TestRowsWithoutCurves(t *testing.T) {
	for name, s := range Paper.Studies {
		if s.Cells == nil {
			continue
		}
		rows := reproducetest.Runs(s.Cells(reproduce.Full), func([]string) float64 { return .5 })
		if d := s.Report(&reproduce.Results{Rows: rows, Scale: reproduce.Full}); d == nil {
			t.Errorf("%s: no table", name)
		}
	}
}
