package ledger

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"

	"sotto/config"
	"sotto/privacy/account"
)

// SignedStatement is a privacy statement, tied to a ledger and a data set by the owner's
// signature.
type SignedStatement struct {
	Statement account.Statement `json:"statement"`
	LedgerID  string            `json:"ledger_id"`         // Genesis.ID
	Dataset   string            `json:"dataset,omitempty"` // first half of the Fingerprint's tag
	PublicKey string            `json:"public_key"`        // Ed25519, hexadecimal
	Signature string            `json:"signature,omitempty"`
}

// text is what the signature covers and the ledger records the digest of.
func (s SignedStatement) text() ([]byte, error) {
	s.Signature = ""
	return json.Marshal(s)
}

func statementMessage(text []byte) []byte {
	return append([]byte("sotto privacy statement\n"), text...)
}

// Verify checks the signature against owner, or against the key in s if owner is nil,
// which then proves only that s is unchanged. ErrKey: another owner. ErrCorrupt: the
// signature does not fit.
func (s *SignedStatement) Verify(owner ed25519.PublicKey) error {
	text, err := s.text()
	if err != nil {
		return err
	}
	return checkSignature(s.PublicKey, s.Signature, owner, statementMessage(text))
}

// Follows checks that s knows of every record that its owner's ledger is known to have
// had, by a head that both have verified. ErrDataset: of another ledger. ErrRollback: it
// was made without some of the records, or from another history.
func (s *SignedStatement) Follows(h *SignedHead) error {
	r := s.Statement.Ledger
	switch {
	case s.LedgerID != h.ID:
		return fmt.Errorf("%w: a statement of ledger %s, allowed: %s", ErrDataset, s.LedgerID, h.ID)
	case r.LastSeq < h.Seq, r.LastSeq == h.Seq && r.Head != h.Hash:
		return fmt.Errorf("%w: the statement ends at record %d %s, the ledger's head was %d %s", ErrRollback,
			r.LastSeq, r.Head, h.Seq, h.Hash)
	}
	return nil
}

// Digest is what the ledger's statement record says about s.
func (s *SignedStatement) Digest() (string, error) {
	text, err := s.text()
	return digest(text), err
}

func checkSignature(key, signature string, owner ed25519.PublicKey, message []byte) error {
	k, err1 := hex.DecodeString(key)
	sig, err2 := hex.DecodeString(signature)
	switch {
	case err1 != nil || err2 != nil || len(k) != ed25519.PublicKeySize:
		return fmt.Errorf("%w: public key or signature is not hexadecimal of the right length", ErrCorrupt)
	case owner != nil && !owner.Equal(ed25519.PublicKey(k)):
		return fmt.Errorf("%w: signed by %s, allowed: %x", ErrKey, key, []byte(owner))
	case !ed25519.Verify(k, message, sig):
		return fmt.Errorf("%w: the signature does not fit", ErrCorrupt)
	}
	return nil
}

// Statement states epsilon at the lifetime delta for everything charged so far, over all
// runs, and records that it did. noise is "exact", "fast" or "simulated", as for
// account.NewStatement; notCovered is what the runtime leaves open.
// account.ErrUnsupported: no accountant has a proof for the charges.
func (f *File) Statement(noise string, notCovered ...string) (SignedStatement, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(); err != nil {
		return SignedStatement{}, err
	}
	c := f.chain
	acc, name, eps, err := c.epsilon(f.opt.Accountant)
	if err == nil && acc == nil {
		err = fmt.Errorf("%w: no accountant has a proof for the charges of %s", account.ErrUnsupported, f.dir)
	}
	if err != nil {
		return SignedStatement{}, err
	}
	delta := c.genesis.Budget.Delta
	s, err := account.NewStatement(acc, c.genesis.Adjacency, c.genesis.Unit, delta, noise)
	if err != nil {
		return SignedStatement{}, err
	}
	head := c.head()
	s.Sampler, s.Releases = c.samplers(), int(min(c.charges, math.MaxInt))
	s.Ledger = account.LedgerRange{FirstSeq: 1, LastSeq: head.Seq, Head: head.String()}
	s.Overrides = append(s.Overrides, c.overrides...)
	s.NotCovered = append(append(s.NotCovered, notCovered...),
		"releases that are not in this ledger, and the deletion of ledgers by their owner")
	signed := SignedStatement{
		Statement: s,
		LedgerID:  c.genesis.ID,
		Dataset:   c.dataset[:len(c.dataset)/2],
		PublicKey: c.genesis.PublicKey,
	}
	text, err := signed.text()
	if err != nil {
		return SignedStatement{}, err
	}
	_, err = f.write(Stated, func(e *entry) *tally {
		e.Claim = &Claim{
			Accountant: name,
			Delta:      delta,
			Epsilon:    account.StatedInterval(eps),
			Version:    account.Version,
		}
		e.Digest = digest(text)
		return nil
	})
	if err != nil {
		return SignedStatement{}, err
	}
	signed.Signature = hex.EncodeToString(ed25519.Sign(f.opt.Key, statementMessage(text)))
	return signed, nil
}

// SignedHead is how long a ledger was at some time, for peers to hold: a ledger whose
// head goes back was copied or cut. It tells the peer how many records there are, and
// nothing of what is in them.
type SignedHead struct {
	ID        string `json:"id"` // of the genesis
	Seq       uint64 `json:"seq"`
	Hash      string `json:"hash"`
	PublicKey string `json:"public_key"`
	Signature string `json:"signature"`
}

func (h *SignedHead) message() []byte {
	return fmt.Appendf(nil, "sotto ledger head\n%s\n%d\n%s\n", h.ID, h.Seq, h.Hash)
}

// SignedHead returns the present head.
func (f *File) SignedHead() SignedHead {
	head := f.Head()
	h := SignedHead{
		ID:        f.chain.genesis.ID,
		Seq:       head.Seq,
		Hash:      head.String(),
		PublicKey: f.chain.genesis.PublicKey,
	}
	h.Signature = hex.EncodeToString(ed25519.Sign(f.opt.Key, h.message()))
	return h
}

// Verify checks the signature against owner and that h does not go back behind last, the
// head held before; nil for the first one. A peer sees lengths and hashes only, so
// another history of at least the same length passes: the owner itself finds it with
// Options.KnownHead. ErrKey, ErrCorrupt, ErrDataset (another ledger), ErrRollback.
func (h *SignedHead) Verify(owner ed25519.PublicKey, last *SignedHead) error {
	if owner == nil {
		return config.Bad("owner", "nothing", "the owner's public key")
	}
	if err := checkSignature(h.PublicKey, h.Signature, owner, h.message()); err != nil || last == nil {
		return err
	}
	switch {
	case h.ID != last.ID:
		return fmt.Errorf("%w: head of ledger %s, allowed: %s", ErrDataset, h.ID, last.ID)
	case h.Seq < last.Seq, h.Seq == last.Seq && h.Hash != last.Hash:
		return fmt.Errorf("%w: head %d %s after head %d %s", ErrRollback, h.Seq, h.Hash, last.Seq, last.Hash)
	}
	return nil
}
