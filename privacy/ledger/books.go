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

// Filter returns what a budget still admits: the default filter, with all charges of the
// past, those of a rollback too. exhausted says that the past exceeds it.
func (b *Books) Filter(budget account.Budget) (f *account.RDPFilter, exhausted bool, err error) {
	return filled(b.chain, budget)
}

// Filter is as that of [Books]. It reads nothing from the disk.
func (h *history) Filter(budget account.Budget) (f *account.RDPFilter, exhausted bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return filled(h.chain, budget)
}

func filled(c *chain, budget account.Budget) (f *account.RDPFilter, exhausted bool, err error) {
	if f, err = account.NewRDPFilter(c.genesis.Adjacency, c.genesis.Unit, budget); err != nil {
		return nil, false, err
	}
	exhausted, err = c.replay(f)
	return f, exhausted, err
}
