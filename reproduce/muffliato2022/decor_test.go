package muffliato2022

import (
	"context"
	"math"
	"os"
	"testing"

	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// The smoke size runs in seconds. Every method spends what it is calibrated for against
// its own adversary; central noise is shared by all agents, so that own noise of decor is
// little more than a quarter of it, 16 agents having 4 times as much together.
func TestDecorStudy(t *testing.T) {
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs mnist")
	}
	d, err := reproduce.Papers{Paper}.Run(context.Background(), "seed004-decor",
		reproduce.Options{Dir: t.TempDir(), Scale: reproduce.Smoke,
			Sweep: sweep.Options{DataDir: dir, Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Rows) != 14 {
		t.Fatalf("%d lines, want 14", len(d.Rows))
	}
	central := map[string]float64{}
	for _, r := range d.Rows {
		target, own := cellNumber(t, r[2]), cellNumber(t, r[3])
		at := map[string]int{"central": 6, "decor": 6, "decor-one": 7, "local": 8}[r[0]]
		if eps := cellNumber(t, r[at]); math.Abs(eps-target) > 1e-3*target {
			t.Errorf("%q spends %v", r, eps)
		}
		switch r[0] {
		case "central":
			central[r[2]] = own
		case "decor":
			if ratio := own / central[r[2]]; !(ratio > .25 && ratio < .28) {
				t.Errorf("%q: own noise is %v of central noise", r, ratio)
			}
			if !(cellNumber(t, r[6]) < cellNumber(t, r[7]) && cellNumber(t, r[7]) < cellNumber(t, r[8])) {
				t.Errorf("%q", r)
			}
		}
	}
}
