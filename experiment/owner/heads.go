package owner

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/node"
	"sotto/privacy/ledger"
)

// Head is what one member has said about its ledger, as a file keeps it.
type Head struct {
	Name       string           `json:"name"`
	Provenance string           `json:"provenance"`
	Claim      node.Attestation `json:"claim"`
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
		return &config.Error{File: path, Found: err.Error(), Allowed: allowed}
	}
	return nil
}

func readHeads(path string) ([]Head, error) {
	var all []Head
	err := readStrict(path, &all, "the file heads.json of a state directory")
	return all, err
}

// readClaims returns the claims that the state directory holds, by member.
func (p *process) readClaims() ([]*node.Attestation, error) {
	var err error
	if p.heads, err = readHeads(filepath.Join(p.State, headsFile)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	of := make([]*node.Attestation, len(p.Roster.Members))
	for _, h := range p.heads {
		if i := slices.Index(p.Roster.Names(), h.Name); i >= 0 {
			of[i] = &h.Claim // a copy: the list is edited while the node reads this
		}
	}
	return of, nil
}

// keepClaim stores what a member has said.
func (p *process) keepClaim(from agent.ID, c *node.Attestation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := p.Roster.Members[from].Name
	p.heads = slices.DeleteFunc(p.heads, func(o Head) bool { return o.Name == name })
	p.heads = append(p.heads, Head{name, Claimed, *c})
	slices.SortFunc(p.heads, func(a, b Head) int { return cmp.Compare(a.Name, b.Name) })
	b, err := json.MarshalIndent(p.heads, "", "  ")
	if err == nil {
		err = p.write(headsFile, append(b, '\n'))
	}
	if err != nil {
		p.Node.Log.Error("a claim is not kept", "peer", name, "error", err)
	}
}

// claim is what this node tells its neighbors about its ledger when it has finished.
func (p *process) claim() *node.Attestation {
	c := &node.Attestation{Head: p.ledger.SignedHead()}
	if s, err := p.ledger.Spent(); err == nil {
		c.Epsilon, c.Delta = s.Epsilon.Upper, s.Delta
	}
	return c
}

// VerifyStatement checks a member's signed statement by itself and, with a file of heads,
// against the head that its node sent, which it returns. key is the member's; nil: that
// of the head, or of the statement itself.
func VerifyStatement(path, heads string, key ed25519.PublicKey) (*ledger.SignedStatement, *Head, error) {
	var s ledger.SignedStatement
	if err := readStrict(path, &s, "a signed privacy statement"); err != nil {
		return nil, nil, err
	}
	if heads == "" {
		return &s, nil, s.Verify(key)
	}
	all, err := readHeads(heads)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(all, func(h Head) bool { return h.Claim.Head.ID == s.LedgerID })
	if i < 0 {
		return nil, nil, fmt.Errorf("%w: %s holds no head of ledger %s", ledger.ErrDataset, heads, s.LedgerID)
	}
	h := &all[i].Claim.Head
	signer, err := node.ParsePeerID(h.PublicKey)
	if err != nil {
		return nil, nil, &config.Error{
			File:    heads,
			Key:     "public_key",
			Found:   h.PublicKey,
			Allowed: "64 hexadecimal digits",
		}
	}
	if key == nil {
		key = signer
	}
	if err := errors.Join(h.Verify(key, nil), s.Follows(h)); err != nil {
		return nil, nil, err
	}
	return &s, &all[i], s.Verify(key)
}
