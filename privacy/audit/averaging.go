package audit

import (
	"context"
	"math"
	"slices"

	"sotto/agent"
	"sotto/privacy/account/network"
	"sotto/rng"
	"sotto/sim"
	"sotto/topology"
)

// AveragingTarget is one private release of every agent's value and the averaging that
// follows, as an auditor runs it: with values of its own making, of dimension 1, and the
// system's own gates, algorithm and simulator. All functions are deterministic.
type AveragingTarget struct {
	Name     string
	Schedule topology.Schedule
	// Gossip says the same to the network accountant. Its Rounds are those of averaging,
	// which follow on round 0 of the schedule; the auditor reads no more of it than their
	// number and its Method.
	Gossip network.Gossip
	// Algorithm makes agent i's state machine.
	Algorithm func(i int) (agent.Algorithm, error)
	// Gate answers for an owner whose value is x, with keys of the seed.
	Gate func(i int, x float64, seed uint64) (sim.Gate, error)
	// Clip bounds each agent's value, Noise is the standard deviation of its own noise;
	// both absolute. Noise 0: none.
	Clip, Noise []float64
	// Shift is how far a neighboring value is, over the clip: 2 where it is replaced, 1
	// where it becomes 0.
	Shift float64
	Pairs []PairNoise
}

// PairNoise is what two agents share: A adds it and B subtracts it. Draw gives the normal
// variable of a trial, which both know; Std is its standard deviation.
type PairNoise struct {
	A, B int
	Std  float64
	Draw func(seed uint64) float64
}

// heard is a message that an adversary receives: what agent From sent after round Round
// of averaging, y^Round.
type heard struct {
	round uint64
	from  agent.ID
	value float64
}

// tap records what a run shows an adversary: messages as their bytes say, and the answers
// that its own members got.
type tap struct {
	agent.Algorithm
	listens, member bool
	heard           []heard
	own             float64 // a member's noised value
	frame           []byte
}

// Step is the algorithm's.
func (t *tap) Step(in *agent.Input, out *agent.Output) error {
	if in.Kind == agent.Answer && t.member {
		t.own = float64(in.Answer[0])
	}
	if in.Kind == agent.Round && in.Round > 0 && t.listens {
		for i := range in.Inbox {
			var m agent.Message
			t.frame = agent.AppendMessage(t.frame[:0], &in.Inbox[i])
			if _, err := agent.DecodeMessage(t.frame, 1, &m); err != nil {
				return err
			}
			t.heard = append(t.heard, heard{in.Round - 1, m.From, float64(m.Body[0])})
		}
	}
	return t.Algorithm.Step(in, out)
}

// listeners says who hears for the adversary: its members, or everyone where it listens
// to all links.
func (a *AveragingTarget) listeners(adversary network.Adversary, everywhere bool) []bool {
	on := make([]bool, a.Gossip.Agents)
	for i := range on {
		on[i] = everywhere
	}
	for _, m := range adversary.Members() {
		on[m] = true
	}
	return on
}

// run makes one run with the given values and returns what the listeners heard, each
// message once, by round and sender, and what the members' own noised values were.
func (a *AveragingTarget) run(ctx context.Context, values []float64, listens []bool, members []int,
	seed uint64) ([]heard, map[int]float64, error) {
	n := a.Gossip.Agents
	cfg := sim.Config{
		Schedule: a.Schedule,
		Dim:      1,
		Steps:    uint64(len(a.Gossip.Rounds) + 1),
		Workers:  1,
		Seed:     seed,
	}
	taps := make([]*tap, n)
	for i := range taps {
		alg, err := a.Algorithm(i)
		if err != nil {
			return nil, nil, err
		}
		gate, err := a.Gate(i, values[i], seed)
		if err != nil {
			return nil, nil, err
		}
		taps[i] = &tap{Algorithm: alg, listens: listens[i], member: slices.Contains(members, i)}
		cfg.Agents = append(cfg.Agents, sim.Agent{Algorithm: taps[i], Gate: gate})
	}
	s, err := sim.New(cfg)
	if err == nil {
		err = s.Run(ctx, cfg.Steps)
	}
	if err != nil {
		return nil, nil, err
	}
	var all []heard
	own := map[int]float64{}
	for i, t := range taps {
		all = append(all, t.heard...)
		if t.member {
			own[i] = t.own
		}
	}
	slices.SortFunc(all, func(x, y heard) int {
		if x.round != y.round {
			return int(x.round) - int(y.round)
		}
		return int(x.from) - int(y.from)
	})
	return slices.CompactFunc(all, func(x, y heard) bool {
		return x.round == y.round && x.from == y.from
	}), own, nil
}

// products are the rows of y^k as functions of y^0, by the recursion on the graphs' own
// weights: what the network accountant computes from fractions is not used.
func (a *AveragingTarget) products() ([][][]float64, error) {
	n, k := a.Gossip.Agents, len(a.Gossip.Rounds)
	step := a.Gossip.Method.Step
	if step == nil {
		step = network.Plain().Step
	}
	all := make([][][]float64, 0, k)
	for t := range k {
		now := make([][]float64, n)
		for i := range now {
			now[i] = make([]float64, n)
			if t == 0 {
				now[i][i] = 1
			}
		}
		all = append(all, now)
		if t == 0 {
			continue
		}
		g, err := a.Schedule.At(uint64(t)) // round t of the run averages y^{t-1}
		if err != nil {
			return nil, err
		}
		first, own, back := step(t - 1)
		for i := range n {
			add := func(f float64, row []float64) {
				for c, x := range row {
					now[i][c] += f * x
				}
			}
			add(first*g.SelfWeight(agent.ID(i))+own, all[t-1][i])
			for _, nb := range g.In(agent.ID(i)) {
				add(first*nb.Weight, all[t-1][nb.ID])
			}
			if t > 1 {
				add(-back, all[t-2][i])
			}
		}
	}
	return all, nil
}

// publicValues are what the auditor gives the agents whose values the adversary knows, or
// solves for: uniform on (-clip, clip).
func (a *AveragingTarget) publicValues(seed uint64) []float64 {
	s := rng.Public(seed, "audit values")
	x := make([]float64, a.Gossip.Agents)
	for i := range x {
		x[i] = float64(float32(a.Clip[i] * (2*s.Float64() - 1) * (1 - 1e-5)))
	}
	return x
}

// largest is the greatest magnitude among messages.
func largest(all []heard) float64 {
	most := 0.
	for _, h := range all {
		most = math.Max(most, math.Abs(h.value))
	}
	return most
}

// SharedNormal is the first normal variable of what two agents share in round 0: that of
// the one value that each of them releases.
func SharedNormal(secret []byte) float64 {
	key := rng.Pair(secret, 0, 0)
	s := rng.NewStream(&key, rng.Noise)
	var z [1]float64
	s.Normals(z[:])
	return z[0]
}
