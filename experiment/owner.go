package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/data"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/tensor"
	"sotto/topology"
)

// FileDigest is what a roster names an experiment by: the SHA-256 of the run file's
// bytes, hexadecimal.
func FileDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Agents returns how many agents the run file asks for.
func (f *File) Agents() int { return f.topo.Agents }

// ScheduleFor builds the graphs of the run file with a public seed in place of the
// file's.
func (f *File) ScheduleFor(seed uint64) (topology.Schedule, error) {
	if _, similar := topology.Similarities[f.topo.Graph]; similar {
		return nil, f.at("topology", config.Bad("graph", f.topo.Graph,
			config.OneOf(topology.Graphs)+": the graphs of similar agents compare data"))
	}
	s, err := topology.Build(f.spec(seed), f.section("topology"))
	return s, f.at("topology", err)
}

// spec describes the graphs of [topology].
func (f *File) spec(seed uint64) topology.Spec {
	return topology.Spec{Graph: f.topo.Graph, Weights: f.topo.Weights, Agents: f.topo.Agents, Seed: seed,
		Push: f.alg.Name == pushAlgorithm, Dropout: f.topo.Dropout, Window: f.topo.Window,
		Rounds: f.root.Rounds, Pairwise: f.topo.Wake == pairWake}
}

// GraphFor is the whole of ScheduleFor: what a roster states. Where graphs change from
// round to round it says who hears whom in some round.
func (f *File) GraphFor(seed uint64) (*topology.Graph, error) {
	s, err := f.ScheduleFor(seed)
	if err != nil {
		return nil, err
	}
	return topology.Whole(s)
}

// OwnerOptions say which agent of an experiment an owner is, and with which data.
type OwnerOptions struct {
	Self   agent.ID
	Data   string            // the owner's file
	Graphs topology.Schedule // that the signed roster states the whole of: see File.ScheduleFor
	// public, in place of the run file's: of the initial model and of the records held
	// out for tests
	Seed uint64
	// Secret is what the owner shares with a neighbor and nobody else, the same bytes at
	// both ends and others in every run: for mechanism decor. nil for an owner that only
	// plans.
	Secret func(neighbor agent.ID) []byte
}

// Owner is one agent of an experiment with an owner's own data: what a daemon runs. Its
// gate draws secret keys. Only its Gate reads the training records; what Accuracy and
// Alone return is private and stays with the owner.
type Owner struct {
	e       *Experiment
	self    agent.ID
	records [][]byte
	noise   string
	tests   *model.Batch
	secret  func(agent.ID) []byte
	iterate ownIterate // of algorithm km with own_state, else empty
}

// Owner builds the part of agent opt.Self. Runs without noise, with switches of
// [replication] are refused.
func (f *File) Owner(opt OwnerOptions) (*Owner, error) {
	if err := f.ownable(); err != nil {
		return nil, err
	}
	first, err := opt.Graphs.At(0)
	if err != nil {
		return nil, err
	}
	if first.Agents() != f.topo.Agents {
		return nil, f.at("topology", config.Bad("agents", f.topo.Agents,
			fmt.Sprintf("%d, the members of the roster", first.Agents())))
	}
	f.root.Seed = opt.Seed
	own, err := data.LoadOwn(f.data.Dataset, opt.Data, opt.Seed, f.section("data"))
	if err != nil {
		return nil, f.at("data", err)
	}
	e := &Experiment{file: f, split: own.Split, schedule: opt.Graphs, owned: true, self: opt.Self}
	if e.factory, err = f.newFactory(); err != nil {
		return nil, err
	}
	rows := make([]int32, own.Split.Train.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	e.parts = [][]int32{rows}
	if err := e.ownModel(); err != nil {
		return nil, err
	}
	o := &Owner{e: e, self: opt.Self, records: own.Records, tests: batchOf(e.split.Test), secret: opt.Secret}
	if o.noise = f.priv.Noise; o.noise == "" {
		o.noise = "fast"
		if _, ok := e.model.(model.GridModel); ok && f.pacing == algo.Rounds && f.alg.Name != kmAlgorithm &&
			!f.averages() && f.priv.Mechanism != decorMechanism {
			// nobody waits for a daemon: its noise is the one that rests on fewer
			// assumptions
			o.noise = "exact"
		}
	}
	f.priv.Noise = o.noise
	if err := e.planPrivacy(); err != nil {
		return nil, f.at("privacy", err)
	}
	if who := f.adv.Text(); who != "" {
		e.warnings = append(e.warnings, "this experiment has members who attack, to rehearse with: "+who)
	}
	return o, nil
}

// ownModel builds model and initial parameters, which are the same for all members.
func (e *Experiment) ownModel() error {
	f := e.file
	var err error
	if e.model, err = model.New(f.mod.Name, e.shape(), f.section("model")); err != nil {
		return f.at("model", err)
	}
	if err := f.data.Augmentation.Validate(e.split.Train.Shape, e.model); err != nil {
		return f.at("data", err)
	}
	if p := f.mod.Precision; p != "" {
		if e.model, err = model.WithPrecision(e.model, p); err != nil {
			return f.at("model", err)
		}
	}
	whole := f.spec(0)
	whole.Dropout, whole.Window = 0, 0
	if _, err := topology.Build(whole, f.section("topology")); err != nil { // its keys are known now
		return f.at("topology", err)
	}
	if err := f.doc.finish(); err != nil {
		return err
	}
	if err := e.analyze(); err != nil {
		return f.at("topology", err)
	}
	if err := e.initialise(); err != nil {
		return f.at("model", err)
	}
	if f.mod.TrainLayers != 0 {
		return e.trainHead()
	}
	return nil
}

// Facts are what an owner's policy is asked about, and what a plan shows. All of it is
// public.
type Facts struct {
	Algorithm string
	Dataset   string
	Rounds    uint64        // rounds, steps of every token, or the owner's own wakes
	Holders   []agent.ID    // where each token starts; nil where models do not walk
	Interval  time.Duration // mean time between two wakes; 0 in rounds
	Pairs     bool          // two agents meet at a wake
	Push      bool          // messages carry the mass of push-sum, which must not get lost
	BF16      bool          // messages have bfloat16 values
	Dim       int
	Extra     int // values of an answer behind the Dim of the model: 1 for a noisy count, else 0
	Records   int // for training; the adjacencies of owners' runs make it public, 0 where it is not
	Batch     float64
	Rate      float64
	Queries   int // charges of the whole run
	// bytes by which every answer makes checkpoints longer, from which a private iterate
	// is recovered
	Grows     int
	Noise     float64
	NoiseKind string
	// of mechanism decor, whose secrets its figures allow an adversary to have:
	// neighbors, one or none
	Curious    string
	Costs      []Cost // of all answers
	Adjacency  account.Adjacency
	Unit       account.Unit
	Delta      float64
	Target     float64 // epsilon that the run may spend; 0: no limit but the policy's
	Accountant string
	Provenance privacy.Provenance
	Warnings   []string
}

// Facts returns what is planned.
func (o *Owner) Facts() (Facts, error) {
	f, p := o.e.file, &o.e.plans[0]
	m, err := o.mechanism()
	if err != nil {
		return Facts{}, f.at("privacy", err)
	}
	costs, err := o.costs()
	if err != nil {
		return Facts{}, f.at("privacy", err)
	}
	grows := 0
	if o.e.ownState {
		grows = 8 + 4*o.e.model.Dim()
	}
	return Facts{
		Algorithm: f.alg.Name,
		Dataset:   f.data.Dataset,
		Rounds:    o.steps(),
		Holders:   o.holders(),
		Interval:  f.interval(),
		Pairs:     f.pacing == algo.Pairs,
		Push:      f.alg.Name == pushAlgorithm,
		BF16:      f.alg.Messages == bf16Messages,
		Dim:       o.e.model.Dim(),
		Extra:     f.priv.Extra(),
		Records:   p.records,
		Batch:     p.batch,
		Rate:      p.rate,
		Queries:   p.queries,
		Grows:     grows,
		Noise:     p.noiseMultiplier,
		NoiseKind: o.noise,

		Curious:   f.priv.Curious,
		Costs:     costs,
		Adjacency: f.priv.adjacency,
		Unit:      f.priv.unit,
		Delta:     f.priv.TargetDelta,
		Target:    f.priv.TargetEpsilon,

		Accountant: f.priv.Accountant,
		Provenance: m.Provenance(),
		Warnings:   o.e.warnings,
	}, nil
}

// epsilon is what costs come to by the run file's accountant, at its delta.
func (o *Owner) epsilon(costs ...Cost) (account.Interval, error) {
	f := o.e.file
	acc, err := account.New(f.priv.Accountant, f.priv.adjacency, f.priv.unit)
	if err != nil {
		return account.Interval{}, err
	}
	for _, c := range costs {
		if err := acc.Compose(c.Event, c.Times); err != nil {
			return account.Interval{}, err
		}
	}
	return acc.Epsilon(f.priv.TargetDelta)
}

// Records yields the raw lines of the owner's file, for ledger.NewFingerprint.
func (o *Owner) Records() iter.Seq[[]byte] { return slices.Values(o.records) }

// Algorithm makes the owner's agent, which attacks if the run file says so.
func (o *Owner) Algorithm() (agent.Algorithm, error) {
	f := o.e.file
	env := o.e.env(0)
	env.Agents = f.topo.Agents
	a, err := o.e.factory(env)
	if err != nil {
		return nil, f.at("algorithm", err)
	}
	if o.e.ownState {
		o.iterate.agent = a.(*algo.KM)
	}
	p := &o.e.plans[0]
	a = f.priv.Clipped(a, f.priv.MaxGradNorm, p.noiseMultiplier/p.batch, o.e.model.Dim())
	return f.alg.rounded(f.adv.Corrupt(a, o.self, f.root.Seed)), nil
}

// Gate makes the gate over the owner's records, with secret keys. The ledger is the
// owner's durable one; run names this experiment in its records, so that the run's own
// limit, target_epsilon, counts over restarts. Recover goes before the first answer.
func (o *Owner) Gate(l *ledger.File, run string) (*privacy.Gate, error) {
	p := &o.e.plans[0]
	m, err := o.mechanism()
	if err != nil {
		return nil, o.e.file.at("privacy", err)
	}
	oracles, err := o.oracles()
	if err != nil {
		return nil, err
	}
	o.iterate.oracle, _ = oracles[oracle.KMStatefulName].(*oracle.KMStateful)
	limited, err := o.limit(l, run)
	if err != nil {
		return nil, err
	}
	gate := privacy.NewGate(limited, m, oracles)
	if o.e.file.pacing == algo.Tokens {
		for name := range oracles {
			gate.Imitate("zero", name)
		}
	}
	if p.personal != nil && p.personal.fit != nil {
		gate.Use(oracle.FitName, p.personal.fit)
	}
	return gate, nil
}

// mechanism is the owner's.
func (o *Owner) mechanism() (privacy.Mechanism, error) {
	if o.e.file.priv.Mechanism == decorMechanism {
		return o.e.decorWith(&o.e.plans[0], o.self, o.secret)
	}
	return o.e.mechanism(o.e.plans[0].noiseMultiplier)
}

// limit is the ledger as one run may use it, less what the run has charged before.
func (o *Owner) limit(l *ledger.File, run string) (*runLedger, error) {
	limited := &runLedger{File: l}
	var err error
	if limited.filter, err = o.filter(); err != nil {
		return nil, err
	}
	shared := o.e.file.priv.Mechanism == decorMechanism
	if limited.filter == nil && !shared {
		return limited, nil
	}
	for r, err := range l.Records() {
		if err == nil && r.Kind == ledger.Charge && r.Run == run {
			if shared {
				limited.from = max(limited.from, r.Round+1)
			}
			if limited.filter != nil {
				err = limited.filter.Admit(*r.Event, int(r.Count))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return limited, nil
}

func (o *Owner) oracles() (map[string]privacy.Oracle, error) {
	p := &o.e.plans[0]
	switch {
	case p.personal != nil:
		return o.e.personalOracles(0, oracle.NewSplitPool(1), o.e.split.Train)
	case o.e.splitting != nil:
		name, k, err := o.e.kmOracle(p, oracle.Records{Data: o.e.split.Train, Index: o.e.parts[0]})
		return map[string]privacy.Oracle{name: k}, err
	case o.e.file.pacing == algo.Tokens:
		return o.e.walkOn(p, oracle.Records{Data: o.e.split.Train, Index: o.e.parts[0]},
			oracle.NewSplitPool(1))
	case o.e.file.averages():
		v, err := o.e.value(p, oracle.Records{Data: o.e.split.Train, Index: o.e.parts[0]})
		return map[string]privacy.Oracle{oracle.ValueName: v}, err
	}
	grad := o.gradient()
	o.e.adapt(grad, p)
	return map[string]privacy.Oracle{"grad": grad}, grad.Validate()
}

// gradient is the oracle at constant clips.
func (o *Owner) gradient() *oracle.Gradient {
	f, p := o.e.file, &o.e.plans[0]
	return &oracle.Gradient{
		Model:         o.e.model,
		Records:       oracle.Records{Data: o.e.split.Train, Index: o.e.parts[0]},
		Rate:          p.rate,
		ExpectedBatch: p.batch,
		Clip:          f.priv.MaxGradNorm,
		Adjacency:     f.priv.adjacency,

		Unit:    account.Record(),
		Pool:    oracle.NewSplitPool(1),
		Exact:   o.noise == "exact",
		Augment: f.data.Augmentation,
	}
}

// runLedger admits no more than one run may charge.
type runLedger struct {
	*ledger.File
	filter *account.CountFilter // nil: what the ledger's own budget admits
	round  uint64
	// rounds before it have had answers in another process, or may have, whose shared
	// noise must not serve again
	from uint64
}

// SetRound notes the round of later charges.
func (r *runLedger) SetRound(round uint64) {
	r.round = round
	r.File.SetRound(round)
}

// Charge implements ledger.Ledger.
func (r *runLedger) Charge(ev account.Event) (uint64, error) {
	if r.round < r.from {
		return 0, fmt.Errorf("%w: round %d", privacy.ErrAbstain, r.round)
	}
	if r.filter != nil {
		if err := r.filter.Admit(ev, 1); err != nil {
			return 0, fmt.Errorf("what the run may charge: %w", err)
		}
	}
	return r.File.Charge(ev)
}

// EncodeModel returns a model as a safetensors file.
func (o *Owner) EncodeModel(theta tensor.Vec, run string) ([]byte, error) {
	return o.encode(run,
		[]model.NamedVec{{Name: fmt.Sprintf("agent.%d", o.self), Vec: o.e.wholeParams(theta)}})
}

func (o *Owner) encode(run string, tensors []model.NamedVec) ([]byte, error) {
	meta := map[string]string{"run": run, "engine": EngineVersion, "model": o.e.file.mod.Name,
		"noise": o.noise, "samples": formatShape(o.e.sampleShape())}
	return model.EncodeSafetensors(meta, tensors)
}

// ReadBytes is Parse on the file at path, together with its bytes, which FileDigest
// takes.
func ReadBytes(path string) (*File, []byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := Parse(path, b, nil)
	return f, b, err
}
