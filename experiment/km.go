package experiment

import (
	"cmp"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/tensor"
	"sotto/topology"
)

// kmAlgorithm asks its owners' data for residuals of an operator, not for gradients.
const kmAlgorithm = "km"

// newFactory makes the factory of the run's algorithm.
func (f *File) newFactory() (agent.Factory, error) {
	decode := f.section("algorithm")
	factory, err := algo.New(f.alg.Name, func(params any) error {
		err := decode(params)
		switch p := params.(type) {
		case *algo.KMParams:
			p.Unsafe = f.repl.UnsafeAlpha
		case *algo.AverageParams:
			p.ZeroStart = f.repl.ZeroStart
		case *algo.GossipParams:
			p.ZeroStart = f.repl.ZeroStart
		}
		if p, ok := params.(*algo.WalkParams); ok {
			f.walking(p)
		}
		return err
	})
	return factory, f.at("algorithm", err)
}

// validateKM refuses what residuals are not made for.
func (f *File) validateKM() error {
	switch p := &f.priv; {
	case p.Noise == "exact":
		return f.at("privacy", config.Bad("noise", p.Noise,
			"fast with algorithm km: residuals are no sums of integers"))
	case p.Adaptive():
		return f.at("privacy", config.Bad("clipping", p.Kind, "constant with algorithm km"))
	case f.topo.Dropout != 0:
		return f.at("topology", config.Bad("dropout", f.topo.Dropout,
			"0 with algorithm km: every round would have weights of its own, and no bound of alpha that "+
				"is known before"))
	case f.data.Arrival != "":
		return f.at("data", config.Bad("arrival", f.data.Arrival, "nothing with algorithm km"))
	case f.data.Augmentation != (oracle.Augmentation{}):
		return f.at("data", config.Bad("augmentations", f.data.Augmentation.Views, "none with algorithm km"))
	}
	others := f.repl
	others.UnsafeAlpha, others.UnbalancedWeights, others.OneRecord = false, false, false
	if kmNoises[others.Noise] {
		others.Noise, others.Claim = "", false
	}
	if on := others.switches(); on != "" {
		return f.at("replication",
			config.Bad("", on,
				"no switch with algorithm km but unsafe_alpha, unbalanced_weights, one_record, and a "+
					"published noise with its claim"))
	}
	return nil
}

// validateOthers refuses what is for algorithm km alone.
func (f *File) validateOthers() error {
	switch p := &f.repl; {
	case p.Clip != "" && f.pacing != algo.Tokens:
		return f.at("replication", config.Bad("clip", p.Clip, "nothing with algorithm "+f.alg.Name))
	case p.UnsafeAlpha:
		return f.at("replication", config.Bad("unsafe_alpha", true, "false with algorithm "+f.alg.Name))
	case p.OneRecord:
		return f.at("replication", config.Bad("one_record", true,
			"false with algorithm "+f.alg.Name+", where sampling = \"one\" takes one record an answer"))
	case p.ZeroStart && f.alg.Name != averageAlgorithm && f.alg.Name != "gossip-sgd":
		return f.at("replication", config.Bad("zero_start", true, "false with algorithm "+f.alg.Name))
	case kmNoises[p.Noise]:
		return f.at("replication", config.Bad("noise", p.Noise,
			"adad2p or constd2p with algorithm "+f.alg.Name))
	}
	return nil
}

// lowest is a lower bound of the smallest eigenvalue of a mixing matrix: the eigenvalue
// itself where it was computed, and by Gershgorin's circles 2 min w_ii - 1 elsewhere.
func lowest(g *topology.Graph, info *topology.Info) float64 {
	if info.Computed {
		return info.LambdaN
	}
	least := 1.
	for i := range g.Agents() {
		least = min(least, g.SelfWeight(agent.ID(i)))
	}
	return max(-1, 2*least-1)
}

// readSplitting asks the algorithm for the operator that its queries mean.
func (e *Experiment) readSplitting() error {
	if e.file.alg.Name != kmAlgorithm {
		return nil
	}
	if _, linear := model.Linear(e.model); !linear {
		return fmt.Errorf("%w: %w", oracle.ErrNotLinear,
			e.file.at("model", config.Bad("name", e.file.mod.Name,
				"huber, least-squares, or logistic with two classes")))
	}
	a, err := e.factory(agent.Env{
		Agents: e.file.topo.Agents,
		Dim:    1,
		Rounds: e.file.steps,
		Init:   tensor.Vec{0},
		Rho:    e.rho(),
		Lowest: e.lowest,
	})
	if err != nil {
		return e.file.at("algorithm", err)
	}
	k := a.(*algo.KM)
	s, own := k.Splitting()
	e.splitting, e.ownState = &s, own
	return e.validatePublished(k)
}

// km is the oracle of residuals over records.
func (e *Experiment) km(pl *plan, records oracle.Records) *oracle.KM {
	f, s := e.file, e.splitting
	glm, _ := model.Linear(e.model) // readSplitting has refused others
	residual := math.Inf(1)
	if e.private() {
		residual = 1
	}
	return &oracle.KM{
		GLM:           glm,
		Records:       records,
		Operator:      s.Operator,
		Gamma:         s.Gamma,
		L1:            s.L1,
		Residual:      cmp.Or(s.ResidualClip, residual),
		Clip:          f.priv.MaxGradNorm,
		Rate:          pl.rate,
		ExpectedBatch: pl.batch,
		Adjacency:     f.priv.adjacency,
		Unit:          account.Record(),

		Dim: e.model.Dim(),
	}
}

// kmOracle is the oracle of the run's queries over records, by its name.
func (e *Experiment) kmOracle(pl *plan, records oracle.Records) (string, privacy.Oracle, error) {
	k := e.km(pl, records)
	if !e.ownState {
		return oracle.KMName, k, k.Validate()
	}
	s := &oracle.KMStateful{KM: *k, Start: e.init, Published: e.published(), OneRecord: e.file.repl.OneRecord}
	if s.Published {
		s.Clip = math.Inf(1)
	}
	return oracle.KMStatefulName, s, s.Validate()
}

// kmRelease is what the first query of the plan releases; the others differ in scale at
// most.
func (e *Experiment) kmRelease(pl *plan) (account.Release, error) {
	name, o, err := e.kmOracle(pl, oracle.Records{})
	if err != nil {
		return account.Release{}, err
	}
	q := &agent.Query{Oracle: name, At: make(tensor.Vec, e.model.Dim())}
	if e.ownState {
		q.Step = 1
	}
	return o.Describe(q)
}

// ownIterate is an agent whose data side has an iterate of its own, and that oracle.
type ownIterate struct {
	agent  *algo.KM
	oracle *oracle.KMStateful
}
