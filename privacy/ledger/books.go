package ledger

import (
	"sotto/privacy/account"
)

// Books are what a ledger holds, read without taking it up.
type Books struct {
	chain      *chain
	accountant string
}

// Read reads the ledger in dir from its newest seal on. It takes no lock and changes
// nothing. Of o it uses FS, PublicKey, Accountant, KnownSeq and KnownHead.
func Read(dir string, o Options) (*Books, error) {
	s, err := newScanner(dir, &o)
	if err != nil {
		return nil, err
	}
	s.use = true
	at, err := s.scan(nil)
	if err != nil {
		return nil, err
	}
	return &Books{s.chain, o.Accountant}, s.checkWhole(at, o.KnownSeq)
}

// Genesis returns what the ledger protects.
func (b *Books) Genesis() Genesis { return b.chain.genesis }

// Total returns the number of charges, over all runs.
func (b *Books) Total() uint64 { return b.chain.charges }

// Run returns what the named run has charged.
func (b *Books) Run(run string) RunCharges { return b.chain.charged(run) }

// Spent returns epsilon at the lifetime delta for everything charged, over all runs.
func (b *Books) Spent() (Claim, error) {
	c, err := b.chain.claim(b.accountant)
	if err != nil {
		return Claim{}, err
	}
	return *c, nil
}

// Filter returns what the ledger's budget still admits: its default filter, with all
// charges of the past. exhausted says that the past exceeds it.
func (b *Books) Filter() (filter *account.RDPFilter, exhausted bool, err error) {
	g := &b.chain.genesis
	if filter, err = account.NewRDPFilter(g.Adjacency, g.Unit, g.Budget); err != nil {
		return nil, false, err
	}
	exhausted, err = b.chain.replay(filter)
	return filter, exhausted, err
}
