package privacy_test

import (
	"testing"

	"sotto/agent"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/ledger"
	"sotto/privacy/privacytest"
	"sotto/rng"
	"sotto/tensor"
)

// BenchmarkPerturbConvNet measures the fast noise of one release of the ConvNet's 38,424
// coordinates.
func BenchmarkPerturbConvNet(b *testing.B) {
	const dim = 38_424
	r := privacytest.Release(dim, 1)
	k := rng.Simulated(1, 0, 0)
	s := rng.NewStream(&k, rng.Noise)
	v := privacy.Value{Float: make(tensor.Vec, dim)}
	for b.Loop() {
		privacy.Gaussian{NoiseMultiplier: 1}.Perturb(&v, r, privacy.Charge{Noise: s})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/dim, "ns/coordinate")
}

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

// BenchmarkAnswer measures what the gate adds to a query: the event, its charge in
// memory, keys and streams.
func BenchmarkAnswer(b *testing.B) {
	o := sum{data: []float32{1}, read: new([]string), dim: 1}
	for name, m := range map[string]privacy.Mechanism{
		"gaussian": privacy.Gaussian{NoiseMultiplier: 1},
		"discrete-gaussian": privacy.DiscreteGaussian{NoiseMultiplier: 1,
			Gridding: privacy.Gridding{Quantise: true}},
	} {
		b.Run(name, func(b *testing.B) {
			g := privacy.NewSimulatedGate(ledger.NewMemory(nil), m, map[string]privacy.Oracle{"sum": o}, 1, 1)
			q, dst := &agent.Query{Oracle: "sum", At: tensor.Vec{0}}, make(tensor.Vec, 1)
			b.ReportAllocs()
			for b.Loop() {
				if err := g.Answer(q, dst); err != nil {
					b.Fatal(err)
				}
				*o.read = (*o.read)[:0]
			}
		})
	}
}
