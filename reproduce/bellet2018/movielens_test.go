package bellet2018

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/data"
	"sotto/data/datatest"
	"sotto/experiment/sweep"
	"sotto/reproduce"
)

// Rows find their place: two seeds of the sound run at epsilon 1, with errors 1 and 1.2
// (mean 1.1, sd .1414), beside the published .9527; replicated ones at an infinite
// epsilon.
func TestMovieLensTable(t *testing.T) {
	var rows []sweep.Row
	for _, c := range movieLensCells(false) {
		r := sweep.Row{Values: c.Values, RMSE: .9, EpsilonUpper: .99}
		if c.Values[0] == "replication" {
			r.EpsilonUpper = math.Inf(1)
		} else if c.Values[2] == "1" && c.Values[3] == "2" {
			r.RMSE = 1.2
		} else if c.Values[2] == "1" {
			r.RMSE = 1
		}
		if c.Values[3] == "1" || c.Values[3] == "2" {
			rows = append(rows, r)
		}
	}
	d := movieLens(&reproduce.Results{Rows: rows})
	if len(d.Rows) != 5 {
		t.Fatalf("%d rows", len(d.Rows))
	}
	want := "bcd|1|0.9527|1.1000 ± 0.1414|0.99|0.9000 ± 0.0000|1|∞"
	if got := strings.Join(d.Rows[2], "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n := len(movieLensCells(false)); n != 2*5*5 {
		t.Errorf("%d runs", n)
	}
}

// Without the file the study says once what is missing and where it comes from.
func TestMovieLensMissing(t *testing.T) {
	_, err := reproduce.Papers{Paper}.Run(context.Background(), "seed001-movielens",
		reproduce.Options{Dir: t.TempDir(), Scale: reproduce.Smoke,
			Sweep: sweep.Options{DataDir: t.TempDir(), Workers: 1}})
	if !errors.Is(err, data.ErrMissing) || strings.Count(err.Error(), "u.data") != 1 ||
		!strings.Contains(err.Error(), "grouplens.org") {
		t.Errorf("%v", err)
	}
}

// The whole pipeline on made ratings: sound runs keep their budget, replicated ones have
// an infinite epsilon, and without noise personal models predict better together than
// alone on the published pipeline.
func TestMovieLensPipeline(t *testing.T) {
	dir, w := t.TempDir(), crowd{120, 20}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "ml-100k"), 0o755),
		os.WriteFile(filepath.Join(dir, "ml-100k", "u.data"), datatest.Ratings(w.users, 60, 3, 2, 14, 20, 1),
			0o644)); err != nil {
		t.Fatal(err)
	}
	var cells []sweep.Cell
	for _, c := range w.cells(false) {
		if c.Values[3] == "1" && c.Values[2] != "0.5" && c.Values[2] != "0.1" {
			cells = append(cells, c)
		}
	}
	base := strings.Replace(movieLensBase, "[model]", "als_lambda = 1\n\n[model]", 1) // for few ratings
	study, err := sweep.New("movielens", []byte(base), movieLensAxes, cells)
	if err != nil {
		t.Fatal(err)
	}
	res, err := study.Run(context.Background(),
		sweep.Options{Dir: t.TempDir(), DataDir: dir, Workers: 1, Discard: true})
	if err != nil {
		t.Fatal(err)
	}
	rmse := map[string]float64{}
	for _, r := range res.Rows {
		v := r.Values
		rmse[v[0]+v[1]+v[2]] = r.RMSE
		switch {
		case v[0] == "sound" && v[1] == "local-fit" && r.EpsilonUpper != 0,
			(v[0] == "replication" || v[1] == "bcd" && v[2] == "none") && !math.IsInf(r.EpsilonUpper, 1),
			v[0] == "sound" && v[2] == "1" && !(r.EpsilonUpper > .9 && r.EpsilonUpper <= 1):
			t.Errorf("%v: epsilon %g", v, r.EpsilonUpper)
		}
	}
	if together, alone := rmse["replicationbcdnone"],
		rmse["replicationlocal-fitnone"]; !(together < .95*alone) {
		t.Errorf("rmse %g together, %g alone", together, alone)
	}
	if d := movieLens(&reproduce.Results{Rows: res.Rows}); len(d.Rows) != 3 ||
		strings.Contains(strings.Join(d.Rows[2], " "), "NaN") {
		t.Errorf("%q", d.Rows)
	}
}
