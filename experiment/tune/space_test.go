package tune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/experimenttest"
	"sotto/experiment/rundir"
	"sotto/internal/rowfile"
	"sotto/rng"
)

// oneKey is a space.
const oneKey = "[tune.space]\nalgorithm.step_size = { log = [0.01, 1.0] }\n"

// badSearches are sections with one thing wrong, and what the error says.
var badSearches = map[string]struct {
	section string
	flags   []string
	want    []string
}{
	"no space": {"[tune]\ntrials = 3", nil, []string{"tune.space", "nothing to search"}},
	"unknown key": {"[tune]\ntrial = 3\n" + oneKey, nil,
		[]string{"f.toml:16", "tune.trial", "an unknown key", "trials"}},
	"method": {"[tune]\nmethod = \"grid\"\n" + oneKey, nil,
		[]string{"tune.method", "grid", "pbt, random"}},
	"metric": {"[tune]\nmetric = \"f1\"\n" + oneKey, nil,
		[]string{"tune.metric", "f1", "accuracy, loss"}},
	"validation": {"[tune]\nvalidation = 1.0\n" + oneKey, nil,
		[]string{"tune.validation", "1", "below 1"}},
	"trials": {"[tune]\ntrials = 0\n" + oneKey, nil, []string{"tune.trials", "0", "1 to"}},
	"law": {"[tune]\nlaw = \"binomial\"\n" + oneKey, nil,
		[]string{"tune.law", "binomial", "geometric"}},
	"population": {"[tune]\nmethod = \"pbt\"\npopulation = 1\n" + oneKey, nil,
		[]string{"tune.population", "1", "2 to"}},
	"quantile": {"[tune]\nmethod = \"pbt\"\nquantile = 0.6\n" + oneKey, nil,
		[]string{"tune.quantile", "0.6", "at most 0.5"}},
	"resample": {"[tune]\nmethod = \"pbt\"\nresample = -1.0\n" + oneKey, nil,
		[]string{"tune.resample", "-1", "0 to 1"}},
	"interval": {"[tune]\nmethod = \"pbt\"\ninterval = 6\n" + oneKey, nil,
		[]string{"tune.interval", "6", "at most the 5 rounds"}},
	"key of other": {"[tune]\npopulation = 4\n" + oneKey, nil,
		[]string{"tune.population", "only pbt reads it"}},
	"not a table": {"[tune]\nspace = 3", nil, []string{"tune.space", "3", "a table"}},
	"space list": {"[tune.space]\nrounds = [1, 2]", nil,
		[]string{"f.toml:16", "tune.space.rounds", "choice = two values or more"}},
	"space kind": {"[tune.space]\nalgorithm.step_size = { normal = [0, 1] }", nil,
		[]string{"tune.space.algorithm.step_size", "normal", "uniform"}},
	"two kinds": {"[tune.space]\nalgorithm.step_size = { log = [1, 2], uniform = [1, 2] }", nil,
		[]string{"tune.space.algorithm.step_size", "log, uniform"}},
	"turned": {"[tune.space]\nalgorithm.step_size = { uniform = [1.0, 0.5] }", nil,
		[]string{"f.toml:16", "uniform = [1.0, 0.5]", "low < high"}},
	"log of zero": {"[tune.space]\nalgorithm.step_size = { log = [0.0, 0.5] }", nil,
		[]string{"log = [0.0, 0.5]", "0 < low"}},
	"half": {"[tune.space]\nrounds = { integer = [0.5, 3] }", nil,
		[]string{"integer = [0.5, 3]", "whole numbers"}},
	"one end": {"[tune.space]\nalgorithm.step_size = { log = [1.0] }", nil,
		[]string{"log = [1.0]", "[low, high]"}},
	"infinite": {"[tune.space]\nalgorithm.step_size = { uniform = [1.0, inf] }", nil,
		[]string{"uniform = [1.0, inf]", "[low, high]"}},
	"one choice": {"[tune.space]\nalgorithm.step_size = { choice = [1.0] }", nil,
		[]string{"choice = [1.0]", "two values"}},
	"twice": {"[tune.space]\nalgorithm.step_size = { choice = [1.0, 1.0] }", nil,
		[]string{"choice = [1.0, 1.0]", "differ"}},
	"seed": {"", []string{"seed=1,2"}, []string{"tune.space.seed", "no hyper-parameter"}},
	"data": {"", []string{"data.train=100,200"},
		[]string{"tune.space.data.train", "the same held-out records"}},
	"model of population": {"[tune]\nmethod = \"pbt\"", []string{"model.hidden=[4],[5]"},
		[]string{"tune.space.model.hidden", "each other's weights"}},
	"flag":       {"", []string{"rounds"}, []string{"--tune", "key=log:low:high"}},
	"flag range": {"", []string{"rounds=log:3"}, []string{"--tune", "rounds", "log = [3]"}},
	"unknown space key": {"", []string{"algorithm.stepsize=1,2"},
		[]string{"[tune.space]", "algorithm.stepsize", "an unknown key"}},
	"bad value": {"", []string{"rounds=0,-5"}, []string{"[tune.space]", "rounds"}},
	"set": {"[tune]\nset = [\"rounds\"]\n" + oneKey, nil,
		[]string{"[tune] set", "rounds", "key=value"}},
	"with a sweep": {oneKey + "[sweep]\nseed = [1, 2]", nil,
		[]string{"sweep", "no section [sweep]"}},
}

func TestSpaceOfTwoSpellings(t *testing.T) {
	base, _, _ := strings.Cut(tinyTuning, "[tune]")
	_, err := Parse("f.toml",
		[]byte(base+"[tune.space]\nprivacy.curious = { choice = [\"none\", \"one\"] }\n"+
			"privacy.colluding = { choice = [\"none\", \"one\"] }"), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "tune.space.privacy.curious: found \"two tables\"") {
		t.Error(err)
	}
}

func TestBadSearches(t *testing.T) {
	base, _, _ := strings.Cut(tinyTuning, "[tune]")
	for name, tc := range badSearches {
		s, err := Parse("f.toml", []byte(base+tc.section), nil, tc.flags)
		if err == nil {
			_, err = s.Run(context.Background(), Options{Out: t.TempDir()})
		}
		var bad *config.Error
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v, want a config.Error", name, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
	if _, err := tinySearch(t, "").Run(context.Background(), Options{Workers: -1}); err == nil {
		t.Error("-1 workers are accepted")
	}
	if _, err := experiment.Parse("f.toml", fmt.Appendf(nil, tinyTuning, ""), nil); err == nil ||
		!strings.Contains(err.Error(), "sotto tune") {
		t.Errorf("a search as a single run: %v", err)
	}
	if _, err := experiment.Parse("f.toml", []byte("[tuned]\ncost = \"little\""), nil); err == nil ||
		!strings.Contains(err.Error(), "f.toml:2: tuned.cost") {
		t.Errorf("an unknown cost: %v", err)
	}
	for key, set := range map[string][]string{
		"evaluate.validation": {"evaluate.validation=1.5"},
		"evaluate.on":         {"evaluate.on=validation"},
		"evaluate.score":      {"evaluate.score=accuracy"},
		"evaluate.score_clip": {"evaluate.validation=0.2", "evaluate.score=loss"},
		"evaluate.score_noise_multiplier": {"evaluate.validation=0.2", "evaluate.score=accuracy",
			"evaluate.score_noise_multiplier=-1"},
	} {
		_, err := experiment.Parse("small.toml", []byte(experimenttest.Small), set)
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != key {
			t.Errorf("%v: %v, want an error for %s", set, err, key)
		}
	}
}

// A run directory's [tuned] section survives in its configuration; without one nothing is
// added.
func TestFilesWithoutATuningStayTheSame(t *testing.T) {
	f, err := experiment.Parse("small.toml", []byte(experimenttest.Small), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Build("")
	if err != nil {
		t.Fatal(err)
	}
	if b := e.Effective; bytes.Contains(b, []byte("tuned")) ||
		bytes.Contains(b, []byte("validation")) || bytes.Contains(b, []byte("trial")) {
		t.Errorf("a plain run's configuration mentions tuning:\n%s", b)
	}
}

// Draws are in range, at its ends with the right weight, and log-uniform draws have
// uniform logarithms: Kolmogorov-Smirnov at a false-reject rate of 1e-6.
func TestDraws(t *testing.T) {
	const n = 20_000
	for _, flag := range []string{"k=uniform:-2:6", "k=log:0.001:10"} {
		d, err := parseSpaceFlag(flag)
		if err != nil {
			t.Fatal(err)
		}
		r := rng.Public(7, flag)
		u := make([]float64, n)
		for i := range u {
			x, err := strconv.ParseFloat(d.draw(r), 64)
			if err != nil || x < d.lo || x > d.hi {
				t.Fatalf("%s: drew %g, %v", flag, x, err)
			}
			if u[i] = (x - d.lo) / (d.hi - d.lo); d.kind == "log" {
				u[i] = math.Log(x/d.lo) / math.Log(d.hi/d.lo)
			}
		}
		slices.Sort(u)
		worst := 0.
		for i, x := range u {
			worst = math.Max(worst, math.Max(math.Abs(x-float64(i)/n), math.Abs(x-float64(i+1)/n)))
		}
		if limit := math.Sqrt(-.5*math.Log(.5e-6)) / math.Sqrt(n); worst > limit {
			t.Errorf("%s: distance %g from uniform, limit %g", flag, worst, limit)
		}
	}
	for flag, want := range map[string]float64{"k=integer:3:6": 4, "k=a,b,c": 3} {
		d, err := parseSpaceFlag(flag)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]float64{}
		r := rng.Public(7, flag)
		for range n {
			count[d.draw(r)]++
		}
		if float64(len(count)) != want {
			t.Errorf("%s: drew %v", flag, count)
		}
		for v, c := range count {
			if p := 1 / want; math.Abs(c-n*p) > 5.2*math.Sqrt(n*p*(1-p)) {
				t.Errorf("%s: drew %s %g times of %d", flag, v, c, n)
			}
		}
	}
}

func FuzzSpaceFlag(f *testing.F) {
	for _, s := range []string{"a.b=log:0.1:2", "a=integer:1:9", "a=1,2", "a=uniform:-1:1e308",
		"a=[1,2],[3]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, flag string) {
		d, err := parseSpaceFlag(flag)
		if err != nil {
			return
		}
		r := rng.Public(1, "fuzz")
		for range 4 {
			v := d.perturb(d.draw(r), r)
			if d.kind == "choice" {
				if !slices.Contains(d.values, v) {
					t.Fatalf("%q gives %q", flag, v)
				}
			} else if x, err := strconv.ParseFloat(v, 64); err != nil || !(x >= d.lo && x <= d.hi) {
				t.Fatalf("%q gives %q", flag, v)
			}
		}
	})
}

func FuzzDecodeTrials(f *testing.F) {
	header := slices.Concat(trialColumns, []string{"algorithm.step_size"}, resultColumns)
	row := Trial{
		Generation: 1,
		Trial:      2,
		Values:     []string{"0.1"},
		Score:      math.Inf(-1),
		Origin:     experiment.Origin{ConfigDigest: "d", Data: "e", Engine: "3", Arithmetic: "fma"},
		RunHash:    "h",
		Run:        "runs/x",
	}
	codec := trialCodec(header)
	f.Add(rowfile.Encode([]Trial{row, row}, codec))
	f.Add([]byte("generation,trial\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := rowfile.Decode("f", b, codec)
		if err != nil {
			return
		}
		if again, err := rowfile.Decode("f", rowfile.Encode(rows, codec), codec); err != nil ||
			len(again) != len(rows) {
			t.Errorf("rows do not survive: %v", err)
		}
	})
}

func FuzzParseRanges(f *testing.F) {
	for _, s := range []string{"0-3,7", "5", "1,2,4-9", "3-1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ids, err := parseRanges(s)
		if err != nil || len(ids) > 10_000 {
			return
		}
		if again, err := parseRanges(rundir.Ranges(ids)); err != nil || !slices.Equal(again, ids) {
			t.Errorf("%q: %v, then %v, %v", s, ids, again, err)
		}
	})
}
