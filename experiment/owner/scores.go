package owner

import (
	"sotto/model"
	"sotto/model/score"
	"sotto/tensor"
)

// Scores are figures of models on the owner's own test records, each with its interval;
// package score defines them. They are statistics of private records, for the owner
// alone.
type Scores struct {
	Bootstrap score.Bootstrap `json:"bootstrap"`
	// Persons of whom some have several records are drawn in the place of records; 0:
	// records are.
	Persons int `json:"persons,omitempty"`
	// Classes are the names by number. Figures of two classes are about the second one.
	Classes  []string     `json:"classes,omitempty"`
	Together *ModelScores `json:"together"`        // the model of the run
	Alone    *ModelScores `json:"alone,omitempty"` // trained on the own records only, without noise
	// Baseline predicts the most frequent class of the own training records, with the
	// shares of classes as probabilities, or the mean of their targets.
	Baseline *ModelScores `json:"baseline"`
	// LessAlone and LessBaseline are the figures of Together less those of the other,
	// with intervals of the difference on the same resamples.
	LessAlone    map[string]score.Figure `json:"together_less_alone,omitempty"`
	LessBaseline map[string]score.Figure `json:"together_less_baseline"`
	// Personal is the owner's own model, where [personal] asks for it.
	Personal *Personal `json:"personal,omitempty"`
}

// ModelScores are those of one model. Where the run has several tokens each figure is the
// mean of theirs, and confusion and calibration are left out.
type ModelScores struct {
	Figures map[string]score.Figure `json:"figures"`
	// Confusion counts records: a row for each class, a column for each that is
	// predicted. It is left out with more than 20 classes.
	Confusion   [][]int     `json:"confusion,omitempty"`
	Calibration []score.Bin `json:"calibration,omitempty"`
}

// maxConfusion is the most classes of a confusion matrix in a file.
const maxConfusion = 20

// Headline is the figure that is named first: accuracy, and r2 of a regression.
func (s *Scores) Headline() string {
	if _, ok := s.Together.Figures["accuracy"]; ok {
		return "accuracy"
	}
	return "r2"
}

// WorseThanAlone says that the whole interval of the difference in the headline's figure
// is below zero. It is false where no model was trained alone.
func (s *Scores) WorseThanAlone() bool {
	f := s.LessAlone[s.Headline()]
	return f.Interval != nil && f.Interval[1] < 0
}

// BetterThanBaseline says that the whole interval of the difference in the headline's
// figure is above zero.
func (s *Scores) BetterThanBaseline() bool {
	f := s.LessBaseline[s.Headline()]
	return f.Interval != nil && f.Interval[0] > 0
}

// ScoresOf judges the models of a run, several where it has tokens, and the model that
// was trained alone, which may be nil. It returns nil for a model that neither classifies
// nor has a target. Like Accuracy it reads private records, and is sent to nobody.
func ScoresOf(owner *Owner, together []tensor.Vec, alone tensor.Vec) (*Scores, error) {
	o := judged{owner}
	if model.Reconstructs(o.e.Task.Model) {
		return nil, nil
	}
	sets := [][]score.Scored{nil}
	for _, theta := range together {
		s, err := o.predict(theta)
		if err != nil {
			return nil, err
		}
		sets[0] = append(sets[0], s)
	}
	simple, err := o.simple()
	if err != nil {
		return nil, err
	}
	sets = append(sets, []score.Scored{simple})
	if alone != nil {
		s, err := o.predict(alone)
		if err != nil {
			return nil, err
		}
		sets = append(sets, []score.Scored{s})
	}
	persons := o.e.Task.Split.Test.Units
	out := &Scores{Bootstrap: score.Usual(), Persons: score.Persons(persons), Classes: o.classNames()}
	all, err := out.Bootstrap.JudgeBy(persons, sets...)
	if err != nil {
		return nil, err
	}
	out.Together, out.Baseline = scoresOf(&all[0], sets[0]), scoresOf(&all[1], sets[1])
	out.LessBaseline = less(&all[0], &all[1])
	if alone != nil {
		out.Alone, out.LessAlone = scoresOf(&all[2], sets[2]), less(&all[0], &all[2])
	}
	return out, nil
}

// judged is an owner on whose test records models are judged.
type judged struct{ *Owner }

func (o judged) classNames() []string {
	if !o.e.Task.Classifies() {
		return nil
	}
	return o.e.Task.Split.Train.ClassNames
}

func scoresOf(j *score.Judgement, of []score.Scored) *ModelScores {
	m := &ModelScores{Figures: j.Figures}
	if p, ok := of[0].(*score.Predictions); ok && len(of) == 1 {
		if p.Classes() <= maxConfusion {
			m.Confusion = p.Confusion()
		}
		m.Calibration, _ = p.Calibration() // none: the figure calibration_error says why
	}
	return m
}

func less(a, b *score.Judgement) map[string]score.Figure {
	all := map[string]score.Figure{}
	for name := range a.Figures {
		all[name] = a.Less(b, name)
	}
	return all
}

// predict is what a model says of the owner's test records.
func (o judged) predict(theta tensor.Vec) (score.Scored, error) {
	m, n := o.e.Task.Model, o.tests.Len()
	rows := tensor.NewMat(n, m.Outputs())
	m.Predict(rows, theta, o.tests.X, new(model.Workspace))
	var z []float64
	for i := range n {
		z = append(z, double(rows.Row(i))...)
	}
	classes := o.e.Task.Split.Train.Classes
	switch {
	case model.Counts(m):
		return score.Counts(z, double(o.tests.Targets))
	case !o.e.Task.Classifies():
		return score.Regression(z, double(o.tests.Targets))
	case model.Ranks(m):
		return score.Margins(z, m.Outputs(), classes, o.tests.Labels)
	}
	return score.Logits(z, m.Outputs(), classes, o.tests.Labels)
}

// simple is the baseline that knows nothing but the owner's training labels.
func (o judged) simple() (score.Scored, error) {
	train := o.e.Task.Split.Train
	rows := o.e.Task.Parts[0]
	if o.e.Task.Classifies() {
		return score.Majority(picked(train.Labels, rows), train.Classes, o.tests.Labels)
	}
	of := score.Mean
	if model.Counts(o.e.Task.Model) {
		of = score.MeanCount
	}
	return of(double(picked(train.Targets, rows)), double(o.tests.Targets))
}

// picked is the values of rows.
func picked[T any](values []T, rows []int32) []T {
	var of []T
	for _, row := range rows {
		of = append(of, values[row])
	}
	return of
}

func double(v []float32) []float64 {
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = float64(x)
	}
	return d
}
