package sim

import (
	"math"

	"sotto/agent"
	"sotto/config"
)

// Faults describes what links do to messages. The zero value is a network without faults.
type Faults struct {
	Drop  float64 `toml:"drop"`  // probability that a message is lost on its link, each round
	Delay float64 `toml:"delay"` // probability that a message that is not lost comes late
	// a late message is 1 .. MaxDelay rounds late, uniformly; default 1
	MaxDelay  uint64 `toml:"max_delay" allowed:"1 to 1048576 with delay above 0"`
	Symmetric bool   `toml:"symmetric"` // both directions of a link share one fate
	// Late says what happens to late messages. "discard" (default) counts them as lost
	// for their round. "use" delivers them on arrival, under their old round number,
	// unless a fresh message of that sender came. Either way, if a neighbor is missing
	// from a round, its weight stays on the receiver.
	Late string `toml:"late"`

	// Latency is for runs where agents wake by clocks; the unit of time is the mean time
	// between two wakes of an agent. A broadcast reaches each receiver after a time that
	// is uniform in 0 .. Latency, drawn for each receiver. Of the messages that have
	// arrived, the one sent last counts. Such runs have no rounds: Delay, MaxDelay,
	// Symmetric and Late do not apply to them.
	Latency float64 `toml:"latency,omitempty"`
	// Churn is the probability that an agent is away during a period of length
	// ChurnPeriod: it does not wake and receives nothing. An agent that is away in the
	// first period joins later, with its neighbors' newest vectors; one that comes back
	// goes on with its own. For runs with wakes or tokens only.
	Churn float64 `toml:"churn,omitempty"`
	// ChurnPeriod is the length of such a period, in mean times between two wakes of an
	// agent or, if tokens walk, in ticks; default 10.
	ChurnPeriod float64 `toml:"churn_period,omitempty"`
}

// DefaultFaults is a network without faults whose late messages, if there are any, are
// discarded.
func DefaultFaults() Faults { return Faults{MaxDelay: 1, Late: "discard"} }

// CheckFaults refuses what agents of such a pace cannot have, with keys of the section.
func CheckFaults(f Faults, p agent.Pacing) error {
	var err error
	switch p {
	case agent.PacingRounds:
		_, err = newFaultPlan(f, 0)
	case agent.PacingTokens:
		_, err = tokenLinks(f, 0)
	default:
		_, err = newLinks(f, 0, p == agent.PacingPairs)
	}
	return err
}

type fate uint8

const (
	arrives fate = iota
	lost
	delayed
)

// faultPlan decides the fate of every (round, sender, receiver) by hashing it with the
// seed, so that fates do not depend on the order in which they are asked for. A nil
// schedule has no faults.
type faultPlan struct {
	Faults
	seed uint64
}

func newFaultPlan(f Faults, seed uint64) (*faultPlan, error) {
	if f.Late == "" {
		f.Late = "discard"
	}
	switch {
	case f.Latency != 0:
		return nil, config.Bad("latency", f.Latency,
			"0 with an algorithm that works in rounds: delay holds messages back there")
	case f.Churn != 0 || f.ChurnPeriod != 0:
		return nil, config.Bad("churn", f.Churn, "0 with an algorithm that works in rounds")
	case !(f.Drop >= 0 && f.Drop <= 1):
		return nil, config.Bad("drop", f.Drop, "0 to 1")
	case !(f.Delay >= 0 && f.Delay <= 1):
		return nil, config.Bad("delay", f.Delay, "0 to 1")
	case f.Delay > 0 && (f.MaxDelay < 1 || f.MaxDelay > 1<<20):
		return nil, config.Bad("max_delay", f.MaxDelay, "1 to 1048576 with delay above 0")
	case f.Late != "discard" && f.Late != "use":
		return nil, config.Bad("late", f.Late, "one of discard, use")
	case f.Drop == 0 && f.Delay == 0:
		return nil, nil
	}
	return &faultPlan{f, seed}, nil
}

func (s *faultPlan) fate(round uint64, from, to agent.ID) (fate, uint64) {
	if s == nil {
		return arrives, 0
	}
	if s.Symmetric && from > to {
		from, to = to, from
	}
	h := mix64(s.seed ^ 0x736f74746f206661)
	h = mix64(h ^ round)
	h = mix64(h ^ uint64(from)<<32 ^ uint64(to))
	if unit(h) < s.Drop {
		return lost, 0
	}
	h = mix64(h + 1)
	if unit(h) < s.Delay {
		return delayed, 1 + uint64(unit(mix64(h+1))*float64(s.MaxDelay))
	}
	return arrives, 0
}

// mix64 is the finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection with full
// avalanche.
func mix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func unit(h uint64) float64 { return math.Ldexp(float64(h>>11), -53) }
