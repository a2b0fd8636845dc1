package audit

import (
	"math"
	"slices"

	"sotto/config"
)

// Scores are what an attack saw: higher values speak for the record's presence. The order
// is that of the observations.
type Scores struct {
	In  []float64 // with the record
	Out []float64 // without it
}

// Rules for the thresholds a bound may look at.
const (
	Fixed = "fixed" // one that was fixed before any observation
	Split = "split" // the best one on a part of the observations, evaluated on the others
	All   = "all"   // all Candidates, fixed before any observation; beta is divided by their number
	// the one that leaves a fixed number of guesses, whatever the scores are: for bounds
	// of one run
	Top  = "top"
	Hull = "hull" // the vertices of the convex hull of the observed ROC; beta is divided by their number
)

// Rule says which thresholds a bound may look at.
type Rule struct {
	Kind       string
	At         float64   // of Fixed
	Candidates []float64 // of All
	// of Split: the part of the observations that chooses; of Top: that is guessed; in
	// (0, 1), 0 means 1/2
	Part float64
}

// Validate names what cannot be used.
func (r Rule) Validate() error {
	switch r.Kind {
	case Fixed:
		if math.IsNaN(r.At) {
			return config.Bad("threshold", r.At, "a number")
		}
	case All:
		if len(r.Candidates) == 0 {
			return config.Bad("thresholds", len(r.Candidates), "at least one candidate")
		}
	case Split, Top:
		if !(r.Part >= 0 && r.Part < 1) {
			return config.Bad("part", r.Part, "at least 0 and below 1")
		}
	case Hull:
	default:
		return config.Bad("thresholds", r.Kind, "fixed, split, all, top or hull")
	}
	return nil
}

// hullCondition says why the hull proves nothing. Its vertices are chosen by the very
// observations that they are evaluated on, and a union bound over their number does not
// pay for the choice.
const hullCondition = "; thresholds chosen by the same observations: not a proven bound, use split or fixed"

// bound evaluates m under the rule.
func (s *Scores) bound(m *method, r Rule, beta, delta float64) Bound {
	b := Bound{Name: m.name, Delta: delta, Beta: beta, Thresholds: r.Kind, Proven: true, Valid: m.valid}
	of := s
	var at []float64
	switch r.Kind {
	case Fixed:
		at = []float64{r.At}
	case All:
		at = r.Candidates
	case Split:
		choose, rest := s.split(r.part())
		best, _ := m.best(choose.hull(), beta, delta)
		of, at = rest, []float64{choose.below(best.threshold)}
	case Top:
		at = []float64{s.top(r)}
	case Hull:
		b.Proven, b.Valid = false, m.valid+hullCondition
	}
	tallies := of.tallies(at)
	if r.Kind == Hull {
		tallies = s.hull()
	}
	b.Tested, b.Observations = len(tallies), len(of.In)+len(of.Out)
	if len(of.In) == 0 || len(of.Out) == 0 {
		b.Valid += "; no observations of one world"
		return b
	}
	level := beta / float64(len(tallies))
	best, eps := m.best(tallies, level, delta)
	b.Epsilon, b.Threshold = eps, max(-math.MaxFloat64, min(math.MaxFloat64, best.threshold))
	if m.mu != nil {
		for i := range tallies {
			b.Mu = max(b.Mu, m.mu(&tallies[i], level))
		}
	}
	return b
}

// best returns the tally with the largest epsilon, the first one where all are 0.
func (m *method) best(tallies []tally, level, delta float64) (tally, float64) {
	var best tally
	if len(tallies) > 0 {
		best = tallies[0]
	}
	eps := 0.
	for i := range tallies {
		if e := m.epsilon(&tallies[i], level, delta, eps); e > eps {
			best, eps = tallies[i], e
		}
	}
	return best, eps
}

func (r Rule) part() float64 {
	if r.Part == 0 {
		return .5
	}
	return r.Part
}

// top is the threshold at which the largest scores, of the given part of all, are
// guessed; at least one is.
func (s *Scores) top(r Rule) float64 {
	all := slices.Concat(s.In, s.Out)
	if len(all) == 0 {
		return math.Inf(1)
	}
	slices.Sort(all)
	return all[len(all)-max(1, int(float64(len(all))*r.part()))]
}

// split deals the observations into a part that chooses and the rest, by their position
// alone.
func (s *Scores) split(part float64) (choose, rest *Scores) {
	deal := func(x []float64) (a, b []float64) {
		for i, v := range x {
			if math.Floor(float64(i+1)*part) > math.Floor(float64(i)*part) {
				a = append(a, v)
			} else {
				b = append(b, v)
			}
		}
		return a, b
	}
	choose, rest = new(Scores), new(Scores)
	choose.In, rest.In = deal(s.In)
	choose.Out, rest.Out = deal(s.Out)
	return choose, rest
}

// below is the middle between a score and the next lower one, which parts the
// observations as the score does.
func (s *Scores) below(x float64) float64 {
	next := math.Inf(-1)
	for _, scores := range [][]float64{s.In, s.Out} {
		for _, v := range scores {
			if v < x {
				next = max(next, v)
			}
		}
	}
	if math.IsInf(next, 0) || math.IsInf(x, 0) {
		return x
	}
	return next + (x-next)/2
}

// tallies counts at the given thresholds.
func (s *Scores) tallies(at []float64) []tally {
	in, out := slices.Clone(s.In), slices.Clone(s.Out)
	slices.Sort(in)
	slices.Sort(out)
	t := make([]tally, len(at))
	for i, x := range at {
		below, _ := slices.BinarySearch(in, x)
		silent, _ := slices.BinarySearch(out, x)
		t[i] = tally{threshold: x, missed: below, in: len(in), wrong: len(out) - silent, absent: len(out)}
	}
	return t
}

// hull counts at the thresholds that are vertices of the upper convex hull of the ROC, as
// points (misses, true rejections): all distinct scores and +Inf are candidates, and
// those on or below the line between two others are left out.
func (s *Scores) hull() []tally {
	at := slices.Concat(s.In, s.Out)
	slices.Sort(at)
	at = append(slices.Compact(at), math.Inf(1))
	var hull []tally
	for _, t := range s.tallies(at) {
		for len(hull) >= 2 && !turnsRight(&hull[len(hull)-2], &hull[len(hull)-1], &t) {
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, t)
	}
	return hull
}

// turnsRight reports whether b lies above the line from a to c.
func turnsRight(a, b, c *tally) bool {
	x1, y1 := b.missed-a.missed, a.wrong-b.wrong
	x2, y2 := c.missed-b.missed, b.wrong-c.wrong
	return y1*x2 > y2*x1
}
