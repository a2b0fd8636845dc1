package privacy

import (
	"cmp"
	"math"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ Mechanism = DiscreteGaussian{}

// DiscreteGaussian adds integer noise with probability proportional to exp(-x^2/(2
// sigma^2)) to every coordinate of an integer value (Canonne, Kamath, Steinke 2020), in
// steps of clip x 2^-20. Value, noise and sum are integers, and the sampler's law is
// within 2^-240 of the stated one (rng.DiscreteGaussian): no assumption on floating-point
// arithmetic is left. It is the mechanism of choice wherever time allows, at about 20 ns
// a coordinate.
//
// sigma is NoiseMultiplier x 2^20 rounded up to a multiple of 8 steps, and the event
// carries the rounded value.
type DiscreteGaussian struct {
	// noise standard deviation over clip, 2^-15 to 1024
	NoiseMultiplier float64 `toml:"noise_multiplier"`
	// replaces it for the named parts of a joint release
	PartNoise map[string]float64 `toml:"part_noise,omitempty"`
	Gridding
}

// minMultiplier is sigma = 32 grid steps, below which the law is visibly discrete.
const minMultiplier = 1. / (1 << 15)

func (m *DiscreteGaussian) setScale(z float64) { m.NoiseMultiplier = z }

func newDiscreteGaussian(decode func(params any) error) (Mechanism, error) {
	var m DiscreteGaussian
	if err := decode(&m); err != nil {
		return nil, err
	}
	return m, m.validate()
}

func (m DiscreteGaussian) validate() error {
	if err := checkMultipliers(m.NoiseMultiplier, m.PartNoise); err != nil {
		return err
	}
	ok := func(z float64) bool { return z >= minMultiplier && z <= math.Ldexp(rng.MaxSigma, -gridBits) }
	if !ok(m.NoiseMultiplier) {
		return config.Bad("noise_multiplier", m.NoiseMultiplier,
			"2^-15 to 1024 with mechanism discrete-gaussian")
	}
	for _, z := range m.PartNoise {
		if !ok(z) {
			return config.Bad("part_noise", z, "2^-15 to 1024 with mechanism discrete-gaussian")
		}
	}
	return m.Gridding.validate()
}

// sigmaGrid is the noise parameter of the named part in grid steps.
func (m DiscreteGaussian) sigmaGrid(part string) uint64 {
	z := noiseOf(part, m.PartNoise, m.NoiseMultiplier)
	return 8 * uint64(math.Ceil(math.Ldexp(z, gridBits-3)))
}

// Event is a discrete Gaussian event, or the sequence of one for each part where parts
// have noise of their own.
func (m DiscreteGaussian) Event(r account.Release) (account.Event, error) {
	if err := m.validate(); err != nil {
		return account.Event{}, err
	}
	if err := cmp.Or(checkParts(r, account.L2, "discrete-gaussian"), m.checkSums(r),
		checkGrid(r, "discrete-gaussian")); err != nil {
		return account.Event{}, err
	}
	if err := checkPartNoise(m.PartNoise, r); err != nil {
		return account.Event{}, err
	}
	var groups [][]account.Part
	if len(m.PartNoise) == 0 {
		groups = append(groups, r.Parts)
	} else {
		for i := range r.Parts {
			groups = append(groups, r.Parts[i:i+1])
		}
	}
	events := make([]account.Event, len(groups))
	for i, g := range groups {
		var err error
		if events[i], err = m.eventOf(g); err != nil {
			return account.Event{}, err
		}
	}
	inner, err := account.Compose(events...)
	if err != nil {
		return account.Event{}, err
	}
	return r.Sampled(inner)
}

// eventOf is the event of parts with one noise parameter: their L2 sensitivities add in
// squares.
func (m DiscreteGaussian) eventOf(parts []account.Part) (account.Event, error) {
	square, most, dim := 0., 0., 0
	for _, p := range parts {
		d := m.sensitivity(p)
		square += d * d
		most = max(most, m.coordinate(p))
		dim += p.Dim
	}
	l2 := math.Sqrt(square)
	if len(parts) == 1 {
		l2 = m.sensitivity(parts[0])
	} else {
		l2 = math.Nextafter(l2, math.Inf(1))
	}
	if dim == 1 {
		l2 = math.Ceil(l2)
	}
	if !(l2 <= saturation) {
		return account.Event{}, config.Bad("shift", math.Ldexp(l2, -gridBits), "below 2^41")
	}
	return account.DiscreteGaussian(float64(m.sigmaGrid(parts[0].Name)), l2, int(math.Ceil(most)), dim)
}

// Perturb adds the noise.
func (m DiscreteGaussian) Perturb(v *Value, r account.Release, c Charge) {
	var noise [512]int64
	at := 0
	for _, p := range r.Parts {
		g, err := rng.NewDiscreteGaussian(m.sigmaGrid(p.Name), 1)
		if err != nil {
			panic("privacy: a mechanism perturbs what it gave no event for: " + err.Error())
		}
		value := v.integers(p, r.Parts[0], at)
		for lo := 0; lo < p.Dim; lo += len(noise) {
			n := noise[:min(len(noise), p.Dim-lo)]
			g.Fill(c.Noise, n)
			releaseIntegers(v.Float[at+lo:], value[lo:], n, GridStep(p.Clip))
		}
		at += p.Dim
	}
	clear(noise[:])
}

// Provenance is Proved.
func (DiscreteGaussian) Provenance() Provenance { return Proved }

// Assumptions is empty for oracles that give integers.
func (m DiscreteGaussian) Assumptions() []string { return m.assumptions() }

func (DiscreteGaussian) sealed() {}
