package owner

import (
	"math"

	"sotto/experiment"
	"sotto/node/roster"
)

// asked is what a run that asks questions wants of the policy. price is that of all of
// them, with target 0 where the run states its noise: then no limit is known to hold.
func asked(o *Owner, price *Price) roster.Questions {
	all := roster.Questions{Epsilon: price.Target, Delta: price.Delta}
	if all.Epsilon == 0 {
		all.Epsilon = math.Inf(1)
	}
	for _, p := range experiment.QuestionsOf(o.e) {
		q := roster.Asked{Text: p.Text, Kind: p.Kind, Cells: p.Dim, Columns: p.Columns()}
		all.Asked = append(all.Asked, q)
	}
	return all
}

// Expectations say how far the answers to a run's questions are off.
func Expectations(o *Owner) []string { return experiment.Expectations(o.e) }
