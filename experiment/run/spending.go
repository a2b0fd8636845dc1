package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/exposure"
	"sotto/experiment/rundir"
	"sotto/internal/parallel"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// Accounting turns the agents' ledgers into figures, statements and files.
type Accounting struct {
	Ledgers  []*ledger.Memory // by agent
	e        *experiment.Experiment
	accounts *accounts
	walk     *rundir.WalkFigures // of a finished walk, where asked for
}

// NewAccounting is that of an experiment.
func NewAccounting(e *experiment.Experiment, workers int, ledgers []*ledger.Memory) *Accounting {
	return &Accounting{Ledgers: ledgers, e: e, accounts: newAccounts(e, workers)}
}

// accounts turns ledgers into figures.
type accounts struct {
	accountant string
	adjacency  account.Adjacency
	unit       account.Unit
	delta      float64
	workers    int
}

func newAccounts(e *experiment.Experiment, workers int) *accounts {
	t := &e.Setup.Target
	return &accounts{t.Accountant, t.Adjacency, t.Unit, t.Delta, workers}
}

// history is what a ledger lists: its charges, a text that is equal for equal ones, and
// their number.
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
		fmt.Fprintf(&key, "%s x %d\n", keyOf(r.Event), r.Count)
	}
	h.key = key.String()
	return h, nil
}

// eventKeys holds the keys of events that many ledgers share.
var eventKeys sync.Map // account.Event to string

func keyOf(ev *account.Event) string {
	if k, ok := eventKeys.Load(*ev); ok {
		return k.(string)
	}
	k := ev.Key()
	if account.Shared(*ev) == *ev { // others come and go
		eventKeys.Store(*ev, k)
	}
	return k
}

// compose feeds a fresh accountant with a history.
func (a *accounts) compose(h history) (account.Accountant, error) {
	acc, err := account.New(a.accountant, a.adjacency, a.unit)
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

// figure returns epsilon for a history; with upperOnly by the shorter way, where Lower is
// 0.
func (a *accounts) figure(h history, upperOnly bool) (account.Interval, error) {
	acc, err := a.compose(h)
	if err != nil {
		return account.Interval{}, err
	}
	quick, ok := acc.(interface {
		UpperEpsilon(delta float64) (float64, error)
	})
	if upperOnly && ok {
		upper, err := quick.UpperEpsilon(a.delta)
		return account.Interval{Upper: upper}, err
	}
	return acc.Epsilon(a.delta)
}

// Spent is what a ledger's charges cost by the run's accountant.
func Spent(e *experiment.Experiment, l ledger.Ledger) (account.Interval, error) {
	if e == nil || l == nil {
		return account.Interval{}, config.Bad("experiment or ledger", "none", "both")
	}
	h, err := historyOf(l)
	if err != nil {
		return account.Interval{}, err
	}
	return newAccounts(e, 1).figure(h, false)
}

// spentBy returns what each agent has spent at the target delta, and its number of
// charges.
func (a *accounts) spentBy(ledgers []*ledger.Memory, upperOnly bool) (eps []account.Interval,
	charges []uint64, err error) {
	eps, charges = make([]account.Interval, len(ledgers)), make([]uint64, len(ledgers))
	histories := make([]history, len(ledgers))
	distinct := map[string]int{}
	var firsts []int
	for i, l := range ledgers {
		if histories[i], err = historyOf(l); err != nil {
			return nil, nil, fmt.Errorf("agent %d: %w", i, err)
		}
		charges[i] = histories[i].count
		if _, ok := distinct[histories[i].key]; !ok {
			distinct[histories[i].key] = i
			firsts = append(firsts, i)
		}
	}
	errs := make([]error, len(firsts))
	parallel.For(len(firsts), a.workers, func(k int) error {
		i := firsts[k]
		if eps[i], errs[k] = a.figure(histories[i], upperOnly); errs[k] != nil {
			errs[k] = fmt.Errorf("agent %d: %w", i, errs[k])
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	for i := range eps {
		eps[i] = eps[distinct[histories[i].key]]
	}
	return eps, charges, nil
}

// encodeStatements writes privacy.json: one statement for each distinct ledger.
func (r *Accounting) encodeStatements() ([]byte, error) {
	var out []rundir.AgentStatement
	err := r.ByLedger(func(agents string, l *ledger.Memory) error {
		s, err := r.Statement(l)
		out = append(out, rundir.AgentStatement{Agents: agents, Statement: s, Text: s.String()})
		return err
	})
	if err != nil {
		return nil, err
	}
	return rundir.Indent(out)
}

// Statement says what a ledger's charges cost.
func (r *Accounting) Statement(l *ledger.Memory) (account.Statement, error) {
	h, err := historyOf(l)
	if err != nil {
		return account.Statement{}, err
	}
	acc, err := r.accounts.compose(h)
	if err != nil {
		return account.Statement{}, err
	}
	s, err := account.NewStatement(acc, r.accounts.adjacency, r.accounts.unit, r.accounts.delta, "simulated")
	if err != nil {
		return account.Statement{}, err
	}
	s.Releases = int(min(h.count, math.MaxInt))
	if len(h.charges) > 0 {
		s.Sampler = h.charges[0].Event.Sampler
	}
	head := l.Head()
	s.Ledger = account.LedgerRange{FirstSeq: min(1, head.Seq), LastSeq: head.Seq, Head: head.String()}
	s.Overrides = append(s.Overrides, r.e.Notes.Overrides...)
	s.NotCovered = append(s.NotCovered, "timing of replies",
		"releases that are not in this ledger, and the deletion of ledgers by their owner",
		"the number of rounds, the graph and all other settings, which are public")
	if !r.e.File.Private() {
		s.NotCovered = append(s.NotCovered, account.WithoutNoise)
	}
	if t := r.e.File.Tuned.NotCovered(); t != "" {
		s.NotCovered = append(s.NotCovered, t)
	}
	if r.walk != nil {
		s.PerAdversary = append(s.PerAdversary, exposure.WalkStatement(r.walk))
	}
	uncharged, err := r.uncharged(l)
	if err != nil {
		return account.Statement{}, err
	}
	s.NotCovered = append(s.NotCovered, uncharged...)
	assumed, err := assumptions(r.e)
	s.Assumptions = append(s.Assumptions, assumed...)
	return s, err
}

// uncharged is what the figure of the ledger's first agent leaves out.
func (r *Accounting) uncharged(l *ledger.Memory) ([]string, error) {
	i := slices.Index(r.Ledgers, l)
	if i < 0 || !r.e.File.Private() {
		return nil, nil
	}
	return r.e.Plans[i].Uncharged()
}

// assumptions are those of the run's mechanisms.
func assumptions(e *experiment.Experiment) ([]string, error) {
	m, err := e.Setup.Scheme.Mechanism(e.Seats.Self, 1, SimulatedSecret(e.File.Run.Seed, e.Seats.Self))
	if err != nil {
		return nil, err
	}
	return m.Assumptions(), nil
}

// ByLedger calls f once for each distinct ledger, in order of its first agent.
func (r *Accounting) ByLedger(f func(agents string, l *ledger.Memory) error) error {
	members := map[string][]int{}
	var order []string
	for i, l := range r.Ledgers {
		head := l.Head().String()
		if members[head] == nil {
			order = append(order, head)
		}
		members[head] = append(members[head], i)
	}
	for _, head := range order {
		if err := f(rundir.Ranges(members[head]), r.Ledgers[members[head][0]]); err != nil {
			return err
		}
	}
	return nil
}

// EncodeLedgers writes simulated.jsonl: one line for each distinct ledger.
func (r *Accounting) EncodeLedgers() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	err := r.ByLedger(func(agents string, l *ledger.Memory) error {
		line := rundir.LedgerLine{Agents: agents, Head: l.Head().String()}
		for rec, err := range l.Records() {
			if err != nil {
				return err
			}
			line.Records = append(line.Records, rec)
		}
		return enc.Encode(line)
	})
	return b.Bytes(), err
}
