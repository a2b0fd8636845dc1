package ledger

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"sotto/config"
	"sotto/privacy/account"
)

// SignedStatement is a privacy statement, tied to a ledger and a data set by the owner's
// signature.
type SignedStatement struct {
	Statement account.Statement `json:"statement"`
	LedgerID  string            `json:"ledger_id"`         // Genesis.ID
	Dataset   string            `json:"dataset,omitempty"` // first half of the Fingerprint's tag
	Model     string            `json:"model,omitempty"`   // see About.Model
	PublicKey string            `json:"public_key"`        // Ed25519, hexadecimal; it has signed
	// Rotations are those of the ledger's key so far: they lead from former keys to
	// PublicKey.
	Rotations []Rotation `json:"rotations,omitempty"`
	Signature string     `json:"signature,omitempty"`
}

// ReadStatement decodes a statement, whose signature is still to be verified. The
// signature covers what is decoded, so that b has to be its one spelling, but for spaces:
// other readers find the same in it. ErrCorrupt: it has another spelling, as a key twice;
// others: it is no statement.
func ReadStatement(b []byte) (*SignedStatement, error) {
	s, compact, found := new(SignedStatement), bytes.Buffer{}, bytes.Buffer{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, err
	}
	if err := json.Compact(&compact, b); err != nil {
		return nil, err
	}
	json.HTMLEscape(&found, compact.Bytes())
	want, err := json.Marshal(s)
	if err == nil && !bytes.Equal(found.Bytes(), want) {
		err = fmt.Errorf("%w: the statement is not spelled as it was signed: a key twice, unknown, in other "+
			"letters or in another place", ErrCorrupt)
	}
	return s, err
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
// which then proves only that s is unchanged. owner may be a former key: then s must hold
// the rotations that lead to the one that signed, each with the signature of the key
// before it. ErrKey: another owner, or one of whose keys was lost on the way. ErrCorrupt:
// a signature does not fit.
func (s *SignedStatement) Verify(owner ed25519.PublicKey) error {
	text, err := s.text()
	if err != nil {
		return err
	}
	x := signedText{s.LedgerID, s.Statement.Ledger.LastSeq, s.PublicKey, s.Signature, s.Rotations}
	return x.check(owner, statementMessage(text))
}

// Keys returns the keys of the ledger that s names, the first one first; the last one has
// signed s.
func (s *SignedStatement) Keys() []HeldKey {
	return carried(s.Rotations).keys(s.PublicKey)
}

// Follows checks that s knows of every record that its owner's ledger is known to have
// had, by a head that has been verified like s. The head may be signed by the key that
// held at its record, from which the rotations in s lead to its own. ErrDataset: of
// another ledger. ErrRollback: it was made without some of the records, or from another
// history. ErrKey: s does not lead from the head's key to its own, or a key was lost on
// the way.
func (s *SignedStatement) Follows(h *SignedHead) error {
	r := s.Statement.Ledger
	switch {
	case s.LedgerID != h.ID:
		return fmt.Errorf("%w: a statement of ledger %s, allowed: %s", ErrDataset, s.LedgerID, h.ID)
	case r.LastSeq < h.Seq, r.LastSeq == h.Seq && r.Head != h.Hash:
		return fmt.Errorf("%w: the statement ends at record %d %s, the ledger's head was %d %s", ErrRollback,
			r.LastSeq, r.Head, h.Seq, h.Hash)
	}
	if err := carried(s.Rotations).heldAt(h, s.PublicKey); err != nil || h.PublicKey == "" {
		return err
	}
	return carried(s.Rotations).lead(h.PublicKey, s.PublicKey)
}

// Digest is what the ledger's statement record says about s.
func (s *SignedStatement) Digest() (string, error) {
	text, err := s.text()
	return digest(text), err
}

// signedText is who signed a statement or a head, and what ties the key to former ones.
type signedText struct {
	id        string // of the ledger
	last      uint64 // its last record then
	key       string
	signature string
	rotations carried
}

// check checks the signature under message, from the key that is trusted; nil: whichever.
func (x *signedText) check(owner ed25519.PublicKey, message []byte) error {
	k, err1 := hex.DecodeString(x.key)
	_, err2 := hex.DecodeString(x.signature)
	if err1 != nil || err2 != nil || len(k) != ed25519.PublicKeySize {
		return fmt.Errorf("%w: public key or signature is not hexadecimal of the right length", ErrCorrupt)
	}
	if err := x.rotations.check(x.id, x.last, x.key); err != nil {
		return err
	}
	if owner != nil && !owner.Equal(ed25519.PublicKey(k)) {
		if err := x.rotations.lead(hex.EncodeToString(owner), x.key); err != nil {
			return err
		}
	}
	if !signedBy(k, message, x.signature) {
		return fmt.Errorf("%w: the signature does not fit", ErrCorrupt)
	}
	return nil
}

// About is what a statement says beside what its ledger knows.
type About struct {
	Noise      string   // exact, fast or simulated, as for account.NewStatement
	Model      string   // SHA-256 of the file of the model that was released, hexadecimal; "": of none
	NotCovered []string // what the runtime leaves open
}

// Statement states epsilon at the lifetime delta for everything charged so far, over all
// runs, and records that it did. account.ErrUnsupported: no accountant has a proof for
// the charges.
func (f *File) Statement(about About) (SignedStatement, error) {
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
	s, err := account.NewStatement(acc, c.genesis.Adjacency, c.genesis.Unit, delta, about.Noise)
	if err != nil {
		return SignedStatement{}, err
	}
	head := c.head()
	s.Sampler, s.Releases = c.samplers(), int(min(c.charges, math.MaxInt))
	s.Ledger = account.LedgerRange{FirstSeq: 1, LastSeq: head.Seq, Head: head.String()}
	s.Overrides = append(s.Overrides, c.overrides...)
	s.NotCovered = append(append(s.NotCovered, about.NotCovered...),
		"releases that are not in this ledger, and the deletion of ledgers by their owner",
		"a number of releases that followed from the releases before them, as where somebody decides by "+
			"results whether to go on: the lifetime budget holds for every such choice, this epsilon "+
			"for a number that was fixed")
	signed := SignedStatement{
		Statement: s,
		LedgerID:  c.genesis.ID,
		Dataset:   c.dataset[:len(c.dataset)/2],
		Model:     about.Model,
		PublicKey: hex.EncodeToString(c.key),
		Rotations: slices.Clip(c.rotations),
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
	PublicKey string `json:"public_key"` // has signed
	Signature string `json:"signature"`
	// Rotations are those of the ledger's key so far: they lead from former keys to
	// PublicKey. The signature does not cover them; they have their own.
	Rotations []Rotation `json:"rotations,omitempty"`
}

func (h *SignedHead) message() []byte {
	return fmt.Appendf(nil, "sotto ledger head\n%s\n%d\n%s\n", h.ID, h.Seq, h.Hash)
}

// SignedHead returns the present head, with all rotations.
func (f *File) SignedHead() SignedHead {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.chain
	head := c.head()
	h := SignedHead{
		ID:        c.id,
		Seq:       head.Seq,
		Hash:      head.String(),
		PublicKey: hex.EncodeToString(c.key),
		Rotations: slices.Clip(c.rotations),
	}
	h.Signature = hex.EncodeToString(ed25519.Sign(f.opt.Key, h.message()))
	return h
}

// Verify checks the signature against owner, who may be known by a former key as for
// SignedStatement.Verify, and that h does not go back behind last, the head held before;
// nil for the first one. A peer sees lengths and hashes only, so another history of at
// least the same length passes: the owner itself finds it with Options.KnownHead. ErrKey
// (also for a key that was rotated, as last says), ErrCorrupt, ErrDataset (another
// ledger), ErrRollback.
func (h *SignedHead) Verify(owner ed25519.PublicKey, last *SignedHead) error {
	if owner == nil {
		return config.Bad("owner", "nothing", "the owner's public key")
	}
	x := signedText{h.ID, h.Seq, h.PublicKey, h.Signature, h.Rotations}
	if err := x.check(owner, h.message()); err != nil || last == nil {
		return err
	}
	switch {
	case h.ID != last.ID:
		return fmt.Errorf("%w: head of ledger %s, allowed: %s", ErrDataset, h.ID, last.ID)
	case h.Seq < last.Seq, h.Seq == last.Seq && h.Hash != last.Hash:
		return fmt.Errorf("%w: head %d %s after head %d %s", ErrRollback, h.Seq, h.Hash, last.Seq, last.Hash)
	}
	for _, r := range last.Rotations {
		if r.OldKey == h.PublicKey {
			return fmt.Errorf("%w: the head is signed by %s, which was rotated at record %d to %s", ErrKey,
				h.PublicKey, r.Seq, r.NewKey)
		}
	}
	return nil
}

// Bare is h without rotations, for who knows the present key. It is as short as a head
// of a ledger whose key was never rotated, and reads as one.
func (h SignedHead) Bare() SignedHead {
	h.Rotations = nil
	return h
}
