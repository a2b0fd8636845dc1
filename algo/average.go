package algo

import (
	"fmt"

	"sotto/agent"
	"sotto/tensor"
)

var _ agent.Lender = (*GossipAverage)(nil)

// AverageParams are the parameters of private gossip averaging.
type AverageParams struct {
	Recursion // of the rounds of averaging; default plain
}

// GossipAverage is private gossip averaging: Cyffers, Even, Bellet, Massoulié,
// "Muffliato: Peer-to-Peer Privacy Amplification for Decentralized Optimization and
// Averaging" (NeurIPS 2022), Algorithm 1. In round 0 an agent asks its one "value" query,
// whose answer is y^0 = clip(x) + noise; every later round is one of averaging, as
// [Recursion] says, in which nothing private enters. At the start it sends its initial
// vector. A run of R rounds asks once and averages R-1 times; the last messages are heard
// by nobody. Messages are y, d values, to all neighbors. Deviations: y^{-1} = 0 of the
// published code, which multiplies every mean, is a replication; so is the published
// bound for pairs of agents, which is none: the guarantee printed is the local one, and
// what an observer's view holds is in sotto/privacy/account/network. Exhausted: y^0 is
// the initial vector.
type GossipAverage struct {
	p      AverageParams
	oracle string // what the one query asks

	averaged uint64     // rounds of averaging that are done
	omega    float64    // a_k of the last one
	y        tensor.Vec // y^k
	previous tensor.Vec // y^{k-1}
	next     tensor.Vec
	mix      mixer
}

// NewGossipAverage decodes AverageParams and returns their factory.
func NewGossipAverage(decode func(any) error) (agent.Factory, error) {
	return newAverage("value", true, decode)
}

// NewQuery is NewGossipAverage of the oracle "statistic": the sums that answer the
// questions of a run, averaged over all owners. Who knows how many owners there are
// multiplies by that. An owner whose budget allows no answer ends with
// agent.ErrUnanswered: it would count as one without records, and all averages be false.
func NewQuery(decode func(any) error) (agent.Factory, error) {
	return newAverage(statistic, false, decode)
}

// statistic is the oracle of the sums that answer questions.
const statistic = "statistic"

// newAverage averages the answers of an oracle; first says that an agent without one has
// the initial vector, else 0.
func newAverage(oracle string, first bool, decode func(any) error) (agent.Factory, error) {
	p := AverageParams{Recursion: Recursion{Acceleration: "plain"}}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		a := &GossipAverage{p: p, oracle: oracle}
		if err := a.p.fill(env); err != nil {
			return nil, err
		}
		a.y, a.previous, a.next = make(tensor.Vec, env.Dim), make(tensor.Vec, env.Dim),
			make(tensor.Vec, env.Dim)
		if first {
			copy(a.y, env.Init)
		}
		return a, nil
	}, nil
}

// Step implements one round as the type's comment states it.
func (a *GossipAverage) Step(in *agent.Input, out *agent.Output) error {
	switch in.Kind {
	case agent.Start: // round 0 has an inbox as every other, and nobody reads it
	case agent.Round:
		if in.Round == 0 {
			out.Ask(a.oracle, a.y)
			return nil
		}
		first, own, back := a.p.at(a.averaged, a.omega)
		a.mix.recur(a.next, in.View, a.y, in.Inbox, first, own, back, a.previous)
		a.omega = first
		a.averaged++
		a.previous, a.y, a.next = a.y, a.next, a.previous
	case agent.Answer:
		copy(a.next, in.Answer)
		a.y, a.next = a.next, a.y
	case agent.Exhausted:
		if a.oracle == statistic {
			return fmt.Errorf("query: %w", agent.ErrUnanswered)
		}
	case agent.Stop:
		return nil
	default:
		return fmt.Errorf("gossip-average: %w: %v", agent.ErrKind, in.Kind)
	}
	out.Broadcast(a.y)
	return nil
}

// Params returns y^k; before the answer the initial vector.
func (a *GossipAverage) Params() tensor.Vec { return a.y }

// Coefficients returns a, b and c of the first rounds of averaging (see [Recursion]); nil
// where they are 1, 0 and 0 in all.
func (a *GossipAverage) Coefficients(rounds int) [][3]float64 { return a.p.first(rounds) }

// Lend implements agent.Lender: three vectors take turns.
func (a *GossipAverage) Lend(out *agent.Output) bool {
	out.Broadcast(a.y)
	return true
}

const averageTag = "gossip-average/1"

// AppendState writes the number of rounds, ω and the vectors.
func (a *GossipAverage) AppendState(b []byte) []byte {
	return appendState(b, averageTag, len(a.y), a.parts)
}

// LoadState reads AppendState's bytes.
func (a *GossipAverage) LoadState(b []byte) error { return loadState(b, averageTag, len(a.y), a.parts) }

func (a *GossipAverage) parts(s *state) {
	s.uint(&a.averaged)
	s.float(&a.omega)
	s.vecs(a.y, a.previous)
}
