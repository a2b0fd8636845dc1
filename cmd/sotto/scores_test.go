package main

import (
	"bytes"
	"strings"
	"testing"

	"sotto/experiment/owner"
	"sotto/internal/jsonfloat"
	"sotto/model/score"
	"sotto/node"
)

// ofAccuracy has a value and an interval.
func ofAccuracy(v, lo, hi float64) map[string]score.Figure {
	return map[string]score.Figure{"accuracy": {Value: &v, Interval: &[2]float64{lo, hi}}}
}

// What an owner reads of its figures: a warning where training together was worse than
// alone beyond the interval of the difference, and where it was no better than the
// baseline. Without either there is none.
func TestSayFigures(t *testing.T) {
	alone := jsonfloat.Float(.75)
	r := &owner.Result{Metric: "accuracy", Value: .7, Alone: &alone, Tests: 48}
	said := func() string {
		var b bytes.Buffer
		row, flush := rows(&b)
		sayFigures(row, "state", r)
		if err := flush(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if s := said(); !strings.Contains(s, "0.7 on 48 own test records") ||
		!strings.Contains(s, "0.75, trained") {
		t.Errorf("without scores: %s", s)
	}
	scores := &owner.Scores{Bootstrap: score.Usual(),
		Together:     &owner.ModelScores{Figures: ofAccuracy(.7, .55, .8)},
		Alone:        &owner.ModelScores{Figures: ofAccuracy(.75, .6, .85)},
		Baseline:     &owner.ModelScores{Figures: ofAccuracy(.58, .4, .7)},
		LessAlone:    ofAccuracy(-.05, -.1, .01),
		LessBaseline: ofAccuracy(.12, .02, .2)}
	r.Scores = scores
	s := said()
	for _, want := range []string{"accuracy  0.7 (0.55 to 0.8 at level 0.95) on 48 own test records\n",
		"baseline  0.58 (0.4 to 0.7 at level 0.95), for the most frequent class",
		"alone     0.75 (0.6 to 0.85"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is not said: %s", want, s)
		}
	}
	if strings.Contains(s, "warning") {
		t.Errorf("a warning: %s", s)
	}
	scores.LessAlone = ofAccuracy(-.05, -.1, -.01)
	if s := said(); !strings.Contains(s, "worse than alone: the difference in accuracy is -0.05 (-0.1 to ") ||
		strings.Contains(s, "no better") {
		t.Errorf("worse than alone: %s", s)
	}
	scores.LessBaseline = ofAccuracy(.12, 0, .2)
	if s := said(); !strings.Contains(s, "no better than the baseline") {
		t.Errorf("no better than the baseline: %s", s)
	}
	scores.Baseline.Figures = ofAccuracy(1, 1, 1)
	if s := said(); !strings.Contains(s, "baseline  1 (no interval: all resamples agree), for") {
		t.Errorf("an interval without width: %s", s)
	}
	scores.Together.Figures = map[string]score.Figure{"accuracy": {Undefined: "there are no records"}}
	if s := said(); !strings.Contains(s, "undefined (there are no records) on") {
		t.Errorf("no records: %s", s)
	}
}

// Whether joining was worth it follows from the interval of a difference; where there is
// none nothing is told.
func TestJoiningText(t *testing.T) {
	none := .2
	for said, less := range map[string]map[string]score.Figure{
		"it was worth it: own model less alone in accuracy 0.1 (0.05 to 0.2": ofAccuracy(.1, .05, .2),
		"it was not worth it: ":                  ofAccuracy(-.1, -.2, -.05),
		"these test records see no difference: ": ofAccuracy(.1, -.05, .2),
		"these test records do not tell: own model less alone in accuracy 0.2 (no interval)": {
			"accuracy": {Value: &none}},
	} {
		own := &owner.Scores{Bootstrap: score.Usual(), LessAlone: less,
			Together: &owner.ModelScores{Figures: ofAccuracy(.7, .55, .8)}}
		if text := joiningText(own); !strings.HasPrefix(text, said) {
			t.Errorf("%q, want %q", text, said)
		}
	}
}

// A ledger that grows at each charge is not accounted for at each: the status says of how
// many of its records the figure is.
func TestStatusSaysHowManyRecordsEpsilonIsOf(t *testing.T) {
	for _, c := range []struct {
		of, stored uint64
		want       string
	}{{5, 9, "from 5 of 9 ledger records\n"}, {9, 9, "from 9 of 9 ledger records\n"},
		{11, 9, "from 11 of 11 ledger records\n"}} {
		var b bytes.Buffer
		l := &owner.Liveness{Status: node.Status{Charges: c.stored,
			Privacy: &node.Spent{Epsilon: 1, Delta: 1e-5, Lifetime: 2, Records: c.of}}}
		if err := sayStatus(&b, l); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("%v, %s; want %s", err, b.String(), c.want)
		}
	}
}
