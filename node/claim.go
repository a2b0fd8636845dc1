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

// Claim is what a member says about its own ledger when it has finished. The head is
// signed: a statement of the same ledger that knows of fewer records was made without
// some of them (ledger.SignedStatement.Follows). Epsilon is the member's word, over all
// runs on its data; nobody else can recompute it.
type Claim struct {
	Head    ledger.SignedHead `json:"head"`
	Epsilon float64           `json:"epsilon"` // upper bound
	Delta   float64           `json:"delta"`
}

// maxClaim bounds an encoded claim, in bytes; one has about 450.
const maxClaim = 1024

func (c *Claim) encode() ([]byte, error) {
	b, err := json.Marshal(c)
	if err == nil && len(b) > maxClaim {
		err = fmt.Errorf("%w: a claim of %d bytes, allowed: at most %d", ErrFrame, len(b), maxClaim)
	}
	return b, err
}

// ParseClaim reads a claim and checks that owner has signed its head, and that it does
// not go back behind last, the claim held before; nil for the first one. Errors wrap
// ErrFrame, or are those of ledger.SignedHead.Verify.
func ParseClaim(b []byte, owner ed25519.PublicKey, last *Claim) (*Claim, error) {
	if len(b) > maxClaim {
		return nil, fmt.Errorf("%w: a claim of %d bytes, allowed: at most %d", ErrFrame, len(b), maxClaim)
	}
	c := new(Claim)
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

// file takes in the claim of a neighbor that has finished. One that does not hold is
// refused and named; what was held before stands.
func (n *Node) file(l *link, f *Frame) error {
	if len(f.Payload) == 0 || n.cfg.Keys == nil {
		return nil
	}
	n.mu.Lock()
	last := l.claim
	n.mu.Unlock()
	c, err := ParseClaim(f.Payload, n.cfg.Keys[l.id], last) // frames of one sender come one at a time
	if err != nil {
		return fmt.Errorf("%w: %w", RefusedFrame, err)
	}
	n.mu.Lock()
	l.claim = c
	n.mu.Unlock()
	if n.cfg.OnClaim != nil {
		n.cfg.OnClaim(l.id, c)
	}
	return nil
}
