package mark

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

// MaxAttestation bounds an encoded one, in bytes; it has about 450.
const MaxAttestation = 1024

// Encode writes it, for ParseAttestation.
func (c *Attestation) Encode() ([]byte, error) {
	b, err := json.Marshal(c)
	if err == nil && len(b) > MaxAttestation {
		err = fmt.Errorf("%w: a claim of %d bytes, allowed: at most %d", ErrMark, len(b), MaxAttestation)
	}
	return b, err
}

// ParseAttestation reads one and checks that owner has signed its head, and that it does
// not go back behind last, the one held before; nil for the first one. Errors wrap
// ErrMark, or are those of ledger.SignedHead.Verify.
func ParseAttestation(b []byte, owner ed25519.PublicKey, last *Attestation) (*Attestation, error) {
	if len(b) > MaxAttestation {
		return nil, fmt.Errorf("%w: a claim of %d bytes, allowed: at most %d", ErrMark, len(b),
			MaxAttestation)
	}
	c := new(Attestation)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%w: a claim that is no JSON of head, epsilon and delta", ErrMark)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: a claim with more after it", ErrMark)
	}
	if !(c.Epsilon >= 0) || math.IsInf(c.Epsilon, 1) || !(c.Delta >= 0 && c.Delta < 1) {
		return nil, fmt.Errorf("%w: a claim of epsilon %g at delta %g, allowed: at least 0, delta below 1",
			ErrMark, c.Epsilon, c.Delta)
	}
	var head *ledger.SignedHead
	if last != nil {
		head = &last.Head
	}
	return c, c.Head.Verify(owner, head)
}
