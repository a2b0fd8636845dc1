// Package attack makes runs the targets of the auditor (package privacy/audit). It plays
// both worlds of an attacked agent by the very parties that simulations and daemons have,
// in one process or among real nodes. It also holds the catalogue of published claims
// that do not hold, and makes images from gradients.
package attack

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/run"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
)

// auditor makes the two worlds of a run in which one agent is attacked.
type auditor struct {
	e     *experiment.Experiment
	agent int
	fresh bool // gates have keys of the operating system
	pool  *oracle.Pool
	query *agent.Query
	canary
	known  [2]knownAnswer // the last ones that value has computed
	worlds [2]hypothesis  // by world
	// edit changes what the attacked agent is made of; nil: nothing. Tests plant faults
	// by it.
	edit func(*experiment.Seat)
}

// hypothesis is a world of the attacked agent: what its records are, and how they are
// read. There is nothing else that an auditor may change in a run.
type hypothesis struct {
	train *data.Dataset // that spread made
	rows  []int32       // numbers of records; of persons, in their unit
	drawn bool          // every record is in every batch, and the ledger has no limit
	once  bool          // a batch is drawn once, whatever the run does
}

// with is the hypothesis with every record drawn, once or as often as the run draws.
func (h hypothesis) with(drawn, once bool) hypothesis {
	h.drawn, h.once = drawn, once
	return h
}

// adjust makes an oracle's public constants those of the hypothesis.
func (h *hypothesis) adjust(p *oracle.Public) {
	p.Augment = oracle.Augmentation{}
	if p.SingleRecord {
		p.Records = len(h.rows)
	}
	if h.drawn {
		p.SampleRate = 1
	}
	if h.once {
		p.Draws = 0
	}
}

type knownAnswer struct{ at, value tensor.Vec }

// Options say what of a run is attacked.
type Options struct {
	Agent int // whose records
	// Canary is the attacked record: "gradient" (default) changes an answer the most
	// among many that were tried, "blank" has all features 0 and a label that is not the
	// likeliest, "mislabelled" is a record of the data set with another label.
	Canary string
	// Live runs what Step observes among nodes, whose checkpoints are in Files; nil:
	// those of the operating system. Gates then draw their keys from it, so that no two
	// audits are alike.
	Live  bool
	Files ledger.FS
	// Self is the command line of another process that calls WritePrints, for an audit of
	// keys; empty: none is started.
	Self []string
}

// Target returns the run as a system under audit. Figures of an audit come from
// seeds, so that it can be repeated; the attacked owner has no records but those that the
// auditor makes, and the others' data are left out: an adversary may know them.
func Target(e *experiment.Experiment, o Options) (*audit.Target, error) {
	return newTarget(e, o, nil)
}

// newTarget is Target of a run whose attacked seat is edited.
func newTarget(e *experiment.Experiment, o Options, edit func(*experiment.Seat)) (*audit.Target, error) {
	if o.Agent < 0 || o.Agent >= len(e.Plans) {
		return nil, config.Bad("agent", o.Agent, fmt.Sprintf("0 to %d", len(e.Plans)-1))
	}
	a := &auditor{e: e, agent: o.Agent, pool: oracle.NewPool(), edit: edit}
	if err := a.applies(); err != nil {
		return nil, err
	}
	t := &audit.Target{
		Name: fmt.Sprintf("%s, agent %d", e.File.Run.Name, o.Agent),
		Answers: audit.Answers{
			Dim:      e.Task.Model.Dim() + e.Plans[0].Extra(),
			Replaced: e.Setup.Target.Adjacency == account.ReplaceOne,
			Free:     experiment.FreeQueries,
		},
		Machine: audit.Machine{Algorithm: a.algorithm, Drive: a.drive},
		Open:    a.open,
		Value:   a.value,
		Account: a.account,
		Keyring: Keyring(o.Self),
	}
	local := e.File.Mechanism().Perturbs
	if local {
		first := oracle.FeaturesName
		if o.Canary == "blank" || o.Canary == "mislabelled" { // whose labels differ
			first = oracle.LabelsName
		}
		t.Algorithm, t.Drive = release(first), a.publish
		t.Dim, t.Discrete = max(1, e.Task.Split.Train.X.Cols), first == oracle.LabelsName
		if t.Discrete {
			t.Dim = 1
		}
	}
	var err error
	if o.Live {
		a.fresh = true
		if t.Live, err = a.live(o.Files, t.Dim); err != nil {
			return nil, err
		}
	}
	if a.query, err = t.Query(); err != nil {
		return nil, err
	}
	if err := a.choose(e, o.Canary, a.query, a.answer); err != nil {
		return nil, err
	}
	a.worlds[audit.In] = hypothesis{train: a.rows, rows: []int32{a.record}}
	a.worlds[audit.Out] = hypothesis{train: a.rows, rows: a.others()}
	if t.Claim, err = a.claim(); err != nil {
		return nil, err
	}
	if k := t.Claim.Sampler.Kind; k != account.FullBatch && t.Claim.Rate() < 1 {
		t.Population = a.population
	}
	if !e.File.Pace.Walking {
		t.Train = a.train
	}
	if !local {
		t.Canaries = a.canaries
	}
	return t, nil
}

// applies refuses runs in which nothing is asked of data by an algorithm, or nothing is
// claimed.
func (a *auditor) applies() error {
	f := a.e.File
	switch {
	case !a.e.File.Private():
		return f.At("privacy", config.Bad("mechanism", f.Privacy.Mechanism,
			"one with noise: without it there is no claim to audit"))
	case a.e.Setup.NoiseFree:
		return f.Refuse("replication.noise", f.Replication.String(),
			"nothing: this published form is refuted by computation, see docs/results/claims.md")
	}
	return nil
}

func (a *auditor) others() []int32 {
	if a.e.Setup.Target.Adjacency == account.ReplaceOne {
		return []int32{a.other}
	}
	return nil
}

// seat is the attacked agent's under a hypothesis; m nil: the run's mechanism.
func (a *auditor) seat(h hypothesis, l ledger.Ledger, m privacy.Mechanism,
	keys privacy.Keys) experiment.Seat {
	id := agent.ID(a.agent)
	s := experiment.Seat{
		Self:      id,
		Records:   oracle.Records{Data: h.train, Index: rowsOf(a.e, h.rows)},
		Ledger:    l,
		Keys:      keys,
		Secret:    run.SimulatedSecret(a.e.NoiseSeed(), id),
		Pool:      a.pool,
		Mechanism: m,
		Adjust:    h.adjust,
	}
	if a.edit != nil {
		a.edit(&s)
	}
	return s
}

// gate is the attacked agent's with keys from the seed; m nil: the run's mechanism.
func (a *auditor) gate(h hypothesis, l ledger.Ledger, m privacy.Mechanism, seed uint64) (*privacy.Gate,
	error) {
	keys := privacy.SimulatedKeys(seed)
	if a.fresh {
		keys = privacy.Keys{}
	}
	s := a.seat(h, l, m, keys)
	if a.e.File.Mechanism().Perturbs {
		return a.e.LocalGate(a.agent, s.Records, l, keys), nil
	}
	g, _, err := a.e.Gate(&s)
	return g, err
}

// oracles are those of the attacked agent.
func (a *auditor) oracles(h hypothesis) (map[string]privacy.Oracle, error) {
	s := a.seat(h, nil, nil, privacy.Keys{})
	if a.e.File.Mechanism().Perturbs {
		f, y := a.e.LocalOracles(s.Records)
		return map[string]privacy.Oracle{oracle.FeaturesName: f, oracle.LabelsName: y}, nil
	}
	return a.e.Bind(&s)
}

// open is audit.Target.Open. A ledger without drawn has the run's own limit.
func (a *auditor) open(w audit.Hypothesis, seed uint64, drawn bool) (*audit.Party, error) {
	h := a.worlds[w].with(drawn, false)
	var filter *account.CountFilter
	if !drawn && !a.e.File.Pace.OwnPlans {
		var err error
		if filter, err = a.e.Plans[a.agent].Filter(); err != nil {
			return nil, err
		}
	}
	return a.party(h, run.NewLedger(filter, false), seed)
}

func (a *auditor) party(h hypothesis, l *ledger.Memory, seed uint64) (*audit.Party, error) {
	g, err := a.gate(h, l, nil, seed)
	if err != nil {
		return nil, err
	}
	return &audit.Party{Gate: g, Ledger: l, Reopen: func() (*audit.Party, error) {
		next := ledger.NewMemory(nil)
		if err := next.Restore(slices.Collect(recordsIn(l))); err != nil {
			return nil, err
		}
		return a.party(h, next, seed)
	}}, nil
}

// recordsIn are those of a ledger in memory, which cannot fail.
func recordsIn(l *ledger.Memory) func(yield func(ledger.Record) bool) {
	return func(yield func(ledger.Record) bool) {
		for r := range l.Records() {
			if !yield(r) {
				return
			}
		}
	}
}

// value is audit.Target.Value.
func (a *auditor) value(w audit.Hypothesis, q *agent.Query) (tensor.Vec, error) {
	k := &a.known[w]
	if k.value != nil && slices.Equal(k.at, q.At) {
		return k.value, nil
	}
	v, err := a.answer(a.worlds[w].with(true, true), q)
	if err == nil {
		k.at, k.value = slices.Clone(q.At), v
	}
	return v, err
}

// answer is the one to q before noise.
func (a *auditor) answer(h hypothesis, q *agent.Query) (tensor.Vec, error) {
	oracles, err := a.oracles(h)
	if err != nil {
		return nil, err
	}
	o, ok := oracles[q.Oracle]
	if !ok {
		return nil, fmt.Errorf("%w: no oracle %q", privacy.ErrQuery, q.Oracle)
	}
	r, err := o.Describe(q)
	if err != nil {
		return nil, err
	}
	dim := 0
	for _, p := range r.Parts {
		dim += p.Dim
	}
	v := privacy.Value{Float: make(tensor.Vec, dim)}
	key := rng.Simulated(0, 0, 1)
	o.Evaluate(&v, q, rng.NewStream(&key, rng.Sample))
	v.Exact(r)
	v.Float.Scale(r.Scale, v.Float)
	return v.Float, nil
}

// algorithm is audit.Target.Algorithm: agent i's state machine as a run makes it.
func (a *auditor) algorithm() (agent.Algorithm, error) { return a.stateMachine(a.agent) }

func (a *auditor) stateMachine(i int) (agent.Algorithm, error) {
	_, bare, err := a.e.Algorithm(agent.ID(i))
	if err != nil {
		return nil, err
	}
	return a.e.File.Algorithm.Rounded(a.e.Clipped(bare, agent.ID(i))), nil
}

// drive is audit.Target.Drive: the run's own runtime, graph, faults and clock.
func (a *auditor) drive(attacked agent.Algorithm, g audit.Gate, _ uint64, done func() bool) error {
	e := a.e
	agents := make([]sim.Agent, e.File.Topology.Agents)
	for i := range agents {
		agents[i] = sim.Agent{Algorithm: attacked, Gate: g}
		if i != a.agent {
			alg, err := a.stateMachine(i)
			if err != nil {
				return err
			}
			agents[i] = sim.Agent{Algorithm: alg, Gate: audit.Silent()}
		}
	}
	run, err := run.NewRuntime(e, agents, e.NoiseSeed(), 1)
	for err == nil && !done() && run.Done() < e.File.Steps {
		err = run.Run(context.Background(), run.Done()+1)
	}
	return err
}

// account is audit.Target.Account.
func (a *auditor) account(l ledger.Ledger) (float64, error) {
	i, err := run.Spent(a.e, l)
	return i.Upper, err
}

// population is audit.Target.Population: a gate without noise over records whose
// gradients differ, with the run's own sampler.
func (a *auditor) population(seed uint64, q *agent.Query) (audit.Gate, []tensor.Vec, error) {
	d := canaryRows(a.e, auditMembers, rng.Public(a.e.File.Run.Seed, "canaries"))
	all := make([]int32, auditMembers)
	var each []tensor.Vec
	for i := range all {
		all[i] = int32(i)
		v, err := a.answer(hypothesis{train: d, rows: all[i : i+1], drawn: true, once: true}, q)
		if err != nil {
			return nil, nil, err
		}
		each = append(each, v)
	}
	m, err := privacy.NewMechanism("none", 0)
	if err != nil {
		return nil, nil, err
	}
	g, err := a.gate(hypothesis{train: d, rows: all}, ledger.NewMemory(nil), m, seed)
	return g, each, err
}

// finiteOr is x, or what stands for nothing claimed.
func finiteOr(x, otherwise float64) float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return otherwise
	}
	return x
}
