package privacy

import (
	"cmp"
	"math"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ Mechanism = Laplace{}

// Laplace adds integer noise with probability proportional to exp(-|x|/t) to every
// coordinate of an integer value of bounded L1 sensitivity, in steps of clip x 2^-20: the
// discrete Laplace or geometric mechanism (Ghosh, Roughgarden, Sundararajan 2012),
// sampled exactly (Canonne, Kamath, Steinke 2020, Algorithm 2). One release costs a pure
// epsilon of sensitivity/scale.
//
// A clip in L2 does not bound the L1 norm, which may be sqrt(dim) times larger: the
// release must state an L1 sensitivity. t is Scale x 2^20 rounded up to an integer, and
// the event carries the rounded value.
type Laplace struct {
	Scale float64 `toml:"scale"` // b over the L1 clip, 2^-20 to 2^20
	Gridding
}

func (m *Laplace) setScale(b float64) { m.Scale = b }

func newLaplace(decode func(params any) error) (Mechanism, error) {
	var m Laplace
	if err := decode(&m); err != nil {
		return nil, err
	}
	return m, m.validate()
}

func (m Laplace) validate() error {
	if !(m.Scale >= math.Ldexp(1, -gridBits) && m.Scale <= math.Ldexp(rng.MaxLaplaceScale, -gridBits)) {
		return config.Bad("scale", m.Scale, "2^-20 to 2^20, Laplace scale over the L1 clip")
	}
	return m.Gridding.validate()
}

// scaleGrid is t.
func (m Laplace) scaleGrid() uint64 { return uint64(math.Ceil(math.Ldexp(m.Scale, gridBits))) }

// Event is a discrete Laplace event. The L1 sensitivities of parts released together add.
func (m Laplace) Event(r account.Release) (account.Event, error) {
	if err := m.validate(); err != nil {
		return account.Event{}, err
	}
	if err := cmp.Or(checkParts(r, account.L1, "laplace"), m.checkSums(r),
		checkGrid(r, "laplace")); err != nil {
		return account.Event{}, err
	}
	sum := 0.
	for _, p := range r.Parts {
		sum += math.Ceil(m.sensitivity(p))
	}
	if !(sum <= saturation) {
		return account.Event{}, config.Bad("shift", math.Ldexp(sum, -gridBits), "below 2^41")
	}
	a := math.Nextafter(1/float64(m.scaleGrid()), 1)
	inner, err := account.DiscreteLaplace(a, int(sum))
	if err != nil {
		return account.Event{}, err
	}
	return r.Sampled(inner)
}

// Perturb adds the noise.
func (m Laplace) Perturb(v *Value, r account.Release, c Charge) {
	var noise [512]int64
	t, at := m.scaleGrid(), 0
	for _, p := range r.Parts {
		value := v.integers(p, r.Parts[0], at)
		for lo := 0; lo < p.Dim; lo += len(noise) {
			n := noise[:min(len(noise), p.Dim-lo)]
			for i := range n {
				n[i] = c.Noise.DiscreteLaplace(t)
			}
			releaseIntegers(v.Float[at+lo:], value[lo:], n, GridStep(p.Clip))
		}
		at += p.Dim
	}
	clear(noise[:])
}

// Provenance is Proved.
func (Laplace) Provenance() Provenance { return Proved }

// Assumptions is empty for oracles that give integers.
func (m Laplace) Assumptions() []string { return m.assumptions() }

func (Laplace) sealed() {}
