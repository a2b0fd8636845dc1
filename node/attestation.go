package node

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"sotto/privacy/ledger"
)

// Attestation is what a member says about its own ledger when it has finished. The head
// is signed: a statement of the same ledger that knows of fewer records was made without
// some of them (ledger.SignedStatement.Follows). Epsilon is the member's word, over all
// runs on its data; nobody else can recompute it.
type Attestation struct {
	Head    ledger.SignedHead `json:"head"`
	Epsilon float64           `json:"epsilon"` // upper bound
	Delta   float64           `json:"delta"`
}

// maxAttestation bounds an encoded one, in bytes; it has about 450.
const maxAttestation = 1024

func (c *Attestation) encode() ([]byte, error) {
	b, err := json.Marshal(c)
	if err == nil && len(b) > maxAttestation {
		err = fmt.Errorf("%w: a claim of %d bytes, allowed: at most %d", ErrFrame, len(b), maxAttestation)
	}
	return b, err
}

// ParseAttestation reads one and checks that owner has signed its head, and that it does
// not go back behind last, the one held before; nil for the first one. Errors wrap
// ErrFrame, or are those of ledger.SignedHead.Verify.
func ParseAttestation(b []byte, owner ed25519.PublicKey, last *Attestation) (*Attestation, error) {
	if len(b) > maxAttestation {
		return nil, fmt.Errorf("%w: a claim of %d bytes, allowed: at most %d", ErrFrame, len(b),
			maxAttestation)
	}
	c := new(Attestation)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%w: a claim that is no JSON of head, epsilon and delta", ErrFrame)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: a claim with more after it", ErrFrame)
	}
	if !(c.Epsilon >= 0) || math.IsInf(c.Epsilon, 1) || !(c.Delta >= 0 && c.Delta < 1) {
		return nil, fmt.Errorf("%w: a claim of epsilon %g at delta %g, allowed: at least 0, delta below 1",
			ErrFrame, c.Epsilon, c.Delta)
	}
	var head *ledger.SignedHead
	if last != nil {
		head = &last.Head
	}
	return c, c.Head.Verify(owner, head)
}

// file takes in the attestation of a neighbor that has finished. One that does not hold
// is refused and named; what was held before stands.
func (l *link) file(n *Node, f *Frame) error {
	if len(f.Payload) == 0 || n.cfg.Keys == nil {
		return nil
	}
	n.mu.Lock()
	last := l.attestation
	n.mu.Unlock()
	c, err := ParseAttestation(f.Payload, n.cfg.Keys[l.id], last) // frames of one sender come one at a time
	if err != nil {
		return fmt.Errorf("%w: %w", RefusedFrame, err)
	}
	n.mu.Lock()
	l.attestation = c
	n.mu.Unlock()
	if n.cfg.OnAttestation != nil {
		n.cfg.OnAttestation(l.id, c)
	}
	return nil
}
