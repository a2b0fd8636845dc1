package privacy

import (
	"math"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ Mechanism = RandomizedResponse{}

// RandomizedResponse answers each label, a coordinate in 0..Labels-1, uniformly over all
// labels with probability Probability and truthfully otherwise (Warner 1965; Kairouz,
// Bonawitz, Ramage 2016, k-ary). It draws integers only; Probability is rounded up to a
// multiple of 2^-64. Coordinates that are no label count as the nearest one.
//
// The release must state an L1 sensitivity D. Where its coordinates are whole numbers,
// those that differ do so by at least 1: at most floor(D) of the labels change, and each
// is charged. Others may all be rounded to another label by any movement, and all are
// charged. One label of an owner or record costs one event.
type RandomizedResponse struct {
	Probability float64 `toml:"probability"` // of the uniform answer, above 0 and at most 1
	Labels      int     `toml:"labels"`      // k, 2 to 2^20
}

func (m *RandomizedResponse) setScale(p float64) { m.Probability = p }

func newRandomizedResponse(decode func(params any) error) (Mechanism, error) {
	var m RandomizedResponse
	if err := decode(&m); err != nil {
		return nil, err
	}
	return m, m.validate()
}

func (m RandomizedResponse) validate() error {
	if !(m.Probability > 0 && m.Probability <= 1) {
		return config.Bad("probability", m.Probability, "above 0 and at most 1")
	}
	if m.Labels < 2 || m.Labels > 1<<20 {
		return config.Bad("labels", m.Labels, "2 to 1048576")
	}
	return nil
}

// Event is one randomized response for every label that a unit can change.
func (m RandomizedResponse) Event(r account.Release) (account.Event, error) {
	if err := m.validate(); err != nil {
		return account.Event{}, err
	}
	if err := checkParts(r, account.L1, "randomized-response"); err != nil {
		return account.Event{}, err
	}
	changed := 0
	for _, p := range r.Parts {
		if !p.Integers {
			changed += max(1, p.Dim)
			continue
		}
		changed += max(1, int(min(float64(p.Dim), math.Floor(p.Clip*p.Movement()*(1+1e-12)))))
	}
	inner, err := account.RandomizedResponse(m.Probability, m.Labels)
	if err != nil {
		return account.Event{}, err
	}
	if inner, err = account.Repeat(changed, inner); err != nil {
		return account.Event{}, err
	}
	return r.Sampled(inner)
}

// Perturb replaces labels. Every label takes two draws, whatever its value and the
// outcome, but for the rejections of rng.Stream.Below.
func (m RandomizedResponse) Perturb(v *Value, r account.Release, c Charge) {
	v.Exact(r)
	t, all := ceilThreshold(m.Probability)
	for i, x := range v.Float {
		hit := c.Noise.Hit(t) || all
		uniform := c.Noise.Below(uint64(m.Labels))
		if hit {
			v.Float[i] = float32(uniform)
		} else {
			v.Float[i] = float32(min(max(toInteger(float64(x)), 0), int64(m.Labels)-1))
		}
	}
}

// ceilThreshold is rng.Threshold rounded up: the rate that results is never below p.
func ceilThreshold(p float64) (t uint64, all bool) {
	t, all = rng.Threshold(p)
	if !all && math.Ldexp(p, 64) != math.Floor(math.Ldexp(p, 64)) {
		t++ // p has bits below 2^-64, so t is not the largest number
	}
	return t, all
}

// Provenance is Proved.
func (RandomizedResponse) Provenance() Provenance { return Proved }

// Assumptions is empty.
func (RandomizedResponse) Assumptions() []string { return nil }

func (RandomizedResponse) sealed() {}
