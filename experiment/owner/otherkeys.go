package owner

import (
	"crypto/ed25519"
	"slices"

	"sotto/agent"
	"sotto/node/roster"
)

// OtherKeys are, by member of the present roster, the keys that a member has had before
// in the run, but lost or stolen ones, and those that later rosters give it, as far as
// this owner knows them. Who has not come as far as this node, or has gone further,
// connects with one of them, and learns what it lacks or tells it.
func (m *Membership) OtherKeys() [][]ed25519.PublicKey {
	h := &m.history
	later := slices.Clone(h.rosters[min(h.now+1, len(h.rosters)):])
	if h.given != nil && h.given.Verify() == nil {
		later = append(later, h.given)
	}
	all := make([][]ed25519.PublicKey, m.Roster.Size)
	for i, name := range m.Roster.Names() {
		for _, f := range roster.Formers(h.rosters[:min(h.now+1, len(h.rosters))], agent.ID(i)) {
			if !f.Lost {
				all[i] = append(all[i], f.Key)
			}
		}
		for _, r := range later {
			if at := slices.Index(r.Names(), name); at >= 0 {
				all[i] = append(all[i], r.Keys()[at])
			}
		}
	}
	return all
}
