package owner

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sotto/config"
	"sotto/node"
	"sotto/privacy/ledger"
)

// openLedger opens the ledger of the data set, in the folder that the policy names.
func (p *process) openLedger(store *node.Store, fsys ledger.OS) error {
	check, err := store.Load()
	if err != nil {
		return err
	}
	o := ledger.Options{
		Key:        p.key,
		Run:        p.run(),
		Agent:      p.Name(),
		FS:         fsys,
		Accountant: p.Terms.Accountant,
	}
	if check != nil {
		o.KnownSeq, o.KnownHead = check.Head.Seq, check.Head
	}
	dir := p.Policy.Ledger
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	secret, err := digestSecret(filepath.Join(dir, ".secret"))
	if err != nil {
		return err
	}
	print, err := ledger.NewFingerprint(secret, p.Records())
	if err != nil {
		return err
	}
	g := ledger.Genesis{Adjacency: p.Terms.Adjacency, Unit: p.Terms.Unit, MinRecords: p.Budget.MinRecords}
	g.Budget.Epsilon, g.Budget.Delta = p.Budget.LifetimeEpsilon, p.Budget.LifetimeDelta
	if p.ledger, err = ledger.OpenFor(dir, print, g, o); err != nil {
		return err
	}
	if have := p.ledger.Genesis().Budget; have != g.Budget {
		p.Node.Log.Warn("the ledger of these data keeps the budget that it was made with", "epsilon",
			have.Epsilon, "delta", have.Delta)
	}
	if p.Volatile {
		if err := p.ledger.Override(
			"state or ledger may be on a file system that loses what was synced"); err != nil {
			return err
		}
	}
	return p.noteSharedNoise()
}

// noteSharedNoise has the ledger, and so every later statement, say once whom the figures
// of noise that members share do not hold against.
func (p *process) noteSharedNoise() error {
	curious := p.Terms.Curious
	if curious == "" || curious == "neighbors" {
		return nil
	}
	note := "noise that members share counts as if of them at most these disclose their secrets: " + curious
	for r, err := range p.ledger.Records() {
		if err != nil {
			return err
		}
		if r.Kind == ledger.Override && r.Note == note {
			return nil
		}
	}
	return p.ledger.Override(note)
}

// digestSecret reads the secret that records are digested with, or makes it. It stays
// with the ledgers for as long as they live.
func digestSecret(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		if err == nil && len(b) != 32 {
			err = &config.Error{File: path, Found: fmt.Sprintf("%d bytes", len(b)), Allowed: "32"}
		}
		return b, err
	}
	b = make([]byte, 32)
	rand.Read(b) // never fails
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(b)
	if err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return b, ledger.OS{}.SyncDir(filepath.Dir(path))
}

// spending is what the data have cost, at most every ten seconds anew: it is asked for
// often and takes the ledger's lock.
func (p *process) spending() *node.Spent {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spent != nil && time.Since(p.asked) < 10*time.Second {
		return p.spent
	}
	p.asked = time.Now()
	c, err := p.ledger.Spent()
	if err != nil {
		return p.spent
	}
	g := p.ledger.Genesis()
	p.spent = &node.Spent{
		Epsilon:  c.Epsilon.Upper,
		Delta:    c.Delta,
		Lifetime: g.Budget.Epsilon,
		Records:  p.ledger.Head().Seq,
	}
	return p.spent
}
