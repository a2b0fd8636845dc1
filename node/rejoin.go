package node

import (
	"sotto/node/checkpoint"
)

// A node that was rolled back goes on with the round that its neighbors know it to have
// reached, without the steps between: their messages are gone. Neighbors may lack what it
// sent for that round and the one before; they get what it has, as of another generation.
// Its algorithm goes on from the state that it has, and the others' messages pull it
// along.

// rejoin implements rejoiner.
func (p *barrier) rejoin(round uint64) error {
	n, from := p.n, p.n.check.Round
	if n.cfg.joins(round) {
		return p.join(round)
	}
	var rounds []uint64 // the last two not after round that somebody hears
	for k := round + 1; k > 0 && len(rounds) < checkpoint.Kept; {
		if k--; k < n.cfg.Rounds && p.ties.heard(k) {
			rounds = append(rounds, k)
		}
		if k == 0 {
			break
		}
	}
	out := sent{round: round}
	if len(rounds) > 0 && rounds[0] == round {
		out, rounds = p.resent(round), rounds[1:]
	}
	var kept [checkpoint.Kept]sent
	for i, k := range rounds {
		kept[checkpoint.Kept-1-i] = p.resent(k)
	}
	n.mu.Lock()
	for i := checkpoint.Kept - len(rounds); i < checkpoint.Kept; i++ {
		kept[i].claim = n.claim.Next(kept[i].round, kept[i].messages)
		n.claim = kept[i].claim
	}
	n.check.Counts.Skipped += round - from
	p.kept = kept
	n.mu.Unlock()
	if err := p.keep(round, out); err != nil {
		return err
	}
	for k := from; k < round; k++ {
		n.report(&RoundReport{Round: k, Skipped: true})
	}
	return nil
}

// rejoin implements rejoiner: the next broadcast is newer than all that were heard.
func (p *ticker) rejoin(wakes uint64) error {
	n := p.n
	n.mu.Lock()
	n.check.Counts.Skipped += wakes - n.check.Round
	n.mu.Unlock()
	out := sent{round: wakes}
	if p.last().messages != nil {
		out = p.resent(wakes)
	}
	return p.keep(wakes, out)
}

// rejoin implements rejoiner: a meeting that the node was in is over.
func (p *pairing) rejoin(wakes uint64) error {
	n := p.n
	if len(n.check.Undo) > 0 {
		if err := n.cfg.Algorithm.LoadState(n.check.Undo); err != nil {
			return err
		}
		n.check.Undo = nil
	}
	n.mu.Lock()
	p.table.awaits, p.table.reply, p.table.busy = nil, nil, false
	n.check.Counts.Skipped += wakes - n.check.Round
	n.mu.Unlock()
	return p.keep(wakes, nil, nil, nil)
}

var _, _, _ rejoiner = (*barrier)(nil), (*ticker)(nil), (*pairing)(nil)
