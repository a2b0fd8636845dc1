package node

import (
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
)

// turns say, in a run whose wakes are recorded beforehand, which broadcast of each
// neighbor a wake takes in. Broadcast v of an agent is that of its wake number v, counted
// from 1, and 0 that of its start. Where the graph has both directions of every link, no
// neighbor can send a later one before this agent has taken its own turn: the list is a
// barrier as tight as rounds.
type turns struct {
	own   uint64                // wakes of this agent
	needs map[agent.ID][]uint64 // by neighbor: the broadcast that each of this agent's wakes takes in
	asked map[agent.ID][]bool   // by neighbor: whether it takes in each of this agent's broadcasts
}

// newTurns reads the list of who wakes, in order, for one agent.
func newTurns(wakes []agent.ID, g *topology.Graph, self agent.ID) (*turns, error) {
	if g.Directed() {
		return nil, config.Bad("graph", g.Name(), "links in both directions, where wakes are recorded")
	}
	t := &turns{needs: map[agent.ID][]uint64{}, asked: map[agent.ID][]bool{}}
	count := make([]uint64, g.Agents())
	mark := func(i agent.ID, v uint64) {
		for uint64(len(t.asked[i])) <= v {
			t.asked[i] = append(t.asked[i], false)
		}
		t.asked[i][v] = true
	}
	for k, i := range wakes {
		if int(i) >= len(count) {
			return nil, config.Bad(fmt.Sprintf("wakes[%d]", k), i, fmt.Sprintf("0 to %d", len(count)-1))
		}
		if i == self {
			for _, nb := range g.In(self) {
				t.needs[nb.ID] = append(t.needs[nb.ID], count[nb.ID])
			}
		} else if g.Weight(i, self) != 0 {
			mark(i, count[self])
		}
		count[i]++
	}
	t.own = count[self]
	return t, nil
}

// asks reports whether a neighbor takes in broadcast v.
func (t *turns) asks(i agent.ID, v uint64) bool {
	return v < uint64(len(t.asked[i])) && t.asked[i][v]
}

// noneExpected is after every frame.
const noneExpected = ^uint64(0)

// expected is the round of the frame that turn k waits for from a neighbor: k itself in
// rounds, and by a clock, which waits for none, that of the last one that was taken in.
func (n *Node) expected(l *link, k uint64) uint64 {
	switch {
	case n.clock != nil:
		return l.mail.now.round
	case n.turns == nil:
		return k
	case k >= n.turns.own:
		return noneExpected
	}
	return n.turns.needs[l.id][k]
}

// turn completes one recorded wake: the newest broadcast of every neighbor as of its
// place in the list, a step, the new broadcast. An agent that is done sends its last
// broadcast on, because neighbors wait for it by number.
func (n *Node) turn() error {
	k := n.check.Round
	if n.check.Done {
		return n.keep(k+1, n.again(k+1))
	}
	n.inbox = n.inbox[:0]
	n.mu.Lock()
	for _, nb := range n.cfg.Graph.In(n.cfg.Self) {
		n.inbox = append(n.inbox, n.links[nb.ID].mail.now.msgs...)
	}
	n.mu.Unlock()
	return n.wake(&RoundReport{Round: k})
}

// wake steps the algorithm with what is in n.inbox and keeps what it broadcasts. Where it
// broadcasts nothing its last message stands.
func (n *Node) wake(report *RoundReport) error {
	g, i, k := n.cfg.Graph, n.cfg.Self, n.check.Round
	n.in = agent.Input{Kind: agent.Wake, Round: k, Peer: agent.Broadcast, Inbox: n.inbox,
		View: &agent.View{SelfWeight: g.SelfWeight(i), In: g.In(i), Out: g.Out(i)}}
	n.cfg.Gate.Begin(k, g.In(i))
	if err := n.settle(report); err != nil {
		return fmt.Errorf("wake %d: %w", k, err)
	}
	n.check.Done = n.out.Done // of this goroutine alone
	out, err := n.kept[keptRounds-1], error(nil)
	switch {
	case len(n.out.Outbox) > 0:
		out, err = n.pack(n.out.Outbox, k+1)
	case n.turns != nil:
		out = n.again(k + 1)
	}
	if err == nil {
		err = n.keep(k+1, out)
	}
	if err != nil {
		return fmt.Errorf("wake %d: %w", k, err)
	}
	if n.cfg.OnRound != nil {
		n.cfg.OnRound(*report)
	}
	return nil
}

// again returns what was sent last as the messages of another round.
func (n *Node) again(round uint64) sent {
	messages := []byte{}
	for b := n.kept[keptRounds-1].messages; len(b) > 0; {
		var m agent.Message
		size, err := agent.DecodeMessage(b, n.maxValues, &m)
		if err != nil {
			panic("node: a stored outbox does not decode: " + err.Error()) // its checksum fits
		}
		m.Round = round
		messages, b = n.encode(messages, &m), b[size:]
	}
	return sent{round: round, messages: messages}
}
