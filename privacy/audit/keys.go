package audit

import (
	"context"
	"fmt"
)

// Print tells the noise of one charge from that of another: two are equal where the keys
// are, and else never.
type Print [16]byte

// Keyring draws keys as the owner's daemon does.
type Keyring struct {
	// Draw opens the owner's gate anew, with a new ledger, and takes charges.
	Draw func() ([]Print, error)
	// Elsewhere starts other processes together that do the same, calls meanwhile again
	// and again until they have ended, and returns what each has drawn. nil: there are no
	// other processes.
	Elsewhere func(ctx context.Context, meanwhile func() error) ([][]Print, error)
}

// Keys compares keys that are to be secret: those of gates that one process opens right
// after another, and those of processes that were started together, while this one goes
// on to draw. Keys from a clock, from a process's number or charge or from a fixed seed
// are equal somewhere there. Observations is the number of gates that are opened in this
// process at the least.
//
// Nothing is left to chance: no two prints may be equal. What it does not see are keys
// that differ and can still be guessed.
func (t *Target) Keys(ctx context.Context, o Options) (*Report, error) {
	if t.Draw == nil {
		return nil, errNotApplicable
	}
	r := t.report("keys", o)
	var here []Print
	draw := func() error {
		p, err := t.Draw()
		here = append(here, p...)
		return err
	}
	for range o.Observations {
		if err := draw(); err != nil {
			return nil, err
		}
	}
	r.Observations = o.Observations
	var others [][]Print
	if t.Elsewhere != nil {
		var err error
		if others, err = t.Elsewhere(ctx, draw); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			r.Valid = append(r.Valid, fmt.Sprintf("keys of one process alone were compared: %v", err))
		}
	}
	within, between := equalPrints(append([][]Print{here}, others...))
	r.check(Check{
		Name:      "one process",
		Statistic: Figure(within),
		Text:      "charges whose key an earlier one of the same process had",
	})
	if len(others) > 0 {
		r.check(Check{
			Name:      "processes",
			Statistic: Figure(between),
			Text: fmt.Sprintf("charges whose key one of another process had, of %d processes at one time",
				len(others)+1),
		})
	}
	r.Valid = append(r.Valid, "keys come from where a daemon's gate has them; two gates have charges of one "+
		"number, and an owner's state is not kept")
	return r, nil
}

// equalPrints counts prints that the same process had before, and those that another one
// before it in the list had.
func equalPrints(processes [][]Print) (within, between int) {
	before := map[Print]bool{}
	for _, all := range processes {
		own := map[Print]bool{}
		for _, p := range all {
			if own[p] {
				within++
			}
			if before[p] {
				between++
			}
			own[p] = true
		}
		for p := range own {
			before[p] = true
		}
	}
	return within, between
}
