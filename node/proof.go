package node

import (
	"encoding/hex"

	"sotto/agent"
	"sotto/node/mark"
)

// compare holds a member's mark against those that came before. A proof is returned once.
// Node.mu is held.
func (w *witness) compare(i agent.ID, h *mark.Signed) *mark.Proof {
	n := w.n
	a := &n.known[i]
	old := a.Contradiction(&h.Mark)
	if old == nil || a.lied {
		return nil
	}
	a.lied = true
	n.cfg.Log.Error("a peer gave one round two contents: it lies, or two processes have its key", "peer",
		n.name(i), "round", h.Sent)
	if n.cfg.DropLiars {
		if l := n.links[i]; l != nil {
			l.queue = nil
			n.cfg.Log.Error("a peer is left out, as the owner's policy says", "peer", n.name(i))
		}
	}
	n.signal()
	origin := n.cfg.origin()
	return &mark.Proof{
		Run:    hex.EncodeToString(origin[:]),
		Name:   n.name(i),
		Member: i,
		Marks:  [2]string{hex.EncodeToString(old.Bytes), hex.EncodeToString(h.Bytes)},
	}
}

// accuse hands a proof to whoever keeps it.
func (w *witness) accuse(p *mark.Proof) {
	n := w.n
	if p != nil && n.cfg.OnProof != nil {
		n.cfg.OnProof(p)
	}
}
