package privacy

import (
	"cmp"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ Mechanism = Decor{}

// Decor adds normal noise of the agent's own and, for each neighbor, noise that the
// neighbor subtracts: DECOR of Allouah, Koloskova, El Firdoussi, Jaggi, Guerraoui, "The
// Privacy Power of Correlated Noise in Decentralized Learning" (ICML 2024, arXiv
// 2405.01031). In the mean over all agents only the agents' own noise is left.
//
// Its event is that of Gaussian noise with multiplier Effective, which the owner computes
// for the agents that it declares curious (account/network.Decor): it holds against who
// sees every message and has the secrets of those alone. Where all neighbors are curious,
// Effective is NoiseMultiplier. A neighbor whose message is lost leaves noise that
// nothing cancels, which protects no less. A block of shared noise serves one answer:
// both ends give their answers of a round in order, and blocks are numbered by round and
// answer. What NewDecor returns is for one gate.
type Decor struct {
	NoiseMultiplier float64    // own noise, standard deviation over clip, > 0 and finite
	Pair            float64    // noise of each neighbor, standard deviation over clip, >= 0, finite
	Effective       float64    // what counts, at least NoiseMultiplier; see NewDecor
	Curious         string     // whom Effective allows for, for statements
	Self            agent.ID   // not among Neighbors
	Neighbors       []agent.ID // ascending
	// Secret is what the agent shares with a neighbor and nobody else; the same bytes at
	// both ends.
	Secret func(neighbor agent.ID) []byte

	blocks *blocks
}

// blocks numbers the answers of a round.
type blocks struct {
	round uint64
	next  uint64
}

// effectiveError is what solving for an effective multiplier rounds, relative.
const effectiveError = 1e-9

// NewDecor refuses own noise that is not positive and finite, shared noise that is below
// 0 or infinite, an effective multiplier below the own one's or above that of all noise
// together, and neighbors without Secret. What others see can only take from that of all,
// and account/network.Decor computes how much: between the two NewDecor believes the
// caller, as it does in who the neighbors are.
func NewDecor(d Decor) (Mechanism, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	d.blocks = new(blocks)
	return d, nil
}

func (d Decor) validate() error {
	most := math.Hypot(d.NoiseMultiplier, math.Sqrt(float64(len(d.Neighbors)))*d.Pair)
	switch {
	case !positive(d.NoiseMultiplier):
		return config.Bad("noise_multiplier", d.NoiseMultiplier, "above 0 and finite")
	case !(d.Pair >= 0) || math.IsInf(d.Pair, 1):
		return config.Bad("pair_noise", d.Pair, "at least 0 and finite")
	case !(d.Effective >= d.NoiseMultiplier) || math.IsInf(d.Effective, 1):
		return config.Bad("effective noise", d.Effective,
			fmt.Sprintf("at least the own %g, and finite", d.NoiseMultiplier))
	case d.Effective > most*(1+effectiveError):
		return config.Bad("effective noise", d.Effective,
			fmt.Sprintf("at most %g: all the noise of an answer, with what %d neighbors share", most,
				len(d.Neighbors)))
	case len(d.Neighbors) > 0 && d.Secret == nil:
		return config.Bad("secret", "nothing", "what each neighbor shares")
	}
	return nil
}

// Event is a Gaussian event at Effective under the release's sampler.
func (m Decor) Event(r account.Release) (account.Event, error) {
	if m.blocks == nil {
		return account.Event{}, config.Bad("mechanism", "a Decor that NewDecor has not made",
			"what NewDecor returns")
	}
	if err := m.validate(); err != nil { // it may have been changed since
		return account.Event{}, err
	}
	all := m.Pair * max(1, math.Sqrt(float64(len(m.Neighbors))))
	for _, p := range r.Parts {
		err := cmp.Or(checkNoise("noise_multiplier", m.NoiseMultiplier, r.Scale, p), checkGrid(r, "decor"))
		if err == nil && m.Pair > 0 {
			err = checkNoise("pair_noise", all, r.Scale, p)
		}
		if err != nil {
			return account.Event{}, err
		}
	}
	return Gaussian{NoiseMultiplier: m.Effective}.Event(r)
}

// Perturb adds the agent's own noise and that of every neighbor: what the lower number of
// a pair adds, the higher subtracts.
func (m Decor) Perturb(v *Value, r account.Release, c Charge) {
	if m.blocks.round != c.Round {
		*m.blocks = blocks{round: c.Round}
	}
	block := m.blocks.next
	m.blocks.next++
	shared := make([]*rng.Stream, len(m.Neighbors))
	for k, j := range m.Neighbors {
		key := rng.Pair(m.Secret(j), c.Round, block)
		shared[k] = rng.NewStream(&key, rng.Noise)
		key.Erase()
	}
	var sum, normals [512]float64
	at := 0
	for _, p := range r.Parts {
		sigma := math.Ldexp(m.NoiseMultiplier, gridBits)
		for lo := at; lo < at+p.Dim; lo += len(sum) {
			n := min(len(sum), at+p.Dim-lo)
			c.Noise.Normals(sum[:n])
			for k, s := range shared {
				s.Normals(normals[:n])
				f := m.Pair / m.NoiseMultiplier
				if m.Self > m.Neighbors[k] {
					f = -f
				}
				for i, z := range normals[:n] {
					sum[i] += float64(f * z)
				}
			}
			v.addNoise(lo, p, r.Parts[0], sigma, sum[:n])
		}
		at += p.Dim
	}
	for _, s := range shared {
		s.Erase()
	}
	clear(sum[:])
	clear(normals[:])
}

// Provenance is Proved, under the stated assumptions.
func (Decor) Provenance() Provenance { return Proved }

// Assumptions names the sampler, and whom the figure does not hold against.
func (m Decor) Assumptions() []string {
	return []string{assumeNormals, "of the agents that share noise, at most these disclose their secrets: " +
		m.Curious}
}

func (Decor) sealed() {}
