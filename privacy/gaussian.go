package privacy

import (
	"math"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/tensor"
)

var _ Mechanism = Gaussian{}

// Gaussian adds normal noise of standard deviation NoiseMultiplier x clip to every coordinate (Dwork,
// Roth 2014, Appendix A; exact accounting Balle, Wang 2018).
//
// Value and noise are added in grid units of clip x 2^-20 and the sum is rounded to a whole number of
// them. Rounding the sum is post-processing of the continuous mechanism, and the set of possible outputs
// is the same for every input, which the floating-point attacks of Mironov 2012 need to differ. What
// remains is the distance of a double-precision normal sampler and addition from the ideal ones, an
// assumption that statements name. A value that arrives in float32 carries the rounding error of its own
// summation beside; an oracle that must not, fills Value.Grid.
type Gaussian struct {
	NoiseMultiplier float64 // noise standard deviation over clip, > 0
}

// gridBits is the resolution of released values: clip x 2^-gridBits.
const gridBits = 20

// NewGaussian refuses multipliers that are not positive and finite.
func NewGaussian(noiseMultiplier float64) (Mechanism, error) {
	if !(noiseMultiplier > 0) || math.IsInf(noiseMultiplier, 1) {
		return nil, config.Bad("noise_multiplier", noiseMultiplier, "above 0 and finite (mechanism none has no noise)")
	}
	return Gaussian{noiseMultiplier}, nil
}

// Event is a Gaussian event under the release's sampler. Parts released together on one batch compose
// inside the event: the shifts add in squares.
func (m Gaussian) Event(r account.Release) (account.Event, error) {
	sum := 0.
	for _, p := range r.Parts {
		if p.Norm != account.L2 {
			return account.Event{}, config.Bad("norm", p.Norm, "L2 sensitivity for the Gaussian mechanism")
		}
		if !(p.Clip > 0) || math.IsInf(p.Clip, 1) {
			return account.Event{}, config.Bad("max_grad_norm", p.Clip, "above 0 and finite with mechanism gaussian")
		}
		sum += p.Shift * p.Shift
	}
	inner, err := account.Gaussian(m.NoiseMultiplier, math.Sqrt(sum))
	if err != nil {
		return account.Event{}, err
	}
	return r.Sampled(inner)
}

// Perturb adds the noise.
func (m Gaussian) Perturb(v *Value, r account.Release, c Charge) {
	var normals [512]float64
	at := 0
	for _, p := range r.Parts {
		step := math.Ldexp(p.Clip, -gridBits)
		sigma := math.Ldexp(m.NoiseMultiplier, gridBits)
		for lo := at; lo < at+p.Dim; lo += len(normals) {
			n := normals[:min(len(normals), at+p.Dim-lo)]
			c.Noise.Normals(n)
			if v.Step > 0 {
				addGrid(v.Float[lo:], v.Grid[lo:], v.Step/step, step, sigma, n)
			} else {
				addFloat(v.Float[lo:], step, sigma, n)
			}
		}
		at += p.Dim
	}
	clear(normals[:])
}

func addFloat(x tensor.Vec, step, sigma float64, normals []float64) {
	inv := 1 / step
	for i, z := range normals {
		x[i] = float32(math.RoundToEven(float64(x[i])*inv+sigma*z) * step)
	}
}

// addGrid adds noise to exact integers; ratio is their grid step over the mechanism's.
func addGrid(x tensor.Vec, grid []int64, ratio, step, sigma float64, normals []float64) {
	for i, z := range normals {
		x[i] = float32(math.RoundToEven(float64(grid[i])*ratio+sigma*z) * step)
	}
}

// Provenance is Proved, under the stated assumption on the sampler.
func (Gaussian) Provenance() Provenance { return Proved }

func (Gaussian) sealed() {}
