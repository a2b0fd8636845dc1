package audit

import (
	"context"
	"fmt"

	"sotto/agent"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
)

// Ledger runs the system with its own sampler and watches ledger, gate and wire: every
// answer was charged once, and before the message that follows from it; the epsilon
// recomputed from the ledger is not above the claim. Observations is the number of
// messages after which the run is stopped.
func (t *Target) Ledger(ctx context.Context, o Options) (*Report, error) {
	r := t.report("ledger", o)
	party, err := t.Open(In, o.Seed, false)
	if err != nil {
		return nil, err
	}
	a, err := t.Algorithm()
	if err != nil {
		return nil, err
	}
	w := &watched{
		Algorithm: a,
		gate:      party.Gate,
		ledger:    party.Ledger,
		free:      t.Free,
		before:    charged(party.Ledger),
	}
	done := func() bool { return w.sends >= o.Observations || ctx.Err() != nil }
	if err := t.Drive(w, w, o.Seed, done); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.Observations = w.sends
	charges := charged(party.Ledger) - w.before
	r.check(Check{
		Name:      "answers",
		Statistic: Figure(w.answers),
		Limit:     Figure(charges),
		Text:      "answers that read data, of which every one needs a charge",
	})
	r.check(Check{
		Name:      "events",
		Statistic: Figure(w.other),
		Text:      "answers after which the ledger's last charge is another event than the gate described",
	})
	r.check(Check{Name: "sends", Statistic: Figure(w.early),
		Text: "messages that left before the charge of an answer that they follow from"})
	r.Valid = append(r.Valid, "gate, ledger and messages of one agent of one run were watched")
	if t.Account == nil {
		return r, nil
	}
	upper, err := t.Account(party.Ledger)
	if err != nil {
		return nil, err
	}
	r.check(Check{Name: "epsilon", Statistic: Figure(upper), Limit: Figure(t.Claim.Total * (1 + 1e-6)),
		Text: fmt.Sprintf("what the accountant makes of %d charges, against the claim for the whole run",
			charges)})
	return r, nil
}

// charged counts a ledger's charges.
func charged(l ledger.Ledger) int {
	n := 0
	for rec, err := range l.Records() {
		if err == nil && rec.Kind == ledger.Charge {
			n += int(rec.Count)
		}
	}
	return n
}

// watched is an algorithm and its gate under observation.
type watched struct {
	agent.Algorithm
	gate   Gate
	ledger ledger.Ledger
	free   map[string]bool

	before, answers int
	sends, early    int
	other           int
}

// describer is a gate that says what an answer costs; *privacy.Gate is one.
type describer interface {
	Describe(q *agent.Query) (account.Release, account.Event, error)
}

// Begin implements Gate.
func (w *watched) Begin(round uint64, live []agent.Neighbor) { w.gate.Begin(round, live) }

// Answer implements Gate.
func (w *watched) Answer(q *agent.Query, dst tensor.Vec) error {
	err := w.gate.Answer(q, dst)
	if err != nil || w.free[q.Oracle] {
		return err
	}
	w.answers++
	if d, ok := w.gate.(describer); ok {
		_, described, err := d.Describe(q)
		if err != nil {
			return err
		}
		if last := lastCharge(w.ledger); last == nil || !last.Equal(described) {
			w.other++
		}
	}
	return nil
}

// lastCharge is the event of a ledger's last charge, nil where it has none.
func lastCharge(l ledger.Ledger) *account.Event {
	var last *account.Event
	for rec, err := range l.Records() {
		if err == nil && rec.Kind == ledger.Charge {
			last = rec.Event
		}
	}
	return last
}

// Step is the algorithm's.
func (w *watched) Step(in *agent.Input, out *agent.Output) error {
	if err := w.Algorithm.Step(in, out); err != nil || out.Query != nil {
		return err
	}
	for range out.Outbox {
		w.sends++
		if charged(w.ledger)-w.before < w.answers {
			w.early++
		}
	}
	return nil
}
