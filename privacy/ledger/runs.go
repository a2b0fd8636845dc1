package ledger

import "sotto/privacy/account"

// ChargeOf is a number of charges of one event.
type ChargeOf struct {
	Count uint64        `json:"count"`
	Event account.Event `json:"event"`
}

// RunCharges is what one run has charged so far, with what was added because the ledger
// was rolled back.
type RunCharges struct {
	Count uint64 // of all events together
	First uint64 // number of the first record; 0: the run has charged nothing
	Round uint64 // the latest round of a charge
	Of    []ChargeOf
}

// runTally counts the charges of one run.
type runTally struct {
	count, first, round uint64
	of                  []eventCount // as first charged
}

// eventCount is how often a run has charged one event.
type eventCount struct {
	tally *tally
	count uint64
}

// totals are counts over all records.
type totals struct {
	records uint64
	charges uint64
	runs    map[string]*runTally
	// digests of the evidence of rollbacks that are recorded, hexadecimal
	evidence map[string]bool
}

// count takes charges of one event into the run's counts.
func (c *chain) count(e *entry, t *tally, n uint64) {
	r := c.runs[e.Run]
	if r == nil {
		r = &runTally{first: e.Seq}
		c.runs[e.Run] = r
	}
	r.count += n
	r.round = max(r.round, e.Round)
	for i := range r.of {
		if r.of[i].tally == t {
			r.of[i].count += n
			return
		}
	}
	r.of = append(r.of, eventCount{t, n})
}

// charged returns what a run has charged.
func (c *chain) charged(run string) RunCharges {
	r := c.runs[run]
	if r == nil {
		return RunCharges{}
	}
	out := RunCharges{Count: r.count, First: r.first, Round: r.round}
	for _, o := range r.of {
		out.Of = append(out.Of, ChargeOf{o.count, o.tally.event})
	}
	return out
}

// Run returns what the named run has charged so far. It reads nothing from the disk.
func (h *history) Run(run string) RunCharges {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.chain.charged(run)
}

// Charges returns how often the named run has charged so far. It reads nothing from the
// disk.
func (h *history) Charges(run string) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.chain.runs[run]; r != nil {
		return r.count
	}
	return 0
}

// Total returns the number of charges so far, over all runs.
func (h *history) Total() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.chain.charges
}

// Overrides returns the notes that statements list, oldest first.
func (h *history) Overrides() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.chain.overrides...)
}
