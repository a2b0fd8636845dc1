// Package sim runs many agents of an algorithm in one process: the same state machines
// that a daemon runs, on links that lose and delay messages by a seeded schedule. New
// chooses between three drivers by the algorithm's pacing: rounds, wakes by clocks, and
// tokens that walk. Results do not depend on the number of workers: agents are
// independent within a round, and nothing is ordered by time.
package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"sotto/agent"
	"sotto/config"
	"sotto/internal/parallel"
	"sotto/privacy"
	"sotto/rng"
	"sotto/tensor"
	"sotto/topology"
)

// Gate answers an agent's queries; *privacy.Gate is one.
type Gate interface {
	// Begin tells the gate the round and the neighbors whose messages arrived in it.
	Begin(round uint64, live []agent.Neighbor)
	// Answer fills dst; privacy.ErrExhausted says that the budget is spent and nothing
	// was released.
	Answer(q *agent.Query, dst tensor.Vec) error
}

// Agent is one participant.
type Agent struct {
	Algorithm agent.Algorithm
	Gate      Gate // nil: who asks ends the simulation with an error
	// Silent makes every message of this agent an error: its gate answers without noise
	// because nothing may leave.
	Silent bool
}

// Config describes a simulation.
type Config struct {
	Agents []Agent
	// Schedule has one graph a round, with as many agents; where there are no rounds its
	// first one counts.
	Schedule topology.Schedule
	Dim      int          // length of answers
	Pacing   agent.Pacing // of the algorithm
	// Steps are the rounds, the wakes of all agents together, or the ticks, in each of
	// which every token makes a step.
	Steps   uint64
	Workers int    // goroutines; 0 means one for each processor
	Seed    uint64 // of faults, wakes and public hops
	Faults  Faults
	// GaussSeidel, in rounds, steps agents one after the other; each receives what agents
	// of lower number have sent in this very round. It replicates implementations that
	// mix in place: the mean of all models is not preserved.
	GaussSeidel bool
	// MessageSize, in rounds, is the length in bytes of a message whose body has dim
	// values, for what is counted as sent; nil: agent.MessageSize.
	MessageSize func(dim int) int
	// Replay, with wakes, is a recorded list in place of drawn ones; nil draws them.
	Replay []Wake
	Tokens TokenOptions
}

// TokenOptions describe the tokens of a run in which models walk.
type TokenOptions struct {
	Count  int
	Init   tensor.Vec // what every token holds at the start
	Secret uint64     // of the agents' own streams, from which secret hops are drawn
	Public bool       // hops follow from Config.Seed, for all to compute
}

// Runtime is a running simulation.
type Runtime interface {
	// Run completes rounds, wakes or ticks until the given number, at most Config.Steps.
	// It stops between two of them with ctx's error when ctx is done; the simulation can
	// then be saved and goes on where it stopped.
	Run(ctx context.Context, until uint64) error
	Done() uint64 // rounds, wakes or ticks that are complete
	// Models is how many models there are: one for each agent, or for each token.
	Models() int
	// Model returns a current model; it is valid until the next Run.
	Model(i int) tensor.Vec
	// BytesSent is what an agent has put on its links, counting each receiver, in wire
	// format.
	BytesSent(agent int) uint64
	Stats() Stats // over all agents so far
	// Count begins to count what goes over links, each named once by its two ends. What
	// was sent before counts where it is still to be delivered. Checkpoints do not hold
	// it.
	Count(links [][2]int) *Tally
	// WriteState writes a checkpoint taken between two calls of Run. It holds the state
	// of one agent at a time in memory. Gates and ledgers are not in it; who restores a
	// run restores those first.
	WriteState(to io.Writer) error
	// ReadState restores a checkpoint, which ends where from ends, into a simulation
	// built from the same Config. Errors wrap agent.ErrState or agent.ErrMessage; the
	// simulation is then of no use.
	ReadState(from io.Reader) error
}

// New checks cfg and starts every algorithm that is there from the beginning.
func New(cfg Config) (Runtime, error) {
	if len(cfg.Agents) == 0 {
		return nil, config.Bad("agents", len(cfg.Agents), "at least 1")
	}
	if err := cfg.checkParts(); err != nil {
		return nil, err
	}
	if err := parallel.Check(cfg.Workers); err != nil {
		return nil, err
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	switch cfg.Pacing {
	case agent.PacingRounds:
		return orError(newRounds(cfg))
	case agent.PacingWakes, agent.PacingPairs:
		return orError(newWakes(cfg))
	case agent.PacingTokens:
		return orError(newTokens(cfg))
	}
	return nil, config.Bad("pacing", cfg.Pacing, "rounds, wakes, pairs or tokens")
}

// checkParts refuses a simulation that lacks what it runs with.
func (c *Config) checkParts() error {
	switch {
	case c.Schedule == nil:
		return config.Bad("schedule", "none", "one graph a round")
	case c.Dim < 0:
		return config.Bad("dim", c.Dim, "the length of answers, at least 0")
	}
	for i := range c.Agents {
		if c.Agents[i].Algorithm == nil {
			return config.Bad("agents", fmt.Sprintf("agent %d without an algorithm", i), "one each")
		}
	}
	return nil
}

// orError keeps the driver of a failed start out of the interface.
func orError[D Runtime](d D, err error) (Runtime, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// graph is that of a round, or of all wakes or ticks.
func (c *Config) graph(round uint64) (*topology.Graph, error) {
	g, err := c.Schedule.At(round)
	if err != nil {
		return nil, fmt.Errorf("graph of round %d: %w", round, err)
	}
	if g.Agents() != len(c.Agents) {
		return nil, fmt.Errorf("graph of round %d: %w", round,
			config.Bad("agents", g.Agents(), fmt.Sprint(len(c.Agents))))
	}
	return g, nil
}

// Stats counts what happened on the links and at the gates, over all agents.
type Stats struct {
	Sent    uint64 `json:"sent"`    // messages handed to a link
	Dropped uint64 `json:"dropped"` // lost on the link
	Late    uint64 `json:"late"`    // arrived after their round
	Stale   uint64 `json:"stale"`   // arrived late and were discarded
	// links of a round on which one direction arrived and the other did not
	OneSided  uint64 `json:"one_sided"`
	Exhausted uint64 `json:"exhausted"` // queries refused because the budget was spent

	// Asynchronous runs only:
	// vectors of the model's length that were sent, one for each receiver
	Vectors float64 `json:"vectors,omitempty"`
	Idle    uint64  `json:"idle,omitempty"`   // wakes of agents that were done
	Absent  uint64  `json:"absent,omitempty"` // wakes of agents that were away
}

func (s *Stats) add(t *Stats) {
	s.Sent += t.Sent
	s.Dropped += t.Dropped
	s.Late += t.Late
	s.Stale += t.Stale
	s.OneSided += t.OneSided
	s.Exhausted += t.Exhausted
	s.Vectors += t.Vectors
	s.Idle += t.Idle
	s.Absent += t.Absent
}

// traffic is what every driver counts for each agent.
type traffic struct {
	bytes uint64 // sent so far, one count for each receiver
	stats Stats
}

// ErrSent says that a silent agent tried to send.
var ErrSent = errors.New("sim: an agent whose answers carry no noise tried to send a message")

// workers is the pool that steps agents.
type workers = parallel.Crew[worker]

// newWorkers makes the pool; least is how many steps are worth a goroutine, batch how
// many one takes at a time where there are many.
func newWorkers(cfg *Config, least, batch int) workers {
	dim := cfg.Dim
	return workers{Workers: cfg.Workers, Least: least, Batch: batch,
		Scratch: func() *worker { return &worker{answer: make(tensor.Vec, dim)} }}
}

// worker is one goroutine's scratch; everything in it is valid for one agent's step.
type worker struct {
	in       agent.Input
	out      agent.Output
	answer   tensor.Vec
	view     agent.View
	present  []agent.Neighbor
	inbox    []agent.Message
	returned []agent.Message
	bodies   [2]tensor.Vec // of the two messages of a pairwise wake
	hops     rng.Stream    // of one visit of a token
	sums     summing
}

func (w *worker) fullView(g *topology.Graph, i agent.ID) *agent.View {
	w.view = agent.View{SelfWeight: g.SelfWeight(i), In: w.sums.rows.In(g, i), Out: w.sums.rows.Out(g, i)}
	return &w.view
}

// stepUntilDone steps an agent with w.in, and with the answers to its queries until it
// has none left; w.out then holds what it sends.
func (w *worker) stepUntilDone(a *Agent, stats *Stats) error {
	for {
		w.out.Reset()
		if err := a.Algorithm.Step(&w.in, &w.out); err != nil {
			return err
		}
		if w.out.Query == nil {
			break
		}
		if a.Gate == nil {
			return config.Bad("gate", "none", "one for an agent that asks")
		}
		answer := w.out.Query.Room(w.answer, len(w.answer))
		w.in.Kind, w.in.Answer, w.in.Inbox, w.in.Returned = agent.Answer, answer, nil, nil
		switch err := a.Gate.Answer(w.out.Query, answer); {
		case errors.Is(err, privacy.ErrExhausted):
			w.in.Kind, w.in.Answer = agent.Exhausted, nil
			stats.Exhausted++
		case err != nil && !w.out.Query.At.Finite():
			return fmt.Errorf("%w: it asks at a point that is not finite; smaller steps may help",
				agent.ErrDiverged)
		case err != nil:
			return err
		}
	}
	if a.Silent && len(w.out.Outbox) > 0 {
		return ErrSent
	}
	return nil
}
