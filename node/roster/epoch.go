package roster

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"sotto/agent"
	"sotto/config"
)

// Epoch says that a roster goes on with a run that began under another one: an amendment.
// All its members sign it like any roster. Everybody completes Round rounds under the
// roster before, and the next one under this.
type Epoch struct {
	Number   int    `toml:"number" json:"number"`     // 1 for the first change of a run
	Round    uint64 `toml:"round" json:"round"`       // how many rounds are complete when it begins
	Previous string `toml:"previous" json:"previous"` // digest of the roster before, hexadecimal
	Run      string `toml:"run" json:"run"`           // digest of the first roster: the run's name
	// Gone are members of the roster before for whom nobody waits from now on, by name.
	Gone []string `toml:"gone,omitempty" json:"gone,omitempty"`
}

// Newness is what an amendment says of a member that had another key before.
type Newness struct {
	// Former is the member's key in the roster before, "" where it is the same. Whoever
	// has the new key is the same owner, and goes on with the same ledger.
	Former string `toml:"former,omitempty" json:"former,omitempty"`
	// FormerLost: the former key is lost or stolen, and does not sign. The other members'
	// signatures say that they know the owner of the new one.
	FormerLost bool `toml:"former_lost,omitempty" json:"former_lost,omitempty"`
	// FormerSignature is the former key's over what Signature is over.
	FormerSignature string `toml:"former_signature,omitempty" json:"-"`
}

func (e *Epoch) validate() error {
	if e == nil {
		return nil
	}
	for _, d := range []struct{ key, value string }{{"previous", e.Previous}, {"run", e.Run}} {
		if b, err := hex.DecodeString(d.value); err != nil || len(b) != 32 {
			return config.Bad("epoch."+d.key, d.value, "the digest of a roster, 64 hexadecimal digits")
		}
	}
	switch {
	case e.Number < 1:
		return config.Bad("epoch.number", e.Number, "at least 1")
	case e.Number == 1 && e.Run != e.Previous:
		return config.Bad("epoch.run", e.Run, e.Previous+", the roster before the first change")
	case e.Round < 1:
		return config.Bad("epoch.round", e.Round, "at least 1")
	}
	return nil
}

// checkFormer checks what a member says of its former key.
func checkFormer(r *Roster, i int) error {
	m := &r.Members[i]
	key := fmt.Sprintf("member[%d].former", i)
	if m.Former == "" {
		if m.FormerLost || m.FormerSignature != "" {
			return config.Bad(key, m.Former, "the member's key in the roster before")
		}
		return nil
	}
	if _, err := ParsePeerID(m.Former); err != nil {
		return config.Bad(key, m.Former, "64 hexadecimal digits, as sotto keygen prints them")
	}
	if r.Epoch == nil {
		return config.Bad(key, m.Former, "nothing, in the first roster of a run")
	}
	for j := range r.Members {
		if o := &r.Members[j]; o.ID == m.Former || j < i && o.Former == m.Former {
			return config.Bad(key, m.Former, "a key that no other member has or had")
		}
	}
	return nil
}

// Run is the digest of the first roster of the run: its own, unless it is an amendment.
func (r *Roster) Run() (run [32]byte) {
	if r.Epoch == nil {
		return r.Digest()
	}
	hex.Decode(run[:], []byte(r.Epoch.Run)) // checked by validate
	return run
}

// Number is that of the epoch, 0 for the first roster of a run.
func (r *Roster) Number() int {
	if r.Epoch == nil {
		return 0
	}
	return r.Epoch.Number
}

// A Draft is an amendment whose members may still change. Weigh gives it its graph, and
// then all members sign it.
type Draft struct{ *Roster }

// Amend drafts an amendment that begins when round rounds are complete, with the members
// that there are.
func (r *Roster) Amend(round uint64) (Draft, error) {
	previous, run := r.Digest(), r.Run()
	next := *r
	next.Epoch = &Epoch{Number: r.Number() + 1, Round: round, Previous: hex.EncodeToString(previous[:]),
		Run: hex.EncodeToString(run[:])}
	next.Members = slices.Clone(r.Members)
	for i := range next.Members {
		m := &next.Members[i]
		m.Signature, m.Newness, m.Weights = "", Newness{}, maps.Clone(m.Weights)
	}
	return Draft{&next}, next.validate()
}

// Remove takes a member out. gone: it does not answer, and nobody waits for it.
func (r Draft) Remove(name string, gone bool) error {
	i, err := r.member(name)
	if err != nil {
		return err
	}
	r.Members = slices.Delete(r.Members, i, i+1)
	if r.Size = len(r.Members); gone {
		r.Epoch.Gone = append(r.Epoch.Gone, name)
	}
	return nil
}

// Rekey gives a member another key, and another address where it is not "". lost: the
// former one cannot sign.
func (r Draft) Rekey(name, id, address string, lost bool) error {
	i, err := r.member(name)
	if err != nil {
		return err
	}
	if err := checkReach(i, address); err != nil {
		return err
	}
	m := &r.Members[i]
	m.Former, m.FormerLost, m.ID = m.ID, lost, id
	if address != "" {
		m.Address = address
	}
	return nil
}

// Move gives a member another address.
func (r Draft) Move(name, address string) error {
	i, err := r.member(name)
	if err == nil {
		err = checkReach(i, address)
	}
	if err == nil {
		r.Members[i].Address = address
	}
	return err
}

// Valid checks what the changes together have made, as a file's text is checked.
func (r Draft) Valid() error { return r.validate() }

func (r Draft) member(name string) (int, error) {
	i := slices.Index(r.Names(), name)
	if i < 0 {
		return i, config.Bad("member", name, "a member of the roster")
	}
	return i, nil
}

// Follows refuses an amendment that is not one of prev: another run, number or
// experiment, members that are not those of prev or new ones, or half of them gone.
func (r *Roster) Follows(prev *Roster) error {
	digest, run := prev.Digest(), prev.Run()
	e := r.Epoch
	switch {
	case e == nil:
		return config.Bad("epoch", "none", "an amendment of roster "+hex.EncodeToString(digest[:]))
	case e.Previous != hex.EncodeToString(digest[:]):
		return config.Bad("epoch.previous", e.Previous, hex.EncodeToString(digest[:])+", the roster before")
	case e.Run != hex.EncodeToString(run[:]):
		return config.Bad("epoch.run", e.Run, hex.EncodeToString(run[:])+", the first roster of the run")
	case e.Number != prev.Number()+1:
		return config.Bad("epoch.number", e.Number, fmt.Sprint(prev.Number()+1))
	case prev.Epoch != nil && e.Round <= prev.Epoch.Round:
		return config.Bad("epoch.round", e.Round, fmt.Sprintf("above %d, where the epoch before begins",
			prev.Epoch.Round))
	case r.Experiment != prev.Experiment:
		return config.Bad("experiment", r.Experiment, prev.Experiment+", that of the roster before")
	case r.Schema != prev.Schema:
		return config.Bad("schema", "another text", "that of the roster before")
	}
	for i := range r.Members {
		m, key := &r.Members[i], fmt.Sprintf("member[%d]", i)
		old := slices.IndexFunc(prev.Members, func(o Member) bool { return o.Name == m.Name })
		was := slices.IndexFunc(prev.Members, func(o Member) bool { return o.ID == m.before() })
		switch {
		case old != was && old >= 0:
			return config.Bad(key+".name", m.Name, "a name that no member had before, or its key as former")
		case old != was:
			return config.Bad(key+".name", m.Name, prev.Members[was].Name+", as in the roster before")
		case was < 0 && m.Former != "":
			return config.Bad(key+".former", m.Former, "the key of a member of the roster before")
		case was >= 0 && m.Former != "" && m.ID == prev.Members[was].Former:
			return config.Bad(key+".id", m.ID, "a key that the member has not had in this run")
		}
	}
	for _, name := range e.Gone {
		if !slices.Contains(prev.Names(), name) || slices.Contains(r.Names(), name) {
			return config.Bad("epoch.gone", name, "members of the roster before that this one lacks")
		}
	}
	signed := 0 // by a key of the roster before; for a lost one its member's new key says nothing
	for i, was := range r.Was(prev) {
		if was >= 0 && !r.Members[i].FormerLost {
			signed++
		}
	}
	if 2*signed <= len(prev.Members) { // else a few could end the others' run
		return config.Bad("member", fmt.Sprintf("%d of %d members stay with keys that sign", signed,
			len(prev.Members)), "more than half")
	}
	return nil
}

// before is the member's key in the roster before.
func (m *Member) before() string {
	if m.Former != "" {
		return m.Former
	}
	return m.ID
}

// Was gives each member's number in the roster before, -1 for new ones.
func (r *Roster) Was(prev *Roster) []int {
	was := make([]int, len(r.Members))
	for i := range was {
		was[i] = slices.IndexFunc(prev.Members, func(o Member) bool { return o.ID == r.Members[i].before() })
	}
	return was
}

// A Former is a key that a member had before another one.
type Former struct {
	Key   ed25519.PublicKey
	Until uint64 // the round at which it was replaced
	Lost  bool   // it was lost or stolen
}

// Formers are the keys of a member of the last one of some rosters, each of which follows
// the one before, that it had before its present key, the newest first.
func Formers(rosters []*Roster, member agent.ID) (keys []Former) {
	at := int(member)
	for k := len(rosters) - 1; k >= 0 && at >= 0; k-- {
		r := rosters[k]
		if former := r.Members[at].Former; former != "" {
			key, _ := ParsePeerID(former) // checked by validate
			keys = append(keys, Former{key, r.Epoch.Round, r.Members[at].FormerLost})
		}
		if k > 0 {
			at = r.Was(rosters[k-1])[at]
		}
	}
	return keys
}
