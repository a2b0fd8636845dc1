package checkpoint_test

import (
	"errors"
	"testing"

	"sotto/node/checkpoint"
	"sotto/privacy/ledger/ledgertest"
	"sotto/rng"
)

// A node stores its state again when it starts. However it is killed then, what its
// neighbors may still lack is there: they waited for it for good.
func TestAKillAtTheStartKeepsWhatWasSent(t *testing.T) {
	for at := 1; ; at++ {
		disk := ledgertest.NewCrashFS()
		open := func() (*checkpoint.Store, *checkpoint.Checkpoint) {
			s, err := checkpoint.Open("/state", disk)
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.Load()
			if err != nil {
				t.Fatal(err)
			}
			return s, c
		}
		s, _ := open()
		var sent []byte
		for round := range uint64(4) {
			c := &checkpoint.Checkpoint{Round: round}
			c.Before, c.Outbox, c.Sent, c.Barrier = sent, []byte{'a' + byte(round)}, round, true
			if err := s.Save(c); err != nil {
				t.Fatal(err)
			}
			sent = c.Outbox
		}
		disk = disk.Recover(func(n int) int { return n - 1 })
		s, c := open()
		disk.CrashAt = disk.Changes + at
		err := s.Save(c)
		if err == nil {
			return
		}
		if !errors.Is(err, ledgertest.ErrCrashed) {
			t.Fatal(err)
		}
		for seed := range uint64(50) {
			chance := rng.Public(seed, "recover")
			was := disk
			disk = disk.Recover(func(n int) int { return int(chance.Below(uint64(n))) })
			if _, c = open(); c == nil || c.Round != 3 || string(c.Before) != "c" || string(c.Outbox) != "d" {
				t.Errorf("killed at change %d: %+v", at, c)
			}
			disk = was
		}
	}
}
