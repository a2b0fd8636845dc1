package reproduce

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"sotto/experiment/sweep"
	"testing"
)

// The hash is that of the IEEE 754 bits, written out by hand here: 1 is 3ff0000000000000,
// -2.5 is c004000000000000, least byte first.
func TestHashFigures(t *testing.T) {
	want := sha256.Sum256([]byte("\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x04\xc0"))
	if got := hashFigures([]float64{1}, []float64{-2.5}); got != hex.EncodeToString(want[:]) {
		t.Errorf("hash %s, want %x", got, want)
	}
	if hashFigures([]float64{1}) == hashFigures([]float64{math.Nextafter(1, 2)}) {
		t.Error("a last bit does not change the hash")
	}
	// Settings: the first of the published vectors of SHA-256 (FIPS 180-2, B.1).
	if got := hashText("abc"); got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Error(got)
	}
}

// Every table that is made whole ends with the columns of addRow, no two rows have the
// same settings, and another number of workers gives the same bits.
func TestRowsOfSimulations(t *testing.T) {
	for _, name := range Names() {
		// these take long: see below and TestTable5
		if s := Studies[name]; s.cells != nil || name == "seed000-table5" || name == "seed000-theorem51" {
			continue
		}
		var tables [2]*Document
		for k := range tables {
			d, err := Run(context.Background(), name,
				Options{Dir: t.TempDir(), Scale: Smoke,
					Sweep: sweep.Options{Workers: 1 + k, DataDir: t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			tables[k] = d
		}
		checkRows(t, name, tables)
	}
	size := floorSize{noises: []float64{.01, .1}, burn: 5, rounds: 5, trials: 2}
	var tables [2]*Document
	for k := range tables {
		points, err := size.floors(context.Background(), "quadratic", 1+k, size.noises, []int{4})
		if err != nil {
			t.Fatal(err)
		}
		tables[k] = newTable(make([]string, 12)...)
		tables[k].Notes = []string{rowNote}
		tables[k].addFits(size, "quadratic", "noise σ", 1, points, func(p *floorPoint) float64 {
			return p.noise
		})
	}
	checkRows(t, "seed000-theorem51", tables)
}

func checkRows(t *testing.T, name string, tables [2]*Document) {
	t.Helper()
	d := tables[0]
	width := len(d.Header)
	if !slices.Equal(d.Header[width-4:], []string{SeedColumn, EngineColumn, DigestColumn, HashColumn}) ||
		!slices.Contains(d.Notes, rowNote) {
		t.Errorf("%s: columns %q, notes %q", name, d.Header, d.Notes)
	}
	seen := map[string]bool{}
	for i, r := range d.Rows {
		if len(r) != width || r[width-3] != Engine() || len(r[width-2]) != 64 || len(r[width-1]) != 64 {
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
