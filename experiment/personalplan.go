package experiment

import (
	"errors"
	"fmt"
	"slices"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/tensor"
)

// ask is a kind of query that an agent is going to make.
type ask struct {
	oracle string
	noise  float64 // factor on the configured noise, 0 for 1
	times  int
}

// personalPlan is what an agent with full-batch queries is going to ask, and what each
// costs.
type personalPlan struct {
	asks    []ask
	lambda  float64           // of a fit
	epsilon float64           // the agent's budget; 0: it has none
	fit     privacy.Mechanism // of a warm start, nil where it shares the gradients'
	events  []account.Event   // by ask; nil without a budget
	unpaid  *account.Event    // charged before the run; nil without
}

// filter admits what is planned, no more; nil admits everything.
func (p *personalPlan) filter() (account.Filter, error) {
	if p.events == nil {
		return nil, nil
	}
	f := &account.CountFilter{}
	if p.unpaid != nil {
		if err := f.Allow(*p.unpaid, 1); err != nil {
			return nil, err
		}
	}
	for k, ev := range p.events {
		if err := f.Allow(ev, p.asks[k].times); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (p *personalPlan) add(q *agent.Query) {
	for k := range p.asks {
		if a := &p.asks[k]; a.oracle == q.Oracle && a.noise == q.Noise {
			a.times++
			return
		}
	}
	p.asks = append(p.asks, ask{q.Oracle, q.Noise, 1})
}

func (p *personalPlan) asksFor(name string) bool {
	return slices.ContainsFunc(p.asks, func(a ask) bool { return a.oracle == name })
}

// planPersonal is planPrivacy for algorithms that ask for full gradients and fits.
func (e *Experiment) planPersonal() error {
	p := &e.file.priv
	if err := e.file.at("clock", e.readReplay()); err != nil {
		return err
	}
	e.plans = make([]plan, len(e.parts))
	unpaid := e.unpaidEvent()
	largest := 0.
	for i := range e.plans {
		pl := &e.plans[i]
		pl.rate, pl.personal = 1, &personalPlan{epsilon: p.TargetEpsilon, unpaid: unpaid}
		if n := len(p.AgentEpsilon); n > 0 {
			pl.personal.epsilon = p.AgentEpsilon[(int(e.self)+i)%n]
		}
		if unpaid != nil {
			pl.claim = pl.personal.epsilon
		}
		m := len(e.parts[i])
		if p.adjacency == account.AddRemove {
			pl.batch = p.BatchSize
			largest = max(p.BatchSize, float64(p.MinRecords)) // the public constants' own record count
			continue
		}
		pl.records, pl.batch = m, float64(max(1, m))
		if !e.owned { // an owner knows its own count alone
			e.mostRecords = max(e.mostRecords, m)
		}
		largest = max(largest, float64(m))
	}
	if err := e.planAsks(); err != nil {
		return err
	}
	if p.Mechanism == "none" {
		return nil
	}
	if err := e.checkDelta(max(1, largest), "largest owner"); err != nil {
		return err
	}
	if p.Mechanism == localMechanism {
		return e.file.at("privacy", e.calibrateLocal())
	}
	return e.calibratePersonal()
}

// planAsks notes what every agent is going to ask.
func (e *Experiment) planAsks() error {
	counts, err := e.countWakes()
	if err != nil {
		return err
	}
	g, err := e.schedule.At(0)
	if err != nil {
		return err
	}
	for i := range e.plans {
		pl := &e.plans[i]
		id := e.self + agent.ID(i)
		view := &agent.View{In: g.In(id), Out: g.Out(id)}
		if err := e.rehearse(i, view, counts[i]); err != nil {
			return e.file.at("algorithm", err)
		}
		for _, a := range pl.personal.asks {
			pl.queries += a.times
		}
	}
	if _, linear := model.Linear(e.model); !linear && e.plans[0].personal.asksFor(oracle.FitName) {
		return fmt.Errorf("%w: %w", oracle.ErrNotLinear,
			e.file.at("model", config.Bad("name", e.file.mod.Name,
				"huber, least-squares, or logistic with two classes")))
	}
	return nil
}

// countWakes returns how often each agent is going to wake, and where the algorithm wants
// to know it, fills wakesOf.
func (e *Experiment) countWakes() ([]uint64, error) {
	counts := make([]uint64, len(e.plans))
	env := e.env(0)
	env.Dim, env.Init = 1, tensor.Vec{0}
	first, err := e.factory(env)
	if err != nil {
		return nil, e.file.at("algorithm", err)
	}
	a, ok := first.(interface{ PlansWakes() bool })
	if plans := ok && a.PlansWakes(); e.owned && plans {
		return nil,
			e.file.at("algorithm", config.Bad("alloc", "one that needs the numbers of an agent's wakes",
				"equal or expected: nobody knows beforehand when daemons wake"))
	} else if e.owned {
		own, err := e.ownWakes()
		return []uint64{own}, err
	} else if plans {
		e.wakesOf = make([][]uint64, len(e.plans))
	}
	c, err := e.clock()
	if err != nil {
		return nil, err
	}
	for t := range e.file.steps {
		w, _ := c.Next()
		counts[w.Agent]++
		if w.Peer != agent.Broadcast {
			counts[w.Peer]++
		}
		if e.wakesOf != nil {
			e.wakesOf[w.Agent] = append(e.wakesOf[w.Agent], t)
		}
	}
	return counts, nil
}

// rehearse steps agent i through its wakes in dimension 1 with zero answers. What it asks
// depends on public facts only. An algorithm with a fixed number of updates spreads its
// budget over all of them, however often it wakes.
func (e *Experiment) rehearse(i int, view *agent.View, wakes uint64) error {
	env := e.env(i)
	env.Dim, env.Init = 1, tensor.Vec{0}
	alg, err := e.factory(env)
	if err != nil {
		return err
	}
	pl := e.plans[i].personal
	pl.lambda = alg.(personal).FitLambda()
	if b, ok := alg.(interface{ Asking() (uint64, bool) }); ok {
		if asking, fixed := b.Asking(); fixed {
			wakes = asking
		}
	}
	var out agent.Output
	step := func(in agent.Input) error {
		for {
			out.Reset()
			if err := alg.Step(&in, &out); err != nil || out.Query == nil {
				return err
			}
			pl.add(out.Query)
			in = agent.Input{Kind: agent.Answer, Round: in.Round, View: view, Answer: env.Init}
		}
	}
	if err := step(agent.Input{Kind: agent.Start, View: view}); err != nil {
		return err
	}
	pairs := e.file.pacing == algo.Pairs
	for k := uint64(0); k < wakes && !out.Done; k++ {
		wake := agent.Input{Kind: agent.Wake, Round: k, View: view, Peer: agent.Broadcast}
		if pairs {
			wake.Peer = view.In[0].ID
		}
		if err := step(wake); err != nil {
			return err
		}
		if pairs {
			peer := []agent.Message{{From: wake.Peer, Body: tensor.Vec{0, 0}}}
			if err := step(agent.Input{Kind: agent.Exchange, View: view, Peer: wake.Peer,
				Inbox: peer}); err != nil {
				return err
			}
		}
	}
	return nil
}

// release is what a query of the plan releases.
func (e *Experiment) personalRelease(pl *plan, name string) (account.Release, error) {
	q := &agent.Query{Oracle: name, At: make(tensor.Vec, e.model.Dim())}
	if name == oracle.FitName {
		f := e.fit(pl, pl.personal.lambda)
		if err := f.Validate(); err != nil {
			return account.Release{}, err
		}
		return f.Describe(q)
	}
	g := e.full(pl, name)
	if err := g.Validate(); err != nil {
		return account.Release{}, err
	}
	return g.Describe(q)
}

// calibratePersonal finds the noise of every agent's plan; agents with equal plans share
// the search.
func (e *Experiment) calibratePersonal() error {
	of := map[string]int{}
	var firsts []int
	keys := make([]string, len(e.plans))
	for i := range e.plans {
		pl := &e.plans[i]
		shift := 0.
		if pl.personal.asksFor(oracle.FitName) {
			r, err := e.personalRelease(pl, oracle.FitName)
			if err != nil {
				return e.file.at("privacy", err)
			}
			shift = r.Parts[0].Shift
		}
		keys[i] = fmt.Sprint(pl.personal.asks, pl.personal.epsilon, shift)
		if _, ok := of[keys[i]]; !ok {
			of[keys[i]] = i
			firsts = append(firsts, i)
		}
	}
	errs := make([]error, len(firsts))
	each(len(firsts), 0, func(k int, _ *model.Workspace) {
		if err := e.calibrateAgent(&e.plans[firsts[k]]); err != nil {
			errs[k] = fmt.Errorf("agent %d: %w", firsts[k], err)
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	made := map[eventOf]account.Event{}
	for i := range e.plans {
		q, pl := &e.plans[of[keys[i]]], &e.plans[i]
		pl.noiseMultiplier, pl.personal.fit = q.noiseMultiplier, q.personal.fit
		if pl.personal.epsilon == 0 {
			continue
		}
		for k, a := range pl.personal.asks {
			r, err := e.personalRelease(pl, a.oracle)
			if err != nil {
				return err
			}
			id := eventOf{of[keys[i]], k, r.Parts[0].Clip}
			if _, ok := made[id]; !ok {
				ev, err := e.personalEvent(pl, a, r, pl.noiseMultiplier)
				if err != nil {
					return err
				}
				made[id] = account.Shared(ev)
			}
			pl.personal.events = append(pl.personal.events, made[id])
		}
	}
	return nil
}

// eventOf names an event of a plan: agents that share a plan have the same but for the
// clip of their fits.
type eventOf struct {
	plan, ask int
	clip      float64
}

// personalEvent is what one of an agent's queries costs at a noise multiplier.
func (e *Experiment) personalEvent(pl *plan, a ask, r account.Release, scale float64) (account.Event, error) {
	if a.oracle == oracle.FitName && pl.personal.fit != nil {
		return pl.personal.fit.Event(r)
	}
	m, err := e.mechanism(scale)
	if err == nil && a.noise != 0 {
		m, err = privacy.Scaled(m, a.noise)
	}
	if err != nil {
		return account.Event{}, err
	}
	return m.Event(r)
}

// calibrateAgent sets the noise multiplier that makes all that the agent asks cost its
// budget, the fit's own share first.
func (e *Experiment) calibrateAgent(pl *plan) error {
	p, own := &e.file.priv, pl.personal
	target := account.Budget{Epsilon: own.epsilon, Delta: p.TargetDelta}
	run := account.Plan{
		Accountant:      p.Accountant,
		Adjacency:       p.adjacency,
		Unit:            account.Record(),
		Rate:            1,
		NoiseMultiplier: p.NoiseMultiplier,
	}
	for _, a := range own.asks {
		r, err := e.personalRelease(pl, a.oracle)
		if err != nil {
			return err
		}
		if a.oracle == oracle.FitName && p.WarmEpsilon > 0 {
			if own.fit, err = e.warmMechanism(r); err != nil {
				return err
			}
		}
		run.Steps = append(run.Steps,
			account.PlanStep{Times: a.times, Event: func(scale, _ float64) (account.Event, error) {
				return e.personalEvent(pl, a, r, scale)
			}})
	}
	pl.noiseMultiplier = p.NoiseMultiplier
	if own.epsilon == 0 {
		return nil
	}
	res, err := account.Noise(run, target)
	if errors.Is(err, account.ErrInfeasible) && p.WarmEpsilon >= own.epsilon {
		return e.file.at("privacy", config.Bad("warm_epsilon", p.WarmEpsilon,
			fmt.Sprintf("below the budget %g of the whole run", own.epsilon)))
	}
	if err != nil {
		return err
	}
	if pl.noiseMultiplier = res.NoiseMultiplier; pl.noiseMultiplier == 0 { // no query, no cost
		pl.noiseMultiplier = 1
	}
	return nil
}

// warmMechanism is the mechanism with which the fit alone costs warm_epsilon.
func (e *Experiment) warmMechanism(r account.Release) (privacy.Mechanism, error) {
	p := &e.file.priv
	if p.WarmMechanism == "k-norm" {
		return privacy.NewMechanism("k-norm", r.Parts[0].Shift/p.WarmEpsilon*(1+1e-12))
	}
	gaussian := func(scale float64) (privacy.Mechanism, error) {
		return privacy.NewMechanism("gaussian", scale)
	}
	res, err := account.Noise(account.Plan{
		Accountant: p.Accountant,
		Adjacency:  p.adjacency,
		Unit:       account.Record(),
		Rate:       1,
		Steps:      []account.PlanStep{privacy.PlanStep(gaussian, r, 1)},
	}, account.Budget{Epsilon: p.WarmEpsilon,
		Delta: p.TargetDelta})
	if err != nil {
		return nil, err
	}
	return gaussian(res.NoiseMultiplier)
}
