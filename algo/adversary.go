package algo

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/agent"
	"sotto/config"
	"sotto/rng"
	"sotto/tensor"
)

// Adversaries are the agents of a run that send something else than their algorithm says:
// a fault to inject. An adversary keeps to the protocol in everything else. Its own state
// and its queries are those of an honest agent, so that its charges are real; only the
// bodies of its messages are replaced, by the same ones for all receivers. It knows what
// an honest agent in its place knows, not what others send to others.
type Adversaries struct {
	// Agents are the numbers, from 0, of the agents that send an attack, in ascending
	// order.
	Agents []int `toml:"adversaries,omitempty"`
	// Attack is what adversaries send in place of a vector x:
	//
	//	sign-flip   -s x
	//	large-norm  s times a vector of signs, drawn from the public seed,
	//	            the same in every round
	//	alie        mean - s sd, by coordinate, of x and of what it received this round:
	//	            "A Little Is Enough" (Baruch, Baruch, Goldberg 2019), without the
	//	            paper's knowledge of all honest vectors
	//	stale       its first message, again and again
	Attack string `toml:"attack,omitempty"`
	// Scale is s > 0; default 1 for sign-flip, 1000 for large-norm and 1.5 for alie.
	// stale has none.
	Scale float64 `toml:"attack_scale,omitempty"`
}

// attacks lists every attack with its default scale; 0: it has none.
var attacks = map[string]float64{"sign-flip": 1, "large-norm": 1000, "alie": 1.5, "stale": 0}

// Complete checks a against the number of agents and fills its defaults.
func (a *Adversaries) Complete(agents int) error {
	if len(a.Agents) == 0 {
		switch {
		case a.Attack != "":
			return config.Bad("attack", a.Attack, "nothing without adversaries")
		case a.Scale != 0:
			return config.Bad("attack_scale", a.Scale, "nothing without adversaries")
		}
		return nil
	}
	for k, i := range a.Agents {
		if i < 0 || i >= agents || k > 0 && i <= a.Agents[k-1] {
			return config.Bad("adversaries", a.Agents,
				fmt.Sprintf("numbers of agents, 0 to %d, ascending", agents-1))
		}
	}
	if len(a.Agents) == agents {
		return config.Bad("adversaries", a.Agents,
			"at least one agent less than there are: somebody has to be honest")
	}
	scale, ok := attacks[a.Attack]
	if !ok {
		return config.Bad("attack", a.Attack, config.OneOf(attacks))
	}
	switch {
	case scale == 0 && a.Scale != 0:
		return config.Bad("attack_scale", a.Scale, "nothing with attack "+a.Attack)
	case a.Scale == 0:
		a.Scale = scale
	case !positive(a.Scale) || a.Scale > math.MaxFloat32:
		return config.Bad("attack_scale", a.Scale, "above 0 and at most 3.4e38 (0: the attack's own)")
	}
	return nil
}

// Has reports whether agent i is an adversary.
func (a *Adversaries) Has(i int) bool {
	_, found := slices.BinarySearch(a.Agents, i)
	return found
}

// Text says who attacks how, "" without adversaries.
func (a *Adversaries) Text() string {
	if len(a.Agents) == 0 {
		return ""
	}
	numbers := strings.Trim(fmt.Sprint(a.Agents), "[]")
	if a.Scale == 0 {
		return fmt.Sprintf("agents %s: %s", numbers, a.Attack)
	}
	return fmt.Sprintf("agents %s: %s, scale %g", numbers, a.Attack, a.Scale)
}

// Corrupt lets agent self attack if it is an adversary of a, which Complete has checked;
// otherwise it returns inner. inner sends at most one message in a step.
func (a *Adversaries) Corrupt(inner agent.Algorithm, self agent.ID, seed uint64) agent.Algorithm {
	if !a.Has(int(self)) {
		return inner
	}
	return &adversary{Algorithm: inner, attack: a.Attack, scale: a.Scale, self: self, seed: seed}
}

// adversary replaces what an algorithm sends. It is as deterministic as the algorithm.
type adversary struct {
	agent.Algorithm
	attack string
	scale  float64
	self   agent.ID
	seed   uint64

	first  tensor.Vec // of stale: the first message; empty before it
	forged tensor.Vec // in place of the message that is out
	count  float64    // of alie: messages of this round, and by coordinate their sum and sum of squares
	sum    []float64
	square []float64
}

// Step is the algorithm's, with another body in its message.
func (a *adversary) Step(in *agent.Input, out *agent.Output) error {
	if in.Kind == agent.Round && a.attack == "alie" {
		a.hear(in.Inbox)
	}
	if err := a.Algorithm.Step(in, out); err != nil || out.Query != nil {
		return err
	}
	for k := range out.Outbox {
		m := &out.Outbox[k]
		a.forge(m.Body)
		m.Body = a.forged
	}
	return nil
}

// hear takes in the messages of a round.
func (a *adversary) hear(inbox []agent.Message) {
	a.count = float64(len(inbox))
	clear(a.sum)
	clear(a.square)
	for i := range inbox {
		a.add(inbox[i].Body)
	}
}

func (a *adversary) add(x tensor.Vec) {
	for len(a.sum) < len(x) {
		a.sum, a.square = append(a.sum, 0), append(a.square, 0)
	}
	for k, v := range x {
		a.sum[k] += float64(v)
		a.square[k] += float64(float64(v) * float64(v))
	}
}

// forge fills a.forged with what is sent in place of x.
func (a *adversary) forge(x tensor.Vec) {
	a.forged = append(a.forged[:0], x...)
	switch a.attack {
	case "sign-flip":
		for k, v := range x {
			a.forged[k] = finite(-a.scale * float64(v))
		}
	case "large-norm":
		signs := rng.Public(a.seed, "adversary", uint64(a.self))
		for k := range a.forged {
			a.forged[k] = finite(a.scale)
			if signs.Uint64()&1 == 1 {
				a.forged[k] = -a.forged[k]
			}
		}
	case "alie":
		a.add(x)
		n := a.count + 1
		for k := range a.forged {
			mean := a.sum[k] / n
			sd := math.Sqrt(max(0, a.square[k]/n-float64(mean*mean)))
			a.forged[k] = finite(mean - float64(a.scale*sd))
		}
	case "stale":
		if len(a.first) == 0 {
			a.first = slices.Clone(x)
		}
		copy(a.forged, a.first)
	}
}

// finite is x as a float32, cut to the largest one: a node sends and takes no other.
func finite(x float64) float32 { return float32(clamp(x, -math.MaxFloat32, math.MaxFloat32)) }

const adversaryTag = "adversary/1"

// AppendState writes the first message in front of the algorithm's state.
func (a *adversary) AppendState(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(agent.AppendTag(b, adversaryTag), uint64(4*len(a.first)))
	b = agent.AppendVec(b, a.first)
	at := len(b)
	b = a.Algorithm.AppendState(binary.LittleEndian.AppendUint64(b, 0))
	binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-8))
	return b
}

// LoadState reads AppendState's bytes.
func (a *adversary) LoadState(b []byte) error {
	s := agent.ReadState(b, adversaryTag)
	first, inner := s.Block(), s.Block()
	if err := s.Close(); err != nil {
		return err
	}
	if len(first)%4 != 0 {
		return fmt.Errorf("%w: a message of %d bytes", agent.ErrState, len(first))
	}
	a.first = a.first[:0]
	for ; len(first) > 0; first = first[4:] {
		a.first = append(a.first, math.Float32frombits(binary.LittleEndian.Uint32(first)))
	}
	return a.Algorithm.LoadState(inner)
}
