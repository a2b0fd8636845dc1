package topology

import (
	"slices"

	"sotto/agent"
	"sotto/config"
)

// Period returns the graphs of a schedule that repeats itself, in order; nil where links drop out by chance, round by round.
func Period(s Schedule) []*Graph {
	switch s := s.(type) {
	case static:
		return []*Graph{s.g}
	case periodic:
		return slices.Clone(s)
	}
	return nil
}

// Mean returns the graph with the mean weights of a schedule's period: who hears whom in some round, and how much on average. It
// is the graph itself where that stays the same. Means of matrices whose columns, or rows, sum to 1 are such matrices. A
// *config.Error refuses schedules that do not repeat.
func Mean(s Schedule) (*Graph, error) {
	period := Period(s)
	switch len(period) {
	case 0:
		return nil, config.Bad("dropout", "links that drop out by chance", "graphs that stay the same, or repeat")
	case 1:
		return period[0], nil
	}
	n := period[0].Agents()
	self, rows := make([]float64, n), make([][]agent.Neighbor, n)
	for i := range n {
		var row []agent.Neighbor
		for _, g := range period {
			self[i] += g.SelfWeight(agent.ID(i))
			row = append(row, g.In(agent.ID(i))...)
		}
		self[i] /= float64(len(period))
		rows[i] = merge(row, float64(len(period)))
	}
	return FromRows(period[0].Name(), self, rows)
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
