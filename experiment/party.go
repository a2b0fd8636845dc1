package experiment

import (
	"fmt"

	"sotto/agent"
	"sotto/algo"
	"sotto/config"
	"sotto/experiment/plan"
	"sotto/oracle"
	"sotto/privacy"
	"sotto/privacy/ledger"
)

// Seat is where one agent of an experiment sits: whose number and records it has, and
// where its charges and its randomness come from.
type Seat struct {
	Self    agent.ID       // one of Experiment.Seats
	Records oracle.Records // that its oracles read
	Arrival []uint32       // by row: the round from which it is there; nil: all are
	Ledger  ledger.Ledger  // not nil
	Keys    privacy.Keys   // the zero value is secret
	// Secret is what the agent shares with another and nobody else, for mechanism decor.
	Secret func(peer agent.ID) []byte
	Pool   *oracle.Pool // scratch memory of all seats of a process; not nil
	// Fresh seats write into their ledger what was charged before the run: overrides, and
	// what was made from the records.
	Fresh bool

	// For auditors and baselines:
	// Mechanism answers in place of the run's; nil: the run's.
	Mechanism privacy.Mechanism
	// Adjust edits the agent's public constants, which then are not those of the plan.
	Adjust func(*oracle.Public)
	// Wrap decorates an oracle that is bound; nil: nothing does.
	Wrap func(privacy.Oracle) privacy.Oracle
}

// Party is one agent of an experiment: in a simulation, as a daemon, audited, or alone.
type Party struct {
	// Algorithm has adaptive clips, attacks and the format of messages around it.
	Algorithm agent.Algorithm
	Gate      *privacy.Gate
	Plan      *plan.Agent               // by which it is charged
	Oracles   map[string]privacy.Oracle // of the gate, by the names that queries have

	Bare agent.Algorithm // without what is around it
}

// replayer is implemented by algorithms whose oracle has a state of its own: Asked yields
// every query that was answered, in order.
type replayer interface {
	Asked(yield func(q *agent.Query))
}

// Recover brings the state behind the gate to where the loaded algorithm is. What has no
// such state has nothing to recover.
func (p *Party) Recover() error { return RecoverFrom(p.Gate, p.Bare) }

// RecoverFrom brings the state behind a gate to where a loaded algorithm is, which is
// bare: see [Party]. The error is of the gate, where it cannot go back.
func RecoverFrom(g *privacy.Gate, bare agent.Algorithm) error {
	return g.Recover(func(yield func(*agent.Query)) {
		if r, ok := bare.(replayer); ok {
			r.Asked(yield)
		}
	})
}

// PlanOf is the plan of an agent, nil if none was built. An owner knows its own alone.
func (e *Experiment) PlanOf(i agent.ID) *plan.Agent {
	if place := e.Seats.place(i); place >= 0 && place < len(e.Plans) {
		return &e.Plans[place]
	}
	return nil
}

// built is PlanOf, or an error.
func built(e *Experiment, i agent.ID) (*plan.Agent, error) {
	if a := e.PlanOf(i); a != nil {
		return a, nil
	}
	return nil, config.Bad("self", i, fmt.Sprintf("%d to %d, the agents that were built", e.Seats.ID(0),
		e.Seats.ID(len(e.Plans)-1)))
}

// Party makes one agent of the experiment. Everywhere an agent is needed it comes from
// here, so that what was planned is what is asked, charged and answered.
func (e *Experiment) Party(s Seat) (*Party, error) {
	g, oracles, err := e.Gate(&s)
	if err != nil {
		return nil, err
	}
	p := &Party{Gate: g, Oracles: oracles, Plan: e.PlanOf(s.Self)}
	if s.Fresh {
		if err := e.open(s.Ledger, p.Plan); err != nil {
			return nil, err
		}
	}
	p.Algorithm, p.Bare, err = e.Algorithm(s.Self)
	return p, err
}

// Gate makes the agent's gate over its records.
func (e *Experiment) Gate(s *Seat) (*privacy.Gate, map[string]privacy.Oracle, error) {
	a, err := built(e, s.Self)
	if err != nil {
		return nil, nil, err
	}
	if s.Ledger == nil {
		return nil, nil, config.Bad("ledger", "none", "one: nothing is answered before it is charged")
	}
	m := s.Mechanism
	if got := e.Setup.Scheme; !e.Seats.noise.Is(got, s.Self) {
		return nil, nil, config.Bad("Setup.Scheme", fmt.Sprint(got),
			"that of the plan, "+e.Seats.noise.String()+", unchanged")
	}
	if m == nil {
		if m, err = e.Setup.Scheme.Mechanism(s.Self, a.Noise, s.Secret); err != nil {
			return nil, nil, e.File.At("privacy", err)
		}
	}
	oracles, err := e.Bind(s)
	if err != nil {
		return nil, nil, e.File.At("privacy", err)
	}
	g := privacy.Open(s.Ledger, m, oracles, s.Keys, s.Self)
	e.File.Pace.open(g, oracles)
	for name, m := range a.Own {
		g.SetMechanism(name, m)
	}
	return g, oracles, nil
}

// Algorithm makes the agent's state machine: bare, and with clips that change, what an
// adversary does and the format of messages around it.
func (e *Experiment) Algorithm(self agent.ID) (around, bare agent.Algorithm, err error) {
	f := e.File
	if _, err = built(e, self); err != nil {
		return nil, nil, err
	}
	if bare, err = e.Factory(e.Env(e.Seats.place(self))); err != nil {
		return nil, nil, f.At("algorithm", err)
	}
	around = e.Clipped(bare, self)
	return f.Algorithm.Rounded(f.Adversaries.Corrupt(around, self, f.Run.Seed)), bare, nil
}

// Bind makes the oracles that the agent's plan names.
func (e *Experiment) Bind(s *Seat) (map[string]privacy.Oracle, error) {
	a, err := built(e, s.Self)
	if err != nil {
		return nil, err
	}
	public := a.Public
	if s.Adjust != nil {
		s.Adjust(&public)
	}
	oracles := map[string]privacy.Oracle{}
	for k := range a.Asks {
		q := &a.Asks[k].Query
		if oracles[q.Oracle] != nil {
			continue
		}
		o, err := oracle.New(&public, q)
		if err != nil {
			return nil, err
		}
		bound, err := oracle.Arrive(o, s.Records, s.Arrival, s.Pool)
		if err != nil {
			return nil, err
		}
		if s.Wrap != nil {
			bound = s.Wrap(bound)
		}
		oracles[q.Oracle] = bound
	}
	return oracles, nil
}

// open writes what stands in a ledger before the run's first charge.
func (e *Experiment) open(l ledger.Ledger, a *plan.Agent) error {
	for _, o := range e.Notes.Overrides {
		if err := l.Override(o); err != nil {
			return err
		}
	}
	for _, ev := range a.Before {
		if _, err := l.Charge(ev); err != nil {
			return err
		}
	}
	return nil
}

// AlgorithmParams is the section [algorithm], with what every algorithm has.
type AlgorithmParams struct {
	Name string `toml:"name"` // how agents learn together; default "dsgd"
	// Messages is the format of what agents send: "float32" (default) or "bf16", half as
	// long.
	Messages string `toml:"messages,omitempty"`
	QuestionParams
}

const shortMessages = "bf16"

// Short reports whether messages have half of the bits.
func (p *AlgorithmParams) Short() bool { return p.Messages == shortMessages }

func (p *AlgorithmParams) validate(f *File) error {
	if p.Messages != "" && p.Messages != "float32" && !p.Short() {
		return config.Bad("messages", p.Messages, "float32 or bf16")
	}
	return p.QuestionParams.validate(f)
}

// Rounded lets an algorithm send what the run file asks for.
func (p *AlgorithmParams) Rounded(a agent.Algorithm) agent.Algorithm {
	if p.Short() {
		return algo.Rounded(a)
	}
	return a
}

// MessageSize is the length of a message on the wire.
func (p *AlgorithmParams) MessageSize(dim int) int {
	if p.Short() {
		return agent.MessageSizeBF16(dim)
	}
	return agent.MessageSize(dim)
}
