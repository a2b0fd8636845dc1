package owner

import (
	"strings"
	"testing"

	"sotto/node/roster"
)

// A node is told that its roster holds where its node under the one before has ended with
// node.ErrChange, and not where its operator chose that roster alone.
func TestARosterHoldsAfterAChange(t *testing.T) {
	for epoch, holds := range []bool{false, false, true, true} {
		m := Membership{Roster: &roster.Roster{Epoch: &roster.Epoch{Number: 2, Round: 40,
			Previous: strings.Repeat("0a", 32)}, Size: 1, Members: []roster.Member{{Name: "a"}}}}
		m.history.rosters = []*roster.Roster{m.Roster}
		m.from.Epoch = epoch
		if s := m.since(); s.Holds != holds || s.Round != 40 || s.Previous[31] != 0x0a {
			t.Errorf("epoch %d holds at least: %+v", epoch, s)
		}
	}
}
