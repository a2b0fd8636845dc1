package plan

import (
	"errors"
	"fmt"
	"sync"

	"sotto/agent"
	"sotto/config"
	"sotto/internal/parallel"
	"sotto/privacy"
	"sotto/privacy/account"
)

// Target is what plans are calibrated to.
type Target struct {
	Accountant string
	Adjacency  account.Adjacency
	Unit       account.Unit
	Delta      float64
	// Epsilon is the budget that a run states for all its agents; 0: none, or each has
	// its own.
	Epsilon float64
	// Noise is a given noise multiplier; 0: each agent's is found for its budget.
	Noise float64
	// Shares are what the answers of single oracles may cost alone, a part of the budget,
	// with mechanisms of their own.
	Shares map[string]Share
	// Reserve is how many further charges of every kind of answer the noise is found for:
	// those of answers that crashes lose. It counts where a budget sets the noise.
	Reserve int
	// Claimer, when not nil, sets the noise in place of the budget.
	Claimer Claimer
}

// Share is what one oracle's answers may cost alone.
type Share struct {
	Epsilon   float64
	Mechanism string // gaussian, or k-norm
	Key       string // of the run file, for errors
}

// Calibrate finds every agent's noise and the events of its answers. Agents with equal
// plans share one search. first is the number of agents[0]; the others follow.
func Calibrate(agents []Agent, first agent.ID, s privacy.Scheme, t Target) error {
	c := &calibrator{agents: agents, first: first, scheme: s, target: &t, by: t.rule(), of: map[string]int{}}
	if err := c.group(); err != nil {
		return err
	}
	err := parallel.For(len(c.leads), 0, func(k int) error {
		i := c.leads[k]
		if err := c.search(i, c.kinds[i]); err != nil {
			return fmt.Errorf("agent %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range agents {
		a, lead := &agents[i], &agents[c.of[c.kinds[i]]]
		a.Noise, a.Own, a.Admitted = lead.Noise, lead.Own, lead.Admitted
		a.Limited = lead.Limited
		if !c.by.binds() {
			a.Claim = lead.Claim
		}
	}
	if s.Shared() {
		c.equalize()
	}
	return c.price()
}

// calibrator is one call of Calibrate.
type calibrator struct {
	agents []Agent
	first  agent.ID
	scheme privacy.Scheme
	target *Target
	by     rule
	kinds  []string       // by agent: equal plans
	of     map[string]int // first agent of a kind
	leads  []int          // those, ascending
}

func (c *calibrator) counts(i int) float64 { return c.scheme.Counts(c.first + agent.ID(i)) }

// group finds agents whose plans differ in nothing that noise depends on.
func (c *calibrator) group() error {
	type public struct { // of which the releases follow, in one run
		asks          *Ask
		rate, batch   float64
		records       int
		epsilon, more float64
	}
	known := map[public]string{}
	c.kinds = make([]string, len(c.agents))
	for i := range c.agents {
		a := &c.agents[i]
		p := public{rate: a.Public.SampleRate, batch: a.Public.ExpectedBatchSize, epsilon: a.Epsilon,
			more: c.counts(i)}
		if a.Public.SingleRecord {
			p.records = a.Public.Records
		}
		if len(a.Asks) > 0 {
			p.asks = &a.Asks[0]
		}
		kind, ok := known[p]
		if !ok {
			var err error
			if kind, err = c.kind(i); err != nil {
				return fmt.Errorf("agent %d: %w", i, err)
			}
			known[p] = kind
		}
		c.kinds[i] = kind
		if _, ok := c.of[kind]; !ok {
			c.of[kind] = i
			c.leads = append(c.leads, i)
		}
	}
	return nil
}

// kind is a text that is equal for plans of equal noise. Clips are not in it: events are
// stated over them.
func (c *calibrator) kind(i int) (string, error) {
	a, t := &c.agents[i], c.target
	text := fmt.Sprintln(t.Accountant, t.Adjacency, t.Unit, t.Delta, t.Noise, t.Shares, t.Reserve, a.Epsilon,
		a.Public.SampleRate, c.counts(i), c.scheme)
	text += c.by.String()
	for k, ask := range a.Asks {
		r, err := a.Release(k)
		if err != nil {
			return "", err
		}
		for p := range r.Parts {
			r.Parts[p].Clip = 0
		}
		r.Scale = 0
		text += fmt.Sprintf("%d times noise %v: %+v\n", ask.Times, ask.Query.Noise, r)
	}
	return text, nil
}

// found holds what search found in this process: it depends on nothing but its key.
var found sync.Map // kind to outcome

type outcome struct {
	noise, claim float64
	own          map[string]privacy.Mechanism
	admitted     int
}

// search sets the noise that the budget needs, or with a given noise the number of
// answers that it admits.
func (c *calibrator) search(i int, kind string) error {
	a := &c.agents[i]
	a.Limited = a.Epsilon > 0 && c.by.binds()
	o, ok := found.Load(kind)
	if !ok {
		var err error
		if o, err = c.by.solve(c, i); err != nil {
			return err
		}
		found.Store(kind, o)
	}
	out := o.(outcome)
	a.Noise, a.Own, a.Admitted = out.noise, out.own, out.admitted
	if !c.by.binds() {
		a.Claim = out.claim
	}
	if a.Noise == 0 { // no query, no cost
		a.Noise = 1
	}
	return nil
}

// budget sets the noise that an agent's epsilon needs.
type budget struct{}

func (budget) String() string { return "" }

func (budget) binds() bool { return true }

func (budget) solve(c *calibrator, i int) (outcome, error) {
	a, t := &c.agents[i], c.target
	own, err := c.shares(a)
	if err != nil {
		return outcome{}, err
	}
	out := outcome{noise: t.Noise * c.counts(i), own: own, admitted: a.Queries()}
	if a.Epsilon == 0 {
		return out, nil
	}
	run := account.Plan{Accountant: t.Accountant, Adjacency: t.Adjacency, Unit: t.Unit,
		SampleRate: a.Public.SampleRate, NoiseMultiplier: out.noise}
	for k, ask := range a.Asks {
		r, err := a.Release(k)
		if err != nil {
			return outcome{}, err
		}
		run.Steps = append(run.Steps, account.PlanStep{Times: ask.Times + t.Reserve,
			Event: func(noise, rate float64) (account.Event, error) {
				if r.Sampler.Kind == account.Poisson || r.Sampler.Kind == account.TruncatedPoisson {
					r.Sampler.SampleRate = rate
				}
				return c.event(own, &ask, r, noise)
			}})
	}
	budget := account.Budget{Epsilon: a.Epsilon, Delta: t.Delta}
	if t.Noise > 0 && len(a.Asks) > 1 { // all or nothing: the algorithm orders its kinds of answers
		for k := range run.Steps {
			run.Steps[k].Times -= t.Reserve
		}
		if _, err = account.Steps(run, budget); errors.Is(err, account.ErrInfeasible) {
			return out, config.Bad("target_epsilon", a.Epsilon, fmt.Sprintf("enough for all answers at "+
				"noise multiplier %g: an algorithm with several kinds of answers makes all of them; or "+
				"no noise_multiplier", t.Noise))
		}
		return out, err
	}
	if t.Noise > 0 {
		for k := range run.Steps {
			run.Steps[k].Times = 1
		}
		out.admitted, err = account.Steps(run, budget)
		return out, err
	}
	res, err := account.Noise(run, budget)
	if errors.Is(err, account.ErrInfeasible) {
		for _, s := range t.Shares {
			if s.Epsilon >= a.Epsilon {
				return outcome{}, config.Bad(s.Key, s.Epsilon,
					fmt.Sprintf("below the budget %g of the whole run", a.Epsilon))
			}
		}
	}
	out.noise = res.NoiseMultiplier
	return out, err
}

// shares makes the mechanisms of oracles with a share of their own.
func (c *calibrator) shares(a *Agent) (map[string]privacy.Mechanism, error) {
	var own map[string]privacy.Mechanism
	for k := range a.Asks {
		name := a.Asks[k].Query.Oracle
		s, ok := c.target.Shares[name]
		if !ok {
			continue
		}
		r, err := a.Release(k)
		if err != nil {
			return nil, err
		}
		m, err := s.mechanism(c.target, r)
		if err != nil {
			return nil, err
		}
		if own == nil {
			own = map[string]privacy.Mechanism{}
		}
		own[name] = m
	}
	return own, nil
}

// mechanism is the one with which a release costs the share.
func (s *Share) mechanism(t *Target, r account.Release) (privacy.Mechanism, error) {
	if s.Mechanism == "k-norm" {
		return privacy.NewMechanism("k-norm", r.Parts[0].Movement()/s.Epsilon*(1+1e-12))
	}
	gaussian := func(scale float64) (privacy.Mechanism, error) {
		return privacy.NewMechanism("gaussian", scale)
	}
	res, err := account.Noise(account.Plan{Accountant: t.Accountant, Adjacency: t.Adjacency, Unit: t.Unit,
		SampleRate: 1, Steps: []account.PlanStep{privacy.PlanStep(gaussian, r, 1)}},
		account.Budget{Epsilon: s.Epsilon, Delta: t.Delta})
	if err != nil {
		return nil, err
	}
	return gaussian(res.NoiseMultiplier)
}

// event is what one answer costs at a noise multiplier.
func (c *calibrator) event(own map[string]privacy.Mechanism, ask *Ask, r account.Release,
	noise float64) (account.Event, error) {
	if m, ok := own[ask.Query.Oracle]; ok {
		return m.Event(r)
	}
	m, err := c.scheme.At(noise)
	if err == nil && ask.Query.Noise != 0 {
		m, err = privacy.Scaled(m, ask.Query.Noise)
	}
	if err != nil {
		return account.Event{}, err
	}
	return m.Event(r)
}

// equalize gives all agents the same own noise, enough for each one's budget.
func (c *calibrator) equalize() {
	own := c.target.Noise
	if own == 0 {
		for i := range c.agents {
			own = max(own, c.agents[i].Noise/c.counts(i))
		}
	}
	for i := range c.agents {
		c.agents[i].Noise = own * c.counts(i)
	}
}

// price sets the events of all agents at their noise. Agents of one kind have the same
// but for the clips of their releases.
func (c *calibrator) price() error {
	type alike struct {
		kind  string
		asks  *Ask // with operators, from which clips follow too
		noise float64
		batch float64
	}
	made := map[alike][]account.Event{}
	for i := range c.agents {
		a := &c.agents[i]
		id := alike{kind: c.kinds[i], noise: a.Noise, batch: a.Public.ExpectedBatchSize}
		if len(a.Asks) > 0 {
			id.asks = &a.Asks[0]
		}
		events, ok := made[id]
		for k := 0; !ok && k < len(a.Asks); k++ {
			r, err := a.Release(k)
			if err != nil {
				return err
			}
			ev, err := c.event(a.Own, &a.Asks[k], r, a.Noise)
			if err == nil {
				err = c.target.Takes(ev)
			}
			if err != nil {
				return fmt.Errorf("agent %d: %w", i, err)
			}
			events = append(events, account.Shared(ev))
		}
		made[id] = events
		a.Events = events
	}
	return nil
}
