package owner

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment"
	"sotto/internal/atomicfile"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/mark"
	"sotto/node/roster"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// rosterFile is where a state directory keeps the roster of an epoch.
func rosterFile(number int) string { return fmt.Sprintf("roster-%d.toml", number) }

// lineage is what an owner knows of a run's rosters.
type lineage struct {
	rosters []*roster.Roster // each follows the one before, and all are signed
	now     int              // which of them holds
	given   *roster.Roster   // one of the run that is not stored, see proposal; nil: none
	round   uint64           // at which the stored state is
}

// readLineage reads the rosters of a state directory; "" or an empty one has none.
func readLineage(state string) (l lineage, err error) {
	if state == "" {
		return l, nil
	}
	names, err := atomicfile.Glob(state, "roster-*.toml")
	if err != nil {
		return l, err
	}
	for _, name := range names {
		r, err := roster.Read(name)
		if err != nil {
			return l, err
		}
		l.rosters = append(l.rosters, r)
	}
	slices.SortFunc(l.rosters, func(a, b *roster.Roster) int { return a.Number() - b.Number() })
	for i, r := range l.rosters {
		if err = r.Verify(); err == nil && i > 0 {
			err = r.Follows(l.rosters[i-1])
		}
		if err != nil {
			return l, fmt.Errorf("%s: %w", filepath.Join(state, rosterFile(r.Number())), err)
		}
	}
	return l, nil
}

// extend takes in the roster that the owner has given: one that is known, the first one,
// or another one of the run, which may be an amendment of the one that holds.
func (l *lineage) extend(given *roster.Roster, file, state string) error {
	digest := given.Digest()
	for _, r := range l.rosters {
		if r.Digest() == digest {
			return nil
		}
	}
	if len(l.rosters) == 0 {
		l.rosters = append(l.rosters, given)
		return nil
	}
	last := l.rosters[len(l.rosters)-1]
	if given.Run() != last.Run() {
		return &config.Error{File: file, Key: "digest", Found: fmt.Sprintf("%x", digest[:4]),
			Allowed: fmt.Sprintf("%x or an amendment of it, which %s is of, or another --state",
				first(last.Digest()), state)}
	}
	if l.rosters[0].Follows(given) == nil { // its state was lost before the members changed
		l.rosters = slices.Insert(l.rosters, 0, given)
		return nil
	}
	l.given = given
	return nil
}

func first(d [32]byte) []byte { return d[:4] }

// locate finds which roster the stored state is of: the first one where there is none.
func (l *lineage) locate(state string) error {
	if state == "" {
		return nil
	}
	s, err := checkpoint.Take(state)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	l.round = s.Round
	l.now = slices.IndexFunc(l.rosters, func(r *roster.Roster) bool { return r.Digest() == s.Run })
	if l.now < 0 {
		return fmt.Errorf("%w: %s follows roster %x; allowed: that roster, or an amendment that follows it",
			checkpoint.ErrState, state, s.Run[:4])
	}
	return nil
}

// roster is the one that holds, and next the one that is to follow; nil: none.
func (l *lineage) roster() *roster.Roster { return l.rosters[l.now] }

func (l *lineage) next() *roster.Roster {
	if l.now+1 < len(l.rosters) {
		return l.rosters[l.now+1]
	}
	return nil
}

// current returns the roster under which an owner takes part now: the one given, or one
// of the state directory.
func current(from *Files, given *roster.Roster) (l lineage, err error) {
	if l, err = readLineage(from.State); err != nil {
		return l, err
	}
	if err = l.extend(given, from.Roster, from.State); err != nil {
		return l, err
	}
	if err = l.locate(from.State); err != nil {
		return l, err
	}
	for l.roster().Number() < from.Epoch && l.next() != nil {
		l.now++
	}
	return l, nil
}

// since is how the present roster came of the one before, for the node; nil: it is the
// first.
func (m *Membership) since() *node.Since {
	r := m.Roster
	if r.Epoch == nil {
		return nil
	}
	s := &node.Since{Round: r.Epoch.Round, Was: make([]int, r.Size), Holds: r.Number() <= m.from.Epoch}
	for _, f := range roster.Formers(m.history.rosters[:m.history.now+1], m.Self) {
		s.Formers = append(s.Formers, mark.Former{Key: f.Key, Until: f.Until})
	}
	hex.Decode(s.Previous[:], []byte(r.Epoch.Previous)) // checked when it was read
	for i := range s.Was {
		s.Was[i] = -1
	}
	if m.history.now > 0 {
		s.Was = r.Was(m.history.rosters[m.history.now-1])
	}
	return s
}

// amendment is what a roster that follows the present one says to this member.
func (m *Membership) amendment(next *roster.Roster) (*node.Amendment, error) {
	text, err := next.Encode()
	if err != nil {
		return nil, err
	}
	a := &node.Amendment{Run: next.Digest(), Round: next.Epoch.Round, Text: text, Removed: true,
		Leave: make([]bool, m.Roster.Size), Gone: make([]bool, m.Roster.Size)}
	for i := range a.Leave {
		a.Leave[i] = true
		a.Gone[i] = slices.Contains(next.Epoch.Gone, m.Roster.Members[i].Name)
	}
	for _, was := range next.Was(m.Roster) {
		if was >= 0 {
			a.Leave[was] = false
			a.Removed = a.Removed && agent.ID(was) != m.Self
		}
	}
	return a, nil
}

// readAmendment reads and checks a roster that is to follow the present one.
func (m *Membership) readAmendment(file string, text []byte) (*node.Amendment, error) {
	next, err := roster.Parse(file, text)
	if err != nil {
		return nil, err
	}
	return m.checkAmendment(file, next)
}

func (m *Membership) checkAmendment(file string, next *roster.Roster) (*node.Amendment, error) {
	err := cmp.Or(experiment.CheckChange(m.e.File), next.Follows(m.Roster), next.Verify())
	if err == nil && next.Epoch.Round >= m.Terms.Rounds {
		err = config.Bad("epoch.round", next.Epoch.Round, fmt.Sprintf("below %d, the rounds of the run",
			m.Terms.Rounds))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m.amendment(next)
}

// restart makes the algorithm anew, from another first model.
func (m *Membership) restart(first tensor.Vec) (agent.Algorithm, error) {
	init := m.e.Task.Init
	defer func() { m.e.Task.Init = init }()
	m.e.Task.Init = first
	return m.Algorithm()
}

// earlier returns the amendment that followed an earlier roster, and this member's number
// in that.
func (m *Membership) earlier(run [32]byte) (text []byte, self agent.ID) {
	for i, r := range m.history.rosters[:m.history.now] {
		if r.Digest() != run {
			continue
		}
		at := slices.Index(r.Names(), m.Name())
		text, err := m.history.rosters[i+1].Encode()
		if err != nil || at < 0 {
			return nil, 0
		}
		return text, agent.ID(at)
	}
	return nil, 0
}

// epochs tells the node of the run's rosters. keep stores an amendment.
func (m *Membership) epochs(c *node.Config) error {
	c.Origin, c.Number, c.Since = m.Roster.Run(), m.Roster.Number(), m.since()
	c.OnAmendment = func(text []byte) (*node.Amendment, error) {
		return m.readAmendment("an amendment of a peer", text)
	}
	c.KeepAmendment, c.Earlier = m.keepAmendment, m.earlier
	if next := m.history.next(); next != nil {
		var err error
		if c.Next, err = m.amendment(next); err != nil {
			return err
		}
	}
	text, err := m.Roster.Encode()
	if err != nil {
		return err
	}
	return storeRoster(m.from.State, m.Roster.Number(), text)
}

// keepAmendment stores a roster that follows the present one, and says early whether the
// policy allows it.
func (m *Membership) keepAmendment(a *node.Amendment) error {
	next, err := roster.Parse("an amendment", a.Text)
	if err != nil {
		return err
	}
	if !a.Removed {
		r := m.request(m.Budget.Population)
		r.Members = next.Keys()
		if at := slices.Index(next.Names(), m.Name()); at >= 0 {
			r.Self = r.Members[at]
		}
		if _, err := m.tight.present(m.Policy).Allow(r); err != nil {
			m.Node.Log.Error("the policy does not allow the next roster: mend it before the members change",
				"round", a.Round, "error", err)
		}
		if !r.Self.Equal(m.keys.held.Public()) && !r.Self.Equal(m.keys.newest.Public()) {
			m.Node.Log.Warn("this member has another key in the next roster: start the node again with " +
				"--key and --former-key before the members change")
		}
	}
	return storeRoster(m.from.State, next.Number(), a.Text)
}

// storeRoster writes the roster of an epoch durably, unless it is there.
func storeRoster(state string, number int, text []byte) error {
	path := filepath.Join(state, rosterFile(number))
	if b, err := os.ReadFile(path); err == nil && bytes.Equal(b, text) {
		return nil
	}
	return atomicfile.WriteDurable(path, text, 0o600)
}

// keys are an owner's: the one that the present roster has, the newest, and one that its
// member had in a former roster.
type keys struct{ held, newest, former ed25519.PrivateKey }

// choose takes the one that a roster has.
func (k *keys) choose(r *roster.Roster) (agent.ID, error) {
	k.held = k.newest
	self, err := r.Find(k.newest.Public().(ed25519.PublicKey))
	if err == nil || k.former == nil {
		return self, err
	}
	if self, err := r.Find(k.former.Public().(ed25519.PublicKey)); err == nil {
		k.held = k.former
		return self, nil
	}
	return self, err
}

// rekey hands the owner's ledgers over to the member's key in the present roster, if it
// had another one before, and to no later one: a roster that has it may never hold. It
// may be called again, and completes what it began.
func (m *Membership) rekey(dir string, o ledger.Options) error {
	own := &m.Roster.Members[m.Self]
	early := !m.keys.held.Equal(m.keys.newest) // the newest key is of a roster to come
	if own.Former == "" || !own.FormerLost && (m.keys.former == nil || early) {
		return nil // what was handed over before needs no former key
	}
	r := ledger.Replacement{Old: m.keys.former, New: m.keys.held, Lost: own.FormerLost}
	if r.Lost {
		r.Old = nil
	}
	err := ledger.RotateAll(dir, r, o, func(k ledger.RotatedKey) {
		if k.Changed {
			m.Node.Log.Info("the ledger has the member's new key", "ledger", k.Dir, "record", k.Key.Seq)
		}
	})
	var had *config.Error
	if errors.Is(err, fs.ErrNotExist) || early && errors.As(err, &had) && had.Key == "new key" {
		return nil // none, or those that the next epoch had handed over to the newest key
	}
	return err
}
