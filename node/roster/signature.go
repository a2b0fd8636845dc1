package roster

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sotto/agent"
	"sotto/config"
)

// ErrUnsigned says that a roster is not signed by all of its members, and hence binds
// nobody.
var ErrUnsigned = errors.New("node: roster is not signed by every member")

// Digest identifies the roster: the SHA-256 of its canonical JSON without signatures.
// Layout and comments of the file do not count, every value does.
func (r *Roster) Digest() [sha256.Size]byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("node: a valid roster does not marshal: " + err.Error())
	}
	return sha256.Sum256(b)
}

func (r *Roster) message() []byte {
	d := r.Digest()
	return append([]byte("sotto roster\n"), d[:]...)
}

// Find returns the number of the member with a key.
func (r *Roster) Find(key ed25519.PublicKey) (agent.ID, error) {
	i := slices.IndexFunc(r.Members, func(m Member) bool { return m.ID == PeerID(key) })
	if i < 0 {
		return 0, config.Bad("key", PeerID(key), "the key of a member of the roster")
	}
	return agent.ID(i), nil
}

// Sign adds the signature of the member with a key, or that had it before, to a roster
// that is complete and has a valid graph.
func (r *Roster) Sign(key ed25519.PrivateKey) (agent.ID, error) {
	if _, err := r.Topology(); err != nil {
		return 0, err
	}
	signature := hex.EncodeToString(ed25519.Sign(key, r.message()))
	for i := range r.Members {
		if m := &r.Members[i]; m.Former == PeerID(public(key)) && !m.FormerLost {
			m.FormerSignature = signature
			return agent.ID(i), nil
		}
	}
	i, err := r.Find(public(key))
	if err != nil {
		return 0, err
	}
	r.Members[i].Signature = signature
	return i, nil
}

// Unsigned lists the members whose signature is missing or does not fit, those of former
// keys as "NAME's former key".
func (r *Roster) Unsigned() (names []string) {
	message := r.message()
	signed := func(id, text string) bool {
		key, err1 := ParsePeerID(id)
		signature, err2 := hex.DecodeString(text)
		return err1 == nil && err2 == nil && ed25519.Verify(key, message, signature)
	}
	for i := range r.Members {
		m := &r.Members[i]
		if !signed(m.ID, m.Signature) {
			names = append(names, m.Name)
		}
		if m.Former != "" && !m.FormerLost && !signed(m.Former, m.FormerSignature) {
			names = append(names, m.Name+"'s former key")
		}
	}
	return names
}

// Verify accepts a roster that is complete, has a valid graph and is signed by every
// member: ErrUnsigned names those who have not.
func (r *Roster) Verify() error {
	if _, err := r.Topology(); err != nil {
		return err
	}
	names := r.Unsigned()
	if names == nil {
		return nil
	}
	altered := ""
	signed := func(m Member) bool { return m.Signature != "" }
	if len(names) >= len(r.Members) && slices.ContainsFunc(r.Members, signed) {
		altered = "; signatures are there and none fits: the text was changed after they were made, " +
			"such as its line ends under way by mail"
	}
	return fmt.Errorf("%w: no valid signature of %s%s", ErrUnsigned, strings.Join(names, ", "), altered)
}
