package rundir

import (
	"fmt"
	"math"

	"sotto/privacy/account"
)

// Clause is one line of a privacy statement in words.
type Clause struct{ Term, Text string }

// Guarantee is what a statement's words are about.
type Guarantee struct {
	Unit      string
	Adjacency string
	Epsilon   Bounds
	Delta     float64
	Simulated bool // the noise can be drawn again by everybody
	Noiseless bool // there was none: nothing left an agent, or nothing is guaranteed
}

// GuaranteeOf is a statement's; false: it states none.
func GuaranteeOf(s *account.Statement) (Guarantee, bool) {
	i := s.Epsilon
	if i == nil {
		i = s.WouldBeEpsilon
	}
	if i == nil {
		return Guarantee{}, false
	}
	bounds := NewBounds(i.Lower, i.Upper)
	return Guarantee{s.Unit, s.Adjacency.String(), bounds, s.Delta, s.Epsilon == nil, s.Noiseless()}, true
}

// Explain says what the figures mean, for who has to sign them.
func (g Guarantee) Explain() []Clause {
	change, _ := g.adjacencyWords()
	clauses := []Clause{{"Who is protected", g.unitWords()}, {"Compared are", change}}
	switch {
	case g.Noiseless:
		clauses[0].Text = "nobody whose records a model was trained on."
		clauses = append(clauses, Clause{"Noise", "There was none. Whoever has a model may learn of every " +
			"record that it was trained on: it must not be published."})
	case g.Simulated:
		clauses = append(clauses, Clause{"Noise", "It was simulated, and can be drawn again by everybody: " +
			"nobody is protected. With secret noise the figures would be these."})
	}
	clauses = append(clauses, Clause{"Epsilon", g.epsilonWords()})
	if !g.Noiseless && !math.IsInf(float64(g.Epsilon.Upper), 1) {
		clauses = append(clauses, Clause{"As odds", g.Odds() + "."})
	}
	return append(clauses,
		Clause{"Delta", fmt.Sprintf("%g. Epsilon alone would say: no outcome is more than e^epsilon times "+
			"as likely with one version of the records as with the other. Delta is what may be missing to "+
			"that: for every set of outcomes, P <= e^epsilon P' + delta. It is kept far below one over the "+
			"number of records.", g.Delta)},
		Clause{"What others use", "The 2020 United States Census published redistricting data at an " +
			"epsilon of 19.61 (17.14 for persons, 2.47 for housing units). Ponomareva et al. (2023) call " +
			"at most 1 strong, at most 10 reasonable for machine learning, and more weak. NIST SP 800-226 " +
			"names no figure that is right for all: it asks for the unit, what is not covered and whom one " +
			"trusts, beside epsilon."})
}

// Odds says what the guarantee means for somebody who guesses.
func (g Guarantee) Odds() string {
	_, guess := g.adjacencyWords()
	return fmt.Sprintf("somebody who was 50 %% sure %s is right with a probability of at most %s %% "+
		"afterwards, whatever else they know", guess, roundedUp(100*Guess(float64(g.Epsilon.Upper), g.Delta)))
}

// epsilonWords says what is proved.
func (g Guarantee) epsilonWords() string {
	lower, upper := float64(g.Epsilon.Lower), float64(g.Epsilon.Upper)
	if math.IsInf(upper, 1) {
		return fmt.Sprintf("infinite at delta %g: nothing is guaranteed.", g.Delta)
	}
	if g.Noiseless {
		return fmt.Sprintf("%s at delta %g, of messages alone, of which there are none: no figure covers "+
			"the models.", FormatFine(upper), g.Delta)
	}
	s := fmt.Sprintf("at most %s at delta %g: this is the guarantee.", FormatFine(upper), g.Delta)
	if lower < upper && lower > 0 {
		// a release that moves by less than is charged may have a smaller one
		s += fmt.Sprintf(" No accounting of these charges can state less than %s.",
			FormatBound(lower, 6, false))
	}
	return s
}

// Guess is a bound of the probability that somebody tells two versions of the records
// apart who found both equally likely before: (e^epsilon + delta) / (e^epsilon + 1). The
// sum of both errors of any test is at least 2 (1 - delta) / (1 + e^epsilon) (Kairouz, Oh
// and Viswanath 2015, "The Composition Theorem for Differential Privacy", theorem 2.1).
func Guess(epsilon, delta float64) float64 {
	return min(1, (1+delta*math.Exp(-epsilon))/(1+math.Exp(-epsilon)))
}

// roundedUp writes a percentage that is not below x.
func roundedUp(x float64) string {
	scale := 1.
	if x > 99 {
		scale = 1000
	}
	return fmt.Sprintf("%g", min(100, math.Ceil(x*scale)/scale))
}

// unitWords say who or what the guarantee is for.
func (g Guarantee) unitWords() string {
	if g.Unit == account.Record().String() {
		return "one record, which is one row of the table. Somebody with k rows has less: the bound is k " +
			"times the epsilon, with a larger delta."
	}
	return g.Unit + "."
}

// adjacencyWords say what two versions of the records are compared, and what an adversary
// guesses.
func (g Guarantee) adjacencyWords() (change, guess string) {
	unit := "one " + g.Unit
	switch g.Adjacency {
	case account.AddRemove.String():
		return "the records with and without " + unit + " (adjacency add-remove).",
			"whether " + unit + " is among the records"
	case account.ReplaceOne.String():
		return "the records and those with " + unit + " replaced by another (adjacency replace-one).",
			"which of two contents " + unit + " has"
	}
	return "the records and those with " + unit + " blanked out, so that it counts and contributes nothing " +
		"(adjacency zero-out).", "whether " + unit + " is there or blanked out"
}
