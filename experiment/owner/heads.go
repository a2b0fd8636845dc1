package owner

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/internal/jsontext"
	"sotto/node/mark"
	"sotto/node/roster"
	"sotto/privacy/ledger"
)

// Head is what one member has said about its ledger, as a file keeps it.
type Head struct {
	Name       string `json:"name"`
	Provenance string `json:"provenance"`
	// Claim is what its node said when it had finished; nil: it has not.
	Claim *mark.Attestation `json:"claim,omitempty"`
	// Mark is the newest that its node has signed, in the run with this digest.
	Mark *mark.Held `json:"mark,omitempty"`
	Run  string     `json:"run,omitempty"`
}

// known is what the head says of the member's ledger at its latest.
func (h *Head) known() (id string, last ledger.Head, err error) {
	if h.Claim != nil {
		id, last = h.Claim.Head.ID, h.claimed()
	}
	if h.Mark == nil {
		return id, last, nil
	}
	m, err := h.mark(nil)
	if err != nil {
		return "", last, err
	}
	if text := hex.EncodeToString(m.Ledger[:]); id == "" || text == id && m.Head.Seq > last.Seq {
		id, last = text, m.Head
	}
	return id, last, nil
}

// claimed is the head that the member has claimed.
func (h *Head) claimed() (last ledger.Head) {
	last.Seq = h.Claim.Head.Seq
	if b, err := hex.DecodeString(h.Claim.Head.Hash); err == nil && len(b) == len(last.Hash) {
		last.Hash = [32]byte(b)
	}
	return last
}

// Seq is the last record of the member's ledger that it has signed.
func (h *Head) Seq() uint64 {
	_, last, err := h.known()
	if err != nil {
		return 0
	}
	return last.Seq
}

// mark reads the head's mark; with a key it checks the signature too.
func (h *Head) mark(key ed25519.PublicKey) (mark.Mark, error) {
	b, err1 := hex.DecodeString(h.Mark.Signed)
	run, err2 := hex.DecodeString(h.Run)
	if err1 != nil || err2 != nil || len(run) != 32 || len(b) != mark.Size {
		return mark.Mark{}, fmt.Errorf("%w: the mark of %s is not hexadecimal of the right length",
			ledger.ErrCorrupt, h.Name)
	}
	if key == nil {
		return mark.Read(b), nil
	}
	return mark.Parse(b, [32]byte(run), h.Mark.Member, key)
}

// Claimed is the provenance of a [Head].
const Claimed = "claimed by the member: the head is signed, the epsilon is not checked"

// readStrict decodes a JSON file, which is to be what allowed says.
func readStrict(path string, into any, allowed string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return jsontext.Error(path, b, err, allowed)
	}
	return nil
}

func readHeads(path string) ([]Head, error) {
	var all []Head
	err := readStrict(path, &all, "the file heads.json of a state directory")
	return all, err
}

// readClaims returns the claims that the state directory holds, by member.
func (p *process) readClaims() ([]*mark.Attestation, error) {
	var err error
	path := filepath.Join(p.State, headsFile)
	if p.heads, err = readHeads(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if err = aside(path, p.Node.Log, err); err != nil {
			return nil, err
		}
		p.heads = nil
	}
	of := make([]*mark.Attestation, len(p.Roster.Members))
	for _, h := range p.heads {
		if i := slices.Index(p.Roster.Names(), h.Name); i >= 0 {
			of[i] = h.Claim
		}
	}
	return of, nil
}

// keepClaim stores what a member has said.
func (p *process) keepClaim(from agent.ID, c *mark.Attestation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := p.Roster.Members[from].Name
	p.heads.head(name).Claim = c
	p.heads.write(p)
}

// keepMarks stores the newest marks of the members, in the owner's heads.
func (p *process) keepMarks(marks []mark.Held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	origin := p.Roster.Run()
	run, changed, news := hex.EncodeToString(origin[:]), false, false
	for _, m := range marks {
		h := p.heads.head(p.Roster.Members[m.Member].Name)
		if h.Mark == nil || *h.Mark != m {
			h.Mark, h.Run, changed = &m, run, true
			news = p.seen.compare(p, m) || news
		}
	}
	if changed {
		p.heads.write(p)
	}
	if news {
		if err := p.seen.write(p.Policy.Ledger); err != nil {
			p.Node.Log.Error("what was seen of members' ledgers is not kept", "error", err)
		}
	}
}

// formerly are the processes of members that the node knows of before anybody has spoken.
// Their marks may be from before another run on the same ledgers, also where others bring
// them: a ledger that is put back is shown by a further process.
func formerly(marks []mark.Held) map[uint64]bool {
	of := map[uint64]bool{}
	for _, m := range marks {
		if b, err := hex.DecodeString(m.Signed); err == nil && len(b) == mark.Size {
			k := mark.Read(b)
			of[k.Process] = true
		}
	}
	return of
}

// compare holds a member's mark, which its node has verified, against what was seen of
// the member in former runs. p.mu is held.
func (s memory) compare(p *process, m mark.Held) (news bool) {
	b, err := hex.DecodeString(m.Signed)
	if err != nil || len(b) != mark.Size {
		return false
	}
	k, who := mark.Read(b), &p.Roster.Members[m.Member]
	s.renew(who.Former, who.ID)
	wrong, news := s.see(who.ID, p.run(), &k, p.former[k.Process])
	if wrong != "" {
		p.Node.Log.Warn("a peer's ledger is not as it was", "peer", who.Name, "ledger",
			hex.EncodeToString(k.Ledger[:]), "record", k.Head.Seq, "why", wrong)
	}
	return news
}

// headBook is what members have said of their ledgers, by name.
type headBook []Head

// head is that of a member, which is made if it is not there.
func (b *headBook) head(name string) *Head {
	i, found := slices.BinarySearchFunc(*b, name, func(h Head, n string) int {
		return cmp.Compare(h.Name, n)
	})
	if !found {
		*b = slices.Insert(*b, i, Head{Name: name, Provenance: Claimed})
	}
	return &(*b)[i]
}

// write stores the heads in the state directory.
func (b *headBook) write(p *process) {
	text, err := json.MarshalIndent(*b, "", "  ")
	if err == nil {
		err = p.write(headsFile, append(text, '\n'))
	}
	if err != nil {
		p.Node.Log.Error("heads of the members are not kept", "error", err)
	}
}

// claim is what this node tells its neighbors about its ledger when it has finished.
func (p *process) claim() *mark.Attestation {
	c := &mark.Attestation{Head: p.ledger.SignedHead().Bare()} // neighbors know the key
	if s, err := p.ledger.Spent(); err == nil {
		c.Epsilon, c.Delta = s.Epsilon.Upper, s.Delta
	}
	return c
}

// VerifyStatement checks a member's signed statement by itself and, with a file of heads,
// against the head that its node sent, which it returns. key is the member's, one of
// those that the ledger has had; nil: that of the statement itself.
func VerifyStatement(path, heads string, key ed25519.PublicKey) (*ledger.SignedStatement, *Head, error) {
	s, err := rundir.ReadStatement(path)
	if err != nil {
		return nil, nil, err
	}
	if heads == "" {
		return s, nil, s.Verify(key)
	}
	all, err := readHeads(heads)
	if err != nil {
		return nil, nil, err
	}
	h, err := find(all, heads, s.LedgerID)
	if err != nil {
		return nil, nil, err
	}
	if key == nil {
		if key, err = roster.ParsePeerID(s.PublicKey); err != nil {
			return nil, nil, &config.Error{File: path, Key: "public_key", Found: s.PublicKey,
				Allowed: "64 hexadecimal digits"}
		}
	}
	if h.Claim != nil && h.Claim.Head.ID == s.LedgerID {
		head := &h.Claim.Head
		signer, err := roster.ParsePeerID(head.PublicKey) // one of the statement's keys, says Follows
		if err == nil {
			err = errors.Join(head.Verify(signer, nil), s.Follows(head))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	end := s.Statement.Ledger
	if err := h.covers(s.Keys(), s.LedgerID, end.LastSeq, end.Head); err != nil {
		return nil, nil, err
	}
	return s, h, s.Verify(key)
}

// find returns the head of a ledger.
func find(all []Head, file, id string) (*Head, error) {
	for i := range all {
		known, _, err := all[i].known()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if known == id || all[i].Claim != nil && all[i].Claim.Head.ID == id {
			return &all[i], nil
		}
	}
	return nil, fmt.Errorf("%w: %s holds no head of ledger %s", ledger.ErrDataset, file, id)
}

// covers refuses a ledger that ends before the record that its owner's node has signed,
// with one of keys, the ledger's, up to one that was lost.
func (h *Head) covers(keys []ledger.HeldKey, id string, seq uint64, hash string) error {
	if h.Mark == nil {
		return nil
	}
	var m mark.Mark
	var fault error
	for _, k := range slices.Backward(keys) {
		key, err := roster.ParsePeerID(k.PublicKey)
		if err == nil {
			m, err = h.mark(key)
		}
		if err == nil {
			fault = nil
			break
		}
		if fault == nil {
			fault = fmt.Errorf("%w: %w", ledger.ErrKey, err)
		}
		if k.Note != "" {
			fault = fmt.Errorf("%w; record %d: %s", fault, k.Seq, k.Note)
			break
		}
	}
	if fault != nil {
		return fault
	}
	if hex.EncodeToString(m.Ledger[:]) != id {
		return nil
	}
	if m.Head.Seq > seq || m.Head.Seq == seq && m.Head.String() != hash {
		return fmt.Errorf("%w: it ends at record %d %s, its node has signed record %d %s", ledger.ErrRollback,
			seq, hash, m.Head.Seq, m.Head)
	}
	return nil
}

// VerifyLedger holds a ledger, which r says is whole, against what a neighbor's file of
// heads says of it. ledger.ErrRollback: the ledger lacks records that its owner's node
// has signed, or has others in their place.
func VerifyLedger(dir string, r *ledger.Report, heads string) (*Head, error) {
	all, err := readHeads(heads)
	if err != nil {
		return nil, err
	}
	h, err := find(all, heads, r.Genesis.ID)
	if err != nil {
		return nil, err
	}
	if err := h.covers(r.Keys, r.Genesis.ID, r.LastSeq, r.Head); err != nil {
		return nil, err
	}
	var had []ledger.Head
	if h.Claim != nil && h.Claim.Head.ID == r.Genesis.ID {
		had = append(had, h.claimed())
	}
	if h.Mark != nil {
		if m, err := h.mark(nil); err == nil && hex.EncodeToString(m.Ledger[:]) == r.Genesis.ID {
			had = append(had, m.Head)
		}
	}
	for _, last := range had {
		for _, err := range ledger.History(dir, ledger.Options{KnownHead: last}) {
			if err != nil {
				return nil, fmt.Errorf("its node has signed record %d %s: %w", last.Seq, last, err)
			}
		}
	}
	return h, nil
}
