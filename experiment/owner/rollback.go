package owner

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"sotto/node/mark"
	"sotto/privacy/ledger"
)

// book is what the owner's ledger has come to, for the node to sign.
func (p *process) book() mark.Book {
	b := mark.Book{Head: p.ledger.Head(), Charges: p.ledger.Charges(p.run()), Total: p.ledger.Total()}
	hex.Decode(b.Ledger[:], []byte(p.ledger.Genesis().ID)) // 32 digits, checked when it was opened
	return b
}

// rolledBack brings the ledger to have what one of the node's own marks, which somebody
// held, shows that it lacks: missing charges of this run, as a record that says so.
// Nobody knows the price of charges of other runs: ledger.ErrRollback.
func (p *process) rolledBack(m *mark.Mark, missing, others uint64) error {
	have := p.book()
	if others > 0 {
		return fmt.Errorf("%w: the ledger lacks %d charges of other runs, whose price nobody here knows; "+
			"allowed: the newest ledger of these data", ledger.ErrRollback, others)
	}
	if missing == 0 && (m.Ledger == have.Ledger && m.Head.Seq <= have.Head.Seq) {
		return nil // the state alone was older
	}
	evidence := m.Digest()
	return p.RollBack(p.ledger, missing, ledger.RolledBack{
		Run:      p.run(),
		Round:    m.Round,
		From:     max(m.Head.Seq, have.Head.Seq+1),
		To:       have.Head.Seq,
		Evidence: evidence[:],
	})
}

// keepProof stores what shows that a member gave one round two contents.
func (p *process) keepProof(proof *mark.Proof) {
	name := "proof-" + p.Roster.Members[proof.Member].Name + ".json"
	b, err := json.MarshalIndent(proof, "", "  ")
	if err == nil {
		err = p.write(name, append(b, '\n'))
	}
	if err != nil {
		p.Node.Log.Error("a proof is not kept", "peer", proof.Name, "error", err)
		return
	}
	p.Node.Log.Error("the proof is kept", "peer", proof.Name, "file", name)
}
