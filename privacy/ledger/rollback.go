package ledger

import (
	"encoding/hex"
	"errors"
	"fmt"

	"sotto/config"
	"sotto/privacy/account"
)

// RolledBack says that the ledger was restored from an older copy, and which charges it
// lacks: what the neighbors of its owner's node have signed evidence of.
type RolledBack struct {
	Run string // whose charges are missing
	// Round is the latest round of Run in which the neighbors know of an answer.
	Round uint64
	// From is the highest record number that the neighbors know the ledger to have had.
	// Where they know a number of charges only it is To plus that number.
	From uint64
	To   uint64 // the last number that it had when it was found
	// Charges are missing. They are charged whatever the budget says: their answers were
	// given.
	Charges []ChargeOf
	// Evidence is a digest of what the neighbors signed, 1 to 64 bytes. Equal evidence is
	// recorded once.
	Evidence []byte
}

// Lost is what a record of kind [Restored] says.
type Lost struct {
	From    uint64     `json:"from"`
	To      uint64     `json:"to"`
	Charges []ChargeOf `json:"charges"`
}

// lostCharge is a missing charge as it stands in a record.
type lostCharge struct {
	text  []byte // canonical JSON of the event
	count uint64
	tally *tally // found by check
}

// maxLost is how many events one record of a rollback may name.
const maxLost = 1 << 10

func (r *RolledBack) validate(head uint64) error {
	total := uint64(0)
	for _, c := range r.Charges {
		if c.Count < 1 || c.Count > maxCount {
			return config.Bad("charges.count", c.Count, "1 to 2^53")
		}
		if total += c.Count; total > maxCount {
			return config.Bad("charges", total, "at most 2^53 together")
		}
	}
	switch {
	case r.To > head:
		return config.Bad("to", r.To, fmt.Sprintf("at most %d, the last record", head))
	case r.From <= r.To || r.From > maxCount:
		return config.Bad("from", r.From, fmt.Sprintf("above %d, and at most 2^53", r.To))
	case r.Round >= 1<<63:
		return config.Bad("round", r.Round, "below 2^63")
	case len(r.Charges) > maxLost:
		return config.Bad("charges", len(r.Charges), fmt.Sprintf("at most %d events", maxLost))
	case len(r.Evidence) < 1 || len(r.Evidence) > 64:
		return config.Bad("evidence", fmt.Sprintf("%d bytes", len(r.Evidence)), "1 to 64")
	}
	return checkName("run", r.Run)
}

// restoredNote is what statements say of a rollback.
func restoredNote(from, to, charges uint64) string {
	return fmt.Sprintf("this ledger was rolled back from record %d to %d; %d charges were added from its "+
		"neighbors' signed knowledge", from, to, charges)
}

// restoredCount is how many numbers the record of a rollback takes: all that were given
// out before, and one more, so that no number is ever given out twice and later heads do
// not go back behind those that neighbors hold.
func restoredCount(seq, from uint64) uint64 {
	if from+1 < seq {
		return 1
	}
	return from + 2 - seq
}

// RollBack records that the ledger was rolled back, and charges what it lacks, in one
// signed record that is durable when RollBack returns. The charges stand even where they
// exceed the budget, which then admits nothing more; statements list the record among
// their overrides. It does nothing if the same evidence is recorded already, so that it
// can be called again after a crash. Errors: a config.Error (r contradicts itself or the
// ledger, nothing was written), account.ErrUnsupported (the filter cannot count an event;
// nothing was written), ErrClosed, ErrPoisoned.
func (f *File) RollBack(r RolledBack) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(); err != nil {
		return err
	}
	evidence := hex.EncodeToString(r.Evidence)
	if f.chain.evidence[evidence] {
		return nil
	}
	if err := r.validate(f.chain.head().Seq); err != nil {
		return err
	}
	lost, total, err := f.chain.missing(r.Charges)
	if err != nil {
		return err
	}
	for _, l := range lost {
		if f.exhausted {
			break
		}
		err := f.filter.Admit(l.tally.event, int(l.count))
		if errors.Is(err, account.ErrExhausted) {
			f.exhausted = true
		} else if err != nil {
			return err
		}
	}
	_, err = f.write(Restored, func(e *entry) *tally {
		e.Count = restoredCount(e.Seq, r.From)
		e.Run, e.Round, e.Digest = r.Run, r.Round, evidence
		e.Note = restoredNote(r.From, r.To, total)
		e.Lost, e.lost = &Lost{From: r.From, To: r.To}, lost
		return nil
	})
	f.last = nil // its tally may be another one now
	return err
}

// missing finds the tallies of charges, each event once.
func (c *chain) missing(charges []ChargeOf) (lost []lostCharge, total uint64, err error) {
	at := map[string]int{}
	for _, m := range charges {
		t, err := c.tally(m.Event)
		if err != nil {
			return nil, 0, err
		}
		k, ok := at[string(t.text)]
		if !ok {
			k, at[string(t.text)] = len(lost), len(lost)
			lost = append(lost, lostCharge{text: t.text, tally: t})
		}
		lost[k].count += m.Count
		if total += m.Count; lost[k].count > maxCount-t.total {
			return nil, 0, config.Bad("charges.count", m.Count, "at most 2^53 of one event over all runs")
		}
	}
	return lost, total, nil
}

// checkRestored checks the parts of a rollback's record and fills its Lost.
func (c *chain) checkRestored(e *entry) error {
	l := e.Lost
	if l == nil || e.event != nil || e.Total != 0 || e.Claim != nil || e.signature == nil || e.Digest == "" {
		return fmt.Errorf("has not the parts of kind %q", Restored)
	}
	var total uint64
	seen := map[string]bool{}
	l.Charges = nil
	for i := range e.lost {
		m := &e.lost[i]
		t, err := c.find(m.text)
		if err != nil {
			return err
		}
		if seen[string(t.text)] || m.count < 1 || m.count > maxCount-t.total {
			return fmt.Errorf("%d missing charges of one event, allowed: 1 to 2^53, each event once", m.count)
		}
		seen[string(t.text)] = true
		m.tally = t
		l.Charges = append(l.Charges, ChargeOf{m.count, t.event})
		total += m.count
	}
	if l.To >= e.Seq || l.From <= l.To || l.From > maxCount || e.Count != restoredCount(e.Seq, l.From) ||
		e.Note != restoredNote(l.From, l.To, total) {
		return fmt.Errorf("rolled back from %d to %d with count %d and note %q: these contradict each other",
			l.From, l.To, e.Count, e.Note)
	}
	return nil
}

// restore takes the charges of a rollback into the chain.
func (c *chain) restore(e *entry) {
	c.overrides = append(c.overrides, e.Note)
	c.evidence[e.Digest] = true
	for _, m := range e.lost {
		c.enter(m.tally)
		m.tally.total += m.count
		c.charges += m.count
		c.count(e, m.tally, m.count)
	}
}
