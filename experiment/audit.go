package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/data"
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
	e      *Experiment
	agent  int
	fresh  bool // gates have keys of the operating system
	pool   *oracle.Pool
	query  *agent.Query
	record int32             // row of canaries that is attacked
	other  int32             // row that takes its place in world Out under replace-one
	rows   *data.Dataset     // canaries
	known  [2]knownAnswer    // the last ones that value has computed
	worlds [2][2]*Experiment // by world, and whether the record is always drawn
	values [2]*Experiment    // with the record drawn once
}

type knownAnswer struct{ at, value tensor.Vec }

// AuditOptions say what of a run is attacked.
type AuditOptions struct {
	Agent int // whose records
	// Canary is the attacked record: "gradient" (default) changes an answer the most
	// among many that were tried, "blank" has all features 0 and a label that is not the
	// likeliest, "mislabelled" is a record of the data set with another label.
	Canary string
	// Live, when not nil, runs what Step observes among nodes. Gates then draw their keys
	// from the operating system, so that no two audits are alike.
	Live LiveDrive
}

// AuditTarget returns the run as a system under audit. Figures of an audit come from
// seeds, so that it can be repeated; the attacked owner has no records but those that the
// auditor makes, and the others' data are left out: an adversary may know them.
func (e *Experiment) AuditTarget(o AuditOptions) (*audit.Target, error) {
	if o.Agent < 0 || o.Agent >= len(e.plans) {
		return nil, config.Bad("agent", o.Agent, fmt.Sprintf("0 to %d", len(e.plans)-1))
	}
	a := &auditor{e: e, agent: o.Agent, pool: oracle.NewPool()}
	if err := a.applies(); err != nil {
		return nil, err
	}
	t := &audit.Target{
		Name:      fmt.Sprintf("%s, agent %d", e.file.root.Name, o.Agent),
		Dim:       e.model.Dim() + e.file.priv.Extra(),
		Algorithm: a.algorithm,
		Drive:     a.drive,
		Open:      a.open,
		Value:     a.value,
		Account:   a.account,
		Free:      map[string]bool{},
	}
	if e.file.pacing == algo.Tokens {
		t.Free["zero"] = true
	}
	local := e.file.priv.Mechanism == localMechanism
	if local {
		first := oracle.FeaturesName
		if o.Canary == "blank" || o.Canary == "mislabelled" { // whose labels differ
			first = oracle.LabelsName
		}
		t.Algorithm, t.Drive = release(first), a.publish
		t.Dim, t.Discrete = max(1, e.split.Train.X.Cols), first == oracle.LabelsName
		if t.Discrete {
			t.Dim = 1
		}
	}
	var err error
	if o.Live != nil {
		a.fresh = true
		if t.Live, err = a.live(o.Live, t.Dim); err != nil {
			return nil, err
		}
	}
	if a.query, err = t.Query(); err != nil {
		return nil, err
	}
	if err := a.choose(o.Canary); err != nil {
		return nil, err
	}
	a.build(a.rows, []int32{a.record}, a.others())
	if t.Claim, err = a.claim(); err != nil {
		return nil, err
	}
	if k := t.Claim.Sampler.Kind; k != account.FullBatch && t.Claim.Rate() < 1 {
		t.Members = a.members
	}
	if e.file.pacing != algo.Tokens {
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
	f := a.e.file
	switch {
	case !a.e.private():
		return f.at("privacy", config.Bad("mechanism", f.priv.Mechanism,
			"one with noise: without it there is no claim to audit"))
	case a.e.published():
		return f.at("replication", config.Bad("noise", f.repl.Noise,
			"nothing: this published form is refuted by computation, see docs/results/claims.md"))
	}
	return nil
}

func (a *auditor) others() []int32 {
	if a.e.file.priv.adjacency == account.ReplaceOne {
		return []int32{a.other}
	}
	return nil
}

// build makes both worlds from the rows of d.
func (a *auditor) build(d *data.Dataset, in, out []int32) {
	for w, rows := range [][]int32{audit.Out: out, audit.In: in} {
		a.worlds[w] = [2]*Experiment{a.world(d, rows, false), a.world(d, rows, true)}
		a.values[w] = a.world(d, rows, true)
		a.values[w].file.repl.MicroBatches = 0
	}
}

// world is the experiment with rows of d as the attacked agent's records, and no others.
func (a *auditor) world(d *data.Dataset, rows []int32, drawn bool) *Experiment {
	w, f := *a.e, *a.e.file
	w.file = &f
	f.eval.Score, f.data.Augmentation = "", oracle.Augmentation{}
	split := *a.e.split
	split.Train = d
	w.split, w.arrivals, w.held = &split, nil, nil
	w.parts = make([][]int32, len(a.e.parts))
	w.parts[a.agent] = rows
	w.plans = slices.Clone(a.e.plans)
	p := &w.plans[a.agent]
	if f.repl.one() {
		p.records = len(rows)
	}
	if drawn {
		p.rate, p.limited = 1, false
	}
	return &w
}

func (a *auditor) of(w audit.World, drawn bool) *Experiment {
	if drawn {
		return a.worlds[w][1]
	}
	return a.worlds[w][0]
}

// gate is the attacked agent's with keys from the seed.
func (a *auditor) gate(e *Experiment, l ledger.Ledger, m privacy.Mechanism, seed uint64) (*privacy.Gate,
	error) {
	oracles, err := a.oracles(e)
	if err != nil {
		return nil, err
	}
	local := e.file.priv.Mechanism == localMechanism
	if local && m == nil {
		m = e.local.features
	}
	if m == nil {
		if m, err = e.mechanismOf(a.agent); err != nil {
			return nil, err
		}
	}
	g := privacy.NewSimulatedGate(l, m, oracles, seed, agent.ID(a.agent))
	if a.fresh {
		g = privacy.NewGate(l, m, oracles)
	}
	for name := range oracles {
		if e.file.pacing == algo.Tokens {
			g.Imitate("zero", name)
		}
	}
	if p := e.plans[a.agent].personal; p != nil && p.fit != nil {
		g.Use(oracle.FitName, p.fit)
	}
	if local {
		g.Use(oracle.LabelsName, e.local.labels)
	}
	return g, nil
}

// oracles are those of the attacked agent.
func (a *auditor) oracles(e *Experiment) (map[string]privacy.Oracle, error) {
	if e.file.priv.Mechanism == localMechanism {
		f, y := e.localOracles(a.agent)
		return map[string]privacy.Oracle{oracle.FeaturesName: f, oracle.LabelsName: y}, nil
	}
	return e.oracles(a.agent, a.pool, &world{watch: new(stopwatch), trained: e.split.Train})
}

// open is audit.Target.Open. A ledger without drawn has the run's own limit.
func (a *auditor) open(w audit.World, seed uint64, drawn bool) (*audit.Party, error) {
	e := a.of(w, drawn)
	var filter account.Filter
	if p := &e.plans[a.agent]; !drawn && p.personal == nil && p.limited {
		var err error
		if filter, err = p.filter(); err != nil {
			return nil, err
		}
	}
	return a.party(e, ledger.NewMemory(filter), seed)
}

func (a *auditor) party(e *Experiment, l *ledger.Memory, seed uint64) (*audit.Party, error) {
	g, err := a.gate(e, l, nil, seed)
	if err != nil {
		return nil, err
	}
	return &audit.Party{Gate: g, Ledger: l, Reopen: func() (*audit.Party, error) {
		next := ledger.NewMemory(nil)
		if err := next.Restore(slices.Collect(recordsIn(l))); err != nil {
			return nil, err
		}
		return a.party(e, next, seed)
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
func (a *auditor) value(w audit.World, q *agent.Query) (tensor.Vec, error) {
	k := &a.known[w]
	if k.value != nil && slices.Equal(k.at, q.At) {
		return k.value, nil
	}
	v, err := a.answer(a.values[w], q)
	if err == nil {
		k.at, k.value = slices.Clone(q.At), v
	}
	return v, err
}

// answer is an experiment's to q before noise, with every record drawn.
func (a *auditor) answer(e *Experiment, q *agent.Query) (tensor.Vec, error) {
	oracles, err := a.oracles(e)
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
	v.Float.Scale(r.Scale, v.Float)
	return v.Float, nil
}

// algorithm is audit.Target.Algorithm: agent i's state machine as a run makes it.
func (a *auditor) algorithm() (agent.Algorithm, error) { return a.stateMachine(a.agent) }

func (a *auditor) stateMachine(i int) (agent.Algorithm, error) {
	e, f := a.e, a.e.file
	alg, err := e.factory(e.env(i))
	if err != nil {
		return nil, f.at("algorithm", err)
	}
	p := &e.plans[i]
	return f.alg.rounded(f.priv.Clipped(alg, f.priv.MaxGradNorm, p.noiseMultiplier/p.batch, e.model.Dim())),
		nil
}

// drive is audit.Target.Drive: the run's own runtime, graph, faults and clock.
func (a *auditor) drive(attacked agent.Algorithm, g audit.Gate, _ uint64, done func() bool) error {
	e := a.e
	agents := make([]sim.Agent, e.file.topo.Agents)
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
	w := &world{agents: agents, watch: new(stopwatch), trained: e.split.Train}
	err := e.startRuntime(w, agents, 1)
	for err == nil && !done() && w.sim.Round() < e.file.steps {
		err = w.sim.Run(context.Background(), w.sim.Round()+1)
	}
	return err
}

// account is audit.Target.Account.
func (a *auditor) account(l ledger.Ledger) (float64, error) {
	h, err := historyOf(l)
	if err != nil {
		return 0, err
	}
	i, err := a.e.newAccounts(1).figure(h, false)
	return i.Upper, err
}

// members is audit.Target.Members: a gate without noise over records whose gradients
// differ, with the run's own sampler.
func (a *auditor) members(seed uint64, q *agent.Query) (audit.Gate, []tensor.Vec, error) {
	d := a.e.canaryRows(auditMembers, rng.Public(a.e.file.root.Seed, "canaries"))
	all := make([]int32, auditMembers)
	var each []tensor.Vec
	for i := range all {
		all[i] = int32(i)
		one := a.world(d, all[i:i+1], true)
		one.file.repl.MicroBatches = 0
		v, err := a.answer(one, q)
		if err != nil {
			return nil, nil, err
		}
		each = append(each, v)
	}
	m, err := privacy.NewMechanism("none", 0)
	if err != nil {
		return nil, nil, err
	}
	g, err := a.gate(a.world(d, all, false), ledger.NewMemory(nil), m, seed)
	return g, each, err
}

// finiteOr is x, or what stands for nothing claimed.
func finiteOr(x, otherwise float64) float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return otherwise
	}
	return x
}
