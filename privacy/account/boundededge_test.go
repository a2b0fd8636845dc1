package account

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"
)

// Bounded noise at the edges of what is allowed, scales of up to 1000 truncations,
// truncations of up to 1e12 and deltas down to 1e-133: delta and epsilon hold, and are
// tight but for the rounding of truncation +- 1. The figures are of testdata/bounded.py,
// integrals of the densities by mpmath with 60 digits. Deltas were up to 43 % too small.
func TestBoundedNoiseAtItsEdges(t *testing.T) {
	f, err := os.Open("testdata/bounded.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 150 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		var x [4]float64
		for i := range x {
			if x[i], err = strconv.ParseFloat(row[1+i], 64); err != nil {
				t.Fatal(err)
			}
		}
		epsilon, delta, beta := x[2], x[3], 0.
		if row[0] == BoundedGeneralized {
			beta = 3
		}
		acc, err := New("pld", AddRemove, Record())
		if err == nil {
			err = acc.Compose(must(t)(BoundedNoise(row[0], x[0], x[1], beta)), 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		room := 4e-9 + 0x1p-43*x[1] // relative
		if x[1] > 1e7 {
			room = .15 // truncation +- 1 has lost digits
		}
		d, err := acc.(DeltaAccountant).Delta(epsilon)
		if err != nil || d.Lower > delta || d.Upper < delta ||
			d.Upper > delta*(1+room) && epsilon < 700 {
			t.Errorf("%v: delta %v, %.3g above: %v", row, d, d.Upper/delta-1, err)
		}
		if delta == 1 {
			continue
		}
		// Where delta is hardly more than that of the outcomes of one world alone, an
		// epsilon may be unbounded.
		e, err := acc.Epsilon(delta)
		if err != nil || e.Upper < math.Min(epsilon, largestLoss(row[0], x[0], x[1]))*(1-1e-12) {
			t.Errorf("%v: epsilon %v: %v", row, e, err)
		}
		e, err = acc.Epsilon(math.Min(1, delta*(1+2*room)))
		if err != nil || e.Upper > epsilon*(1+1e-9) && epsilon < 700 {
			t.Errorf("%v: epsilon %v at a little more: %v", row, e, err)
		}
	}
}

func largestLoss(family string, s, a float64) float64 {
	switch family {
	case BoundedLaplace:
		return 1 / s
	case BoundedGaussian:
		return (2*a - 1) / (2 * s * s)
	}
	return (3*a*a - 3*a + 1) / (s * s * s)
}
