package dpdl2023

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"sotto/data"
	"sotto/experiment/sweep"
	"sotto/privacy/account"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// Central and three methods at five overlaps, at one budget without privacy and one held
// for two adjacencies, three seeds: 3 (3 + 3 3 5) runs. Accuracies of 20 and, central, 30
// are 10 points apart; DP-DSGT is published 5.16 points below central at t = 1.
func TestTable4CNN(t *testing.T) {
	cells := cnnCells(reproduce.Full)
	if want := 3 * (3 + 3*3*5); len(cells) != want || len(cnnCells(reproduce.Short)) != want {
		t.Errorf("%d runs, %d of the short size, want %d", len(cells), len(cnnCells(reproduce.Short)), want)
	}
	rows := reproducetest.Runs(cells, func(v []string) float64 {
		return map[bool]float64{true: .3, false: .2}[v[2] == centralRow]
	})
	for i := range rows {
		rows[i].Noise, rows[i].Charges, rows[i].EpsilonUpper = 8, 2500, 10
	}
	d := table4CNN(&reproduce.Results{Rows: rows, Scale: reproduce.Short})
	if len(d.Rows) != 2*(1+3*5) {
		t.Fatalf("%d rows, want 32", len(d.Rows))
	}
	r := d.Rows[2*16-6]
	got := slices.Concat(r[:8], r[9:11])
	if want := []string{"1", "dsgt", "10", "27.14 ± 0.14", "20.00 ± 0.00", "10.00", "5.16", "10",
		"20.00 ± 0.00", "10"}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// Noise of 8 for records of norm 1 is noise of 4 for differences of 2.
	zero, one := reproduce.Number(r[11]), reproduce.Number(r[8])
	plan := account.DPSGD(account.ZeroOut, .05, 2500)
	plan.NoiseMultiplier = 8
	want, err := account.Epsilon(plan, 1e-5)
	if err != nil || !(zero < one) || reproduce.Epsilon(want.Upper) != r[11] {
		t.Errorf("epsilon %g, under replace-one %g; want %+v, %v", zero, one, want, err)
	}
	if len(d.Figures) != 2 {
		t.Errorf("%d plots", len(d.Figures))
	}
}

// Without the folder the study says once what is missing and where it comes from.
func TestTable4CNNMissing(t *testing.T) {
	_, err := reproduce.Papers{Paper}.Run(t.Context(), "seed000-table4-cnn",
		reproduce.Options{Dir: t.TempDir(), Scale: reproduce.Short,
			Sweep: sweep.Options{DataDir: t.TempDir(), Workers: 1}})
	if !errors.Is(err, data.ErrMissing) || strings.Count(err.Error(), "train.bin") > 2 ||
		!strings.Contains(err.Error(), cnnFolder) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
