package ledger

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"

	"sotto/privacy/account"
)

// Report is what Verify found.
type Report struct {
	Genesis   Genesis  `json:"genesis"`
	Head      string   `json:"head"`
	LastSeq   uint64   `json:"last_seq"`
	Segments  int      `json:"segments"`
	Records   uint64   `json:"records"`
	Charges   uint64   `json:"charges"`
	Overrides []string `json:"overrides,omitempty"`
	Checked
	// Torn counts the bytes after the last intact record, of a charge that a crash
	// interrupted, or of one that is being written now. The next Open cuts them.
	Torn int64 `json:"torn,omitempty"`
	// Spent is epsilon now, with the present accountant.
	Spent Claim `json:"spent"`
	// Overspent says that Spent is above the budget: the filter in use was not the
	// budget's.
	Overspent bool     `json:"overspent"`
	Notes     []string `json:"notes,omitempty"`
}

// Checked is what Verify has held against signatures and charges.
type Checked struct {
	// Keys that the ledger has had, the first one first; the last one holds. One that
	// came without the key before it is among the overrides, too.
	Keys       []HeldKey `json:"keys"`
	Signatures int       `json:"signatures"` // checked, the genesis included
	Claims     int       `json:"claims"`     // recomputed
}

// claimTolerance is by how much, relatively, an epsilon may differ from its
// recomputation.
const claimTolerance = 1e-6

// Verify reads the ledger in dir once, record by record, and recomputes everything:
// checksums, the chain of hashes, signatures, numbers, cumulative counts, the presence
// and tag of the fingerprint, and each epsilon that was ever recorded. It takes no lock
// and changes nothing. Of o it uses FS, PublicKey, Accountant, KnownSeq and KnownHead.
//
// The error is the first thing wrong: ErrCorrupt, ErrVersion, ErrKey, ErrRollback, or
// ErrClaim, which means that a record understates epsilon by more than 1e-6 relative, or
// states another one under the same accountant version. An older version's interval that
// is not today's, with an upper end no lower, is noted.
func Verify(dir string, o Options) (Report, error) {
	s, err := newScanner(dir, &o)
	if err != nil {
		return Report{}, err
	}
	v := verifier{report: Report{Genesis: s.chain.genesis, Checked: Checked{Signatures: 1}}, chain: s.chain,
		spent: map[string]Claim{}}
	s.visit, s.compare = v.visit, true
	at, err := s.scan(nil)
	v.fill(at)
	damaged, derr := s.damaged()
	for _, d := range damaged {
		v.report.Notes = append(v.report.Notes, d+": the next opening makes it anew")
	}
	if err == nil {
		err = derr
	}
	if err == nil {
		err = s.checkWhole(at, o.KnownSeq)
	}
	if err == nil {
		err = checkFingerprints(o.FS, dir, v.chain.dataset)
	}
	if err != nil {
		return v.report, err
	}
	c, err := v.chain.claim(o.Accountant)
	if err != nil {
		return v.report, err
	}
	v.report.Spent, v.report.Overspent = *c, c.Epsilon.Upper > v.report.Genesis.Budget.Epsilon
	return v.report, nil
}

type verifier struct {
	report  Report
	chain   *chain
	spent   map[string]Claim // by accountant, as of charges
	charges uint64
}

func (v *verifier) fill(at end) {
	h, r := v.chain.head(), &v.report
	r.Head, r.LastSeq, r.Segments, r.Torn = h.String(), h.Seq, at.segment, at.torn
	r.Records, r.Charges, r.Overrides = v.chain.records, v.chain.charges, v.chain.overrides
	r.Keys = v.chain.keys()
}

// visit recomputes the claim of a close or statement, whose signature has been checked.
func (v *verifier) visit(e *entry, _ []byte) error {
	if e.signature != nil {
		v.report.Signatures++
	}
	if r := e.Rotation; r != nil {
		if v.report.Signatures++; !r.Lost() {
			v.report.Signatures++
		}
	}
	if e.Claim == nil {
		return nil
	}
	if e.Claim.Delta != v.chain.genesis.Budget.Delta {
		return fmt.Errorf("%w: record %d states epsilon at delta %g, allowed: %g", ErrClaim, e.Seq,
			e.Claim.Delta, v.chain.genesis.Budget.Delta)
	}
	now, err := v.recompute(e.Claim.Accountant)
	if err != nil {
		return fmt.Errorf("%w: record %d: %w", ErrClaim, e.Seq, err)
	}
	v.report.Claims++
	note, err := compareClaims(e.Claim, &now)
	if err != nil {
		return fmt.Errorf("record %d: %w", e.Seq, err)
	}
	if note != "" {
		v.report.Notes = append(v.report.Notes, fmt.Sprintf("record %d: %s", e.Seq, note))
	}
	return nil
}

// recompute returns the epsilon of the charges so far by the named accountant; once for
// equal charges.
func (v *verifier) recompute(name string) (Claim, error) {
	if v.charges != v.chain.charges {
		clear(v.spent)
		v.charges = v.chain.charges
	}
	if c, ok := v.spent[name]; ok {
		return c, nil
	}
	c := Claim{Accountant: name, Version: account.Version,
		Epsilon: account.StatedInterval{Lower: math.Inf(1), Upper: math.Inf(1)}}
	if name != noAccountant {
		acc, err := v.chain.compose(name)
		if err != nil {
			return c, err
		}
		eps, err := acc.Epsilon(v.chain.genesis.Budget.Delta)
		if err != nil {
			return c, err
		}
		c.Epsilon = account.StatedInterval(eps)
	}
	v.spent[name] = c
	return c, nil
}

// compareClaims compares a recorded epsilon with the one found now.
func compareClaims(was, now *Claim) (note string, err error) {
	a, b := was.Epsilon, now.Epsilon
	switch {
	case near(a.Upper, b.Upper) && near(a.Lower, b.Lower):
		return "", nil
	case was.Version == now.Version || a.Upper < b.Upper*(1-claimTolerance):
		return "", fmt.Errorf("%w: states %g to %g (%s, %s), recomputed %g to %g (%s)", ErrClaim, a.Lower,
			a.Upper, was.Accountant, was.Version, b.Lower, b.Upper, now.Version)
	}
	return fmt.Sprintf("epsilon %g to %g (%s) is %g to %g (%s)", a.Lower, a.Upper, was.Version, b.Lower,
		b.Upper, now.Version), nil
}

func near(a, b float64) bool {
	return a == b || !math.IsInf(a, 0) && !math.IsInf(b, 0) &&
		math.Abs(a-b) <= claimTolerance*math.Max(math.Abs(a), math.Abs(b))
}

// checkFingerprints looks for the fingerprint of the data set charged last.
func checkFingerprints(fsys FS, dir, tag string) error {
	if tag == "" {
		return nil
	}
	name := filepath.Join(dir, fingerprintName(tag))
	p, err := readFingerprint(fsys, name)
	if err == nil && p.Tag() != tag {
		err = fmt.Errorf("holds data set %s", p.Tag())
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
	}
	return nil
}

// Export writes the ledger in dir as JSON lines: the genesis, then every record as it
// stands on the disk. The SHA-256 of a line without its end is the "prev" of the next
// one. Nothing after the first fault is written. Of o it uses FS, PublicKey, KnownSeq and
// KnownHead.
func Export(w io.Writer, dir string, o Options) error {
	s, err := newScanner(dir, &o)
	if err != nil {
		return err
	}
	put := func(text []byte) error {
		_, err := w.Write(append(text[:len(text):len(text)], '\n'))
		return err
	}
	text, err := s.chain.genesis.encode()
	if err == nil {
		err = put(text)
	}
	if err != nil {
		return err
	}
	s.visit = func(_ *entry, payload []byte) error { return put(payload) }
	at, err := s.scan(nil)
	if err != nil {
		return err
	}
	return s.checkWhole(at, o.KnownSeq)
}

// History yields the records of the ledger in dir, oldest first, checked as Open checks
// them; after a fault it yields an error and ends. It takes no lock. Of o it uses FS,
// PublicKey, KnownSeq and KnownHead.
func History(dir string, o Options) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s, err := newScanner(dir, &o)
		if err == nil {
			var at end
			if at, err = s.yield(nil, yield); err == nil {
				err = s.checkWhole(at, o.KnownSeq)
			}
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(Record{}, err)
		}
	}
}
