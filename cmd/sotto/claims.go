package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/node"
	"sotto/privacy/ledger"
)

// headsFile keeps what other members have said about their ledgers.
const headsFile = "heads.json"

// peerClaim is one member's claim, as a file keeps it.
type peerClaim struct {
	Name       string           `json:"name"`
	Provenance string           `json:"provenance"`
	Claim      node.Attestation `json:"claim"`
}

const claimed = "claimed by the member: the head is signed, the epsilon is not checked"

func readHeads(path string) ([]peerClaim, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []peerClaim
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, &config.Error{File: path, Found: err.Error(),
			Allowed: "the file heads.json of a state directory"}
	}
	return all, nil
}

// readClaims returns the claims that the state directory holds, by member.
func (p *peer) readClaims() ([]*node.Attestation, error) {
	var err error
	if p.claims, err = readHeads(filepath.Join(p.f.state, headsFile)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	of := make([]*node.Attestation, len(p.roster.Members))
	for k := range p.claims {
		c := &p.claims[k]
		if i := slices.IndexFunc(p.roster.Members, func(m node.Member) bool {
			return m.Name == c.Name
		}); i >= 0 {
			of[i] = &c.Claim
		}
	}
	return of, nil
}

// keepClaim stores what a member has said.
func (p *peer) keepClaim(from agent.ID, c *node.Attestation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := p.roster.Members[from].Name
	p.claims = slices.DeleteFunc(p.claims, func(o peerClaim) bool { return o.Name == name })
	p.claims = append(p.claims, peerClaim{name, claimed, *c})
	slices.SortFunc(p.claims, func(a, b peerClaim) int {
		return bytes.Compare([]byte(a.Name), []byte(b.Name))
	})
	b, err := json.MarshalIndent(p.claims, "", "  ")
	if err == nil {
		err = p.write(headsFile, append(b, '\n'))
	}
	if err != nil {
		p.log.Error("a claim is not kept", "peer", name, "error", err)
	}
}

// claim is what this node tells its neighbors about its ledger when it has finished.
func (p *peer) claim() *node.Attestation {
	c := &node.Attestation{Head: p.ledger.SignedHead()}
	if s, err := p.ledger.Spent(); err == nil {
		c.Epsilon, c.Delta = s.Epsilon.Upper, s.Delta
	}
	return c
}

// verifyStatement checks a member's signed statement by itself and, with a file of heads,
// against the head that its node sent.
func verifyStatement(w io.Writer, path, heads string, owner ed25519.PublicKey) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var s ledger.SignedStatement
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return &config.Error{File: path, Found: err.Error(), Allowed: "a signed privacy statement"}
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	row := func(what, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprintf(format, args...))
	}
	if heads != "" {
		all, err := readHeads(heads)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(c peerClaim) bool { return c.Claim.Head.ID == s.LedgerID })
		if i < 0 {
			return fmt.Errorf("%w: %s holds no head of ledger %s", ledger.ErrDataset, heads, s.LedgerID)
		}
		h := &all[i].Claim.Head
		key, err := node.ParsePeerID(h.PublicKey)
		if err != nil {
			return &config.Error{
				File:    heads,
				Key:     "public_key",
				Found:   h.PublicKey,
				Allowed: "64 hexadecimal digits",
			}
		}
		if owner == nil {
			owner = key
		}
		if err := errors.Join(h.Verify(owner, nil), s.Follows(h)); err != nil {
			return err
		}
		row("head", "of %s: record %d, which the statement knows of", all[i].Name, h.Seq)
		row("then", "epsilon %s at delta %g, %s", rundir.FormatFine(all[i].Claim.Epsilon), all[i].Claim.Delta,
			claimed)
	}
	if err := s.Verify(owner); err != nil {
		return err
	}
	row("statement", "signed by %s, of ledger %s to record %d", s.PublicKey, s.LedgerID,
		s.Statement.Ledger.LastSeq)
	if e := s.Statement.Epsilon; e != nil {
		row("epsilon", "%s upper at delta %g: the member's, which its ledger alone can prove",
			rundir.FormatFine(float64(e.Upper)), s.Statement.Delta)
	}
	return t.Flush()
}
