// Package mark has what members say of themselves with every frame, signed: how far they
// are, what they have sent and what their ledgers have charged. Two marks of one member
// tell whether it has gone back, is there twice, or gave one round two contents.
package mark

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy/ledger"
)

// A Mark is what a member says about itself with every frame, signed: how far it has come
// and what its ledger has charged. Whoever holds one can tell a member that has gone
// back, that is there twice, or that said different things to different members.
type Mark struct {
	Round uint64 // rounds, wakes or visits that are complete and stored
	// Generation is how often the member has said that it was rolled back. Within one
	// generation no round has two contents.
	Generation uint64
	Process    uint64 // drawn by every process anew
	Claim
	Book
}

// Process draws the number of a process: odd, and no other one's.
func Process() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:]) | 1
}

func u64(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// A Claim is one link of the chain over all that a member has sent to everybody.
type Claim struct {
	Sent    uint64            // the round of the last messages; NoRound: there are none
	Sum     [sha256.Size]byte // over Earlier, Sent, Before and the messages, see Of
	Earlier uint64            // the round of the messages before those; NoRound: none
	Before  [sha256.Size]byte // the sum then
}

// Book is what a member's ledger has come to.
type Book struct {
	Ledger  [16]byte // its id
	Head    ledger.Head
	Charges uint64 // of this run
	Total   uint64 // charges over all runs
}

// Seen is the head of a member's ledger that the member has shown, signed.
type Seen struct {
	Records uint64 `json:"records"`
	Head    string `json:"head"` // its hash, in hexadecimal digits
}

// Seen is what the book shows of the ledger; nil where it shows none.
func (b *Book) Seen() *Seen {
	if b.Head == (ledger.Head{}) {
		return nil
	}
	return &Seen{b.Head.Seq, b.Head.String()}
}

// ErrMark says that bytes are not a mark of the member that it is said to be.
var ErrMark = errors.New("node: malformed mark")

// NoRound is the round of messages that there are none of.
const NoRound = ^uint64(0)

const (
	// ClaimSize is the length of a claim.
	ClaimSize = 2 * (8 + sha256.Size)
	body      = 3*8 + ClaimSize + 16 + 8 + sha256.Size + 2*8
	// Size is the length of a signed mark.
	Size = body + ed25519.SignatureSize
)

// Next is the claim after messages for a round, encoded.
func (c *Claim) Next(round uint64, messages []byte) Claim {
	n := Claim{Sent: round, Earlier: c.Sent, Before: c.Sum}
	n.Sum = n.Of(messages)
	return n
}

// Of is what Sum must be over the messages of round Sent.
func (c *Claim) Of(messages []byte) [sha256.Size]byte {
	of := sha256.Sum256(messages)
	b := append(u64(make([]byte, 0, 2*sha256.Size+16), c.Earlier, c.Sent), c.Before[:]...)
	return sha256.Sum256(append(b, of[:]...))
}

// Append writes the claim, in ClaimSize bytes.
func (c *Claim) Append(b []byte) []byte {
	b = append(u64(b, c.Sent), c.Sum[:]...)
	return append(u64(b, c.Earlier), c.Before[:]...)
}

func (m *Mark) append(b []byte) []byte {
	b = m.Claim.Append(u64(b, m.Round, m.Generation, m.Process))
	b = u64(append(b, m.Ledger[:]...), m.Head.Seq)
	return u64(append(b, m.Head.Hash[:]...), m.Charges, m.Total)
}

// Digest tells marks apart.
func (m *Mark) Digest() [sha256.Size]byte { return sha256.Sum256(m.append(nil)) }

// message is what is signed: a mark in a run. The key says whose it is, so that it holds
// when rosters change and members get other numbers.
func message(run [32]byte, content []byte) []byte {
	return append(append([]byte("sotto mark\n"), run[:]...), content...)
}

// Encode signs the mark of a member of a run, which the digest of its first roster names.
func (m *Mark) Encode(run [32]byte, sign func([]byte) []byte) []byte {
	b := m.append(make([]byte, 0, Size))
	return append(b, sign(message(run, b))...)
}

// ReadClaim reads what Claim.Append writes.
func ReadClaim(b []byte) (c Claim) {
	c.Sent = binary.LittleEndian.Uint64(b)
	b = b[8+copy(c.Sum[:], b[8:]):]
	c.Earlier = binary.LittleEndian.Uint64(b)
	copy(c.Before[:], b[8:])
	return c
}

// Read reads a mark of Size bytes, whose signature is not looked at.
func Read(b []byte) (m Mark) {
	word := func() uint64 {
		v := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return v
	}
	hash := func() (h [sha256.Size]byte) {
		b = b[copy(h[:], b):]
		return h
	}
	m.Round, m.Generation, m.Process = word(), word(), word()
	m.Claim = ReadClaim(b)
	b = b[ClaimSize:]
	b = b[copy(m.Ledger[:], b):]
	m.Head.Seq, m.Head.Hash = word(), hash()
	m.Charges, m.Total = word(), word()
	return m
}

// Parse reads a signed mark of a member with a key in a run; errors name its number. They
// wrap ErrMark.
func Parse(b []byte, run [32]byte, member agent.ID, key ed25519.PublicKey) (Mark, error) {
	if len(b) != Size {
		return Mark{}, fmt.Errorf("%w: a mark of %d bytes, allowed: %d", ErrMark, len(b), Size)
	}
	if !ed25519.Verify(key, message(run, b[:body]), b[body:]) {
		return Mark{}, fmt.Errorf("%w: a mark that member %d has not signed", ErrMark, member)
	}
	return Read(b), nil
}

// A Former is a key that a member had before another one.
type Former struct {
	Key   ed25519.PublicKey
	Until uint64 // the round at which it was replaced
}

// ParseFormer is Parse with one of a member's former keys. Where bounded, members had
// their next key from its round on: marks of later rounds are not theirs.
func ParseFormer(b []byte, run [32]byte, member agent.ID, formers []Former, bounded bool) (Mark, error) {
	for _, f := range formers {
		m, err := Parse(b, run, member, f.Key)
		switch {
		case err == nil && bounded && m.Round > f.Until:
			return Mark{}, fmt.Errorf("%w: round %d, signed with a key that member %d had until round %d",
				ErrMark, m.Round, member, f.Until)
		case err == nil:
			return m, nil
		}
	}
	return Mark{}, fmt.Errorf("%w: a mark that member %d has not signed", ErrMark, member)
}

// Most bounds what marks count, as it bounds a ledger's charges.
const Most = 1 << 53

// Check refuses, with ErrMark, a mark that no member of a run of so many rounds can make:
// who signs one would have others believe that they lack what there never was.
func (m *Mark) Check(rounds uint64) error {
	for _, sent := range [...]uint64{m.Sent, m.Earlier} {
		if sent > rounds && sent != NoRound {
			return fmt.Errorf("%w: messages of round %d, allowed: at most %d", ErrMark, sent, rounds)
		}
	}
	for _, c := range [...]struct {
		what       string
		found, top uint64
	}{
		{"completed rounds", m.Round, rounds},
		{"times rolled back", m.Generation, Most},
		{"ledger records", m.Head.Seq, Most},
		{"charges of the run", m.Charges, Most},
		{"charges of all runs", m.Total, Most},
	} {
		if c.found > c.top {
			return fmt.Errorf("%w: %s: %d, allowed: at most %d", ErrMark, c.what, c.found, c.top)
		}
	}
	return nil
}

// Behind reports whether a member that says m has gone back behind what it said before:
// in a round or charges that it had, or another ledger with fewer charges of this run.
// Whoever says that it was rolled back, in a later generation, may be anywhere.
func (m *Mark) Behind(o *Mark) bool {
	if m.Generation != o.Generation {
		return m.Generation < o.Generation
	}
	return m.Round < o.Round || m.Lacks(o)
}

// Lacks reports whether the ledger that m shows has fewer charges of the run than that of
// o, or is the same one with fewer records, of a member that does not say that it was
// rolled back.
func (m *Mark) Lacks(o *Mark) bool {
	return m.Charges < o.Charges ||
		m.Generation <= o.Generation && m.Ledger == o.Ledger && m.Head.Seq < o.Head.Seq
}

// After reports whether m was made after o, by a member that has not gone back.
func (m *Mark) After(o *Mark) bool {
	if m.Generation != o.Generation {
		return m.Generation > o.Generation
	}
	return m.Round > o.Round || m.Round == o.Round && m.Charges > o.Charges
}

// Contradicts reports whether two marks of one member give one round two contents, or one
// leaves out of its chain a round that the other has sent messages of.
func (m *Mark) Contradicts(o *Mark) bool {
	if m.Generation != o.Generation {
		return false
	}
	type said struct {
		round uint64
		sum   [sha256.Size]byte
	}
	for _, a := range [2]said{{m.Sent, m.Sum}, {m.Earlier, m.Before}} {
		for _, b := range [2]said{{o.Sent, o.Sum}, {o.Earlier, o.Before}} {
			if a.round == b.round && a.round != NoRound && a.sum != b.sum {
				return true
			}
		}
	}
	return m.omits(o.Sent) || m.omits(o.Earlier) || o.omits(m.Sent) || o.omits(m.Earlier)
}

// omits reports whether the claim says that no messages of a round were sent.
func (c *Claim) omits(round uint64) bool {
	return c.Earlier != NoRound && c.Sent != NoRound && round != NoRound && c.Earlier < round &&
		round < c.Sent
}

// Anew reports whether a claim says that messages are the first, after others of the same
// generation.
func (m *Mark) Anew(o *Mark) bool {
	return m.Generation == o.Generation && o.Sent != NoRound && m.Earlier == NoRound && m.Sent != NoRound &&
		m.Sent > o.Sent
}

// CheckKeys refuses members' keys that are not one for each of n, or no Ed25519 keys; nil
// is none at all.
func CheckKeys(keys []ed25519.PublicKey, n int) error {
	if keys != nil && len(keys) != n {
		return config.Bad("keys", len(keys), fmt.Sprintf("%d, one for each member", n))
	}
	for i, k := range keys {
		if len(k) != ed25519.PublicKeySize {
			return config.Bad(fmt.Sprintf("keys[%d]", i), fmt.Sprintf("%d bytes", len(k)), "an Ed25519 key")
		}
	}
	return nil
}
