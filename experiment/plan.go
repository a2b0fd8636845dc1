package experiment

import (
	"fmt"
	"math"
	"sync"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/tensor"
)

// planPrivacy fixes every agent's public constants and noise before any data are read:
// rate, normaliser, number of queries, noise multiplier.
func (e *Experiment) planPrivacy() error {
	switch {
	case e.file.pacing == algo.Tokens:
		return e.planWalk()
	case e.file.pacing != algo.Rounds:
		return e.planPersonal()
	}
	if err := e.readSplitting(); err != nil {
		return err
	}
	if e.file.averages() {
		return e.planAverage()
	}
	p := &e.file.priv
	e.plans = make([]plan, len(e.parts))
	smallest := math.Inf(1)
	queries, err := e.countQueries()
	if err != nil {
		return err
	}
	for i := range e.plans {
		pl := &e.plans[i]
		pl.queries = queries
		m := float64(len(e.parts[i]))
		if p.adjacency == account.AddRemove {
			pl.rate, pl.batch = p.SampleRate, p.BatchSize
			// the public constants' own record count
			smallest = math.Round(p.BatchSize / p.SampleRate / (1 - e.file.eval.Validation))
			if p.MinRecords > 0 {
				smallest = float64(p.MinRecords)
			}
			continue
		}
		pl.records = len(e.parts[i])
		owned := m
		if e.held != nil {
			owned += float64(len(e.held[i]))
		}
		if owned > 0 {
			smallest = min(smallest, owned)
		}
		if err := pl.setBatch(p, m, e.file.repl.draws()); err != nil {
			return fmt.Errorf("agent %d with %d records: %w", i, len(e.parts[i]), err)
		}
	}
	if p.Mechanism == "none" {
		return nil
	}
	if err := e.checkDelta(smallest, "smallest owner"); err != nil {
		return err
	}
	if e.published() {
		return e.planPublished()
	}
	return e.calibrate()
}

// setBatch derives rate and normaliser where the record count m is public.
func (pl *plan) setBatch(p *privacyParams, m float64, draws int) error {
	pl.rate, pl.batch = p.SampleRate, p.BatchSize
	m *= float64(draws)
	switch {
	case m == 0: // an owner without records releases noise
		pl.rate = 1
		if pl.batch == 0 {
			pl.batch = 1
		}
	case p.SampleRate == 0:
		if pl.rate = p.BatchSize / m; pl.rate > 1 {
			return config.Bad("batch_size", p.BatchSize,
				fmt.Sprintf("at most %g: the sample rate batch_size/records would be %.4g, above 1", m,
					pl.rate))
		}
	case p.BatchSize == 0:
		pl.batch = p.SampleRate * m
	}
	return nil
}

// checkDelta refuses a delta at which a mechanism may publish a whole record.
func (e *Experiment) checkDelta(n float64, owner string) error {
	p := &e.file.priv
	if p.TargetDelta < 1/n {
		return nil
	}
	if !p.understands(overrideDelta) {
		err := config.Bad("target_delta", p.TargetDelta,
			fmt.Sprintf("below 1/n = %.3g for the public n = %.0f of the %s, better below 1/(10 n); at "+
				"1/n a mechanism may publish one whole record; i_understand = [\"delta\"] overrides and "+
				"is recorded", 1/n, n, owner))
		return fmt.Errorf("%w: %w", privacy.ErrRefused, e.file.at("privacy", err))
	}
	e.overrides = append(e.overrides, fmt.Sprintf("target_delta %g is not below 1/n for the %s, n = %.0f",
		p.TargetDelta, owner, n))
	return nil
}

// countQueries steps one agent of the algorithm through the run in dimension 1 with zero
// answers and counts what it asks. Every algorithm's number of queries depends on public
// facts only.
func (e *Experiment) countQueries() (int, error) {
	rounds := e.file.steps
	if err := e.countNeighbors(); err != nil {
		return 0, err
	}
	alg, err := e.factory(agent.Env{
		Agents:    e.file.topo.Agents,
		Dim:       1,
		Records:   1,
		Rounds:    rounds,
		Init:      tensor.Vec{0},
		Rho:       e.rho(),
		Second:    e.second(),
		Lowest:    e.lowest,
		Neighbors: e.neighbors,
	})
	if err != nil {
		return 0, e.file.at("algorithm", err)
	}
	var (
		count int
		out   agent.Output
		view  = &agent.View{SelfWeight: 1}
		zero  = tensor.Vec{0}
	)
	step := func(in agent.Input) error {
		for {
			out.Reset()
			if err := alg.Step(&in, &out); err != nil || out.Query == nil {
				return err
			}
			count++
			in = agent.Input{Kind: agent.Answer, Round: in.Round, View: view, Answer: zero}
		}
	}
	if err := step(agent.Input{Kind: agent.Start, View: view}); err != nil {
		return 0, err
	}
	for k := range rounds {
		if err := step(agent.Input{Kind: agent.Round, Round: k, View: view}); err != nil {
			return 0, err
		}
	}
	return count, nil
}

// release is what one query of the plan is going to release.
func (e *Experiment) release(pl *plan) (account.Release, error) {
	if e.splitting != nil {
		return e.kmRelease(pl)
	}
	if e.file.pacing == algo.Tokens {
		return e.walkRelease(pl)
	}
	if e.file.averages() {
		v, err := e.value(pl, oracle.Records{})
		if err != nil {
			return account.Release{}, err
		}
		return v.Describe(nil)
	}
	g := &oracle.Gradient{Model: e.model, Rate: pl.rate, ExpectedBatch: pl.batch, Clip: e.clip(),
		Adjacency: e.file.priv.adjacency, Unit: account.Record(), Draws: e.file.repl.draws()}
	e.adapt(g, pl)
	if err := g.Validate(); err != nil {
		return account.Release{}, err
	}
	return g.Describe(&agent.Query{Oracle: "grad", At: make(tensor.Vec, e.model.Dim())})
}

// adapt lets the oracle follow the clips of its queries, and draw what batches a
// replication asks for.
func (e *Experiment) adapt(g *oracle.Gradient, pl *plan) {
	g.Rescale, g.Count = e.file.priv.Adaptive(), e.file.priv.Extra() > 0
	if e.file.repl.one() {
		g.One = pl.records
	}
}

// calibrated holds what calibrateOne found in this process: it depends on nothing but its
// key.
var calibrated sync.Map // calibrationKey to calibration

type calibrationKey struct {
	accountant     string
	sampler        string // fast or exact noise
	adjacency      account.Adjacency
	dim            int
	rate, noise    float64
	queries        int
	epsilon, delta float64
	draws          int
	count          float64 // noise of a count beside the gradient; 0: none is released
	claim          uint64  // rounds that a publication charges; 0: none
	// of a residual, whose sensitivity depends on more than the rate, and of a walk's
	// full gradients
	part account.Part
	unit account.Unit // of a walk
}

type calibration struct {
	noise float64
	limit int
	claim float64
}

// calibrate finds each plan's noise multiplier and budget, once for each distinct
// sampling rate, and sensitivity of residuals.
func (e *Experiment) calibrate() error {
	type kind struct {
		rate, factor float64
		part         account.Part
	}
	if e.file.priv.Mechanism == decorMechanism {
		if err := e.planDecor(); err != nil {
			return err
		}
	}
	var firsts []int
	of := map[kind]int{}
	kinds := make([]kind, len(e.plans))
	for i := range e.plans {
		kinds[i].rate, kinds[i].factor = e.plans[i].rate, e.plans[i].factor
		if e.splitting != nil {
			r, err := e.kmRelease(&e.plans[i])
			if err != nil {
				return fmt.Errorf("agent %d: %w", i, err)
			}
			kinds[i].part = r.Parts[0]
		}
		if _, ok := of[kinds[i]]; !ok {
			of[kinds[i]] = i
			firsts = append(firsts, i)
		}
	}
	errs := make([]error, len(firsts))
	each(len(firsts), 0, func(k int, _ *model.Workspace) {
		if err := e.calibrateOne(&e.plans[firsts[k]]); err != nil {
			errs[k] = fmt.Errorf("agent %d: %w", firsts[k], err)
		}
	})
	for _, err := range errs { // the lowest agent's, whatever finished first
		if err != nil {
			return err
		}
	}
	for i := range e.plans {
		pl, q := &e.plans[i], &e.plans[of[kinds[i]]]
		pl.noiseMultiplier, pl.limited, pl.event, pl.limit, pl.claim = q.noiseMultiplier, q.limited, q.event,
			q.limit, q.claim
	}
	if e.file.priv.Mechanism == decorMechanism {
		if err := e.settleDecor(); err != nil {
			return err
		}
	}
	return e.warn()
}

// given is the noise multiplier of the run file as it counts; 0: none is given.
func (e *Experiment) given(pl *plan) float64 {
	if pl.factor > 0 {
		return e.file.priv.NoiseMultiplier * pl.factor
	}
	return e.file.priv.NoiseMultiplier
}

// warn notes what the settings of the smallest owner should be asked about.
func (e *Experiment) warn() error {
	smallest := &e.plans[0]
	for i := range e.plans {
		if r := e.plans[i].records; r > 0 && (smallest.records == 0 || r < smallest.records) {
			smallest = &e.plans[i]
		}
	}
	r, err := e.release(smallest)
	if err != nil {
		return err
	}
	if p := &e.file.priv; p.Kind == "released" && p.MaxGradNorm*smallest.noiseMultiplier*
		math.Sqrt(float64(e.model.Dim())) > p.MaxGradNorm*smallest.batch {
		e.warnings = append(e.warnings,
			"clipping released: the noise of an answer is longer than the longest mean of clipped "+
				"gradients, so that the clip follows the noise")
	}
	records := smallest.records
	if e.file.priv.unit == account.Owner() { // delta is not about records
		records = 0
	}
	e.warnings = append(account.Warnings(r, smallest.noiseMultiplier, e.file.priv.TargetDelta, records),
		e.warnings...)
	return nil
}

// calibrateOne sets the noise that target_epsilon needs, or with a given noise_multiplier
// the number of queries that target_epsilon admits.
func (e *Experiment) calibrateOne(pl *plan) error {
	p := &e.file.priv
	r, err := e.release(pl)
	if err != nil {
		return err
	}
	repl := &e.file.repl
	pl.limited = p.TargetEpsilon > 0 && !repl.Claim
	key := calibrationKey{p.Accountant, p.Noise, p.adjacency, e.model.Dim(), pl.rate, e.given(pl), pl.queries,
		p.TargetEpsilon, p.TargetDelta, repl.draws(), p.Count, 0, account.Part{}, account.Unit{}}
	if e.splitting != nil {
		key.part = r.Parts[0]
	}
	if e.file.pacing == algo.Tokens {
		key.part, key.unit = r.Parts[0], p.unit
	}
	if repl.Claim {
		key.claim = e.file.steps
	}
	c, ok := calibrated.Load(key)
	if !ok {
		if c, err = e.search(pl, r); err != nil {
			return err
		}
		calibrated.Store(key, c)
	}
	found := c.(calibration)
	pl.noiseMultiplier, pl.limit, pl.claim = found.noise, found.limit, found.claim
	if pl.noiseMultiplier == 0 { // no query, no cost
		pl.noiseMultiplier = 1
	}
	return e.price(pl, r)
}

// price sets the event of one answer at the plan's noise.
func (e *Experiment) price(pl *plan, r account.Release) error {
	m, err := e.mechanism(pl.noiseMultiplier)
	if err != nil {
		return err
	}
	pl.event, err = m.Event(r)
	pl.event = account.Shared(pl.event)
	return err
}

func (e *Experiment) search(pl *plan, r account.Release) (calibration, error) {
	if e.file.repl.Claim {
		return e.searchClaimed(pl)
	}
	p := &e.file.priv
	target := account.Budget{Epsilon: p.TargetEpsilon, Delta: p.TargetDelta}
	run := account.Plan{Accountant: p.Accountant, Adjacency: p.adjacency, Unit: p.unit,
		Rate: pl.rate, NoiseMultiplier: e.given(pl),
		Steps: []account.PlanStep{privacy.PlanStep(e.mechanism, r, pl.queries)}}
	switch {
	case p.NoiseMultiplier == 0:
		res, err := account.Noise(run, target)
		return calibration{noise: res.NoiseMultiplier, limit: pl.queries}, err
	case p.TargetEpsilon > 0:
		run.Steps = []account.PlanStep{privacy.PlanStep(e.mechanism, r, 1)}
		limit, err := account.Steps(run, target)
		return calibration{noise: e.given(pl), limit: limit}, err
	}
	return calibration{noise: e.given(pl), limit: pl.queries}, nil
}
