package owner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"sotto/node"
	"sotto/node/roster"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
)

// Reload says when a daemon reads its policy again.
type Reload struct {
	Asked <-chan os.Signal // nil: never
	Level *slog.LevelVar   // of the log, which the policy may set; nil: it is left alone
	Usual slog.Level       // Level where the policy sets none
}

// Log makes the log as detailed as a policy says.
func (r *Reload) Log(p *roster.Policy) {
	if r.Level == nil {
		return
	}
	level, err := roster.ParseLogLevel(p.LogLevel)
	if err != nil { // "", for ParsePolicy takes nothing else that is no level
		level = r.Usual
	}
	r.Level.Set(level)
}

// obey reads policy and roster again whenever it is asked to, until ctx ends. stop ends
// the node with the refusal of a policy that does not allow the run any more.
func (p *process) obey(ctx context.Context, n *node.Node, stop context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.Reload.Asked:
		}
		if err := p.reload(); err != nil {
			p.tight.forbid(err)
			stop(err)
			return
		}
		p.follow(n)
	}
}

// reload reads the policy again. What it does not allow any more ends the run, with an
// error that wraps privacy.ErrRefused. Another lifetime budget holds from the next charge
// on, but never beyond the budget that the ledger was made with. A file that cannot be
// used, or that names another folder of ledgers, changes nothing and is logged.
func (p *process) reload() error {
	log := p.Node.Log
	next, err := readPolicy(p.from.Policy)
	if err == nil && next.Ledger != p.Policy.Ledger {
		err = fmt.Errorf("%s: ledger: found %q, allowed while the node runs: %q", p.from.Policy, next.Ledger,
			p.Policy.Ledger)
	}
	if err != nil {
		log.Error("the policy is not read again, the former one holds", "error", err)
		return nil
	}
	d, err := next.Allow(p.request(p.Budget.Population))
	if err != nil && !errors.Is(err, privacy.ErrRefused) { // the data's population has no entry any more
		err = fmt.Errorf("%w: %w", privacy.ErrRefused, err)
	}
	if err != nil {
		return fmt.Errorf("%s, read again: %w", p.from.Policy, err)
	}
	p.Reload.Log(next)
	p.tight.read(next)
	p.tight.want(d)
	g := p.ledger.Genesis().Budget
	if d.LifetimeEpsilon > g.Epsilon || d.LifetimeDelta > g.Delta {
		log.Warn("the ledger of these data keeps the budget that it was made with", "epsilon", g.Epsilon,
			"delta", g.Delta)
	}
	log.Info("the policy was read again", "lifetime_epsilon", d.LifetimeEpsilon, "lifetime_delta",
		d.LifetimeDelta)
	return nil
}

// allowance is what the owner's policy admits at present, where that is less than what
// the ledger's own budget does.
type allowance struct {
	mu     sync.Mutex
	whole  *roster.Policy // that was read again last; nil: none was
	policy account.Budget // by the policy that was read last
	fresh  bool           // filter is not that of policy yet
	filter account.Filter // nil: the ledger's own budget is what counts
	err    error          // there is no filter because of it: nothing is admitted
}

// read notes a policy that holds from now on.
func (a *allowance) read(p *roster.Policy) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.whole = p
}

// present is the policy that holds, where first did at the start.
func (a *allowance) present(first *roster.Policy) *roster.Policy {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.whole != nil {
		return a.whole
	}
	return first
}

// want makes another budget hold from the next charge on.
func (a *allowance) want(d roster.DatasetPolicy) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := account.Budget{Epsilon: d.LifetimeEpsilon, Delta: d.LifetimeDelta}
	a.fresh, a.policy = a.fresh || next != a.policy, next
}

// forbid refuses every charge from now on.
func (a *allowance) forbid(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fresh, a.err = false, err
}

// renew has the charges counted again before the next one: the ledger has got some
// without asking.
func (a *allowance) renew() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fresh = a.fresh || a.filter != nil && a.err == nil
}

// lifetime is the epsilon that may be spent, given that of the ledger.
func (a *allowance) lifetime(own float64) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.policy.Epsilon > 0 {
		return min(a.policy.Epsilon, own)
	}
	return own
}

// admit asks for one charge of ev to l.
func (a *allowance) admit(l *ledger.File, ev account.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fresh {
		a.fresh = false
		a.filter, a.err = tighter(l, a.policy)
	}
	if a.err != nil {
		return fmt.Errorf("what the policy allows: %w", a.err)
	}
	if a.filter == nil {
		return nil
	}
	if err := a.filter.Admit(ev, 1); err != nil {
		return fmt.Errorf("what the policy allows: %w", err)
	}
	return nil
}

// smaller reports whether a policy's budget may refuse what the ledger's own admits.
func smaller(policy, own account.Budget) bool {
	return policy.Epsilon < own.Epsilon || policy.Delta < own.Delta
}

// tighter is a filter of a budget that has seen all charges of the ledger; nil: the
// ledger's own budget is no larger. account.ErrExhausted: they exceed it.
func tighter(l *ledger.File, b account.Budget) (account.Filter, error) {
	if !smaller(b, l.Genesis().Budget) {
		return nil, nil
	}
	f, exhausted, err := l.Filter(b)
	if err == nil && exhausted {
		err = fmt.Errorf("%w: the charges of the past exceed it", account.ErrExhausted)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}
