package dkm

import (
	"slices"
	"testing"

	"sotto/experiment/sweep"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// Of a part of the runs, those of one seed are paired, not those in one place: accuracy
// is ten points for each seed, DP-DSGD lacks the last one and DP-dKM the first.
func TestPartIsPairedBySeed(t *testing.T) {
	s := Paper.Studies["heart"]
	rows := reproducetest.Runs(s.Cells(reproduce.Full), func(v []string) float64 {
		return .1 * reproduce.Number(v[len(v)-1])
	})
	rows = slices.DeleteFunc(rows, func(r sweep.Row) bool {
		lost := map[string]string{"dsgd": "10", "forward": "1"}[r.Values[0]]
		return reproduce.SeedOf(&r) == lost
	})
	d := s.Report(&reproduce.Results{Rows: rows, Scale: reproduce.Full})
	compared := 0
	for _, r := range d.Rows {
		if r[5] == "" {
			continue
		}
		compared++
		if r[5] != "+0.00" && r[5] != "-0.00" || r[6] == "" {
			t.Errorf("%s: %s (%s), want no difference", r[1], r[5], r[6])
		}
	}
	if compared != 36 {
		t.Errorf("%d lines are compared with DP-DSGD, want 36", compared)
	}
}
