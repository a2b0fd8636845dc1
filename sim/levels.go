package sim

import (
	"sotto/agent"
	"sotto/topology"
)

// levels orders the wakes of a batch for parallel running. A wake writes its own agents
// and reads those that a waking one hears; it goes to the lowest level above every
// earlier wake that wrote what it touches or read what it writes. Wakes of one level
// touch nothing of each other's, and every wake finds what the sequence would show it.
type levels struct {
	wrote, read []uint64 // by agent: the highest level of a wake that did, counted over all batches
	top         uint64   // highest level so far
	of          []uint64 // by wake of the batch
	order       []int32
	rows        topology.Rows
	ends        []int
}

func newLevels(agents int) levels {
	return levels{wrote: make([]uint64, agents), read: make([]uint64, agents)}
}

// sort returns the batch's wakes in order of their levels, each level in order of time,
// and where each level ends. Both are valid until the next call.
func (l *levels) sort(wakes []Wake, g *topology.Graph) (order []int32, ends []int) {
	base := l.top
	l.of, l.ends = l.of[:0], l.ends[:0]
	for _, w := range wakes {
		pair := w.Peer != agent.Broadcast
		at := max(base, l.wrote[w.Agent], l.read[w.Agent])
		if pair {
			at = max(at, l.wrote[w.Peer], l.read[w.Peer])
		} else {
			for _, nb := range l.rows.In(g, w.Agent) {
				at = max(at, l.wrote[nb.ID])
			}
		}
		at++
		l.wrote[w.Agent] = at
		if pair {
			l.wrote[w.Peer] = at
		} else {
			for _, nb := range l.rows.In(g, w.Agent) {
				l.read[nb.ID] = max(l.read[nb.ID], at)
			}
		}
		l.top = max(l.top, at)
		l.of = append(l.of, at-base-1)
	}
	for range l.top - base {
		l.ends = append(l.ends, 0)
	}
	for _, at := range l.of {
		l.ends[at]++
	}
	sum := 0
	for k, c := range l.ends {
		l.ends[k] = sum // where the level begins, until it is filled
		sum += c
	}
	if cap(l.order) < len(wakes) {
		l.order = make([]int32, len(wakes))
	}
	l.order = l.order[:len(wakes)]
	for k, at := range l.of {
		l.order[l.ends[at]] = int32(k)
		l.ends[at]++
	}
	return l.order, l.ends
}
