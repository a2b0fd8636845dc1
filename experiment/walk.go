package experiment

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/sim"
	"sotto/tensor"
)

// tokenParams is the [token] section of algorithms whose models walk.
type tokenParams struct {
	Count int `toml:"count"` // tokens, each of which makes rounds steps; default 1
	// Hops "secret" (default) draws each hop from its holder's own stream, "public" from
	// the run's seed, for all to compute.
	Hops string `toml:"hops"`
	// Accounting "local" (default) is epsilon against who sees every message. "network"
	// asks for a figure against one agent that sees only the tokens which visit it; see
	// amplified for what it needs.
	Accounting string `toml:"accounting"`
}

// validateTokens refuses what walks are not made for.
func (f *File) validateTokens() error {
	p, name := &f.tokn, f.alg.Name
	switch {
	case p.Count < 1 || p.Count > 1<<20:
		return f.at("token", config.Bad("count", p.Count, "1 to 1048576"))
	case p.Hops != "secret" && p.Hops != "public":
		return f.at("token", config.Bad("hops", p.Hops, "one of public, secret"))
	case p.Accounting != "local" && p.Accounting != "network":
		return f.at("token", config.Bad("accounting", p.Accounting, "one of local, network"))
	case f.topo.Weights == "objective":
		return f.at("topology", config.Bad("weights", f.topo.Weights,
			"mixing weights, such as metropolis, with algorithm "+name))
	case f.data.Augmentation != (oracle.Augmentation{}):
		return f.at("data", config.Bad("augmentations", f.data.Augmentation.Views,
			"none with algorithm "+name))
	case f.data.Arrival != "":
		return f.at("data", config.Bad("arrival", f.data.Arrival, "nothing with algorithm "+name))
	case f.eval.On == "own":
		return f.at("evaluate", config.Bad("on", f.eval.On,
			"all or validation with algorithm "+name+", whose models are nobody's own"))
	case f.eval.Agents != 0 || f.eval.Score != "" || f.eval.Estimation:
		return f.at("evaluate", config.Bad("agents", f.eval.Agents,
			"0, without score and estimation, with algorithm "+name+": its tokens are tested"))
	case f.repl.Clip != "" && f.priv.Mechanism == "none":
		return f.at("replication", config.Bad("clip", f.repl.Clip, "nothing with mechanism none"))
	}
	others := f.repl
	others.Uncharged, others.Clip = false, ""
	if on := others.switches(); on != "" {
		return f.at("replication",
			config.Bad("", on, "no switch with algorithm "+name+" but uncharged and clip"))
	}
	return nil
}

// walking makes p what the run file's unit and switches ask for.
func (f *File) walking(p *algo.WalkParams) {
	if f.priv.unit == account.Record() {
		p.Oracle = oracle.GradFull
	}
	if f.repl.Clip != "" {
		p.AnswerClip = f.priv.MaxGradNorm
	}
}

// planWalk fixes every agent's public constants and noise: N_max charges, or as many as
// there are visits.
func (e *Experiment) planWalk() error {
	p, n := &e.file.priv, float64(e.file.topo.Agents)
	visits := e.file.steps * uint64(e.file.tokn.Count)
	w, err := e.walk()
	if err != nil {
		return e.file.at("algorithm", err)
	}
	e.plans = make([]plan, len(e.parts))
	unpaid, smallest := e.unpaidEvent(), math.Inf(1)
	for i := range e.plans {
		pl := &e.plans[i]
		pl.rate, pl.batch, pl.queries, pl.unpaid = 1, 1, int(min(w.Contributions(), visits)), unpaid
		if p.adjacency == account.AddRemove {
			if p.unit == account.Record() {
				pl.batch = p.BatchSize
				smallest = max(p.BatchSize, float64(p.MinRecords)) // the public constants' own record count
			}
			continue
		}
		pl.records = len(e.parts[i])
		if m := float64(pl.records); p.unit == account.Record() && m > 0 {
			pl.batch, smallest = m, min(smallest, m)
		}
	}
	if p.Mechanism == "none" {
		return nil
	}
	whose := "smallest owner"
	if p.unit == account.Owner() {
		smallest, whose = n, "run, which counts owners"
	}
	if err := e.checkDelta(smallest, whose); err != nil {
		return err
	}
	if e.file.tokn.Accounting == "network" {
		if err := e.amplified(); err != nil {
			return fmt.Errorf("%w: %w", privacy.ErrRefused, err)
		}
	}
	if e.file.repl.Clip != "" {
		return e.planClippedAfter()
	}
	if err := e.calibrate(); err != nil {
		return err
	}
	if unpaid != nil {
		claim, err := e.cost(&e.plans[0], e.plans[0].charges())
		if err != nil {
			return err
		}
		for i := range e.plans {
			e.plans[i].claim = claim.Upper
		}
	}
	return nil
}

// walk is the algorithm of one agent, in dimension 1.
func (e *Experiment) walk() (*algo.Walk, error) {
	a, err := e.factory(agent.Env{
		Agents: e.file.topo.Agents,
		Dim:    1,
		Rounds: e.file.steps,
		Tokens: e.file.tokn.Count,
		Init:   tensor.Vec{0},
	})
	if err != nil {
		return nil, err
	}
	return a.(*algo.Walk), nil
}

// walkOracle is what an agent's visits ask, without its records.
func (e *Experiment) walkOracle(p *plan) (privacy.GridOracle, error) {
	priv := &e.file.priv
	if priv.unit == account.Record() {
		g := e.full(p, oracle.GradFull)
		return g, g.Validate()
	}
	clip := priv.MaxGradNorm
	if e.file.repl.Clip != "" {
		var err error
		if clip, err = e.gradientBound(); err != nil {
			return nil, err
		}
	}
	g := &oracle.User{Model: e.model, Clip: clip, Adjacency: priv.adjacency}
	return g, g.Validate()
}

// walkRelease is what one private answer of a walk releases.
func (e *Experiment) walkRelease(p *plan) (account.Release, error) {
	g, err := e.walkOracle(p)
	if err != nil {
		return account.Release{}, err
	}
	return g.Describe(&agent.Query{At: make(tensor.Vec, e.model.Dim())})
}

// walkOracles are what agent i's gate may ask of its data, by name.
func (e *Experiment) walkOracles(i int, pool *oracle.Pool, w *world) (map[string]privacy.Oracle, error) {
	m, err := e.walkOn(&e.plans[i], oracle.Records{Data: w.trained, Index: e.parts[i]}, pool)
	for name, o := range m {
		m[name] = timedOracle{o.(privacy.GridOracle), w.watch}
	}
	return m, err
}

// walkOn is what visits ask of an owner's records, by name.
func (e *Experiment) walkOn(p *plan, records oracle.Records, pool *oracle.Pool) (map[string]privacy.Oracle,
	error) {
	g, err := e.walkOracle(p)
	if err != nil {
		return nil, err
	}
	if u, ok := g.(*oracle.User); ok {
		u.Records, u.Pool = records, pool
		return map[string]privacy.Oracle{oracle.UserGradName: u}, nil
	}
	full := g.(*oracle.Full)
	full.Records, full.Pool = records, pool
	return map[string]privacy.Oracle{oracle.GradFull: full}, nil
}

// startTokens starts a run of tokens.
func (e *Experiment) startTokens(w *world, agents []sim.Agent, workers int) error {
	g, err := e.schedule.At(0)
	if err != nil {
		return err
	}
	w.sim, err = sim.NewTokens(sim.TokenConfig{
		Agents:  agents,
		Graph:   g,
		Dim:     e.model.Dim(),
		Init:    e.init,
		Tokens:  e.file.tokn.Count,
		Steps:   e.file.steps,
		Workers: workers,
		Seed:    e.file.root.Seed,
		Secret:  e.noiseSeed(),
		Public:  e.file.tokn.Hops == "public",

		Faults: e.file.flts,
	})
	return e.file.at("faults", err)
}

// gradientBound is the largest norm of an owner's mean gradient that the model and the
// data set's public bound of its rows allow.
func (e *Experiment) gradientBound() (float64, error) {
	glm, linear := model.Linear(e.model)
	switch x := e.split.Train.RowNorm; {
	case !linear || math.IsInf(glm.Slope, 1):
		return 0, e.file.at("model", config.Bad("name", e.file.mod.Name,
			"huber, or logistic with two classes, whose gradients are bounded"))
	case x == 0:
		return 0, e.file.at("data", config.Bad("dataset", e.file.data.Dataset,
			"one whose rows have a public bound, such as houses"))
	default:
		return glm.Slope * e.lifted(x), nil
	}
}

// lifted is the norm of a row with the constant of an intercept.
func (e *Experiment) lifted(x float64) float64 {
	if glm, _ := model.Linear(e.model); glm.Intercept {
		return math.Hypot(x, 1)
	}
	return x
}

// planClippedAfter plans answers that are clipped after the noise, as the public code of
// the walk does. Noise is noise_multiplier, or what target_epsilon would need, times
// max_grad_norm, and epsilon is claimed for the same: as if the mean gradient had been
// clipped to that norm. The ledger charges what it is, a Gaussian release of a mean
// gradient that only the model and the rows bound.
func (e *Experiment) planClippedAfter() error {
	p := &e.file.priv
	if p.unit != account.Owner() || p.Noise == "exact" {
		return e.file.at("replication",
			config.Bad("clip", e.file.repl.Clip, "nothing with unit record or exact noise"))
	}
	queries := e.plans[0].queries
	claimed := func(noise, _ float64) (account.Event, error) {
		return account.Gaussian(noise, account.ClipShift(p.adjacency))
	}
	run := account.Plan{
		Accountant:      p.Accountant,
		Adjacency:       p.adjacency,
		Unit:            account.Owner(),
		Rate:            1,
		NoiseMultiplier: p.NoiseMultiplier,
		Steps:           []account.PlanStep{{Times: queries, Event: claimed}},
	}
	if p.NoiseMultiplier == 0 {
		found, err := account.Noise(run, account.Budget{Epsilon: p.TargetEpsilon, Delta: p.TargetDelta})
		if err != nil {
			return err
		}
		run.NoiseMultiplier = found.NoiseMultiplier
	}
	claim, err := account.Epsilon(run, p.TargetDelta)
	if err != nil {
		return err
	}
	for i := range e.plans {
		pl := &e.plans[i]
		pl.noiseMultiplier, pl.claim, pl.limit = run.NoiseMultiplier, claim.Upper, queries
		r, err := e.walkRelease(pl)
		if err != nil {
			return err
		}
		if err := e.price(pl, r); err != nil {
			return err
		}
	}
	return nil
}

// clippedAfter is the mechanism of planClippedAfter: its multiplier is over the bound of
// the mean gradient.
func (e *Experiment) clippedAfter(noiseMultiplier float64) (privacy.Mechanism, error) {
	bound, err := e.gradientBound()
	if err != nil {
		return nil, err
	}
	return privacy.NewMechanism("gaussian", noiseMultiplier*e.file.priv.MaxGradNorm/bound)
}
