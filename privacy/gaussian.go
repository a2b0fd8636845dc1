package privacy

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/tensor"
)

var _ Mechanism = Gaussian{}

// Gaussian adds normal noise of standard deviation NoiseMultiplier x clip to every
// coordinate (Dwork, Roth 2014, Appendix A; exact accounting Balle, Wang 2018).
//
// Value and noise are added in grid units of clip x 2^-20 and the sum is rounded to a
// whole number of them. Rounding the sum is post-processing of the continuous mechanism,
// and the set of possible outputs is the same for every input, which the floating-point
// attacks of Mironov 2012 need to differ. What remains is the distance of a
// double-precision normal sampler and addition from the ideal ones, an assumption that
// statements name. What rounding adds to a sum in float32 is part of the shift where the
// release has a bound of it (account.Part.SumError); an oracle without that error fills
// Value.Grid.
type Gaussian struct {
	NoiseMultiplier float64 `toml:"noise_multiplier"` // noise standard deviation over clip, > 0
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
// (shift/noise)^2.
func (m Gaussian) Event(r account.Release) (account.Event, error) {
	if err := cmp.Or(checkParts(r, account.L2, "gaussian"), checkSums(r)); err != nil {
		return account.Event{}, err
	}
	if err := checkPartNoise(m.PartNoise, r); err != nil {
		return account.Event{}, err
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
	var normals [512]float64
	at := 0
	for _, p := range r.Parts {
		step := GridStep(p.Clip)
		sigma := math.Ldexp(noiseOf(p.Name, m.PartNoise, m.NoiseMultiplier), gridBits)
		for lo := at; lo < at+p.Dim; lo += len(normals) {
			n := normals[:min(len(normals), at+p.Dim-lo)]
			c.Noise.Normals(n)
			if v.Step > 0 {
				tensor.AddNoiseGrid(v.Float[lo:], v.Grid[lo:], v.Step/GridStep(r.Parts[0].Clip), step, sigma,
					n)
			} else {
				tensor.AddNoise(v.Float[lo:], step, sigma, n)
			}
		}
		at += p.Dim
	}
	clear(normals[:])
}

// Provenance is Proved, under the stated assumption on the sampler.
func (Gaussian) Provenance() Provenance { return Proved }

// Assumptions names the double-precision sampler.
func (Gaussian) Assumptions() []string { return []string{assumeNormals} }

// assumeNormals is what the double-precision normal sampler leaves unproved.
const assumeNormals = "the double-precision sampler is indistinguishable from the normal law"

func (Gaussian) sealed() {}
