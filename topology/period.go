package topology

import (
	"slices"

	"sotto/agent"
)

// Period returns the graphs of a schedule that repeats itself, in order; nil where chance
// draws those of each round.
func Period(s Schedule) []*Graph {
	switch s := s.(type) {
	case static:
		return []*Graph{s.g}
	case periodic:
		return slices.Clone(s)
	}
	return nil
}

// Mutual reports whether in every round of a schedule that [Build] made whoever hears an
// agent is heard by it.
func Mutual(s Schedule) bool {
	switch s := s.(type) {
	case *pairwise:
		return true
	case *dropout:
		return s.mutual
	}
	return !slices.ContainsFunc(Period(s), (*Graph).Directed)
}

// Union returns the graph with all links of a schedule that [Build] made: who hears whom
// in some round. Where rounds repeat its weights are the means over them, which is the
// graph itself where that stays the same; means of matrices whose columns, or rows, sum
// to 1 are such matrices. Where chance draws the links of a round it is that of all links
// that may be drawn, with the weights that they have together.
func Union(s Schedule) (*Graph, error) {
	rounds := Period(s)
	switch s := s.(type) {
	case *pairwise:
		return s.union, nil
	case *dropout:
		for _, links := range s.rounds {
			g, err := s.build(links)
			if err != nil {
				return nil, err
			}
			rounds = append(rounds, g)
		}
	}
	if len(rounds) == 1 {
		return rounds[0], nil
	}
	n := rounds[0].Agents()
	self, rows := make([]float64, n), make([][]agent.Neighbor, n)
	for i := range n {
		var row []agent.Neighbor
		for _, g := range rounds {
			self[i] += g.SelfWeight(agent.ID(i))
			row = append(row, g.In(agent.ID(i))...)
		}
		self[i] /= float64(len(rounds))
		rows[i] = merge(row, float64(len(rounds)))
	}
	return FromRows(rounds[0].Name(), self, rows)
}

// merge adds up the weights of each sender and divides them by rounds.
func merge(row []agent.Neighbor, rounds float64) []agent.Neighbor {
	slices.SortStableFunc(row, func(a, b agent.Neighbor) int { return int(a.ID) - int(b.ID) })
	var sum []agent.Neighbor
	for _, nb := range row {
		if k := len(sum) - 1; k >= 0 && sum[k].ID == nb.ID {
			sum[k].Weight += nb.Weight
		} else {
			sum = append(sum, nb)
		}
	}
	for k := range sum {
		sum[k].Weight /= rounds
	}
	return sum
}
