package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sotto/experiment/sweep"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/internal/rowfile"
)

// What the paper claims for CIFAR-100 and what it costs (C1 to C3, PLD at delta 1e-5):
// 82.2 for five micro-batches of rate .01 at noise 1.0724, 14.19 for two steps a round,
// 43.6 for five of rate .001 at .4782.
func TestClaimedAndTrueCIFAR100(t *testing.T) {
	for m, want := range map[string]struct{ truth, within, noise float64 }{
		"dsgd": {82.3, .3, 1.0724}, "dinno": {14.19, .06, 1.0724}, "central": {43.6, .2, .4782},
	} {
		claim, truth, noise, err := claimedAndTrue(m, cifar100Rounds)
		if err != nil {
			t.Fatal(err)
		}
		if claim != 10 || math.Abs(truth-want.truth) > want.within || math.Abs(noise/want.noise-1) > .002 {
			t.Errorf("%s: claimed %g, true %g, noise %g; want 10, %g, %g", m, claim, truth, noise, want.truth,
				want.noise)
		}
	}
}

// rowsFor makes a row for each cell, with a digest of its own.
func rowsFor(cells []sweep.Cell, accuracy func(v []string) float64) []sweep.Row {
	rows := rowsOf(cells, accuracy)
	for i := range rows {
		rows[i].ConfigDigest, rows[i].Engine, rows[i].Arithmetic = fmt.Sprintf("%064x", i),
			experiment.EngineVersion, "fma"
	}
	return rows
}

// Table 3: not private runs of 10 and 12 s, private ones of 22 s; the published hours
// stand beside them. Mean 11, sd √2; the ratio is 2, published for DP-DSGT 1.24/.84 =
// 1.48.
func TestTable3(t *testing.T) {
	f := &found{rows: rowsFor(table3Cells(false), func([]string) float64 { return .9 }),
		times: map[timeKey]runTime{}, scale: Full}
	if len(f.rows) != 4*2*5 {
		t.Errorf("%d runs, want 40", len(f.rows))
	}
	for i, r := range f.rows {
		v := r.Values
		seconds := 22.
		if v[4] == "none" {
			seconds = map[string]float64{"1331": 10, "1332": 12}[v[6]]
		}
		if seconds > 0 {
			f.times[timeKey{r.ConfigDigest, r.Engine, r.Arithmetic}] = runTime{
				seconds: seconds,
				split:   rundir.Split{Gradients: 7},
				cores:   2,
				kernels: "avx512",
			}
		}
		f.rows[i] = r
	}
	d := table3(f)
	if len(d.Rows) != 8 {
		t.Fatalf("%d rows, want 8", len(d.Rows))
	}
	want := [][]string{
		{"dsgt", "none", "11.00 ± 1.41", "7.00", "0.00", "0.00", "0.00", "0.00", "", "0.84", ""},
		{"dsgt", "1", "22.00 ± 0.00", "7.00", "0.00", "0.00", "0.00", "0.00", "2.00", "1.24", "1.48"},
	}
	for k, w := range want {
		if got := d.Rows[4+k]; !slices.Equal(got, w) {
			t.Errorf("got  %q\nwant %q", got, w)
		}
	}
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes,
		"2 cores, avx512 kernels, arithmetic fma") || !strings.Contains(notes,
		"12 finished runs have no time") {
		t.Errorf("notes do not name the machine and the twelve runs without a time:\n%s", notes)
	}
}

func TestTable4(t *testing.T) {
	cells := table4Cells(Full)
	// Sound runs at two budgets and replicated ones at one, of three methods at five
	// overlaps and of central, three trials each.
	if want := 3 * (3*3*5 + 3); len(cells) != want {
		t.Errorf("%d runs, want %d", len(cells), want)
	}
	f := &found{rows: rowsFor(cells, func(v []string) float64 {
		if v[2] == centralRow {
			return .3
		}
		return .25
	}), times: map[timeKey]runTime{}, scale: Full}
	for i := range f.rows {
		f.rows[i].EpsilonUpper = map[string]float64{"sound": 10, "replication": 82.24}[f.rows[i].Values[0]]
	}
	r := f.rows[0]
	f.times[timeKey{r.ConfigDigest, r.Engine, r.Arithmetic}] = runTime{seconds: 1, cores: 1}
	d := new(Document)
	d.addTable4(f.images(f.scale))
	if len(d.Rows) != 2*(1+3*5) {
		t.Errorf("%d rows, want 32", len(d.Rows))
	}
	want := []string{"1", "dsgt", "10", "27.14 ± 0.14", "25.00 ± 0.00", "-15.3", "5.00", "10", "25.00 ± 0.00",
		"-15.3", "10", "82.24", ""}
	if got := d.Rows[2*16-6]; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	figure := figure2(f)
	// DSGT at epsilon 10: 28.29 less 27.14
	if len(figure.Rows) != 6 || figure.Rows[4][8] != "1.15" || len(figure.Figures) != 2 {
		t.Errorf("figure 2: %d rows, published range %q, %d plots", len(figure.Rows), figure.Rows[4][8],
			len(figure.Figures))
	}
	for _, c := range figure.Figures[1].Curves {
		if len(c.Points) != 5 {
			t.Errorf("%s has %d points", c.Name, len(c.Points))
		}
	}
}

// Figure 1 has a plot for each method, and accuracy over epsilon one for each graph; a
// study that has begun has what it can draw.
func TestFigure1Plots(t *testing.T) {
	rows := rowsOf(table1Cells(false), func(v []string) float64 { return .9 })
	whole := figure1(rows, false).Figures
	var names []string
	for _, f := range whole {
		names = append(names, f.Name)
	}
	if want := []string{"figure1-dsgd", "figure1-dsgt", "figure1-dinno", "accuracy-epsilon-1",
		"accuracy-epsilon-0.7", "accuracy-epsilon-0.39", "accuracy-epsilon-0.06"}; !slices.Equal(names,
		want) {
		t.Errorf("%q", names)
	}
	for _, f := range whole {
		for i := 0; i < len(f.Curves); i += 2 {
			if ours, theirs := f.Curves[i], f.Curves[i+1]; len(ours.Points) != 4 || len(theirs.Points) != 4 ||
				theirs.Like != ours.Name || !theirs.Dashed {
				t.Errorf("%s: %q has %d points, %q %d", f.Name, ours.Name, len(ours.Points), theirs.Name,
					len(theirs.Points))
			}
		}
	}
	if got := whole[0].Curves[5].Points[0]; got.X != .06 || math.Abs(got.Y-.8412) > 1e-12 ||
		got.Low != got.Y || got.High != got.Y {
		t.Errorf("DP-DSGD at epsilon 10 and Fiedler value .06: %v, published 84.12", got)
	}
	if some := figure1(rows[:25], false).Figures; len(some) != 0 {
		t.Errorf("%d plots of central runs alone", len(some))
	}
}

func TestTimes(t *testing.T) {
	dir := t.TempDir()
	f := &timeFile{dir: dir, shards: 2, shard: 1}
	row := sweep.Row{ConfigDigest: "a", Engine: "3", Arithmetic: "fma"}
	for _, seconds := range []float64{9, 12.5} {
		f.add(&sweep.Progress{Row: row, Seconds: seconds, Split: rundir.Split{Noise: 2.25}})
	}
	if f.err != nil {
		t.Fatal(f.err)
	}
	path := filepath.Join(dir, "times-1-of-2.csv")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, "b,3,fma,1"...), 0o644); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	times, err := readTimes(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := times[timeKey{"a", "3", "fma"}]; len(times) != 1 || got.seconds != 12.5 ||
		got.split.Noise != 2.25 || got.cores < 1 {
		t.Errorf("%v", times)
	}
	for text, key := range map[string]string{"digest\n": "",
		strings.Replace(string(b), "12.500", "-1", 1):  "seconds",
		strings.Replace(string(b), "12.500", "NaN", 1): "seconds"} {
		var bad *config.Error
		if _, err := rowfile.Decode("times.csv", []byte(text), timeCodec); !errors.As(err, &bad) ||
			bad.Key != key || bad.Line == 0 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzTimes(f *testing.F) {
	f.Add(strings.Join(timeColumns, ",") + "\na,3,fma,1,2,3,4,5,6,2,avx512\n")
	f.Add("a,b\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := rowfile.Decode("times.csv", []byte(text), timeCodec)
		for _, r := range rows {
			if err == nil && (!(r.time.seconds >= 0) || r.time.cores < 1) {
				t.Errorf("%v", r)
			}
		}
	})
}

// A row is found among all studies by its digest, and refused where its bits are another
// engine's, another arithmetic's or nobody's.
func TestRow(t *testing.T) {
	axes, rows, err := sweep.ReadRows("../docs/results/seed000/cells.csv")
	if err != nil {
		t.Fatal(err)
	}
	row := rows[len(rows)-1]
	refused := func(key, dir string, r sweep.Row) {
		t.Helper()
		var bad *config.Error
		if _, err := Row(axes, &r, dir); !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	old := row
	old.Engine = "0"
	refused("engine", "", old)
	unknown := row
	unknown.Values = slices.Clone(row.Values)
	unknown.Values[0] = "neither"
	refused("config_digest", "", unknown)
	dir := os.Getenv("SOTTO_DATA")
	if dir == "" {
		t.Skip("SOTTO_DATA not set: needs mnist")
	}
	e, err := Row(axes, &row, dir)
	if err != nil {
		t.Fatal(err)
	}
	if e.Digest() != row.ConfigDigest {
		t.Errorf("found %s, want %s", e.Digest(), row.ConfigDigest)
	}
	other := row
	other.Arithmetic = "another"
	refused("arithmetic", dir, other)
	altered := row
	altered.ConfigDigest = strings.Repeat("0", 64)
	refused("config_digest", dir, altered)
}

// A simulated study leaves its table and plots; sizes, sweeps' options and directories
// that do not fit are refused.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	d, err := Run(context.Background(), "seed000-convergence", Options{Dir: dir, Scale: Smoke})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"seed000-convergence.csv", "seed000-convergence.md",
		"seed000-convergence.tex", "convergence-quadratic.svg", "convergence-quadratic.csv"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 ||
			info.Size() > 100_000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, err := Run(context.Background(), "seed000-convergence",
		Options{Dir: dir, Scale: Smoke, Sweep: sweep.Options{Workers: 1}})
	if err != nil || string(again.CSV()) != string(d.CSV()) {
		t.Errorf("one worker gives another table (%v)", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cells.csv"), []byte("cell,x,accuracy\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for key, c := range map[string]struct {
		name string
		opt  Options
	}{
		"scale": {"seed000-table1", Options{Dir: dir, Scale: Short}},
		"study": {"seed000-theorem51", Options{Dir: dir, Scale: Smoke, Finished: true}},
		"":      {"seed000-table1", Options{Dir: dir, Scale: Full, Finished: true}},
	} {
		var bad *config.Error
		if _, err := Run(context.Background(), c.name, c.opt); !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Reports on finished runs read the committed rows without running any.
func TestFinished(t *testing.T) {
	dir := t.TempDir()
	b, err := os.ReadFile("../docs/results/seed000/cells.csv")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cells.csv"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := Run(context.Background(), "seed000-figure1", Options{Dir: dir, Scale: Full, Finished: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Rows) == 0 || len(d.Figures) == 0 {
		t.Errorf("%d rows and %d plots", len(d.Rows), len(d.Figures))
	}
}
