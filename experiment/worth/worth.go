// Package worth says what joining a run would bring an owner before it joins: by
// cross-validation on the owner's own records, and by simulations of the run on records
// that stand in for those of all members. Everything it says follows from private
// records and is for their owner alone: nothing of it may leave.
//
// A simulation is a world whose law the owner's records suggest. Features are drawn
// from the owner's own with replacement; what is predicted follows the model that fits
// them best (its prior by cross-validation), with the chance of a class that it states,
// or with normal errors as large as its own on held-out records. In a world of members
// that are alike all members have this law. In one of members that are not, each member
// but the owner has parameters of its own: around the owner's, with a standard
// deviation of half their root mean square. The owner too has records drawn anew, as
// many as it has, and fresh ones for tests, so that what a world says of joining is a
// difference between two models on the same records.
package worth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/internal/jsonfloat"
	"sotto/internal/parallel"
	"sotto/internal/sample"
	"sotto/model"
)

// Question is what is asked.
type Question struct {
	File    *experiment.File // of the run that all have agreed on
	Records *data.Dataset    // the owner's own, all of them
	// Own is how many of them the owner would train on, Others how many each other member
	// has, at least 1 each.
	Own    int
	Others []int
	// Epsilons are those that are looked at, each above 0.
	Epsilons []float64
	// Worlds are drawn for each epsilon and law; at least 2.
	Worlds int
	Seed   uint64
	// Workers run worlds beside each other; results do not depend on how many.
	Workers int
}

// Range is a figure with an interval: of cross-validation at level .95, by resampling
// of records; of worlds the mean, with a tenth of them below Low and a tenth above
// High. What is not defined is not a number.
type Range struct {
	Value jsonfloat.Float `json:"value"`
	Low   jsonfloat.Float `json:"low"`
	High  jsonfloat.Float `json:"high"`
	// Error is the standard error of Value over worlds.
	Error jsonfloat.Float `json:"standard_error,omitempty"`
	far   float64         // half an interval of Value at level .95, by Student's t over worlds
}

// Sign is 1 where Value is above 0 by more than chance explains, by Student's t over
// worlds at level .95, -1 where it is below by as much, and else 0.
func (r Range) Sign() int {
	switch {
	case float64(r.Value) > r.far:
		return 1
	case float64(r.Value) < -r.far:
		return -1
	}
	return 0
}

// Answer is what joining would bring.
type Answer struct {
	Figure string `json:"figure"` // auroc of two classes, r2 of a number: the larger the better
	// Alone is the figure of models that the owner makes of its records alone, each on
	// records that it has not seen.
	Alone Range `json:"alone"`
	// Curve is Alone of models made of fewer records, ascending.
	Curve []Point `json:"curve"`
	Lines []Line  `json:"epsilons"`
}

// Point is a figure of so many records.
type Point struct {
	Records int             `json:"records"`
	Value   jsonfloat.Float `json:"value"`
}

// Line is one epsilon.
type Line struct {
	Epsilon float64 `json:"epsilon"`
	// Alike and Unlike are what the owner's own model, at the end of the run, is better
	// than the one that it would have alone, where the others are like the owner, or not.
	Alike  Range `json:"alike"`
	Unlike Range `json:"unlike"`
	// Shared is what the shared model is better than the one alone, where all are alike.
	Shared Range `json:"shared"`
	// From is the smallest number of records of every other member, among those looked
	// at, from which on joining pays where all are alike, see pays: there, at every
	// larger number looked at, and with the members as they are where all have as many.
	// 0: none.
	From int `json:"from_records,omitempty"`
	// Looked are the numbers that were looked at, ascending: some that the run bears.
	Looked []int `json:"looked_at_records,omitempty"`
	// Refused are the numbers with which the run cannot be simulated.
	Refused []Refusal `json:"not_simulated,omitempty"`
}

// Refusal is a number of records of each other member, and why the run cannot be
// simulated with it.
type Refusal struct {
	Records int    `json:"records"`
	Why     string `json:"why"`
}

// fewest records tell a law.
const fewest = 20

// Ask runs the worlds. Questions about models that are not linear, of counts, or of more
// than two classes, and of too few records are refused.
func Ask(ctx context.Context, q *Question) (*Answer, error) {
	if err := parallel.Check(q.Workers); err != nil {
		return nil, err
	}
	l, err := newLaw(ctx, q)
	if err != nil {
		return nil, err
	}
	a := &Answer{Figure: l.figure()}
	if a.Alone, a.Curve, err = l.alone(ctx); err != nil {
		return nil, err
	}
	for _, epsilon := range q.Epsilons {
		line := Line{Epsilon: epsilon}
		alike, err := l.worlds(ctx, q.Others, epsilon, 0)
		if err != nil {
			return nil, err
		}
		unlike, err := l.worlds(ctx, q.Others, epsilon, .5)
		if err != nil {
			return nil, err
		}
		line.Alike, line.Unlike = spread(alike.own), spread(unlike.own)
		line.Shared = spread(alike.shared)
		if err := l.from(ctx, &line, alike.own); err != nil {
			return nil, err
		}
		a.Lines = append(a.Lines, line)
	}
	return a, nil
}

// newLaw checks the question and fits the owner's records.
func newLaw(ctx context.Context, q *Question) (*law, error) {
	switch {
	case q.Own < fewest:
		return nil, config.Bad("records", q.Own, fmt.Sprintf("at least %d: fewer tell no law", fewest))
	case len(q.Others) < 1 || slices.Min(q.Others) < 1:
		return nil, config.Bad("others", fmt.Sprint(q.Others), "at least one member with at least one record")
	case q.Worlds < 2:
		return nil, config.Bad("worlds", q.Worlds, "at least 2")
	}
	for _, e := range q.Epsilons {
		if !(e > 0) || math.IsInf(e, 1) {
			return nil, config.Bad("epsilon", e, "above 0 and finite")
		}
	}
	d := q.Records
	m, err := model.New(q.File.Model.Name, model.Shape{Height: d.Shape[0], Width: d.Shape[1],
		Channels: d.Shape[2], Classes: d.Classes}, q.File.Section("model"))
	if err != nil {
		return nil, q.File.At("model", err)
	}
	glm, ok := model.Linear(m)
	if !ok || d.Classes > 2 || model.Counts(m) {
		return nil, q.File.At("model", config.Bad("name", q.File.Model.Name,
			"logistic, of two classes, least-squares or huber, to say what joining is worth"))
	}
	l := &law{Question: q, glm: glm, dim: m.Dim()}
	return l, l.fit(ctx)
}

// drawn are the gains of one law's worlds.
type drawn struct{ own, shared []float64 }

// worlds are those of one law and epsilon; unlike says how far members are apart.
func (l *law) worlds(ctx context.Context, others []int, epsilon, unlike float64) (drawn, error) {
	out := drawn{make([]float64, l.Worlds), make([]float64, l.Worlds)}
	err := parallel.With(l.Worlds, l.Workers, func(k int, _ *struct{}) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		out.own[k], out.shared[k], err = l.world(ctx, k, others, epsilon, unlike)
		return err
	})
	out.own, out.shared = slices.DeleteFunc(out.own, math.IsNaN), slices.DeleteFunc(out.shared, math.IsNaN)
	return out, err
}

// least and most are the smallest and the largest number of records of each other member
// that is looked at.
const (
	least = 10
	most  = 640
)

// shown is the least gain that three digits show.
const shown = .0005

// pays says that gains of worlds are above 0 on the mean, and so that three digits show
// it: by Student's t, one-sided at level .025 over all looks together.
func pays(gains []float64, looks int) bool {
	if len(gains) < 2 {
		return false
	}
	s := sample.Sample(gains)
	e, law := s.Student()
	return s.Mean() >= shown && s.Mean() > e*law.Quantile(1-.025/float64(looks))
}

// from looks for the records of each other member from which on joining pays, and says at
// which it could look. alike are the gains with the members as they are: one look more,
// at what the member with the fewest records has.
func (l *law) from(ctx context.Context, line *Line, alike []float64) error {
	at := map[int][]float64{}
	for n := least; n <= most; n *= 2 {
		others := make([]int, len(l.Others))
		for k := range others {
			others[k] = n
		}
		w, err := l.worlds(ctx, others, line.Epsilon, 0)
		var refused *config.Error
		switch {
		case errors.As(err, &refused): // a batch or a delta that so few, or so many, do not bear
			why := *refused
			why.File, why.Line = "", 0
			line.Refused = append(line.Refused, Refusal{n, why.Error()})
			continue
		case err != nil:
			return err
		case len(w.own) < 2:
			line.Refused = append(line.Refused, Refusal{n, "no " + l.figure() + " is defined"})
			continue
		}
		line.Looked, at[n] = append(line.Looked, n), w.own
	}
	line.From = line.payingFrom(at, alike, slices.Min(l.Others))
	return nil
}

// payingFrom is the smallest number from which on joining pays, by the gains at those
// looked at and with the members as they are, of whom one has the fewest records.
func (l *Line) payingFrom(at map[int][]float64, alike []float64, fewest int) (from int) {
	looks := len(l.Looked) + 1
	for _, n := range slices.Backward(l.Looked) {
		if !pays(at[n], looks) || n <= fewest && !pays(alike, looks) {
			break
		}
		from = n
	}
	return from
}

// spread is the mean, with a tenth below and above.
func spread(s []float64) Range {
	if len(s) < 2 {
		return Range{Value: nan, Low: nan, High: nan, Error: nan}
	}
	_, law := sample.Sample(s).Student()
	n, mean, square := float64(len(s)), 0., 0.
	for _, x := range s {
		mean += x / n
	}
	for _, x := range s {
		square += (x - mean) * (x - mean)
	}
	slices.Sort(s)
	at := func(p float64) jsonfloat.Float {
		x := p * (n - 1)
		k := min(int(x), len(s)-2)
		return jsonfloat.Float(s[k] + (x-float64(k))*(s[k+1]-s[k]))
	}
	e := math.Sqrt(square / (n - 1) / n)
	return Range{jsonfloat.Float(mean), at(.1), at(.9), jsonfloat.Float(e), law.Quantile(.975) * e}
}

var nan = jsonfloat.Float(math.NaN())
