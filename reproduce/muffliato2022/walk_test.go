package muffliato2022

import (
	"context"
	"math"
	"os"
	"strconv"
	"testing"

	"sotto/experiment/sweep"
	"sotto/internal/long"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// Every run finds its own line, with the published figures of its budget beside it.
func TestWalkTable(t *testing.T) {
	s := Paper.Studies["walk"]
	cells := s.Cells(reproduce.Full)
	if want := 8 * (18 + 6 + 3); len(cells) != want {
		t.Errorf("%d runs, want %d", len(cells), want)
	}
	for i, c := range cells { // rows that are there keep their numbers
		if c.Values[0] == "hidden" && i < 8*(18+6) {
			t.Errorf("run %d is %v", i, c.Values)
		}
	}
	cells = cells[:8*(18+6)] // the mixture of 2,048 agents takes long: see TestWalkSmoke
	rows := reproducetest.Runs(cells, func(v []string) float64 { return float64(len(v[0])) / 100 })
	for i := range rows {
		if rows[i].EpsilonUpper = 3.5; rows[i].Values[0] == "published" {
			rows[i].EpsilonUpper = math.Inf(1)
		}
	}
	d := s.Report(&reproduce.Results{Rows: rows, Curves: reproduce.Curves{}, Scale: reproduce.Full})
	if len(d.Rows) != 24 {
		t.Fatalf("%d lines, want 24", len(d.Rows))
	}
	for _, r := range d.Rows {
		accuracy := map[string]string{"published": "9.00 ± 0.00", "after-noise": "11.00 ± 0.00",
			"sound": "5.00 ± 0.00"}[r[0]]
		published := map[string]string{"local": ".88", "central": ".96", "network": ".955 to .96"}[r[1]]
		if r[6] != accuracy || r[7] != published || (r[11] == "∞") != (r[0] == "published") ||
			r[0] != "published" && r[11] != "3.500" ||
			(r[12] == "") != (r[1] == "central") || r[1] != "central" &&
			r[13] != "refused: the clip may bind" {
			t.Errorf("%q", r)
		}
	}
}

// The smoke size runs in seconds.
func TestWalkSmoke(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	switch {
	case !long.Tests:
		t.Skip("go test -tags long")
	case dir == "":
		t.Skip("SOTTO_DATA not set: needs california-housing")
	}
	d, err := reproduce.Papers{Paper}.Run(context.Background(), "seed004-walk",
		reproduce.Options{Dir: t.TempDir(), Scale: reproduce.Smoke,
			Sweep: sweep.Options{DataDir: dir, Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	// longitude alone; with 64 agents everywhere the complete graphs are the same
	if len(d.Rows) != 9+2*2+3 || len(d.Figures) != 1 {
		t.Errorf("%d lines, %d figures", len(d.Rows), len(d.Figures))
	}
	for _, r := range d.Rows {
		if eps, err := strconv.ParseFloat(r[11], 64); r[0] == "published" && r[11] != "∞" ||
			r[0] == "sound" && r[1] == "local" && (err != nil || eps > 10 || eps < 1) {
			t.Errorf("%s, %s: epsilon %s", r[0], r[1], r[11])
		}
		if r[0] == "hidden" {
			// of all twelve contributions
			worst, mean, all := cellNumber(t, r[13]), cellNumber(t, r[14]),
				gdp.Epsilon(math.Sqrt(walkMost)/cellNumber(t, r[5]), walkDelta)
			if !(mean <= worst && worst < all && cellNumber(t, r[12]) > 0) {
				t.Errorf("%q", r)
			}
		}
	}
}

// Uniform draws of one owner among 2,000, hidden, at the curator's noise cost epsilon 10,
// and hardly less, by RDP; less than 7 by PLD.
func TestCuratorNoise(t *testing.T) {
	run := account.Plan{
		Accountant:      "rdp",
		Adjacency:       account.ReplaceOne,
		Unit:            account.Record(),
		SampleRate:      1,
		NoiseMultiplier: curatorNoise,
		Steps: []account.PlanStep{{Times: 20000, Event: func(z, _ float64) (account.Event, error) {
			g, err := account.Gaussian(z, 2)
			if err != nil {
				return g, err
			}
			return account.FixedSizeSampled(2000, 1, g)
		}}},
	}
	if eps, err := account.Epsilon(run, 1e-6); err != nil || eps.Upper > 10 || eps.Upper < 9.9 {
		t.Errorf("epsilon %v, %v", eps, err)
	}
	run.Accountant = "pld"
	if eps, err := account.Epsilon(run, 1e-6); err != nil || eps.Upper > 6.97 || eps.Lower < 6.5 {
		t.Errorf("epsilon %v by PLD, %v", eps, err)
	}
}

// TestClaim48: the central baseline of the published figure adds the noise of a bound
// with a factor of 16. At epsilon 10 and delta 1e-6 PLD needs 4.1 times less for 20,000
// Poisson samples of rate 1/2,000; the published noise costs .17. So it is with the local
// one: 12 Gaussian releases at 5.871 cost .997, and even the noise of the network figure,
// 1.227, costs 5.6 against who sees all.
func TestClaim48(t *testing.T) {
	const n, steps, eps, delta = 2000., 20000., 10., 1e-6
	loose := 16 * walkClip * math.Sqrt(steps*math.Log(2/delta)*math.Log(1.25*steps/(delta*n))) / (n * eps)
	if math.Abs(loose-walkNoises["central"]) > 5e-5 {
		t.Errorf("the bound gives %g, published %g", loose, walkNoises["central"])
	}
	run := account.DPSGD(account.AddRemove, 1/n, steps)
	run.Accountant, run.NoiseMultiplier = "pld", loose/walkClip/4.14
	if spent, err := account.Epsilon(run, delta); err != nil || spent.Upper > eps || spent.Upper < .98*eps {
		t.Errorf("noise 4.14 times smaller than published costs %v, %v", spent, err)
	}
	run.NoiseMultiplier = loose / walkClip
	if spent, err := account.Epsilon(run, delta); err != nil || spent.Upper > .2 {
		t.Errorf("the published noise costs %v, %v", spent, err)
	}
	for budget, want := range map[string]float64{"local": .997, "network": 5.615} {
		if got := gdp.Epsilon(math.Sqrt(walkMost)*walkClip/walkNoises[budget],
			delta); math.Abs(got-want) > 1e-3 {
			t.Errorf("%s: 12 releases at the published noise cost %g, want %g", budget, got, want)
		}
	}
}
