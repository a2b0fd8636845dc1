package experiment

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"sotto/agent"
	"sotto/algo"
	"sotto/data"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/sim"
	"sotto/tensor"
)

// runtimeSim is a simulation, in rounds or in wakes.
type runtimeSim interface {
	Round() uint64 // rounds or wakes that are complete
	Run(ctx context.Context, until uint64) error
	Params(i int) tensor.Vec
	BytesSent(i int) uint64
	Stats() sim.Stats
	AppendState(b []byte) []byte
	LoadState(b []byte) error
}

// world is the running part of an experiment.
type world struct {
	sim     runtimeSim
	ledgers []*ledger.Memory
	scorers []*privacy.Gate // of the agents, where a score is asked for
	watch   *stopwatch
	agents  []sim.Agent
	own     []ownIterate  // of algorithm km with own_state
	trained *data.Dataset // what oracles read: the training records, or their perturbed release
	// no answers: agents of a resumed run, whose state is about to be loaded, start once
	// more
	held bool
}

// heldGate is the gate of a resumed run. What an agent asks at its start was answered,
// and charged, by the run that was interrupted.
type heldGate struct {
	sim.Gate
	w *world
}

func (g heldGate) Answer(q *agent.Query, dst tensor.Vec) error {
	if g.w.held {
		return privacy.ErrExhausted
	}
	return g.Gate.Answer(q, dst)
}

// start builds every agent with its own ledger, oracle and gate. A resumed run hands in
// what its ledgers held; a fresh one starts them with the overrides in force.
func (e *Experiment) start(workers int, restored [][]ledger.Record) (*world, error) {
	f := e.file
	n := f.topo.Agents
	w := &world{ledgers: make([]*ledger.Memory, n), watch: new(stopwatch), held: restored != nil}
	defer func() { w.held = false }()
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	w.trained = e.split.Train
	var released [][]ledger.Record
	if f.priv.Mechanism == localMechanism {
		var err error
		if w.trained, released, err = e.perturb(workers); err != nil {
			return nil, f.at("privacy", err)
		}
	}
	pool := oracle.NewSplitPool(workers / n) // more workers than agents share their batches
	agents := make([]sim.Agent, n)
	for i := range agents {
		p := &e.plans[i]
		mechanism, err := e.mechanismOf(i)
		if err != nil {
			return nil, f.at("privacy", err)
		}
		oracles, err := e.oracles(i, pool, w)
		if err != nil {
			return nil, f.at("privacy", err)
		}
		var filter account.Filter
		if p.personal != nil {
			if filter, err = p.personal.filter(); err != nil {
				return nil, f.at("privacy", err)
			}
		} else if p.limited {
			if filter, err = p.filter(); err != nil {
				return nil, f.at("privacy", err)
			}
		}
		if f.eval.Score != "" {
			filter = &scoreFilter{Filter: filter}
		}
		w.ledgers[i] = ledger.NewMemory(filter)
		if restored != nil {
			if err := w.ledgers[i].Restore(restored[i]); err != nil {
				return nil, fmt.Errorf("%w: agent %d: %w", ErrCheckpoint, i, err)
			}
		} else {
			if released != nil {
				if err := w.ledgers[i].Restore(released[i]); err != nil {
					return nil, err
				}
			}
			if err := e.recordOverrides(w.ledgers[i]); err != nil {
				return nil, err
			}
			unpaid := p.unpaid
			if p.personal != nil {
				unpaid = p.personal.unpaid
			}
			if unpaid != nil {
				if _, err := w.ledgers[i].Charge(*unpaid); err != nil {
					return nil, err
				}
			}
		}
		alg, err := e.factory(e.env(i))
		if err != nil {
			return nil, f.at("algorithm", err)
		}
		if k, ok := oracles[oracle.KMStatefulName].(*oracle.KMStateful); ok {
			w.own = append(w.own, ownIterate{alg.(*algo.KM), k})
		}
		alg = f.priv.Clipped(alg, f.priv.MaxGradNorm, p.noiseMultiplier/p.batch, e.model.Dim())
		alg = f.alg.rounded(f.adv.Corrupt(alg, agent.ID(i), f.root.Seed))
		gate := privacy.NewSimulatedGate(w.ledgers[i], mechanism, oracles, e.noiseSeed(), agent.ID(i))
		if f.pacing == algo.Tokens {
			for name := range oracles {
				gate.Imitate("zero", name)
			}
		}
		if p.personal != nil && p.personal.fit != nil {
			gate.Use(oracle.FitName, p.personal.fit)
		}
		if f.eval.Score != "" {
			g, err := e.scorer(i, w.ledgers[i], pool)
			if err != nil {
				return nil, err
			}
			w.scorers = append(w.scorers, g)
		}
		agents[i] = sim.Agent{Algorithm: alg, Gate: e.arrive(i, timedGate{gate, w.watch}, oracles),
			Silent: e.sealed()}
		if restored != nil {
			agents[i].Gate = heldGate{agents[i].Gate, w}
		}
	}
	w.agents = agents
	return w, e.startRuntime(w, agents, workers)
}

// startRuntime starts the simulation of w's agents.
func (e *Experiment) startRuntime(w *world, agents []sim.Agent, workers int) error {
	f := e.file
	if f.pacing == algo.Tokens {
		return e.startTokens(w, agents, workers)
	}
	if f.pacing != algo.Rounds {
		return e.startWakes(w, agents, workers)
	}
	var err error
	w.sim, err = sim.New(sim.Config{
		Agents:      agents,
		Schedule:    e.schedule,
		Dim:         e.model.Dim() + f.priv.Extra(),
		Rounds:      f.steps,
		Workers:     workers,
		Seed:        f.root.Seed,
		Faults:      f.flts,
		GaussSeidel: f.repl.Mix == "gauss-seidel",

		MessageSize: f.alg.messageSize,
	})
	return f.at("faults", err)
}

// env is what agent i knows at birth.
func (e *Experiment) env(i int) agent.Env {
	env := agent.Env{
		Self:    e.self + agent.ID(i),
		Agents:  e.file.topo.Agents,
		Dim:     e.model.Dim(),
		Records: e.plans[i].records,
		Rounds:  e.file.steps,
		Init:    e.init,
		Rho:     e.rho(),
		Second:  e.second(),
		Lowest:  e.lowest,

		Neighbors:   e.neighbors,
		MostRecords: e.mostRecords,
	}
	env.Tokens = e.file.tokn.Count
	if e.wakesOf != nil {
		env.Wakes = e.wakesOf[i]
	}
	return env
}

// oracles are what agent i's gate may ask of its data.
func (e *Experiment) oracles(i int, pool *oracle.Pool, w *world) (map[string]privacy.Oracle, error) {
	f, p := e.file, &e.plans[i]
	if p.personal != nil {
		m, err := e.personalOracles(i, pool, w.trained)
		for name, o := range m {
			if full, ok := o.(*oracle.Full); ok {
				m[name] = timedOracle{full, w.watch}
			}
		}
		return m, err
	}
	if f.pacing == algo.Tokens {
		return e.walkOracles(i, pool, w)
	}
	if e.splitting != nil {
		name, k, err := e.kmOracle(p, oracle.Records{Data: w.trained, Index: e.parts[i]})
		return map[string]privacy.Oracle{name: k}, err
	}
	if f.averages() {
		v, err := e.value(p, oracle.Records{Data: w.trained, Index: e.parts[i]})
		return map[string]privacy.Oracle{oracle.ValueName: v}, err
	}
	grad := &oracle.Gradient{
		Model: e.model, Records: oracle.Records{Data: w.trained, Index: e.parts[i]},
		Rate: p.rate, ExpectedBatch: p.batch, Clip: e.clip(),
		Adjacency: f.priv.adjacency, Unit: account.Record(), Pool: pool, Exact: f.priv.Noise == "exact",
		Draws: f.repl.draws(), Augment: f.data.Augmentation,
	}
	e.adapt(grad, p)
	if err := grad.Validate(); err != nil {
		return nil, err
	}
	return map[string]privacy.Oracle{"grad": timedOracle{grad, w.watch}}, nil
}

// filter admits the charges that a budget pays for.
func (p *plan) filter() (account.Filter, error) {
	f, err := account.NewCountFilter(p.event, p.limit)
	if err == nil && p.unpaid != nil {
		err = f.Allow(*p.unpaid, 1)
	}
	return f, err
}

func (e *Experiment) recordOverrides(l ledger.Ledger) error {
	for _, o := range e.overrides {
		if err := l.Override(o); err != nil {
			return err
		}
	}
	return nil
}

// sealed says that answers carry no noise because nothing leaves an agent: the local-only
// baseline.
func (e *Experiment) sealed() bool {
	return (e.file.alg.Name == "local" || e.file.alg.Name == "local-fit") && e.file.priv.Mechanism == "none"
}

// mechanism returns the run's mechanism at a noise multiplier. Exact noise is the
// discrete Gaussian on integer gradients.
func (e *Experiment) mechanism(noiseMultiplier float64) (privacy.Mechanism, error) {
	switch p := &e.file.priv; {
	case e.sealed():
		return privacy.NewMechanism("sealed", 0)
	case kmNoises[e.file.repl.Noise]:
		return e.publishedNoise()
	case e.file.repl.Clip != "":
		return e.clippedAfter(noiseMultiplier)
	case e.file.repl.Noise != "":
		return privacy.New("proportional", func(params any) error {
			m := params.(*privacy.Proportional)
			if m.NoiseMultiplier = noiseMultiplier; e.file.repl.Noise == "constd2p" {
				m.Norm = p.MaxGradNorm
			}
			return nil
		})
	case p.Mechanism == localMechanism:
		return privacy.NewMechanism("released", 0)
	case p.Mechanism == decorMechanism: // as it counts; see mechanismOf
		return privacy.NewMechanism("gaussian", noiseMultiplier)
	case p.Mechanism == "laplace":
		return privacy.New("laplace", func(params any) error {
			params.(*privacy.Laplace).Scale = noiseMultiplier
			return nil
		})
	case p.Noise == "exact":
		return privacy.New("discrete-gaussian", func(params any) error {
			m := params.(*privacy.DiscreteGaussian)
			m.NoiseMultiplier, m.PartNoise = noiseMultiplier, e.partNoise()
			return nil
		})
	case p.Mechanism == "gaussian" && p.Extra() > 0:
		return privacy.New("gaussian", func(params any) error {
			m := params.(*privacy.Gaussian)
			m.NoiseMultiplier, m.PartNoise = noiseMultiplier, e.partNoise()
			return nil
		})
	default:
		return privacy.NewMechanism(p.Mechanism, noiseMultiplier)
	}
}

// clip is the bound of one record's gradient; +Inf where a replication has none.
func (e *Experiment) clip() float64 {
	if e.file.repl.Noise != "" {
		return math.Inf(1)
	}
	return e.file.priv.MaxGradNorm
}

// partNoise is the noise of a count that is released beside the gradient, over its clip
// of 1/2; nil without one.
func (e *Experiment) partNoise() map[string]float64 {
	if p := &e.file.priv; p.Extra() > 0 {
		return map[string]float64{oracle.CountPart: 2 * p.Count}
	}
	return nil
}
