package rundir_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/tensor"
)

const (
	summary = `{"name":"small","agents":2,"loss":null,"privacy":[{"agent":0,` +
		`"epsilon":{"lower":1,"upper":"inf"}}]}`
	pair    = `{"agents":2,"graph":"pair","symmetric":true,"edges":[[0,1,0.5]],"self":[0.5,0.5]}`
	columns = "round,agent,metric,value,epsilon,delta\n"
)

// finished writes a run's files, those of changed instead of the usual ones, and returns
// its directory.
func finished(t *testing.T, changed map[string]string) string {
	t.Helper()
	d, err := rundir.New(t.TempDir(), "small")
	if err != nil {
		t.Fatal(err)
	}
	rows := rundir.EncodeMetrics([]rundir.Row{{Round: 1, Agent: "mean", Metric: "loss", Value: math.NaN()}})
	files := map[string]string{rundir.SummaryFile: summary, rundir.ConfigFile: "seed = 1\n",
		rundir.MetricsFile: string(rows), rundir.TopologyFile: pair,
		rundir.LedgerFile: `{"agents":"0-1","head":"ab","records":[{},{}]}` + "\n",
		"checkpoint.bin":  "state"}
	for name, text := range changed {
		files[name] = text
	}
	for name, text := range files {
		if text == "" {
			continue
		}
		if err := d.Put(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := d.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestReadsWhatWasWritten(t *testing.T) {
	dir := finished(t, nil)
	r, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if lower, upper := r.Summary.Worst(); lower != 1 || !math.IsInf(upper, 1) || r.Summary.Name != "small" ||
		!math.IsNaN(float64(r.Summary.Loss)) {
		t.Errorf("summary %+v", r.Summary)
	}
	if len(r.Rows) != 1 || r.Rows[0].Metric != "loss" || string(r.Config) != "seed = 1\n" ||
		r.Graph.Agents() != 2 || r.Command != "sotto run "+dir+"/config.toml" {
		t.Errorf("%+v", r)
	}
	if want := []rundir.LedgerHead{{Agents: "0-1", Head: "ab", Records: 2}}; !slices.Equal(r.Ledgers, want) {
		t.Errorf("ledgers %v", r.Ledgers)
	}
	if _, err := os.Stat(filepath.Join(dir, rundir.CheckpointFile)); !errors.Is(err, os.ErrNotExist) {
		t.Error("the checkpoint was kept")
	}
}

// What is no finished run says why, at the place.
func TestReadRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		changed map[string]string
		want    string
	}{
		"no summary": {map[string]string{rundir.SummaryFile: ""}, "found no summary.json, allowed"},
		"broken summary": {map[string]string{rundir.SummaryFile: "{"},
			"summary.json:1: found an end in the middle"},
		"no figures": {map[string]string{rundir.SummaryFile: "{}"}, "a summary.json without privacy"},
		"header":     {map[string]string{rundir.MetricsFile: "a,b\n"}, ":1: found another header"},
		"round": {map[string]string{rundir.MetricsFile: columns + "-1,0,loss,1,0,0\n"},
			`metrics.csv:2: round: found "-1", allowed: a whole number, at least 0`},
		"value": {map[string]string{rundir.MetricsFile: columns + "1,0,loss,x,0,0\n"},
			`metrics.csv:2: value: found "x", allowed: a number`},
	} {
		_, err := rundir.Read(finished(t, tc.changed))
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	for _, missing := range []string{rundir.ConfigFile, rundir.MetricsFile, rundir.TopologyFile,
		rundir.LedgerFile} {
		_, err := rundir.Read(finished(t, map[string]string{missing: ""}))
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	part := filepath.Join(t.TempDir(), "x"+rundir.PartialSuffix)
	os.Mkdir(part, 0o755)
	if _, err := rundir.Read(part); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("an unfinished run: %v", err)
	}
}

// A run has a name of its own, and is under it whole or not at all.
func TestNames(t *testing.T) {
	out := t.TempDir()
	var names []string
	for range 3 {
		d, err := rundir.New(out, "run")
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Put("a/b", []byte("x")); err != nil {
			t.Fatal(err)
		}
		if len(names) == 1 { // taken by another process meanwhile
			if err := os.Mkdir(filepath.Join(out, d.Name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		dir, err := d.Finish()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.Base(dir))
	}
	if want := []string{"run", "run-2-2", "run-3"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	full := errors.New("no space")
	d := &rundir.Dir{Path: out, Write: func(string, func(io.Writer) error) error { return full }}
	if err := d.Put("a", nil); !errors.Is(err, full) || err.Error() != "run directory: no space" {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	run := finished(t, nil)
	out := filepath.Dir(run)
	os.MkdirAll(filepath.Join(out, "other.partial"), 0o755)
	os.WriteFile(filepath.Join(out, "other.partial", rundir.SummaryFile), nil, 0o644)
	for _, path := range []string{run, out} {
		if dirs, err := rundir.Find([]string{path}); err != nil || !slices.Equal(dirs, []string{run}) {
			t.Errorf("%s: %q, %v", path, dirs, err)
		}
	}
	file := filepath.Join(run, rundir.ConfigFile)
	if _, err := rundir.Find([]string{file}); err == nil || !strings.Contains(err.Error(), "found a file") {
		t.Error(err)
	}
}

func TestReadModel(t *testing.T) {
	samples := model.Shape{Height: 1, Width: 2, Channels: 1, Classes: 3}
	meta := map[string]string{"samples": rundir.FormatShape(samples)}
	b, err := model.EncodeSafetensors(meta, []model.NamedVec{{Name: "agent.0", Vec: tensor.Vec{1, 2}},
		{Name: "agent.1", Vec: tensor.Vec{3, 6}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := finished(t, map[string]string{rundir.ModelFile: string(b)})
	for agent, want := range map[string]tensor.Vec{"0": {1, 2}, "1": {3, 6}, "mean": {2, 4}} {
		got, shape, err := rundir.ReadModel(dir, agent)
		if err != nil || !slices.Equal(got, want) || shape != samples {
			t.Errorf("%s: %v of %v, %v", agent, got, shape, err)
		}
	}
	if _, _, err := rundir.ReadModel(dir, "2"); err == nil ||
		err.Error() != `agent: found "2", allowed: mean, or one of 0, 1` {
		t.Error(err)
	}
}

func TestRanges(t *testing.T) {
	for want, ids := range map[string][]int{"": nil, "4": {4}, "0-3,7": {0, 1, 2, 3, 7},
		"1,3,5-6": {1, 3, 5, 6}} {
		if got := rundir.Ranges(ids); got != want {
			t.Errorf("Ranges(%v) = %q, want %q", ids, got, want)
		}
	}
}

func TestTableSaysWhatTheFiguresAre(t *testing.T) {
	s := rundir.Summary{Name: "n", Pacing: "tokens", Tokens: 2, Rounds: 7, ClaimedEpsilon: 3, BytesSent: 1500,
		Quality: rundir.Quality{Accuracy: &rundir.Stats{Mean: .5, Max: 1}}, Notes: []string{"mind"},
		Privacy: []rundir.PrivacyLine{{Epsilon: rundir.NewBounds(1, 2)},
			{Epsilon: rundir.NewBounds(0, math.Inf(1))}}}
	var b bytes.Buffer
	if err := s.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"steps               7 of each token, 2 of them",
		"50.00 % mean, 0.00 min, 100.00 max",
		"infinite upper, 0.0000 lower", "3.0000: no guarantee, a clip after the noise", "1.5 kB",
		"s per step", "note: mind\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

// One value for all agents is mean, least and largest.
func TestStatsOfOneValue(t *testing.T) {
	rows := []rundir.Row{{Metric: "loss", Agent: "mean", Value: 1},
		{Metric: "farthest", Agent: "all", Value: 3}}
	if s := rundir.StatsIn(rows, "farthest"); s != (rundir.Stats{Mean: 3, Min: 3, Max: 3}) {
		t.Errorf("%+v", s)
	}
}

func ExampleStatsOf() {
	s := rundir.StatsOf([]float64{1, 2, math.Inf(1)})
	b, err := s.MarshalJSON()
	fmt.Println(string(b), err)
	// Output: {"mean":"inf","min":1,"max":"inf"} <nil>
}
