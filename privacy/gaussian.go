package privacy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/tensor"
)

var _ Mechanism = Gaussian{}

// Gaussian adds normal noise of standard deviation NoiseMultiplier x clip to every
// coordinate (Dwork, Roth 2014, Appendix A; exact accounting Balle, Wang 2018), and
// rounds the sum to a grid of at most a millionth of the noise.
//
// The noise has the normal law itself and the rounding is that of the real sum
// (rng.Stream.AddNormals), so that a release is post-processing of the ideal mechanism:
// no assumption on floating-point arithmetic is left, and the floating-point attacks of
// Mironov 2012 have nothing to find. What rounding adds to the value's own sum is part of
// its sensitivity (account.Part.SumError). docs/exact.md has the proof.
type Gaussian struct {
	// noise standard deviation over clip, > 0 and finite; Event refuses what is no noise
	// in single precision, see checkNoise
	NoiseMultiplier float64 `toml:"noise_multiplier"`
	// PartNoise replaces NoiseMultiplier for the named parts of a joint release, for
	// instance a count beside a gradient (Andrew, Thakkar, McMahan, Ramaswamy 2021).
	PartNoise map[string]float64 `toml:"part_noise,omitempty"`
}

func (m *Gaussian) setScale(z float64) { m.NoiseMultiplier = z }

func newGaussian(decode func(params any) error) (Mechanism, error) {
	var m Gaussian
	if err := decode(&m); err != nil {
		return nil, err
	}
	return m, checkMultipliers(m.NoiseMultiplier, m.PartNoise)
}

// NewGaussian refuses multipliers that are not positive and finite.
func NewGaussian(noiseMultiplier float64) (Mechanism, error) {
	return NewMechanism("gaussian", noiseMultiplier)
}

func checkMultipliers(noiseMultiplier float64, parts map[string]float64) error {
	const allowed = "above 0 and finite (mechanism none has no noise)"
	if !positive(noiseMultiplier) {
		return config.Bad("noise_multiplier", noiseMultiplier, allowed)
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if !positive(parts[name]) {
			return config.Bad("part_noise."+name, parts[name], allowed)
		}
	}
	return nil
}

// Event is a Gaussian event under the release's sampler. Parts released together on one
// batch compose inside the event: their effective multipliers add as 1/s^2 = sum
// (shift/noise)^2. ErrRefused: this machine's arithmetic is not what the proof needs.
func (m Gaussian) Event(r account.Release) (account.Event, error) {
	if err := cmp.Or(checkParts(r, account.L2, "gaussian"), checkSums(r)); err != nil {
		return account.Event{}, err
	}
	if err := tensor.Arithmetic(); err != nil {
		return account.Event{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := checkPartNoise(m.PartNoise, r); err != nil {
		return account.Event{}, err
	}
	for _, p := range r.Parts {
		z := noiseOf(p.Name, m.PartNoise, m.NoiseMultiplier)
		if err := checkNoise("noise_multiplier", z, r.Scale, p); err != nil {
			return account.Event{}, err
		}
	}
	inner, err := m.inner(r)
	if err != nil {
		return account.Event{}, err
	}
	return r.Sampled(inner)
}

func (m Gaussian) inner(r account.Release) (account.Event, error) {
	if len(m.PartNoise) == 0 {
		sum := 0.
		for _, p := range r.Parts {
			sum += p.Movement() * p.Movement()
		}
		return account.Gaussian(m.NoiseMultiplier, math.Sqrt(sum))
	}
	noise, shift := make([]float64, len(r.Parts)), make([]float64, len(r.Parts))
	for i, p := range r.Parts {
		noise[i], shift[i] = noiseOf(p.Name, m.PartNoise, m.NoiseMultiplier), p.Movement()
	}
	return account.JointGaussian(noise, shift)
}

// Perturb adds the noise.
func (m Gaussian) Perturb(v *Value, r account.Release, c Charge) {
	m.blocks(v, r, c, func(_, _ int) {})
}

// release implements releaser.
func (m Gaussian) release(dst tensor.Vec, v *Value, r account.Release, c Charge) {
	m.blocks(v, r, c, func(lo, hi int) {
		dst[lo:hi].Scale(r.Scale, v.Float[lo:hi])
		v.Float[lo:hi].Zero()
	})
}

// releaseBlock is how many coordinates have their noise before f is called: few enough to
// stay in the processor's nearest cache.
const releaseBlock = 2048

// blocks adds the noise, and calls f with each block of coordinates that has it.
func (m Gaussian) blocks(v *Value, r account.Release, c Charge, f func(lo, hi int)) {
	if v.Step > 0 {
		wide := v.Widen(len(v.Float))
		for i, g := range v.Grid[:len(wide)] {
			wide[i] = float64(g)
		}
	}
	first, at := r.Parts[0].Clip, 0
	for _, p := range r.Parts {
		z := noiseOf(p.Name, m.PartNoise, m.NoiseMultiplier)
		step, sigma := stepAndSigma(z, p.Clip)
		ratio := 1 / step
		if v.Step > 0 { // wide has integers
			step, sigma = stepAndSigma(z, first/v.Step)
			ratio, step = 1/step, step*v.Step*(p.Clip/first)
		}
		for end := at + p.Dim; at < end; at += min(releaseBlock, end-at) {
			lo, hi := at, min(at+releaseBlock, end)
			if len(v.Wide) > 0 {
				c.Noise.AddNormalsWide(v.Float[lo:hi], v.Wide[lo:hi], ratio, step, sigma)
			} else {
				c.Noise.AddNormals(v.Float[lo:hi], step, sigma)
			}
			f(lo, hi)
		}
	}
}

// stepAndSigma is noise of standard deviation z clip, rounded up to a double, in steps of
// a power of two, of which it has 2^20 to 2^21. The step follows from the noise alone,
// not from the value.
func stepAndSigma(z, clip float64) (step, sigma float64) {
	fraction, exponent := math.Frexp(math.Nextafter(z*clip, math.Inf(1)))
	return math.Ldexp(1, exponent-21), math.Ldexp(fraction, 21)
}

// Provenance is Proved.
func (Gaussian) Provenance() Provenance { return Proved }

// Assumptions is empty.
func (Gaussian) Assumptions() []string { return nil }

// assumeNormals is what the double-precision normal sampler leaves unproved.
const assumeNormals = "the double-precision sampler is indistinguishable from the normal law"

func (Gaussian) sealed() {}
