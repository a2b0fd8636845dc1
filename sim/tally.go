package sim

import (
	"cmp"
	"slices"

	"sotto/agent"
	"sotto/topology"
)

// Tally counts what goes over single links, for who shows a run: no result depends on it.
// Counts of a direction are written where its sender, or its receiver, is stepped, so
// that workers share none. A nil *Tally counts nothing.
type Tally struct {
	// ways has both directions of link k at 2k, from its first end, and 2k + 1.
	ways []Carried
	from [][]way // by sender, sorted by receiver
}

// way is a direction of a link, by its receiver.
type way struct {
	to agent.ID
	at int32 // in ways
}

// Carried is what went over a link.
type Carried struct {
	Sent  uint64 // messages
	Bytes uint64
	Lost  uint64 // messages that the link dropped
	Late  uint64 // messages that arrived after their round
}

// counted is a simulation's description and what it counts.
type counted struct {
	Config
	tally *Tally
}

// Count implements [Runtime].
func (c *counted) Count(links [][2]int) *Tally {
	c.tally = newTally(len(c.Agents), links)
	return c.tally
}

// newTally counts on the given links between n agents; ends are numbers from 0 to n - 1.
func newTally(n int, links [][2]int) *Tally {
	t := &Tally{ways: make([]Carried, 2*len(links)), from: make([][]way, n)}
	for k, ends := range links {
		i, j := ends[0], ends[1]
		t.from[i] = append(t.from[i], way{agent.ID(j), int32(2 * k)})
		t.from[j] = append(t.from[j], way{agent.ID(i), int32(2*k + 1)})
	}
	for _, ways := range t.from {
		slices.SortFunc(ways, func(a, b way) int { return cmp.Compare(a.to, b.to) })
	}
	return t
}

// Links is what each link has carried in both directions, in the order in which links
// were named.
func (t *Tally) Links() []Carried {
	if t == nil {
		return nil
	}
	all := make([]Carried, len(t.ways)/2)
	for k := range all {
		a, b := t.ways[2*k], t.ways[2*k+1]
		all[k] = Carried{a.Sent + b.Sent, a.Bytes + b.Bytes, a.Lost + b.Lost, a.Late + b.Late}
	}
	return all
}

// way is a direction; nil where it is not counted.
func (t *Tally) way(from, to agent.ID) *Carried {
	if t == nil {
		return nil
	}
	ways := t.from[from]
	k, found := slices.BinarySearchFunc(ways, to, func(w way, to agent.ID) int {
		return cmp.Compare(w.to, to)
	})
	if !found {
		return nil
	}
	return &t.ways[ways[k].at]
}

// sent counts a message of so many bytes.
func (t *Tally) sent(from, to agent.ID, bytes int) {
	if c := t.way(from, to); c != nil {
		c.Sent++
		c.Bytes += uint64(bytes)
	}
}

// posted counts a message to one agent, or to all that hear its sender in a graph.
func (t *Tally) posted(g *topology.Graph, m *agent.Message, bytes int) {
	switch {
	case t == nil:
	case m.To != agent.Broadcast:
		t.sent(m.From, m.To, bytes)
	default:
		for _, w := range t.from[m.From] {
			if g.Weight(w.to, m.From) != 0 {
				c := &t.ways[w.at]
				c.Sent++
				c.Bytes += uint64(bytes)
			}
		}
	}
}

func (t *Tally) lost(from, to agent.ID) {
	if c := t.way(from, to); c != nil {
		c.Lost++
	}
}

func (t *Tally) late(from, to agent.ID) {
	if c := t.way(from, to); c != nil {
		c.Late++
	}
}
