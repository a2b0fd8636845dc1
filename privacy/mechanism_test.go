package privacy_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"gonum.org/v1/gonum/stat/distuv"

	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/privacytest"
)

// with decodes fixed parameters, as a run file's section would.
func with[P any](params P) func(any) error {
	return func(p any) error { *p.(*P) = params; return nil }
}

func build(t testing.TB, name string, decode func(any) error) privacy.Mechanism {
	t.Helper()
	m, err := privacy.New(name, decode)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// truncated is the law of x with the given distribution function, conditioned on [-a, a].
func truncated(cdf func(float64) float64, a float64) func(float64) float64 {
	lo, hi := cdf(-a), cdf(a)
	return func(x float64) float64 { return (cdf(min(max(x, -a), a)) - lo) / (hi - lo) }
}

func TestMechanisms(t *testing.T) {
	finite := func(e float64) bool { return e > 0 && !math.IsInf(e, 0) }
	scaled := func(name string) func(s float64) privacy.Mechanism {
		return func(s float64) privacy.Mechanism {
			m, err := privacy.NewMechanism(name, s)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
	}
	bounded := func(name string, bound float64) func(s float64) privacy.Mechanism {
		return func(s float64) privacy.Mechanism {
			return build(t, name,
				with(privacy.TruncatedParams{Scale: s, Truncation: bound,
					Gridding: privacy.Gridding{Quantise: true}}))
		}
	}
	const s, bound = 1.7, 9.
	normal, laplace := distuv.Normal{Sigma: s}, distuv.Laplace{Scale: s}
	// Variance of Laplace noise on [-a, a] by parts; for normal noise s^2 (1 - 2 (a/s)
	// phi(a/s)/(2 Phi(a/s) - 1)).
	a := bound / s
	laplaceVar := s * s * (2 - a*(a+2)*math.Exp(-a)/(-math.Expm1(-a)))
	normalVar := s * s * (1 - 2*a*distuv.UnitNormal.Prob(a)/(2*distuv.UnitNormal.CDF(a)-1))
	for name, c := range map[string]struct {
		mechanism func(float64) privacy.Mechanism
		o         privacytest.Options
	}{
		"gaussian":          {scaled("gaussian"), privacytest.Options{Std: s, CDF: normal.CDF}},
		"discrete-gaussian": {scaled("discrete-gaussian"), privacytest.Options{Std: s, CDF: normal.CDF}},
		"laplace": {scaled("laplace"),
			privacytest.Options{Std: laplace.StdDev(), CDF: laplace.CDF, Norm: account.L1}},
		"k-norm": {scaled("k-norm"),
			privacytest.Options{Std: laplace.StdDev(), CDF: laplace.CDF, Scalar: true}},
		"truncated-laplace": {bounded("truncated-laplace", bound), privacytest.Options{
			Std:    math.Sqrt(laplaceVar),
			CDF:    truncated(laplace.CDF, bound),
			Scalar: true,
			Step:   1. / 1024,
		}},
		"truncated-gaussian": {bounded("truncated-gaussian", bound), privacytest.Options{
			Std:    math.Sqrt(normalVar),
			CDF:    truncated(normal.CDF, bound),
			Scalar: true,
			Step:   1. / 1024,
		}},
	} {
		c.o.Mechanism, c.o.Half, c.o.Epsilon = c.mechanism(s), c.mechanism(s/2), finite
		t.Run(name, func(t *testing.T) { privacytest.Run(t, c.o) })
	}
	t.Run("randomized-response", func(t *testing.T) {
		privacytest.Run(t, privacytest.Options{Norm: account.L1, Labels: 2, Epsilon: finite,
			Mechanism: build(t, "randomized-response",
				with(privacy.RandomizedResponse{Probability: .5, Labels: 2})),
			Half: build(t, "randomized-response",
				with(privacy.RandomizedResponse{Probability: .25, Labels: 2}))})
	})
	t.Run("none", func(t *testing.T) {
		privacytest.Run(t, privacytest.Options{Mechanism: privacy.None{}, Epsilon: func(e float64) bool {
			return math.IsInf(e, 1)
		}})
	})
	t.Run("sealed", func(t *testing.T) {
		privacytest.Run(t, privacytest.Options{Mechanism: privacy.Withheld{}, Epsilon: func(e float64) bool {
			return e == 0
		}})
	})
}

// Parameters as a run file writes them; a key that the mechanism does not have is an
// error.
func TestParametersDecode(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want privacy.Mechanism
	}{
		"gaussian": {"noise_multiplier = 2.5\n[part_noise]\ncount = 7.0",
			privacy.Gaussian{NoiseMultiplier: 2.5, PartNoise: map[string]float64{"count": 7}}},
		"discrete-gaussian": {"noise_multiplier = 2.5\nquantise = true\nsummation_error = 0.01",
			privacy.DiscreteGaussian{NoiseMultiplier: 2.5,
				Gridding: privacy.Gridding{Quantise: true, SummationError: .01}}},
		"laplace": {"scale = 3.0\nquantise = true",
			privacy.Laplace{Scale: 3, Gridding: privacy.Gridding{Quantise: true}}},
		"k-norm": {"scale = 3.0", privacy.KNorm{Scale: 3}},
		"randomized-response": {"probability = 0.25\nlabels = 10",
			privacy.RandomizedResponse{Probability: .25, Labels: 10}},
		"truncated-laplace":  {"scale = 3.0\ntruncation = 20.0\nquantise = true", nil},
		"truncated-gaussian": {"scale = 3.0\ntruncation = 20.0", nil},
	} {
		strict := func(text string) func(any) error {
			return func(p any) error {
				return toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields().Decode(p)
			}
		}
		got, err := privacy.New(name, strict(c.text))
		if err != nil || c.want != nil && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for _, extra := range []string{"epsilon = 1.0", "sensitivity = 1.0", "clip = 1.0"} {
			if _, err := privacy.New(name, strict(extra+"\n"+c.text)); err == nil {
				t.Errorf("%s accepted %s", name, extra)
			}
		}
	}
}
