package privacy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// gridBits is the resolution of released values: clip x 2^-gridBits.
const gridBits = 20

// GridStep is the step of the integer grid on which a part with this clip is noised and
// released: clip x 2^-20. A contribution of norm at most clip, divided by it and
// truncated toward zero coordinate by coordinate, is an integer vector of norm at most
// 2^20 in any dimension.
func GridStep(clip float64) float64 { return math.Ldexp(clip, -gridBits) }

// ReleaseStep is the step of which every released value of part p is a multiple, before
// Release.Scale and but for the rounding to float32, by mechanisms that round to a grid.
func ReleaseStep(m Mechanism, p account.Part) float64 {
	if g, ok := m.(Gaussian); ok {
		step, _ := stepAndSigma(noiseOf(p.Name, g.PartNoise, g.NoiseMultiplier), p.Clip)
		return step
	}
	return GridStep(p.Clip)
}

// GridOracle is an oracle that can also give its value in exact integers, which
// mechanisms with integer noise ask for. An integer sum has exactly the sensitivity that
// the release states: nothing is rounded in an order that depends on data (Casacuberta,
// Shoemate, Vadhan, Wagaman 2022).
type GridOracle interface {
	Oracle
	// EvaluateGrid adds the value to dst, which has the release's length and is zero:
	// part k in units of GridStep of its clip. Each record's contribution is an integer
	// vector of norm at most 2^20 Shift (half of it under replace-one). It is total as
	// Evaluate is.
	EvaluateGrid(dst []int64, q *agent.Query, sample *rng.Stream)
}

// integral is implemented by mechanisms that add integers to integers. When integral
// returns true the gate hands them values of a GridOracle only.
type integral interface{ integral() bool }

// Gridding says how a mechanism with integer noise treats oracles that only have
// floating-point values.
type Gridding struct {
	// Quantise rounds floating-point values to the grid before noise is added and charges
	// the rounding as additional sensitivity, one grid step per coordinate. Without it
	// such oracles are refused.
	Quantise bool `toml:"quantise"`
	// SummationError is by how much the owner assumes that the rounding of a
	// floating-point sum adds to the sensitivity, over the clip and in its norm; the
	// sensitivity is charged with it, beside what the release itself has a bound of. It
	// is used with Quantise only, and needed where a release leaves the rounding of its
	// sums uncharged.
	SummationError float64 `toml:"summation_error,omitempty"`
}

// integral reports whether values must come from a GridOracle.
func (g Gridding) integral() bool { return !g.Quantise }

func (g Gridding) validate() error {
	if !(g.SummationError >= 0) || math.IsInf(g.SummationError, 1) {
		return config.Bad("summation_error", g.SummationError, "at least 0 and finite")
	}
	if g.SummationError > 0 && !g.Quantise {
		return config.Bad("summation_error", g.SummationError,
			"0 without quantise = true: exact integer sums have no error")
	}
	return nil
}

// checkSums refuses float sums whose rounding nobody has bounded.
func (g Gridding) checkSums(r account.Release) error {
	switch {
	case !g.Quantise:
		return nil
	case r.SumsUncharged && g.SummationError == 0:
		return config.Bad("summation_error", 0, "above 0: oracle "+r.Oracle+" adds in floating point; or "+
			"take its integers, with quantise = false, or a model whose sums have a proven bound")
	}
	return checkSums(r)
}

// checkSums refuses parts that round by an unknown amount.
func checkSums(r account.Release) error {
	for _, p := range r.Parts {
		if math.IsInf(p.SumError, 1) {
			return &config.Error{Key: "noise",
				Found: "part " + p.Name + ", whose sums round by an amount that nothing proven bounds",
				Allowed: "a model and clip whose rounding is bounded; or noise = \"fast\", which leaves it " +
					"out of the figure and says so"}
		}
	}
	return nil
}

// movement is the largest change of part p over its clip before it is rounded to the
// grid.
func (g Gridding) movement(p account.Part) float64 {
	if !g.Quantise {
		return p.Shift // integer sums are exact
	}
	return p.Movement() + g.SummationError
}

// sensitivity is that of part p in grid steps, with what rounding its coordinates can
// add.
func (g Gridding) sensitivity(p account.Part) float64 {
	if !g.Quantise {
		return math.Ldexp(p.Shift, gridBits)
	}
	// Each of two rounded values is off by at most half a step, and by a thousandth for
	// the division by the step in double precision, for values up to 2^22 clips.
	rounding := float64(p.Dim)
	if p.Norm == account.L2 {
		rounding = math.Sqrt(rounding)
	}
	rounding *= 1.002
	return math.Nextafter(math.Ldexp(g.movement(p), gridBits)+rounding, math.Inf(1))
}

// coordinate is the largest change of one coordinate of part p, in grid steps.
func (g Gridding) coordinate(p account.Part) float64 {
	if !g.Quantise {
		return math.Ldexp(p.Shift, gridBits)
	}
	return math.Ldexp(g.movement(p), gridBits) + 2
}

func (g Gridding) assumptions() []string {
	if g.SummationError == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the error of floating-point sums is at most %g of the clip",
		g.SummationError)}
}

// saturation bounds integers before they are added: no sum of two overflows. Noise
// reaches it with a probability below 1e-300 and bounding a value moves two values no
// further apart.
const saturation = 1 << 61

// integers returns the value of part p, whose coordinates start at lo, on its grid in
// v.Grid. first is the first part, whose step is v.Step.
func (v *Value) integers(p, first account.Part, lo int) []int64 {
	if v.Step > 0 && v.Step == GridStep(first.Clip) {
		return v.Grid[lo : lo+p.Dim]
	}
	if len(v.Grid) < len(v.Float) {
		v.Grid = append(v.Grid, make([]int64, len(v.Float)-len(v.Grid))...)
	}
	out := v.Grid[lo : lo+p.Dim]
	inv := 1 / GridStep(p.Clip)
	for i := range out {
		x := float64(v.Float[lo+i]) * inv
		switch {
		case len(v.Wide) > 0:
			x = v.Wide[lo+i] * inv
		case v.Step > 0:
			x = float64(out[i]) * (v.Step / GridStep(first.Clip))
		}
		out[i] = toInteger(x)
	}
	return out
}

// addNoise sets the coordinates of part p from lo on to what rounding the value plus
// sigma z steps to the part's grid gives, in double precision. first is the first part.
func (v *Value) addNoise(lo int, p, first account.Part, sigma float64, z []float64) {
	step := GridStep(p.Clip)
	switch {
	case len(v.Wide) > 0:
		for i, z := range z {
			sum := math.FMA(sigma, z, v.Wide[lo+i]/step)
			v.Float[lo+i] = float32(math.RoundToEven(sum) * step)
		}
	case v.Step > 0:
		tensor.AddNoiseGrid(v.Float[lo:], v.Grid[lo:], v.Step/GridStep(first.Clip), step, sigma, z)
	default:
		tensor.AddNoise(v.Float[lo:], step, sigma, z)
	}
}

// toInteger rounds x; what is not a number counts as 0.
func toInteger(x float64) int64 {
	switch x = math.Floor(x + .5); {
	case x >= saturation:
		return saturation
	case x <= -saturation:
		return -saturation
	case x != x:
		return 0
	}
	return int64(x)
}

// releaseIntegers writes (value + noise) x step. The conversion to float32 is
// post-processing.
func releaseIntegers(dst tensor.Vec, value, noise []int64, step float64) {
	for i, z := range noise {
		s := min(max(value[i], -saturation), saturation) + min(max(z, -saturation), saturation)
		dst[i] = float32(float64(s) * step)
	}
}

// Noise between these is far from where float32 and its squares end.
const leastNoise, mostNoise = 1e-35, 1e35

// checkNoise refuses noise of deviation z clip, or of norm z clip, that single precision
// does not hold, as it is or times scale.
func checkNoise(key string, z, scale float64, p account.Part) error {
	noise := z * p.Clip
	if noise >= leastNoise && noise*max(1, scale) <= mostNoise && scale <= mostNoise {
		return nil
	}
	return config.Bad(key, z, fmt.Sprintf("noise of deviation %g to %g: with clip %v of part %s it is %v, "+
		"and all is multiplied by %v", leastNoise, mostNoise, p.Clip, p.Name, noise, scale))
}

// Clips between these have a grid that single precision holds, with all its integers up
// to saturation.
const leastClip, mostClip = 1e-30, 1e25

// checkGrid refuses parts whose values on the grid, times the release's scale, may not be
// finite in single precision.
func checkGrid(r account.Release, mechanism string) error {
	for _, p := range r.Parts {
		if !(p.Clip >= leastClip && p.Clip*max(1, r.Scale) <= mostClip) {
			return config.Bad("max_grad_norm", p.Clip, fmt.Sprintf("%g to %g with mechanism %s, also times "+
				"what multiplies the answers, %v", leastClip, mostClip, mechanism, r.Scale))
		}
	}
	return nil
}

// checkParts refuses parts whose sensitivity is stated in another norm than the
// mechanism's proof needs, or without a finite clip.
func checkParts(r account.Release, norm account.Norm, mechanism string) error {
	for _, p := range r.Parts {
		if p.Norm != norm {
			return config.Bad("norm", p.Norm, fmt.Sprintf("%v sensitivity for mechanism %s", norm, mechanism))
		}
		if !(p.Clip > 0) || math.IsInf(p.Clip, 1) {
			return config.Bad("max_grad_norm", p.Clip, "above 0 and finite with mechanism "+mechanism)
		}
	}
	return r.Validate()
}

// checkPartNoise refuses noise for parts that the release does not have.
func checkPartNoise(noise map[string]float64, r account.Release) error {
	for _, name := range slices.Sorted(maps.Keys(noise)) {
		if !slices.ContainsFunc(r.Parts, func(p account.Part) bool { return p.Name == name }) {
			names := make([]string, len(r.Parts))
			for i, p := range r.Parts {
				names[i] = p.Name
			}
			return config.Bad("part_noise", name, "a part of the release: "+strings.Join(names, ", "))
		}
	}
	return nil
}

// noiseOf is the multiplier of the named part.
func noiseOf(name string, parts map[string]float64, otherwise float64) float64 {
	if z, ok := parts[name]; ok {
		return z
	}
	return otherwise
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
