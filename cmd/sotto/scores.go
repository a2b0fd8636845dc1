package main

import (
	"fmt"
	"path/filepath"

	"sotto/experiment/owner"
	"sotto/experiment/rundir"
	"sotto/model/score"
)

// sayFigures says what the owner alone may see, of a run with its state directory: how
// good its model is, beside a baseline and the model that was trained alone.
func sayFigures(row func(what, format string, args ...any), state string, r *owner.Result) {
	s := r.Scores
	if r.Metric == "" {
		row("answers", "%s; sotto query %s shows them", filepath.Join(state, rundir.AnswersFile), state)
		return
	}
	if s == nil {
		row(r.Metric, "%.4g on %d own test records", r.Value, r.Tests)
		if r.Alone != nil {
			row("alone", "%.4g, trained on the own records only, without noise", *r.Alone)
		}
		return
	}
	name, simple := s.Headline(), "the most frequent class of the own training records"
	if r.Metric != name {
		row(r.Metric, "%.4g on %d own test records", r.Value, r.Tests)
		simple = "the mean target of the own training records"
	}
	row(name, "%s on %d own test records%s", inWords(s.Together.Figures[name], s.Bootstrap), r.Tests,
		ofPersons(s.Persons))
	row("baseline", "%s, for %s", inWords(s.Baseline.Figures[name], s.Bootstrap), simple)
	if s.Alone != nil {
		row("alone", "%s, trained on the own records only, without noise",
			inWords(s.Alone.Figures[name], s.Bootstrap))
	}
	if own := s.Personal; own != nil && own.Scores != nil {
		row("own model", "%s; alone %s; %s", inWords(own.Scores.Together.Figures[name], s.Bootstrap),
			inWords(own.Scores.Alone.Figures[name], s.Bootstrap),
			"in "+owner.PersonalDir+", for the owner alone: it is never sent")
		row("joining", "%s", joiningText(own.Scores))
	}
	if !s.BetterThanBaseline() {
		row("warning", "as far as the own test records tell, no better than the baseline: "+
			"the difference in %s is %s", name, inWords(s.LessBaseline[name], s.Bootstrap))
	}
	if s.WorseThanAlone() {
		row("warning", "training together was worse than alone: the difference in %s is %s", name,
			inWords(s.LessAlone[name], s.Bootstrap))
	}
}

// ofPersons says that persons were drawn for intervals, in the place of records.
func ofPersons(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" of %d persons, who are drawn", n)
}

// joiningText says whether it was worth it: what the owner's own model is better than the
// one that it would have alone, as far as its test records tell.
func joiningText(own *owner.Scores) string {
	name := "auroc"
	if f, ok := own.LessAlone[name]; !ok || f.Value == nil {
		name = own.Headline()
	}
	d := own.LessAlone[name]
	said := "these test records see no difference"
	switch {
	case d.Value == nil:
		return fmt.Sprintf("%s is undefined (%s)", name, d.Undefined)
	case d.Interval == nil: // too few records, or too many classes
		said = "these test records do not tell"
	case d.Interval[0] > 0:
		said = "it was worth it"
	case d.Interval[1] < 0:
		said = "it was not worth it"
	}
	return fmt.Sprintf("%s: own model less alone in %s %s", said, name, inWords(d, own.Bootstrap))
}

// inWords is a figure with its interval, or why there is none.
func inWords(f score.Figure, b score.Bootstrap) string {
	switch {
	case f.Value == nil:
		return "undefined (" + f.Undefined + ")"
	case f.Interval == nil:
		return fmt.Sprintf("%.4g (no interval)", *f.Value)
	case f.Interval[0] == f.Interval[1]: // a width of 0 would claim certainty
		return fmt.Sprintf("%.4g (no interval: all resamples agree)", *f.Value)
	}
	return fmt.Sprintf("%.4g (%.3g to %.3g at level %g)", *f.Value, f.Interval[0], f.Interval[1], b.Level)
}
