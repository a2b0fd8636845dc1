package ledger

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sotto/config"
)

// Rotation replaces the key of a ledger by another one. It is a record of the ledger, and
// goes with statements and heads, so that whoever holds the old key learns the new one.
// Both keys have signed it, each over
//
//	"sotto ledger key\n" id "\n" seq "\n" prev "\n" old_key "\n" new_key "\n"
//
// with the ledger's id, seq as a decimal number and the others in hexadecimal. If the old
// key was lost the new one alone has signed
//
//	"sotto ledger lost key\n" id "\n" seq "\n" prev "\n" old_key "\n" new_key "\n"
//	note "\n"
type Rotation struct {
	Seq uint64 `json:"seq"` // number of the record; NewKey holds from there on
	// Prev is the hash of the record before, 64 hexadecimal digits in lower case.
	Prev         string `json:"prev"`
	OldKey       string `json:"old_key"`                 // Ed25519, likewise
	NewKey       string `json:"new_key"`                 // likewise
	OldSignature string `json:"old_signature,omitempty"` // 128 digits; "": the old key was lost
	NewSignature string `json:"new_signature"`
	Note         string `json:"note,omitempty"` // of a lost key, what statements say of it; else ""
}

// Lost reports whether the old key was lost: then nothing but the owner's word ties the
// new key to it.
func (r *Rotation) Lost() bool { return r.Note != "" }

// HeldKey is a key of a ledger, with the place from which it holds.
type HeldKey struct {
	Seq       uint64 `json:"seq"`            // of the record from which on it holds; 1: the first key
	PublicKey string `json:"public_key"`     // Ed25519, hexadecimal
	Note      string `json:"note,omitempty"` // why it came without the key before it, "" if it did not
}

// lostNote is what statements say of a key that was replaced without the old one.
const lostNote = "key replaced without the old key: "

// maxReason bounds the reason in a lostNote, in bytes.
const maxReason = 200

func checkReason(note string) bool {
	reason, ok := strings.CutPrefix(note, lostNote)
	return ok && reason != "" && len(reason) <= maxReason && utf8.ValidString(reason) &&
		!strings.ContainsFunc(reason, unicode.IsControl)
}

// message is what the keys of r sign, for the ledger with an id.
func (r *Rotation) message(id string) []byte {
	domain, note := "sotto ledger key\n", ""
	if r.Lost() {
		domain, note = "sotto ledger lost key\n", r.Note+"\n"
	}
	return fmt.Appendf(nil, "%s%s\n%d\n%s\n%s\n%s\n%s", domain, id, r.Seq, r.Prev, r.OldKey, r.NewKey, note)
}

// sign completes r, whose Seq, Prev and Note are set. before is nil for a lost key.
func (r *Rotation) sign(id string, from ed25519.PublicKey, before, next ed25519.PrivateKey) {
	r.OldKey, r.NewKey = hex.EncodeToString(from), hex.EncodeToString(publicKey(next))
	message := r.message(id)
	if !r.Lost() {
		r.OldSignature = hex.EncodeToString(ed25519.Sign(before, message))
	}
	r.NewSignature = hex.EncodeToString(ed25519.Sign(next, message))
}

// check says what is wrong with r by itself, as a rotation of the ledger with an id.
func (r *Rotation) check(id string) error {
	from, err1 := parseKey(r.OldKey)
	to, err2 := parseKey(r.NewKey)
	if err1 != nil || err2 != nil || r.OldKey == r.NewKey {
		return errors.New("the keys are not two of 64 hexadecimal digits")
	}
	if r.Lost() != (r.OldSignature == "") || r.Lost() && !checkReason(r.Note) {
		return fmt.Errorf("has neither the old key's signature nor a note that begins with %q", lostNote)
	}
	message := r.message(id)
	if !r.Lost() && !signedBy(from, message, r.OldSignature) {
		return errors.New("the old key's signature does not fit")
	}
	if !signedBy(to, message, r.NewSignature) {
		return errors.New("the new key's signature does not fit")
	}
	return nil
}

// parseKey reads a public key from hexadecimal digits in lower case.
func parseKey(text string) (ed25519.PublicKey, error) {
	k, err := hex.DecodeString(text)
	if err != nil || len(k) != ed25519.PublicKeySize || hex.EncodeToString(k) != text {
		return nil, fmt.Errorf("%q are not %d hexadecimal digits", text, 2*ed25519.PublicKeySize)
	}
	return k, nil
}

func signedBy(key ed25519.PublicKey, message []byte, signature string) bool {
	s, err := hex.DecodeString(signature)
	return err == nil && ed25519.Verify(key, message, s)
}

// keyring is the keys of a ledger as far as its chain has come.
type keyring struct {
	id        string
	key       ed25519.PublicKey // holds now
	rotations []Rotation
}

// keyringOf is that of a ledger whose key has not been rotated.
func keyringOf(g *Genesis) keyring { return keyring{id: g.ID, key: g.key()} }

// had reports whether the ledger has had a key, or has it now.
func (k *keyring) had(key ed25519.PublicKey) bool {
	text := hex.EncodeToString(key)
	return k.key.Equal(key) ||
		slices.ContainsFunc(k.rotations, func(r Rotation) bool { return r.OldKey == text })
}

// neverHad refuses a key that the ledger in dir has had before: whoever left it may have
// lost it.
func (k *keyring) neverHad(dir string, key ed25519.PublicKey) error {
	if !k.had(key) {
		return nil
	}
	return config.Bad("new key", hex.EncodeToString(key), "a key that "+dir+" has never had")
}

// rotate takes the next rotation in, or says what is wrong with it.
func (k *keyring) rotate(r Rotation) error {
	err := k.allows(&r)
	if err == nil {
		k.take(r)
	}
	return err
}

// take takes a rotation in that allows has passed, or that was made here.
func (k *keyring) take(r Rotation) {
	k.key, _ = parseKey(r.NewKey)
	k.rotations = append(k.rotations, r)
}

// allows says what is wrong with r as the next rotation.
func (k *keyring) allows(r *Rotation) error {
	if r.OldKey != hex.EncodeToString(k.key) {
		return fmt.Errorf("replaces the key %s, allowed: %x", r.OldKey, []byte(k.key))
	}
	if n := len(k.rotations); n > 0 && r.Seq <= k.rotations[n-1].Seq {
		return fmt.Errorf("replaces a key at record %d after %d", r.Seq, k.rotations[n-1].Seq)
	}
	if err := r.check(k.id); err != nil {
		return err
	}
	to, err := parseKey(r.NewKey)
	if err != nil {
		return err
	}
	if k.had(to) {
		return fmt.Errorf("goes back to the key %s, which was rotated before", r.NewKey)
	}
	return nil
}

// keys lists the keys, the first one first.
func (k *keyring) keys() []HeldKey {
	return carried(k.rotations).keys(hex.EncodeToString(k.key))
}

// keys lists the keys that c names, for who signed after it.
func (c carried) keys(signer string) []HeldKey {
	if len(c) == 0 {
		return []HeldKey{{Seq: 1, PublicKey: signer}}
	}
	all := []HeldKey{{Seq: 1, PublicKey: c[0].OldKey}}
	for _, r := range c {
		all = append(all, HeldKey{Seq: r.Seq, PublicKey: r.NewKey, Note: r.Note})
	}
	return all
}

// owned refuses another key than the one that holds now. place is where the ledger is.
func (k *keyring) owned(place string, pinned ed25519.PublicKey) error {
	if pinned == nil || pinned.Equal(k.key) {
		return nil
	}
	text, former := hex.EncodeToString(pinned), ""
	for _, r := range k.rotations {
		if r.OldKey == text {
			former = fmt.Sprintf(", which was rotated at record %d to %s", r.Seq, r.NewKey)
		}
	}
	return fmt.Errorf("%w: %s belongs to owner %x, allowed: %s%s", ErrKey, place, []byte(k.key), text, former)
}

// carried are the rotations that go with a statement or head.
type carried []Rotation

// check says whether c is a row of rotations of the ledger with an id, up to record last,
// that ends with the key of who signed.
func (c carried) check(id string, last uint64, signer string) error {
	if len(c) == 0 {
		return nil
	}
	bad := func(err error) error { return fmt.Errorf("%w: rotations: %w", ErrCorrupt, err) }
	first, err := parseKey(c[0].OldKey)
	if err != nil {
		return bad(err)
	}
	k := keyring{id: id, key: first}
	for i := range c {
		if err := k.rotate(c[i]); err != nil {
			return bad(fmt.Errorf("record %d: %w", c[i].Seq, err))
		}
	}
	if end := c[len(c)-1]; end.NewKey != signer || end.Seq > last {
		return bad(fmt.Errorf("they end at record %d with %s, allowed: up to %d, with %s", end.Seq,
			end.NewKey, last, signer))
	}
	return nil
}

// lead follows c from a key that is trusted to the one that signed. ErrKey: c does not
// lead there, or an old key on the way was lost.
func (c carried) lead(from, signer string) error {
	if from == signer {
		return nil
	}
	i := slices.IndexFunc(c, func(r Rotation) bool { return r.OldKey == from })
	if i < 0 {
		return fmt.Errorf("%w: signed by %s, allowed: %s", ErrKey, signer, from)
	}
	for _, r := range c[i:] {
		if r.Lost() {
			return fmt.Errorf("%w: signed by %s, allowed: %s: nothing ties one to the other, for record %d "+
				"says: %s", ErrKey, signer, from, r.Seq, r.Note)
		}
	}
	return nil
}

// at is the key that held at a record, for who signed after all of c.
func (c carried) at(seq uint64, signer string) string {
	for _, r := range c {
		if seq < r.Seq {
			return r.OldKey
		}
	}
	return signer
}

// heldAt refuses a head that another key signed than the one that held at its record.
func (c carried) heldAt(h *SignedHead, signer string) error {
	if at := c.at(h.Seq, signer); h.PublicKey != "" && h.PublicKey != at {
		return fmt.Errorf("%w: the head of record %d is signed by %s, allowed: %s", ErrKey, h.Seq,
			h.PublicKey, at)
	}
	return nil
}

// appendNew writes the parts of a rotation's record that stand before its note.
func (r *Rotation) appendNew(b []byte) []byte {
	b = append(append(b, `,"new_key":"`...), r.NewKey...)
	b = append(append(b, `","new_signature":"`...), r.NewSignature...)
	return append(b, '"')
}

// appendOld writes those that stand after it.
func (r *Rotation) appendOld(b []byte) []byte {
	b = append(append(b, `,"old_key":"`...), r.OldKey...)
	if r.OldSignature != "" {
		b = append(append(b, `","old_signature":"`...), r.OldSignature...)
	}
	return append(b, '"')
}

// newKey reads what appendNew writes, after its first key; nil is another record's.
func (p *parser) newKey() *Rotation {
	if !p.lit(`,"new_key":`) {
		return nil
	}
	r := &Rotation{NewKey: p.digits(ed25519.PublicKeySize)}
	p.key(`,"new_signature":`)
	r.NewSignature = p.digits(ed25519.SignatureSize)
	return r
}

// oldKey reads what appendOld writes.
func (p *parser) oldKey(r *Rotation) {
	if r == nil {
		return
	}
	p.key(`,"old_key":`)
	r.OldKey = p.digits(ed25519.PublicKeySize)
	if p.lit(`,"old_signature":`) {
		r.OldSignature = p.digits(ed25519.SignatureSize)
	}
}

// digits reads n bytes in hexadecimal digits, as a text.
func (p *parser) digits(n int) string {
	b := make([]byte, n)
	p.hex(b)
	return hex.EncodeToString(b)
}

// checkRotation checks the parts of a rotation's record.
func (c *chain) checkRotation(e *entry) error {
	r := e.Rotation
	if r == nil || e.Count != 1 || e.event != nil || e.Total != 0 || e.Claim != nil || e.signature != nil ||
		e.Digest != "" {
		return fmt.Errorf("has not the parts of kind %q", Rekeyed)
	}
	r.Seq, r.Prev, r.Note = e.Seq, hex.EncodeToString(e.prev[:]), e.Note
	return c.keyring.allows(r)
}
