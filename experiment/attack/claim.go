package attack

import (
	"math"

	"sotto/experiment"
	"sotto/experiment/replication"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
)

// claim is what the run says of itself: what its ledger is charged or, in a replication,
// what the publication claims.
func (a *auditor) claim() (audit.Claim, error) {
	e, pl := a.e, &a.e.Plans[a.agent]
	drawn, err := a.gate(a.worlds[audit.In].with(true, false), ledger.NewMemory(nil), nil, 0)
	if err != nil {
		return audit.Claim{}, err
	}
	r, ev, err := drawn.Describe(a.query)
	if err != nil {
		return audit.Claim{}, err
	}
	sampled, err := a.gate(a.worlds[audit.In], ledger.NewMemory(nil), nil, 0)
	if err != nil {
		return audit.Claim{}, err
	}
	real, realEvent, err := sampled.Describe(a.query)
	if err != nil {
		return audit.Claim{}, err
	}
	c := audit.Claim{Delta: e.File.Privacy.TargetDelta, Sampler: real.Sampler, Draws: real.Draws}
	if !e.File.Pace.OwnPlans {
		c.Releases = pl.Charges()
	}
	if pl.Public.SingleRecord { // of the records that the sampler is tested on
		c.Sampler.Population = auditMembers
	}
	if e.Setup.Target.Claimer != nil || pl.Claim > 0 {
		return a.publishedClaim(c)
	}
	c.Noise = a.noise(r)
	if c.Mu, err = gaussianMu(e, ev); err != nil {
		return c, err
	}
	if c.Epsilon, err = a.epsilon(account.Fixed(ev, 1)); err != nil {
		return c, err
	}
	if c.Sampled, err = a.epsilon(account.Fixed(realEvent, 1)); err != nil {
		return c, err
	}
	if e.File.Mechanism().Perturbs {
		return c, a.localTotal(&c, sampled)
	}
	return c, a.total(&c, real)
}

// epsilon is the upper end of what steps cost by the run's accountant.
func (a *auditor) epsilon(steps ...account.PlanStep) (float64, error) {
	i, err := costOf(a.e, a.e.Setup.Target.Accountant, steps)
	return i.Upper, err
}

// least is what steps cost at least. Of the accountants one has a lower end that tells
// something.
func least(e *experiment.Experiment, steps ...account.PlanStep) (float64, error) {
	i, err := costOf(e, "pld", steps)
	return i.Lower, err
}

func costOf(e *experiment.Experiment, accountant string, steps []account.PlanStep) (account.Interval, error) {
	p := &e.Setup.Target
	return account.Epsilon(account.Plan{Accountant: accountant, Adjacency: p.Adjacency, Unit: p.Unit,
		Steps: steps}, p.Delta)
}

// total fills in the claim of the whole run.
func (a *auditor) total(c *audit.Claim, r account.Release) error {
	e, pl := a.e, &a.e.Plans[a.agent]
	if e.File.Pace.OwnPlans {
		return a.personalTotal(c)
	}
	i, err := pl.Cost(&e.Setup.Target, pl.Charges())
	if err != nil {
		return err
	}
	c.Total = i.Upper
	if c.Mu == 0 || r.Draws > 1 || r.Sampler.Kind == account.FixedSize {
		return nil
	}
	c.TotalOf = func(mu float64) (float64, error) {
		g, err := account.Gaussian(1/mu, 1)
		if err != nil {
			return 0, err
		}
		ev, err := r.Sampled(g)
		if err != nil {
			return 0, err
		}
		return least(e, account.Fixed(ev, pl.Charges()))
	}
	return nil
}

// personalTotal composes all kinds of queries that an agent plans. With an excluded mu of
// the attacked kind of answer the others of that oracle have theirs in proportion, as
// their declared noise has it, and those of other oracles what they claim.
func (a *auditor) personalTotal(c *audit.Claim) error {
	g, err := a.gate(a.worlds[audit.In], ledger.NewMemory(nil), nil, 0)
	if err != nil {
		return err
	}
	type kind struct {
		step account.PlanStep
		mu   float64 // of the attacked oracle's answers where they are Gaussian; else 0
	}
	var kinds []kind
	var steps []account.PlanStep
	linear := c.Mu > 0
	for _, ask := range a.e.Plans[a.agent].Asks {
		q := ask.Query
		q.At = a.query.At
		_, ev, err := g.Describe(&q)
		if err != nil {
			return err
		}
		k := kind{step: account.Fixed(ev, ask.Times)}
		if q.Oracle == a.query.Oracle {
			if k.mu, err = gaussianMu(a.e, ev); err != nil {
				return err
			}
			linear = linear && k.mu > 0
		}
		kinds, steps = append(kinds, k), append(steps, k.step)
	}
	if c.Total, err = a.epsilon(steps...); err != nil || !linear {
		return err
	}
	claimed := c.Mu
	c.TotalOf = func(mu float64) (float64, error) {
		var steps []account.PlanStep
		for _, k := range kinds {
			if k.mu == 0 {
				steps = append(steps, k.step)
				continue
			}
			ev, err := account.Gaussian(claimed/(mu*k.mu), 1)
			if err != nil {
				return 0, err
			}
			steps = append(steps, account.Fixed(ev, k.step.Times))
		}
		return least(a.e, steps...)
	}
	return nil
}

// publishedClaim is that of a replication: one release a round of a sum clipped to the
// noise's unit, at the sampling rate.
func (a *auditor) publishedClaim(c audit.Claim) (audit.Claim, error) {
	e, pl := a.e, &a.e.Plans[a.agent]
	c.Total = pl.Claim
	claimer, rounds := e.Setup.Target.Claimer.(replication.RoundsOfRDP)
	adjacency := e.Setup.Target.Adjacency
	if rounds { // which accounts for add-remove, whatever the run's adjacency
		adjacency = account.AddRemove
	}
	c.Mu = account.ClipShift(adjacency) / pl.Noise
	c.Epsilon = gdp.Epsilon(c.Mu, c.Delta)
	one := replication.RoundsOfRDP{Steps: 1}.Plan(pl, e.Setup.Target.Noise)
	i, err := account.Epsilon(one, c.Delta)
	if err != nil {
		return c, err
	}
	c.Sampled = i.Upper
	if rounds {
		c.TotalOf = func(mu float64) (float64, error) {
			p := claimer.Plan(pl, 1/mu)
			p.Accountant = "pld"
			i, err := account.Epsilon(p, c.Delta)
			return i.Lower, err
		}
	}
	return c, nil
}

// gaussianMu is the GDP parameter of an event, 0 where it is not Gaussian.
func gaussianMu(e *experiment.Experiment, ev account.Event) (float64, error) {
	acc, err := account.NewExactGaussian(e.Setup.Target.Adjacency, e.Setup.Target.Unit)
	if err != nil {
		return 0, err
	}
	if acc.Compose(ev, 1) != nil {
		return 0, nil
	}
	return finiteOr(acc.Mu(), 0), nil
}

// noise is the declared law of a release, in units of the answer; nil where single values
// have none.
func (a *auditor) noise(r account.Release) []audit.Noise {
	m, err := mechanismOf(a)
	if err != nil {
		return nil
	}
	var law []audit.Noise
	for _, p := range r.Parts {
		n := audit.Noise{Dim: p.Dim, Grid: privacy.ReleaseStep(m, p) * r.Scale}
		scale := func(z float64, parts map[string]float64) {
			if own, ok := parts[p.Name]; ok {
				z = own
			}
			n.Scale, n.CDF = z*p.Clip*r.Scale, normalCDF
		}
		switch m := m.(type) {
		case privacy.Gaussian:
			scale(m.NoiseMultiplier, m.PartNoise)
		case privacy.DiscreteGaussian:
			scale(m.NoiseMultiplier, m.PartNoise)
		case privacy.Decor: // an auditor of one agent does not know what neighbors share
			scale(math.Hypot(m.NoiseMultiplier, m.Pair*math.Sqrt(float64(len(m.Neighbors)))), nil)
		case privacy.Laplace:
			n.Scale, n.CDF = m.Scale*p.Clip*r.Scale, laplaceCDF
		case privacy.RandomizedResponse:
			n.Keep, n.Grid = 1-m.Probability*(1-1/float64(m.Labels)), 0
		default:
			return nil
		}
		law = append(law, n)
	}
	return law
}

// mechanismOf is the one that answers the attacked query.
func mechanismOf(a *auditor) (privacy.Mechanism, error) {
	e := a.e
	s := a.seat(a.worlds[audit.In], nil, nil, privacy.Keys{})
	m, err := e.Setup.Scheme.Mechanism(s.Self, e.Plans[a.agent].Noise, s.Secret)
	switch a.query.Oracle {
	case oracle.FeaturesName:
		m = e.Task.Local.Features
	case oracle.LabelsName:
		m = e.Task.Local.Labels
	}
	if own, ok := e.Plans[a.agent].Own[a.query.Oracle]; ok {
		m = own
	}
	if a.query.Noise != 0 && err == nil {
		m, err = privacy.Scaled(m, a.query.Noise)
	}
	return m, err
}

func normalCDF(x float64) float64 { return .5 * math.Erfc(-x/math.Sqrt2) }

func laplaceCDF(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / 2
	}
	return 1 - math.Exp(-x)/2
}
