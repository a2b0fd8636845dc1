package dpdl2023

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/experiment/sweep"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// One graph, or one overlap, has no range. Of two the published range is over the same
// two: DSGD at epsilon 10 has 91.27 and 84.12 on the first and the last graph, 91.27 and
// 90.61 on the first and the third; on CIFAR-100 24.76 and 23.37 at t = 0 and .5.
func TestRangesOfPart(t *testing.T) {
	table := func(axis int, cells []sweep.Cell, report func(*reproduce.Results) *reproduce.Document,
		values ...string) []string {
		rows := reproducetest.Runs(cells, func([]string) float64 { return .9 })
		rows = slices.DeleteFunc(rows, func(r sweep.Row) bool {
			return !slices.Contains(values, r.Values[axis])
		})
		for _, line := range report(&reproduce.Results{Rows: rows, Scale: reproduce.Full}).Rows {
			if line[0] == "dsgd" && line[1] == "10" {
				return line[len(line)-2:]
			}
		}
		t.Fatalf("%q: no row of DSGD at epsilon 10", values)
		return nil
	}
	graphs := func(f *reproduce.Results) *reproduce.Document {
		d := figure1(f)
		for i, r := range d.Rows {
			d.Rows[i] = r[:len(r)-1] // without the deviation over trials
		}
		return d
	}
	for _, c := range []struct {
		got, want []string
	}{
		{table(1, table1Cells(false), graphs, "1"), []string{"", ""}},
		{table(1, table1Cells(false), graphs, "1", "0.06"), []string{"0.00", "7.15"}},
		{table(1, table1Cells(false), graphs, "1", "0.39"), []string{"0.00", "0.66"}},
		{table(1, table4Cells(reproduce.Full), figure2, "0"), []string{"", ""}},
		{table(1, table4Cells(reproduce.Full), figure2, "0", "0.5"), []string{"0.00", "1.39"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("ranges %q, want %q", c.got, c.want)
		}
	}
}

// What privacy loses is taken between runs of one seed. Runs without noise of seeds 1331
// and 1332 are there, with .5 and .9 of each class, and private ones of 1332 and 1333
// with .8 and .7: only 1332 has both, and loses 10 points.
func TestLossesOfPart(t *testing.T) {
	accuracy := map[string]float64{"none 1331": .5, "none 1332": .9, "1 1332": .8, "1 1333": .7}
	cells := slices.DeleteFunc(hospitalCells(false), func(c sweep.Cell) bool {
		return c.Values[0] != "dsgd" || accuracy[c.Values[1]+" "+c.Values[2]] == 0
	})
	f := &reproduce.Results{Curves: reproduce.Curves{}, Scale: reproduce.Full,
		Rows: reproducetest.Runs(cells, func([]string) float64 { return .7 })}
	for i := range f.Rows {
		r := &f.Rows[i]
		x := accuracy[r.Values[1]+" "+r.Values[2]]
		f.Curves[reproduce.CurveKey(r)] = lastAccuracies([3]float64{x, x, x}, [3]float64{x, x, x})
	}
	d := hospitals(f)
	if len(d.Rows) != 2 || d.Rows[1][10] != "10.00" || d.Rows[1][11] != "10.00" {
		t.Errorf("%q, want losses of 10.00", d.Rows)
	}
}

// The study of step sizes says whose steps it has, and nothing of runs in replication.
func TestStepNotes(t *testing.T) {
	rows := reproducetest.Runs(stepCells(false), func([]string) float64 { return .9 })
	d := stepSizes(&reproduce.Results{Rows: rows, Scale: reproduce.Full})
	notes := strings.Join(d.Notes, "\n")
	if len(d.Rows) != 15 || strings.Contains(notes, "replication") ||
		strings.Contains(notes, "those of DSGT") ||
		!strings.Contains(notes, "multiples of the paper's, of DSGT too") {
		t.Errorf("%d rows\n%s", len(d.Rows), notes)
	}
}

// The smallest size of Table 4 has two agents and 200 images: what a round of it takes
// says nothing of a run of full size.
func TestDurationOfSmoke(t *testing.T) {
	for scale, want := range map[reproduce.Scale]bool{reproduce.Smoke: false, reproduce.Short: true} {
		f := &reproduce.Results{Scale: scale, Times: map[reproduce.RunKey]reproduce.RunTime{},
			Rows: reproducetest.Runs(table4Cells(scale), func([]string) float64 { return 0 })}
		for i := range f.Rows {
			f.Times[reproduce.TimeKey(&f.Rows[i])] = reproduce.RunTime{Seconds: 2, Cores: 1,
				Split: rundir.Split{Gradients: 1}}
		}
		said := strings.Contains(fmt.Sprint(table4(f).Notes), "full size, DP-DSGD: ")
		if said != want {
			t.Errorf("scale %s: a full size is said %v, want %v", scale, said, want)
		}
	}
}

// Tables and plots with a budget say for which adjacency it holds.
func TestAdjacencyIsSaid(t *testing.T) {
	cells := table3Cells(false)
	f := &reproduce.Results{Scale: reproduce.Full, Times: map[reproduce.RunKey]reproduce.RunTime{},
		Rows: reproducetest.Runs(cells, func([]string) float64 { return .9 })}
	for i := range f.Rows {
		f.Times[reproduce.TimeKey(&f.Rows[i])] = reproduce.RunTime{Seconds: 2, Cores: 1}
	}
	if d := table3(f); len(d.Rows) != 8 || !strings.Contains(fmt.Sprint(d.Notes), "epsilon 1 (zero-out)") {
		t.Errorf("table 3: %d rows, %q", len(d.Rows), d.Notes)
	}
	f.Rows = reproducetest.Rows(table1Cells(false), func([]string) float64 { return .9 })
	for _, fig := range figure1(f).Figures {
		if strings.Contains(fig.XLabel, "epsilon") && !strings.Contains(fig.Caption, "ours under zero-out") {
			t.Errorf("%s: %q", fig.Name, fig.Caption)
		}
	}
}
