package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/experiment/plan"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
)

// planner makes the plans of an experiment's agents.
type planner struct{ *Experiment }

// prepare starts what the run's agents are going to be planned from, and lets the
// deviations of [replication] edit it.
func (e planner) prepare() error {
	f := e.File
	e.Setup = plan.Setup{
		Spec:          f.Spec,
		Setting:       algo.Setting{PerRecord: f.Privacy.unit != account.Owner()},
		Target:        targetOf(f),
		Agents:        f.Topology.Agents,
		Steps:         f.Steps,
		MaxGradNorm:   f.Privacy.MaxGradNorm,
		GradientBound: e.gradientBound,
	}
	return f.Placed("replication", f.Replication.Apply(&e.Setup))
}

// newFactory makes the factory of the run's algorithm.
func (e planner) newFactory() error {
	f := e.File
	decode := f.Section("algorithm")
	var err error
	e.Factory, err = f.Spec.New(func(params any) error {
		err := decode(params)
		if s, ok := params.(algo.Settable); ok {
			s.Set(e.Setup.Setting)
		}
		return err
	})
	return f.At("algorithm", err)
}

// makePlans fixes every agent's public constants, queries and noise before any data are
// read by an oracle.
func (e planner) makePlans() error {
	f := e.File
	if err := f.Pace.plan.facts(e); err != nil {
		return err
	}
	if err := e.countNeighbors(); err != nil {
		return err
	}
	e.fillPublic()
	e.Plans = make([]plan.Agent, len(e.Task.Parts))
	n := newCounter(f)
	for i := range e.Plans {
		if err := e.fillAgent(i, n); err != nil {
			return fmt.Errorf("agent %d with %d records: %w", i, len(e.Task.Parts[i]), err)
		}
	}
	if err := f.Pace.plan.rehearse(e); err != nil {
		return f.At("algorithm", err)
	}
	if err := cmp.Or(checkFit(f, &e.Plans[0]), e.checkQueries(), e.checkRecursion(),
		checkMixing(f, &e.Graphs)); err != nil {
		return err
	}
	if err := f.Placed("replication", f.Replication.Planned(&e.Setup, e.Plans)); err != nil {
		return err
	}
	if e.Setup.Scheme == nil {
		var err error
		if e.Setup.Scheme, err = f.Mechanism().scheme(e.Experiment); err != nil {
			return err
		}
	}
	e.Seats.noise = privacy.PlannedBy(e.Setup.Scheme)
	if !f.Private() {
		return nil
	}
	if err := e.checkDelta(n.least()); err != nil {
		return err
	}
	if err := e.checkAmplified(); err != nil {
		return err
	}
	return accounted(f, f.Mechanism().calibrate(e))
}

// accounted names the key that an accountant's error is about.
func accounted(f *File, err error) error {
	p, bad := &f.Privacy, new(config.Error)
	if errors.As(err, &bad) && bad.Key == "norm" {
		return f.Refuse("privacy.mechanism", p.Mechanism, "gaussian where an answer is clipped in L2: with "+
			"{mechanism} bcd has norm = \"l1\", and a fit a warm_epsilon of its own")
	}
	for _, c := range []struct {
		is      error
		key     string
		found   any
		allowed string
	}{
		{account.ErrUnsupported, "privacy.accountant", p.Accountant, "one that has a bound for this plan"},
		{account.ErrInfeasible, "privacy.target_epsilon", p.TargetEpsilon, "what this plan can keep to"},
		{account.ErrDeltaTooSmall, "privacy.target_delta", p.TargetDelta,
			"what the accountant can tell apart from 0"},
	} {
		if errors.Is(err, c.is) && c.found != 0. {
			return fmt.Errorf("%w: %w", f.Refuse(c.key, c.found, c.allowed), err)
		}
	}
	return err
}

// fillPublic completes what all agents' oracles have in common, where no deviation has
// set it.
func (e planner) fillPublic() {
	f, p := e.File, &e.Setup.Public
	priv := &f.Privacy
	p.Model, p.Adjacency, p.Unit = e.Task.Model, priv.adjacency, priv.unit
	if p.ClipNorm == 0 {
		p.ClipNorm = priv.MaxGradNorm
	}
	p.Sums.Uncharged, p.Sums.Moving = priv.Noise == fastNoise, f.Data.Arrival != ""
	clips(priv, p)
	p.Augment, p.Sums.Persons = f.Data.Augmentation, priv.Persons
	p.FeatureNorm, p.Residual = math.Inf(1), math.Inf(1)
	if f.Private() {
		p.Residual = 1
		if !f.Mechanism().Perturbs {
			p.FeatureNorm = priv.featureNorm()
		}
	}
	p.Init = e.Task.Init
	e.Setup.SLEM = e.Graphs.known().SLEM
}

// fillAgent sets agent i's public constants.
func (e planner) fillAgent(i int, n *counter) error {
	f, a := e.File, &e.Plans[i]
	p, k, m := &f.Privacy, f.Kind(), e.File.Privacy.units(&e.Task, e.Task.Parts[i])
	a.Public = e.Setup.Public
	a.Epsilon, a.Before = p.budget(e.Seats.ID(i)), e.priorEvents()
	public := !p.adjacency.HidesCount()
	if public {
		a.Public.Records = m
		e.Clock.MaxRecords = max(e.Clock.MaxRecords, e.Seats.others(m))
		if n := m * max(1, a.Public.Draws); n > oracle.MaxRecords {
			a.Public.Sums.MaxRecords = n
		}
	}
	var err error
	switch {
	case !k.Record, k.Batches == oracle.Mean && p.unit == account.Owner():
		a.Public.SampleRate, a.Public.ExpectedBatchSize = 1, 1
	case k.Batches != oracle.Sampled && public:
		a.Public.SampleRate, a.Public.ExpectedBatchSize = 1, float64(max(1, m))
	case k.Batches != oracle.Sampled:
		a.Public.SampleRate, a.Public.ExpectedBatchSize = 1, p.BatchSize
	case !public:
		a.Public.SampleRate, a.Public.ExpectedBatchSize = p.SampleRate, p.BatchSize
	default:
		a.Public.SampleRate, a.Public.ExpectedBatchSize, err = p.sampling(float64(m), max(1, a.Public.Draws))
		if err == nil && p.SampleRate == 0 && a.Public.SampleRate != 1 && ownState(f) {
			err = config.Bad("batch_size", p.BatchSize, fmt.Sprintf("%d, all records, with own_state", m))
		}
		if bad := new(config.Error); errors.As(err, &bad) && f.Topology.Agents > 1 {
			bad.Allowed = fmt.Sprintf("for agent %d %s", e.Seats.ID(i), bad.Allowed)
		}
	}
	n.add(m+p.heldOut(&e.Task, i), a)
	return err
}

// sampling derives rate and normaliser where the record count m is public.
func (p *PrivacyParams) sampling(m float64, draws int) (rate, batch float64, err error) {
	rate, batch = p.SampleRate, p.BatchSize
	m *= float64(draws)
	switch {
	case m == 0: // an owner without records releases noise
		rate, batch = 1, cmp.Or(batch, 1)
	case p.SampleRate == 0:
		if rate = p.BatchSize / m; rate > 1 {
			return rate, batch, config.Bad("batch_size", p.BatchSize,
				fmt.Sprintf("at most %g: the sample rate batch_size/records would be %.4g, above 1", m, rate))
		}
	case p.BatchSize == 0:
		batch = p.SampleRate * m
	}
	return rate, batch, nil
}

// checkQueries refuses queries that the run's model has no answer to.
func (e planner) checkQueries() error {
	a := &e.Plans[0]
	for k := range a.Asks {
		_, err := oracle.New(&a.Public, &a.Asks[k].Query)
		if errors.Is(err, oracle.ErrNoTable) {
			return fmt.Errorf("%w: %w", err, e.File.Refuse("model.name", e.File.Model.Name,
				"logistic, additive, least-squares, huber or poisson"))
		}
		if errors.Is(err, oracle.ErrNotLinear) {
			return fmt.Errorf("%w: %w", err, e.File.Refuse("model.name", e.File.Model.Name,
				"huber, least-squares, poisson, or logistic with two classes"))
		}
	}
	return nil
}

// calibrate finds every agent's noise, and what is claimed without what the run's ledgers
// are charged before it.
func (e planner) calibrate() error {
	f := e.File
	if err := plan.Calibrate(e.Plans, e.Seats.ID(0), e.Setup.Scheme, e.Setup.Target); err != nil {
		return err
	}
	if e.Setup.Uncharged {
		if err := f.Pace.plan.claim(e); err != nil {
			return err
		}
	}
	if e.Setup.Unjudged {
		return nil
	}
	return f.Pace.plan.judge(e)
}

// warn notes what is doubtful: the noise at the smallest owner, delta at the largest.
func (e planner) warn() error {
	smallest, largest := &e.Plans[0], &e.Plans[0]
	for i := range e.Plans {
		least := smallest.Public.Records
		if r := e.Plans[i].Public.Records; r > 0 && (least == 0 || r < least) {
			smallest = &e.Plans[i]
		}
		if e.Plans[i].Public.Records > largest.Public.Records {
			largest = &e.Plans[i]
		}
	}
	if len(largest.Asks) == 0 {
		return nil
	}
	r, err := largest.Release(0)
	if err != nil {
		return err
	}
	p := &e.File.Privacy
	noise := p.MaxGradNorm * smallest.Noise * math.Sqrt(float64(e.Task.Model.Dim()))
	if p.FollowsAnswers() && noise > p.MaxGradNorm*smallest.Public.ExpectedBatchSize {
		e.Notes.Warnings = append(e.Notes.Warnings,
			"clipping released: the noise of an answer is longer than the "+
				"longest mean of clipped gradients, so that the clip follows the noise")
	}
	records := largest.Public.Records
	if p.unit == account.Owner() { // delta is not about records
		records = 0
	}
	e.Notes.Warnings = append(account.Warnings(r, largest.Noise, p.TargetDelta, records),
		e.Notes.Warnings...)
	return nil
}

// Env is what the agent at place i knows at birth: nothing, where none was built.
func (e *Experiment) Env(i int) agent.Env {
	if i < 0 || i >= len(e.Plans) {
		return agent.Env{}
	}
	env := agent.Env{
		Self:       e.Seats.ID(i),
		Agents:     e.File.Topology.Agents,
		Dim:        e.Task.Model.Dim(),
		Records:    e.Plans[i].Public.Records,
		Rounds:     e.File.Steps,
		Init:       e.Task.Init,
		Graph:      e.Graphs.known(),
		MaxRecords: e.Clock.MaxRecords,
		Turns:      agent.Turns{Tokens: e.File.Token.Count},
	}
	env.Wakes, env.Table, env.Noise = e.Clock.wakes(i), tableOf(e, i), answerNoise(e, i)
	return env
}

// gradientBound is the largest norm of an owner's mean gradient that the model and the
// data set's public bound of its rows allow.
func (e planner) gradientBound() (float64, error) {
	glm, linear := model.Linear(e.Task.Model)
	switch x := e.Task.Split.Train.RowNorm; {
	case !linear || math.IsInf(glm.Slope, 1):
		return 0, e.File.Refuse("model.name", e.File.Model.Name,
			"huber, poisson, or logistic with two classes, whose gradients are bounded")
	case x == 0:
		return 0, e.File.Refuse("data.dataset", e.File.Data.Dataset,
			"one whose rows have a public bound, such as houses")
	default:
		return glm.Slope * e.Task.Lifted(x), nil
	}
}

// countNeighbors finds the fewest neighbors that an agent hears in the first round.
func (e planner) countNeighbors() error {
	g, err := e.Graphs.Schedule.At(0)
	if err != nil {
		return err
	}
	e.Graphs.MinNeighbors = g.Agents()
	for i := range agent.ID(g.Agents()) {
		e.Graphs.MinNeighbors = min(e.Graphs.MinNeighbors, g.Degree(i))
	}
	return nil
}

// Lifted is the norm of a row with the constant of an intercept.
func (t *Task) Lifted(x float64) float64 {
	if glm, _ := model.Linear(t.Model); glm.Intercept {
		return math.Hypot(x, 1)
	}
	return x
}
