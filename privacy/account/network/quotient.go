package network

import (
	"encoding/binary"
	"math"
	"slices"
)

// step is a move of the token from one class of agents to another.
type step struct {
	to int
	p  float64
}

// Classes of the observer and of the observed agent, alone in them.
const (
	classOfV = iota
	classOfU
	classOfOthers
)

// maxWork bounds the multiplications spent on one pair.
const maxWork = 5e7

// quotient is the walk over classes of agents that go to each class with the same
// probability, the coarsest in which u and v are alone (colour refinement): three classes
// on the complete graph, one for each agent where none are alike. size is the number of
// its moves.
func (w *WalkMixture) quotient(u, v int) (rows [][]step, size int) {
	class := make([]int, w.Agents)
	for i := range class {
		class[i] = classOfOthers
	}
	class[v], class[u] = classOfV, classOfU
	count := classOfOthers + 1
	sums := make([]float64, w.Agents)
	for {
		ids := map[string]int{}
		next := make([]int, w.Agents)
		rows = rows[:0]
		size = 1
		for _, i := range w.order(u, v) {
			moves := w.moves(i, class, sums)
			key := binary.LittleEndian.AppendUint64(nil, uint64(class[i]))
			for _, m := range moves {
				key = binary.LittleEndian.AppendUint64(key, uint64(m.to))
				key = binary.LittleEndian.AppendUint64(key, math.Float64bits(m.p))
			}
			id, ok := ids[string(key)]
			if !ok {
				id = len(ids)
				ids[string(key)] = id
				rows = append(rows, moves)
				size += len(moves)
			}
			next[i] = id
		}
		if len(ids) == count { // no class was split, and classes are numbered as before
			return rows, size
		}
		class, count = next, len(ids)
	}
}

// order lists all agents, v and u first, so that they have the first classes.
func (w *WalkMixture) order(u, v int) []int {
	all := []int{v, u}
	for i := range w.Agents {
		if i != u && i != v {
			all = append(all, i)
		}
	}
	return all
}

// moves are agent i's probabilities of going to each class, by class. sums is scratch of
// zeros, and left so.
func (w *WalkMixture) moves(i int, class []int, sums []float64) []step {
	var out []step
	add := func(to int, p float64) {
		if p == 0 {
			return
		}
		if sums[to] == 0 {
			out = append(out, step{to: to})
		}
		sums[to] += p
	}
	if r, has := w.Hops.row(i); has {
		for _, l := range r.In {
			add(class[l.From], l.Weight.Value)
		}
		add(class[i], r.Self.Value)
	} else {
		add(class[i], 1)
	}
	slices.SortFunc(out, func(a, b step) int { return a.to - b.to })
	for k := range out {
		out[k].p = sums[out[k].to]
		sums[out[k].to] = 0
	}
	return out
}
