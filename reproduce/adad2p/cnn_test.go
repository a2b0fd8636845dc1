package adad2p

import (
	"math"
	"strings"
	"testing"

	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// Figures 1 to 3 have SGP, the three methods with the paper's clips at .001, .002 and
// .04, and AdaD2P at the paper's seven scales, with five seeds each; batches at these
// three. Each is compared with SGP, and runs that end without a finite loss are counted.
func TestCNN(t *testing.T) {
	full := cnnPushes()
	count := map[string]int{}
	for _, p := range full {
		count[p.method]++
	}
	if count["sgp"] != 1 || count["adad2p"] != 7 || count["clipd2p"] != 9 || count["constd2p"] != 6 {
		t.Errorf("runs by method: %v", count)
	}
	if cells := pushCells(cnnPushes)(reproduce.Full); len(cells) != 5*len(full) {
		t.Errorf("%d cells of %d runs", len(cells), len(full))
	}
	for _, c := range []struct {
		name  string
		runs  func() []push
		plots int
	}{{"cnn", cnnPushes, 2 + 3*3}, {"cnn64", cnnBatchPushes, 3 * 3}} {
		rows := reproducetest.Runs(pushCells(c.runs)(reproduce.Full), func(v []string) float64 {
			return map[string]float64{"sgp": .4, "clipd2p": .3 + reproduce.Number(v[7])/100}[v[2]]
		})
		for i := range rows {
			if v := rows[i].Values; v[2] == "adad2p" && v[3] == "sigma 0.04" && v[7] != "2" {
				rows[i].Loss = math.NaN()
			}
		}
		f := &reproduce.Results{Rows: rows, Curves: reproduce.Curves{}, Scale: reproduce.Full}
		d := cnnReport(c.name, c.runs, cnnSigmas...)(f)
		if len(d.Rows) != len(c.runs()) || len(d.Figures) != c.plots {
			t.Errorf("%s: %d rows of %d, %d plots, want %d", c.name, len(d.Rows), len(c.runs()),
				len(d.Figures), c.plots)
		}
		// ClipD2P has .31 to .35 over seeds, SGP .4 each time
		less := "a round: ClipD2P, C = 5 less SGP without noise is -7.00 ± 1.58 points over 5 seeds"
		if n := strings.Count(strings.Join(d.Notes, "\n"), less); n != len(cnnSigmas) {
			t.Errorf("%s: %q %d times, want %d", c.name, less, n, len(cnnSigmas))
		}
		want := "sigma 0.04, AdaD2P: 4 of 5 runs diverge"
		if notes := strings.Join(d.Notes, "\n"); strings.Count(notes, "diverge:") != 1 ||
			!strings.Contains(notes, want) {
			t.Errorf("%s: no %q alone in\n%s", c.name, want, notes)
		}
	}
}
