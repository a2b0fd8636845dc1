package experiment

import (
	"fmt"
	"math"
	"strings"

	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// private says that the run claims a finite epsilon.
func (e *Experiment) private() bool { return e.file.priv.Mechanism != "none" }

// accounts turns ledgers into figures. Equal histories are accounted once.
type accounts struct {
	accountant string
	adjacency  account.Adjacency
	delta      float64
	cache      map[string]account.Interval
}

func (e *Experiment) newAccounts() *accounts {
	p := &e.file.priv
	return &accounts{p.Accountant, p.adjacency, p.TargetDelta, map[string]account.Interval{}}
}

// history is what a ledger lists: its charges, a text that is equal for equal ones, and their number.
type history struct {
	charges []ledger.Record
	key     string
	count   uint64
}

func historyOf(l ledger.Ledger) (history, error) {
	var (
		h   history
		key strings.Builder
	)
	for r, err := range l.Records() {
		if err != nil {
			return history{}, err
		}
		if r.Kind != ledger.Charge {
			continue
		}
		h.charges = append(h.charges, r)
		h.count += r.Count
		fmt.Fprintf(&key, "%s x %d\n", r.Event.Key(), r.Count)
	}
	h.key = key.String()
	return h, nil
}

// compose feeds a fresh accountant with a history.
func (a *accounts) compose(h history) (account.Accountant, error) {
	acc, err := account.New(a.accountant, a.adjacency, account.Record())
	if err != nil {
		return nil, err
	}
	for _, r := range h.charges {
		if err := acc.Compose(*r.Event, int(r.Count)); err != nil {
			return nil, err
		}
	}
	return acc, nil
}

// spent returns epsilon at the target delta for everything that l lists, and the number of charges.
func (a *accounts) spent(l ledger.Ledger) (account.Interval, uint64, error) {
	h, err := historyOf(l)
	if err != nil {
		return account.Interval{}, 0, err
	}
	if v, ok := a.cache[h.key]; ok {
		return v, h.count, nil
	}
	acc, err := a.compose(h)
	if err != nil {
		return account.Interval{}, 0, err
	}
	v, err := acc.Epsilon(a.delta)
	if err == nil {
		a.cache[h.key] = v
	}
	return v, h.count, err
}

// spentBy returns what each agent has spent.
func (a *accounts) spentBy(ledgers []*ledger.Memory) (eps []account.Interval, charges []uint64, err error) {
	eps, charges = make([]account.Interval, len(ledgers)), make([]uint64, len(ledgers))
	for i, l := range ledgers {
		if eps[i], charges[i], err = a.spent(l); err != nil {
			return nil, nil, fmt.Errorf("agent %d: %w", i, err)
		}
	}
	return eps, charges, nil
}

// agentStatement is the privacy statement of the agents with one and the same ledger.
type agentStatement struct {
	Agents    string            `json:"agents"`
	Statement account.Statement `json:"statement"`
	Text      string            `json:"text"` // the same for a person
}

// encodeStatements writes privacy.json: one statement for each distinct ledger.
func (r *running) encodeStatements() ([]byte, error) {
	var out []agentStatement
	err := r.byLedger(func(agents string, l *ledger.Memory) error {
		h, err := historyOf(l)
		if err != nil {
			return err
		}
		acc, err := r.accounts.compose(h)
		if err != nil {
			return err
		}
		s, err := account.NewStatement(acc, r.accounts.adjacency, account.Record(), r.accounts.delta, "simulated")
		if err != nil {
			return err
		}
		s.Releases = int(min(h.count, math.MaxInt))
		if len(h.charges) > 0 {
			s.Sampler = h.charges[0].Event.Sampler
		}
		head := l.Head()
		s.Ledger = account.LedgerRange{FirstSeq: min(1, head.Seq), LastSeq: head.Seq, Head: head.String()}
		s.Overrides = append(s.Overrides, r.e.overrides...)
		s.NotCovered = append(s.NotCovered, "timing of replies", "the number of rounds, the graph and all other settings, which are public")
		if r.e.sealed() {
			s.Assumptions = append(s.Assumptions, "no message of this agent and no version of its model leaves it")
		}
		out = append(out, agentStatement{agents, s, s.String()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return indent(out)
}

// byLedger calls f once for each distinct ledger, in order of its first agent.
func (r *running) byLedger(f func(agents string, l *ledger.Memory) error) error {
	members := map[string][]int{}
	var order []string
	for i, l := range r.world.ledgers {
		head := l.Head().String()
		if members[head] == nil {
			order = append(order, head)
		}
		members[head] = append(members[head], i)
	}
	for _, head := range order {
		if err := f(ranges(members[head]), r.world.ledgers[members[head][0]]); err != nil {
			return err
		}
	}
	return nil
}
