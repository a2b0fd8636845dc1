package owner

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sotto/config"
	"sotto/internal/atomicfile"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/privacy/ledger"
)

// openLedger opens the ledger of the data set, in the folder that the policy names.
func (p *process) openLedger(store *checkpoint.Store, fsys ledger.OS) error {
	check, err := store.Load()
	if err != nil {
		return err
	}
	o := ledger.Options{
		Key:        p.keys.held,
		Run:        p.run(),
		Agent:      p.Name(),
		FS:         fsys,
		Accountant: p.Terms.Accountant,
	}
	if p.fresh = check == nil; !p.fresh {
		o.KnownSeq, o.KnownHead = check.Head.Seq, check.Head
	}
	dir := p.Policy.Ledger
	secret, err := digestSecret(fsys, dir, o.KnownSeq)
	if err != nil {
		return err
	}
	print, err := p.Fingerprint(secret, p.Budget.KeyColumn)
	if err != nil {
		return err
	}
	g := p.genesis()
	if err := p.rekey(dir, o); err != nil {
		return err
	}
	var found ledger.Found
	if p.ledger, found, err = ledger.OpenFor(dir, print, g, p.Anew, o); errors.Is(err, ledger.ErrKey) &&
		o.Key.Equal(p.keys.former) { // the next epoch had begun
		o.Key = p.keys.newest
		p.ledger, found, err = ledger.OpenFor(dir, print, g, p.Anew, o)
	}
	if err != nil {
		return err
	}
	if w := found.Warning(); w != "" {
		p.Node.Log.Warn(w)
	}
	p.tight.want(p.Budget)
	if have := p.ledger.Genesis().Budget; g.Budget.Epsilon > have.Epsilon || g.Budget.Delta > have.Delta {
		p.Node.Log.Warn("the ledger of these data keeps the budget that it was made with", "epsilon",
			have.Epsilon, "delta", have.Delta)
	}
	if p.Volatile {
		if err := p.noteOnce(
			"state or ledger may be on a file system that loses what was synced"); err != nil {
			return err
		}
	}
	return errors.Join(p.noteRestored(), p.noteSharedNoise())
}

// genesis is that of a new ledger for the owner's population.
func (m *Membership) genesis() ledger.Genesis {
	g := ledger.Genesis{Adjacency: m.Terms.Adjacency, Unit: m.Terms.Unit, MinRecords: m.Budget.MinRecords,
		Population: m.Budget.Population}
	g.Budget.Epsilon, g.Budget.Delta = m.Budget.LifetimeEpsilon, m.Budget.LifetimeDelta
	return g
}

// Left looks up, without a change of anything, which ledger the owner's data are going to
// be charged to and what is left there. anew is as for ledger.OpenFor. known is how many
// of the people whom the file names were charged before; it is private, like total.
func (m *Membership) Left(anew bool) (left *Left, known, total int, err error) {
	dir := m.Policy.Ledger
	secret, err := readSecret(filepath.Join(dir, ".secret"))
	if errors.Is(err, fs.ErrNotExist) { // nothing is digested yet, else no digest fits
		secret, err = newSecret(), nil
	}
	if err != nil {
		return nil, 0, 0, err
	}
	print, err := m.Fingerprint(secret, m.Budget.KeyColumn)
	if err != nil {
		return nil, 0, 0, err
	}
	o := ledger.Options{PublicKey: m.Roster.Keys()[m.Self], Accountant: m.Terms.Accountant}
	g := m.genesis()
	found, err := ledger.Find(dir, print, g, anew, o)
	if err != nil {
		return nil, 0, 0, err
	}
	var books *ledger.Books
	if found.Charged != nil {
		if books, err = ledger.Read(found.Dir, o); err != nil {
			return nil, 0, 0, err
		}
	}
	if left, err = leftOf(m.Owner, books, m.run(), g.Budget); err != nil {
		return nil, 0, 0, err
	}
	left.Found = found
	known, total = print.People(found.Charged)
	return left, known, total, nil
}

// noteSharedNoise has the ledger, and so every later statement, say once whom the figures
// of noise that members share do not hold against.
func (p *process) noteSharedNoise() error {
	curious := p.Terms.Curious
	if curious == "" || curious == "neighbors" {
		return nil
	}
	return p.noteOnce("noise that members share counts as if of them at most these disclose their secrets: " +
		curious)
}

// noteOnce writes a note into the ledger that does not stand there yet.
func (p *process) noteOnce(note string) error {
	if slices.Contains(p.ledger.Overrides(), note) {
		return nil
	}
	return p.ledger.Override(note)
}

// readSecret reads the secret that records are digested with.
func readSecret(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err == nil && len(b) != 32 {
		err = &config.Error{File: path, Found: fmt.Sprintf("%d bytes", len(b)), Allowed: "32"}
	}
	return b, err
}

func newSecret() []byte {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return b
}

// digestSecret reads the secret that records are digested with, or makes it with its
// folder. It stays with the ledgers for as long as they live: where records up to known
// have been, a restore has to bring it back, which a new one would stop.
func digestSecret(fsys ledger.OS, dir string, known uint64) ([]byte, error) {
	path := filepath.Join(dir, ".secret")
	b, err := readSecret(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	if known > 0 {
		return nil, fmt.Errorf("%w: there is no %s, but record %d of a ledger beside it is known to have "+
			"existed; allowed: the newest folder of ledgers, or its backup", ledger.ErrRollback, path, known)
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, err
	}
	b = newSecret()
	return b, atomicfile.Create(path, b, 0o600)
}

// costs is what the data have cost, as last computed, when, and how long that took.
type costs struct {
	spent *node.Spent
	at    time.Time
	took  time.Duration
}

// spending is what the data have cost. It is asked for often and takes the ledger's lock:
// where records were added since, it is computed anew each second, or more seldom where
// that would take more than two percent of the time. Records says of how many records the
// figure is.
func (p *process) spending() *node.Spent {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, now, head := &p.costs, time.Now(), p.ledger.Head().Seq
	if last.spent != nil &&
		(last.spent.Records == head || now.Sub(last.at) < max(time.Second, 50*last.took)) {
		return last.spent
	}
	c, err := p.ledger.Spent()
	last.at, last.took = now, time.Since(now)
	if err != nil {
		return last.spent
	}
	g := p.ledger.Genesis()
	last.spent = &node.Spent{
		Epsilon:  c.Epsilon.Upper,
		Delta:    c.Delta,
		Lifetime: p.tight.lifetime(g.Budget.Epsilon),
		Records:  head,
	}
	return last.spent
}
