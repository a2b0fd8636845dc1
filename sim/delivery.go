package sim

import (
	"slices"

	"sotto/agent"
	"sotto/topology"
)

// stepRound delivers the messages of the current round to agent i and steps it.
func (s *rounds) stepRound(w *worker, i int, g *topology.Graph) error {
	id := agent.ID(i)
	view := w.fullView(g, id)
	mixed := s.mixing.sums != nil && s.mixing.sums[i] != nil
	w.inbox, w.returned = w.inbox[:0], w.returned[:0]
	if !mixed {
		s.receive(w, id, g, view.In)
		s.giveBack(w, id, view.Out)
		if len(w.present) < len(view.In) {
			view.Missing = len(view.In) - len(w.present)
			view.SelfWeight += missingWeight(view.In, w.present)
			view.In = w.present
		}
	}
	if gate := s.cfg.Agents[i].Gate; gate != nil {
		gate.Begin(s.round, view.In)
	}
	w.in = agent.Input{Kind: agent.Round, Round: s.round, View: view, Inbox: w.inbox,
		Returned: w.returned, Mixed: mixed}
	return s.step(w, i, g, s.round+1)
}

// from returns what agent j has sent to be delivered to agent i now.
func (s *rounds) from(j, i agent.ID) []agent.Message {
	if s.cfg.GaussSeidel && j < i {
		return s.peers[j].next
	}
	return s.peers[j].sent
}

// receive fills w.inbox, sorted by sender, and w.present with the senders in it, of those
// in row.
func (s *rounds) receive(w *worker, id agent.ID, g *topology.Graph, row []agent.Neighbor) {
	p := &s.peers[id]
	w.present = w.present[:0]
	for _, nb := range row {
		before := len(w.inbox)
		fate, delay := s.faults.fate(s.round, nb.ID, id)
		for _, m := range s.from(nb.ID, id) {
			if m.To != agent.Broadcast && m.To != id {
				continue
			}
			switch fate {
			case arrives:
				w.inbox = append(w.inbox, m)
			case lost:
				p.stats.Dropped++
				s.cfg.tally.lost(nb.ID, id)
			case delayed:
				p.stats.Late++
				s.cfg.tally.late(nb.ID, id)
				m.Body = slices.Clone(m.Body)
				p.pending = append(p.pending, late{s.round + delay, m})
			}
		}
		if fate != arrives && s.reverseArrives(g, id, nb.ID) {
			p.stats.OneSided++
		}
		if len(p.pending) > 0 {
			s.takeLate(w, p, nb.ID, len(w.inbox) > before)
		}
		if len(w.inbox) > before {
			w.present = append(w.present, nb)
		}
	}
	// What is due from agents that this round's graph does not connect is stale as well.
	p.pending = slices.DeleteFunc(p.pending, func(l late) bool {
		due := l.arrives <= s.round
		if due {
			p.stats.Stale++
		}
		return due
	})
}

func (s *rounds) reverseArrives(g *topology.Graph, from, to agent.ID) bool {
	if g.Weight(to, from) == 0 {
		return false
	}
	fate, _ := s.faults.fate(s.round, from, to)
	return fate == arrives
}

// takeLate removes one sender's late messages that are due. The newest is delivered when
// late messages are in use and no message of this round came; the others are stale.
func (s *rounds) takeLate(w *worker, p *peer, from agent.ID, fresh bool) {
	due := func(l late) bool { return l.msg.From == from && l.arrives <= s.round }
	newest, any := uint64(0), false
	for _, l := range p.pending {
		if due(l) {
			newest, any = max(newest, l.msg.Round), true
		}
	}
	use := any && !fresh && s.cfg.Faults.Late == "use"
	p.pending = slices.DeleteFunc(p.pending, func(l late) bool {
		switch {
		case !due(l):
			return false
		case use && l.msg.Round == newest:
			w.inbox = append(w.inbox, l.msg)
		default:
			p.stats.Stale++
		}
		return true
	})
}

// giveBack lists the agent's own messages of this round that the link lost.
func (s *rounds) giveBack(w *worker, id agent.ID, receivers []agent.Neighbor) {
	if s.faults == nil {
		return
	}
	for _, m := range s.peers[id].sent {
		for _, nb := range receivers {
			if m.To != agent.Broadcast && m.To != nb.ID {
				continue
			}
			if fate, _ := s.faults.fate(s.round, id, nb.ID); fate == lost ||
				fate == delayed && s.cfg.Faults.Late != "use" {
				back := m
				back.To = nb.ID
				w.returned = append(w.returned, back)
			}
		}
	}
}

// missingWeight sums the weights of row that are not in present; both are sorted.
func missingWeight(row, present []agent.Neighbor) float64 {
	sum, k := 0., 0
	for _, nb := range row {
		if k < len(present) && present[k].ID == nb.ID {
			k++
		} else {
			sum += nb.Weight
		}
	}
	return sum
}
