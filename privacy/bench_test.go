package privacy_test

import (
	"testing"

	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/privacytest"
	"sotto/rng"
	"sotto/tensor"
)

// BenchmarkPerturb measures the noise of one release of a million coordinates.
func BenchmarkPerturb(b *testing.B) {
	const dim = 1_000_000
	for _, c := range []struct {
		name string
		m    privacy.Mechanism
	}{
		{"fast", privacy.Gaussian{NoiseMultiplier: 1}},
		{"exact", privacy.DiscreteGaussian{NoiseMultiplier: 1}},
		{"laplace", privacy.Laplace{Scale: 1}},
		{"k-norm", privacy.KNorm{Scale: 1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := privacytest.Release(dim, 1)
			if c.name == "laplace" {
				r.Parts[0].Norm = account.L1
			}
			k := rng.Simulated(1, 0, 0)
			s := rng.NewStream(&k, rng.Noise)
			v := privacy.Value{Float: make(tensor.Vec, dim)}
			if c.name == "exact" || c.name == "laplace" {
				v.Grid, v.Step = make([]int64, dim), privacy.GridStep(1)
			}
			for b.Loop() {
				c.m.Perturb(&v, r, privacy.Charge{Noise: s})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/dim, "ns/coordinate")
		})
	}
}
