package run

import (
	"errors"
	"fmt"
	"runtime"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/experiment"
	"sotto/internal/parallel"
	"sotto/model"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/ledger"
	"sotto/rng"
	"sotto/sim"
	"sotto/tensor"
)

// Simulation is all agents of an experiment in one process.
type Simulation struct {
	e       *experiment.Experiment
	Sim     sim.Runtime
	ledgers []*ledger.Memory
	scorers []*persistent // of the agents, where a score is asked for
	watch   *stopwatch
	agents  []sim.Agent
	parties []*experiment.Party
	trained *data.Dataset // what oracles read: the training records, or their perturbed release
	// lookers look at the models, see Scene.
	lookers *parallel.Crew[model.Workspace]
	// restoring: no answers. Agents of a resumed run, whose state is about to be loaded,
	// start once more.
	restoring bool
}

// restoringGate is the gate of a resumed run. What an agent asks at its start was
// answered, and charged, by the run that was interrupted.
type restoringGate struct {
	sim.Gate
	w *Simulation
}

func (g restoringGate) Answer(q *agent.Query, dst tensor.Vec) error {
	if g.w.restoring {
		return privacy.ErrExhausted
	}
	return g.Gate.Answer(q, dst)
}

// persistent is the gate of a trial, or of a cell of a sweep, which others stand beside.
// At a point that is not finite it answers as at the origin, so that a trial whose values
// have left the floats goes on, costs what every other does, and ends with a score.
type persistent struct {
	sim.Gate
	origin tensor.Vec
}

func (g *persistent) Answer(q *agent.Query, dst tensor.Vec) error {
	there := *q
	if !q.At.Finite() {
		if len(g.origin) < len(q.At) {
			g.origin = make(tensor.Vec, len(q.At))
		}
		there.At = g.origin[:len(q.At)]
	}
	if q.Clip-q.Clip != 0 {
		there.Clip = 0 // the configured one
	}
	return g.Gate.Answer(&there, dst)
}

// Population is what the agents of a simulation have: the experiment's own records, or
// those of an audit.
type Population struct {
	Train   *data.Dataset
	Parts   [][]int32
	Arrival []uint32
	Seed    uint64 // of batches and noise
	Score   bool   // agents release a score at the end
	// Persist: values that are no longer finite end nothing, see persistent.
	Persist bool
}

// Own is the population of an experiment itself.
func Own(e *experiment.Experiment) Population {
	return Population{e.Task.Split.Train, e.Task.Parts, e.Task.Arrivals, e.NoiseSeed(),
		e.File.Evaluate.Score != "", false}
}

// Start seats every agent with its own ledger. A resumed run hands in what its ledgers
// held; a fresh one starts them with what was charged before.
func Start(e *experiment.Experiment, pop Population, workers int,
	restored [][]ledger.Record) (*Simulation, error) {
	if err := parallel.Check(workers); err != nil {
		return nil, err
	}
	if e == nil || e.File == nil {
		return nil, errNoExperiment
	}
	n := e.File.Topology.Agents
	if len(pop.Parts) != n || pop.Train == nil {
		return nil, config.Bad("population", fmt.Sprintf("the records of %d agents", len(pop.Parts)),
			fmt.Sprintf("a data set with those of %d", n))
	}
	if len(e.Plans) != n {
		return nil, config.Bad("Plans", len(e.Plans),
			fmt.Sprintf("%d, one for each agent, as they were built", n))
	}
	if restored != nil && len(restored) != n {
		return nil, fmt.Errorf("%w: ledgers of %d agents, allowed: %d", ErrCheckpoint, len(restored), n)
	}
	w := &Simulation{
		e:         e,
		ledgers:   make([]*ledger.Memory, n),
		watch:     new(stopwatch),
		restoring: restored != nil,
		agents:    make([]sim.Agent, n),
		parties:   make([]*experiment.Party, n),
	}
	defer func() { w.restoring = false }()
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var released [][]ledger.Record
	var err error
	if w.trained, released, err = release(e, pop, workers); err != nil {
		return nil, e.File.At("privacy", err)
	}
	pool := oracle.NewSplitPool(workers / n) // more workers than agents share their batches
	for i := range w.agents {
		if err := w.openLedger(i, pop.Score); err != nil {
			return nil, err
		}
		if restored != nil {
			if err := w.ledgers[i].Restore(restored[i]); err != nil {
				return nil, fmt.Errorf("%w: agent %d: %w", ErrCheckpoint, i, err)
			}
		} else if released != nil {
			if err := w.ledgers[i].Restore(released[i]); err != nil {
				return nil, err
			}
		}
		if err := w.seat(i, pop, pool); err != nil {
			return nil, err
		}
	}
	w.Sim, err = NewRuntime(e, w.agents, pop.Seed, workers)
	return w, err
}

var errNoExperiment = config.Bad("experiment", "none", "one of experiment.Build")

// disjoint refuses records that two agents have: the ledger of each states what its own
// answers cost.
func disjoint(e *experiment.Experiment) error {
	if e.Task.Split == nil || e.Task.Split.Train == nil {
		return errNoExperiment
	}
	taken := make([]bool, e.Task.Split.Train.Len())
	for i, rows := range e.Task.Parts {
		for _, row := range rows {
			if row < 0 || int(row) >= len(taken) || taken[row] {
				return config.Bad("Task.Parts", fmt.Sprintf("row %d of agent %d", row, i),
					fmt.Sprintf("rows of a data set of %d, each of one agent", len(taken)))
			}
			taken[row] = true
		}
	}
	return nil
}

// openLedger makes agent i's ledger, which admits what its plan pays for.
func (w *Simulation) openLedger(i int, score bool) error {
	e := w.e
	filter, err := e.Plans[i].Filter()
	if err != nil {
		return e.File.At("privacy", err)
	}
	w.ledgers[i] = NewLedger(filter, score)
	return nil
}

// seat makes agent i of the simulation.
func (w *Simulation) seat(i int, pop Population, pool *oracle.Pool) error {
	e := w.e
	party, err := e.Party(experiment.Seat{
		Self:    agent.ID(i),
		Records: oracle.Records{Data: w.trained, Index: pop.Parts[i]},
		Arrival: pop.Arrival,
		Ledger:  w.ledgers[i],
		Keys:    privacy.SimulatedKeys(pop.Seed),
		Secret:  SimulatedSecret(pop.Seed, agent.ID(i)),
		Pool:    pool,
		Fresh:   !w.restoring,
		Wrap:    w.watch.oracles,
	})
	if err != nil {
		return err
	}
	w.parties[i] = party
	w.agents[i] = sim.Agent{Algorithm: party.Algorithm, Gate: timedGate{party.Gate, w.watch},
		Silent: e.Sealed()}
	if pop.Persist {
		w.agents[i].Gate = &persistent{Gate: w.agents[i].Gate}
	}
	if w.restoring {
		w.agents[i].Gate = restoringGate{w.agents[i].Gate, w}
	}
	if pop.Score {
		g, err := scorer(e, i, w.ledgers[i], pool, pop.Seed)
		if err != nil {
			return err
		}
		w.scorers = append(w.scorers, &persistent{Gate: g})
	}
	return nil
}

// SimulatedSecret is what agent i of a simulation shares with another.
func SimulatedSecret(seed uint64, i agent.ID) func(agent.ID) []byte {
	return func(j agent.ID) []byte { return rng.SimulatedPair(seed, uint32(i), uint32(j)) }
}

// NewRuntime starts the simulation of agents whose own streams come from a seed.
func NewRuntime(e *experiment.Experiment, agents []sim.Agent, seed uint64, workers int) (sim.Runtime, error) {
	f := e.File
	s, err := sim.New(sim.Config{
		Agents:      agents,
		Schedule:    e.Graphs.Schedule,
		Dim:         e.Task.Model.Dim() + e.Plans[0].Extra(),
		Pacing:      f.Pacing,
		Steps:       f.Steps,
		Workers:     workers,
		Seed:        f.Run.Seed,
		Faults:      f.Faults,
		GaussSeidel: e.Setup.GaussSeidel,
		MessageSize: f.Algorithm.MessageSize,
		Replay:      e.Clock.Replay,
		Tokens: sim.TokenOptions{Count: f.Token.Count, Init: e.Task.Init, Secret: seed,
			Public: f.Token.Hops == "public"},
	})
	return s, f.At("faults", err)
}

// errDrawn says why a run cannot be resumed.
var errDrawn = errors.New(
	"a run with one_record cannot be resumed: its private iterates do not follow from the queries")

// recover brings the private iterates of a resumed run to where its queries had taken
// them.
func (w *Simulation) recover() error {
	for _, p := range w.parties {
		err := p.Recover()
		if errors.Is(err, privacy.ErrDrawn) {
			err = errDrawn
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrCheckpoint, err)
		}
	}
	return nil
}

// erase clears the private iterates.
func (w *Simulation) erase() {
	for _, p := range w.parties {
		p.Gate.Erase()
	}
}
