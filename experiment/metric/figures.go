package metric

import (
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/model/score"
	"sotto/tensor"
)

const (
	// mostResampled is the most predictions, of all agents and classes, for which there
	// are intervals.
	mostResampled = 1 << 20
	// mostConfused is the most classes of a confusion matrix.
	mostConfused = 20
)

// Figured reports whether figures of package model/score say something about the task: it
// has classes, or one target.
func Figured(m model.Model, classes int, targets []float32) bool {
	return !model.Reconstructs(m) && (classes > 1 || targets != nil && m.Outputs() == 1)
}

// FigureNames are the figures of a classifier, of a model of counts, or of another
// regression, in their order.
func FigureNames(m model.Model, classify bool) []string {
	switch {
	case classify:
		return score.Names(new(score.Predictions))
	case model.Counts(m):
		counts, _ := score.Counts(nil, nil)
		return score.Names(counts)
	}
	return score.Names(new(score.Values))
}

// judged is the figures of one model on its test records.
type judged struct {
	of        score.Scored // nil where nobody resamples it
	values    []*float64   // in the order of the names
	undefined []string
	confusion [][]int
	bins      []score.Bin
}

// Figures are those of all tested models as they are, beside a baseline. The order of
// sums is that of the agents.
func (s *Scene) Figures() (*rundir.Figures, error) {
	names, tested := FigureNames(s.Model, s.Tests.Classify), s.Tests.Tested
	out := &rundir.Figures{Tested: len(tested), Shared: true}
	for _, i := range tested {
		out.Shared = out.Shared && s.Tests.Batches[i] == s.Tests.Batches[tested[0]]
		out.Records += s.Tests.Batches[i].Len()
	}
	predictions := out.Records * max(1, s.Records.Split.Train.Classes)
	if out.Shared {
		out.Records = s.Tests.Batches[tested[0]].Len()
	}
	resampled := out.Shared && predictions <= mostResampled
	models, simple := make([]judged, len(tested)), make([]judged, len(tested))
	err := s.Crew.Do(len(tested), func(k int, scratch *model.Workspace) error {
		own, err := s.scored(tested[k], scratch)
		if err != nil {
			return err
		}
		if models[k] = judge(own, names); resampled {
			models[k].of = own
		}
		if out.Shared && k > 0 {
			return nil
		}
		base, err := s.baseline(s.Tests.Batches[tested[k]])
		if err == nil {
			simple[k] = judge(base, names)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if out.Shared {
		simple = simple[:1]
	}
	out.BaselineOf = "the mean target of all training records alone"
	if s.Tests.Classify {
		out.BaselineOf = "the shares of classes among all training records alone"
	}
	for n, name := range names {
		out.Lines = append(out.Lines, line(name, n, models, simple))
	}
	for k := range models {
		out.Confusion = added(out.Confusion, models[k].confusion)
	}
	out.Reliability = pooled(models)
	if resampled {
		err = intervals(out, models, s.Tests.Persons)
	}
	return out, err
}

// scored is what the model of an agent says of its test records.
func (s *Scene) scored(i int, scratch *model.Workspace) (score.Scored, error) {
	return s.scoredAt(i, s.Sim.Model(i), scratch)
}

// scoredAt is scored at other parameters.
func (s *Scene) scoredAt(i int, theta tensor.Vec, scratch *model.Workspace) (score.Scored, error) {
	tests, m := s.Tests.Batches[i], s.Model
	rows := tensor.NewMat(tests.Len(), m.Outputs())
	m.Predict(rows, theta, tests.X, scratch)
	z := make([]float64, 0, rows.Rows*rows.Cols)
	for r := range rows.Rows {
		z = append(z, double(rows.Row(r))...)
	}
	switch classes := s.Records.Split.Train.Classes; {
	case model.Counts(m):
		return score.Counts(z, double(tests.Targets))
	case !s.Tests.Classify:
		return score.Regression(z, double(tests.Targets))
	case model.Ranks(m):
		return score.Margins(z, m.Outputs(), classes, tests.Labels)
	default:
		return score.Logits(z, m.Outputs(), classes, tests.Labels)
	}
}

// baseline is what knows nothing but the labels, or targets, of all training records.
func (s *Scene) baseline(tests *model.Batch) (score.Scored, error) {
	train := s.Records.Split.Train
	var labels []int32
	var targets []float64
	for _, rows := range s.Records.Parts {
		for _, r := range rows {
			if s.Tests.Classify {
				labels = append(labels, train.Labels[r])
			} else {
				targets = append(targets, float64(train.Targets[r]))
			}
		}
	}
	if s.Tests.Classify {
		return score.Majority(labels, train.Classes, tests.Labels)
	}
	if model.Counts(s.Model) {
		return score.MeanCount(targets, double(tests.Targets))
	}
	return score.Mean(targets, double(tests.Targets))
}

func judge(of score.Scored, names []string) judged {
	j := judged{values: make([]*float64, len(names)), undefined: make([]string, len(names))}
	for n, name := range names {
		v, err := score.Of(of, name)
		if err != nil {
			j.undefined[n] = err.Error()
			continue
		}
		j.values[n] = &v
	}
	if p, ok := of.(*score.Predictions); ok {
		if p.Classes() <= mostConfused {
			j.confusion = p.Confusion()
		}
		j.bins, _ = p.Calibration() // none: the figure calibration_error says why
	}
	return j
}

// line is figure n over agents.
func line(name string, n int, models, simple []judged) rundir.FigureLine {
	l := rundir.FigureLine{Name: name}
	var values, base []float64
	for k := range models {
		if v := models[k].values[n]; v != nil {
			values = append(values, *v)
		} else if l.Undefined == "" {
			l.Undefined = models[k].undefined[n]
		}
		if len(models) <= rundir.SummaryThreshold {
			l.ByAgent = append(l.ByAgent, models[k].values[n])
		}
	}
	for k := range simple {
		if v := simple[k].values[n]; v != nil {
			base = append(base, *v)
		}
	}
	if l.Agents = len(values); l.Agents > 0 {
		over := rundir.StatsOf(values)
		l.Over = &over
	}
	if len(base) > 0 {
		mean := rundir.StatsOf(base).Mean
		l.Baseline = &mean
	}
	return l
}

// intervals enters those of the means over agents, of figures that all of them have.
func intervals(out *rundir.Figures, models []judged, persons []int32) error {
	b, sets := score.Usual(), []score.Scored(nil)
	for k := range models {
		sets = append(sets, models[k].of)
	}
	if persons != nil {
		persons = persons[:out.Records]
	}
	all, err := b.JudgeBy(persons, sets)
	if err != nil {
		return err
	}
	out.Level, out.Persons = b.Level, score.Persons(persons)
	for i := range out.Lines {
		l := &out.Lines[i]
		// a width of 0, where all resamples agree, would claim certainty
		if in := all[0].Figures[l.Name].Interval; in != nil && in[0] < in[1] {
			l.Interval = in
		}
	}
	return nil
}

// added is the sum of two tables, of which either may be nil.
func added(a, b [][]int) [][]int {
	if a == nil {
		return b
	}
	for i := range b {
		for j, n := range b[i] {
			a[i][j] += n
		}
	}
	return a
}

// pooled joins the bins of all models' predictions.
func pooled(models []judged) []rundir.ReliabilityBin {
	var bins [score.Bins]rundir.ReliabilityBin
	for k := range models {
		for _, x := range models[k].bins {
			b := &bins[int(x.Low*score.Bins+.5)]
			b.Low, b.High = x.Low, x.High
			b.Records += x.Records
			b.Mean += x.Mean * float64(x.Records)
			b.Share += x.Share * float64(x.Records)
		}
	}
	var out []rundir.ReliabilityBin
	for _, b := range bins {
		if b.Records > 0 {
			b.Mean /= float64(b.Records)
			b.Share /= float64(b.Records)
			out = append(out, b)
		}
	}
	return out
}

func double(v []float32) []float64 {
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = float64(x)
	}
	return d
}
