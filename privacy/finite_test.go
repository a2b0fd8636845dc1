package privacy_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"testing"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/privacytest"
	"sotto/rng"
	"sotto/tensor"
)

// extremes are mechanisms whose noise has the given scale over the clip, or bound.
var extremes = map[string]func(scale float64) (privacy.Mechanism, error){
	"truncated-laplace": func(s float64) (privacy.Mechanism, error) {
		return privacy.New("truncated-laplace", with(privacy.TruncatedParams{Scale: s, Truncation: s}))
	},
	"truncated-gaussian": func(s float64) (privacy.Mechanism, error) {
		return privacy.New("truncated-gaussian", with(privacy.TruncatedParams{Scale: s, Truncation: s}))
	},
	"decor, own": func(s float64) (privacy.Mechanism, error) {
		return privacy.NewDecor(decorOf(s, 1, math.Hypot(s, 1)))
	},
	"decor, shared": func(s float64) (privacy.Mechanism, error) { return privacy.NewDecor(decorOf(1, s, 1)) },
	"published": func(s float64) (privacy.Mechanism, error) {
		return privacy.New("published", with(privacy.PaperNoise{Family: "truncated-laplace", Epsilon: 1 / s,
			Delta: .01, Sensitivity: s}))
	},
}

func decorOf(own, pair, effective float64) privacy.Decor {
	return privacy.Decor{NoiseMultiplier: own, Pair: pair, Effective: effective, Self: 1,
		Neighbors: []agent.ID{2}, Secret: func(agent.ID) []byte { return []byte("secret") }}
}

// Whatever the scale of the noise and the clip, a mechanism releases finite numbers or
// refuses with an error that names what it was given. K-norm noise of scale 1e300
// released infinite ones, as did shared noise of 1e300 and integers of clip 1e300.
func TestReleasesAreFinite(t *testing.T) {
	all := maps.Clone(extremes)
	for _, name := range []string{"gaussian", "discrete-gaussian", "laplace", "k-norm", "proportional"} {
		all[name] = func(s float64) (privacy.Mechanism, error) { return privacy.NewMechanism(name, s) }
	}
	for name, made := range all {
		accepted := 0
		for _, exponent := range []int{-320, -200, -40, -30, -5, -3, 0, 3, 5, 30, 40, 200, 306} {
			m, err := made(math.Pow(10, float64(exponent)))
			if !refusal(t, name, err) {
				continue
			}
			for _, clip := range []float64{5e-324, 1e-200, 1e-40, 1e-30, 1, 1e25, 1e30, 1e40, 1e200, 1e300} {
				for _, r := range releases(clip) {
					if _, err := m.Event(r); !refusal(t, name, err) {
						continue
					}
					accepted++
					at := fmt.Sprintf("%s, scale 1e%d, clip %g, dim %d", name, exponent, clip, r.Parts[0].Dim)
					finite(t, at, m, r)
				}
			}
		}
		if accepted < 5 {
			t.Errorf("%s: %d cases were accepted", name, accepted)
		}
	}
}

// releases are of that clip, in both norms, of few values and many, some scaled up.
func releases(clip float64) (all []account.Release) {
	for _, dim := range []int{1, 1000} {
		for _, norm := range []account.Norm{account.L1, account.L2} {
			for _, scale := range []float64{.5, 1e30} {
				r := privacytest.Release(dim, clip)
				r.Parts[0].Norm, r.Scale = norm, scale
				all = append(all, r)
			}
		}
	}
	return all
}

// refusal reports whether there is no error, and that one is about a value.
func refusal(t *testing.T, name string, err error) (ok bool) {
	t.Helper()
	var bad *config.Error
	if err != nil && !errors.As(err, &bad) {
		t.Errorf("%s: %v", name, err)
	}
	return err == nil
}

// finite releases the largest integers, or zeros.
func finite(t *testing.T, at string, m privacy.Mechanism, r account.Release) {
	t.Helper()
	dim := r.Parts[0].Dim
	key := rng.Key{1}
	s := rng.NewStream(&key, rng.Noise)
	v := privacy.Value{Float: make(tensor.Vec, dim)}
	if privacy.TakesIntegers(m) {
		v.Grid, v.Step = make([]int64, dim), privacy.GridStep(r.Parts[0].Clip)
		v.Grid[0] = math.MaxInt64
	}
	m.Perturb(&v, r, privacy.Charge{Noise: s})
	if m.Provenance() == privacy.Proved { // others stop at the largest number
		v.Float.Scale(r.Scale, v.Float)
	}
	if !v.Float.Finite() {
		t.Errorf("%s: released %v", at, v.Float[:min(dim, 5)])
	}
}
