package privacy

import (
	"cmp"
	"fmt"
	"math"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ Mechanism = KNorm{}

// KNorm adds noise of density proportional to exp(-||x||_2/(Scale clip)) to the whole
// vector: a radius of the Gamma law with shape dim and a uniform direction (Hardt, Talwar
// 2010, for the Euclidean ball). With an L2 sensitivity D one release costs the pure
// epsilon D/(Scale clip) in any dimension, where Laplace noise would need the L1
// sensitivity; the noise has norm about dim x Scale x clip.
//
// The sum of value and noise is rounded to the grid of clip x 2^-20. Unlike that of
// Gaussian, the sampler is in double precision, which is an assumption.
type KNorm struct {
	// over the clip, 1e-35 to 1e35; Event refuses it where the noise, of norm dim x Scale
	// x clip, is not within these either
	Scale float64 `toml:"scale"`
}

func (m *KNorm) setScale(b float64) { m.Scale = b }

func newKNorm(decode func(params any) error) (Mechanism, error) {
	var m KNorm
	if err := decode(&m); err != nil {
		return nil, err
	}
	return m, m.validate()
}

func (m KNorm) validate() error {
	if !(m.Scale >= leastNoise && m.Scale <= mostNoise) {
		return config.Bad("scale", m.Scale, fmt.Sprintf("%g to %g with mechanism k-norm", leastNoise,
			mostNoise))
	}
	return nil
}

// Event is a pure epsilon, of which only the size is used. Parts released together are
// one vector in units of their clips, whose L2 sensitivities add in squares.
func (m KNorm) Event(r account.Release) (account.Event, error) {
	if err := cmp.Or(m.validate(), checkParts(r, account.L2, "k-norm"), checkSums(r),
		checkGrid(r, "k-norm")); err != nil {
		return account.Event{}, err
	}
	sum, dim := 0., 0
	for _, p := range r.Parts {
		sum += p.Movement() * p.Movement()
		dim += p.Dim
	}
	for _, p := range r.Parts {
		if err := checkNoise("scale", float64(dim)*m.Scale, r.Scale, p); err != nil {
			return account.Event{}, err
		}
	}
	epsilon := math.Nextafter(math.Sqrt(sum)/m.Scale*(1+1e-15), math.Inf(1))
	inner, err := account.EpsDelta(epsilon, 0)
	if err != nil {
		return account.Event{}, err
	}
	return r.Sampled(inner)
}

// Perturb adds the noise.
func (m KNorm) Perturb(v *Value, r account.Release, c Charge) {
	dim := 0
	for _, p := range r.Parts {
		dim += p.Dim
	}
	noise := make([]float64, dim)
	c.Noise.Normals(noise)
	square := 0.
	for _, z := range noise {
		square += z * z
	}
	// In grid steps, per unit of the normal vector.
	length := math.Ldexp(m.Scale, gridBits) * gamma(c.Noise, float64(dim)) / math.Sqrt(square)
	at := 0
	for _, p := range r.Parts {
		v.addNoise(at, p, r.Parts[0], length, noise[at:at+p.Dim])
		at += p.Dim
	}
	clear(noise)
}

// gamma draws from the Gamma law of the given shape >= 1 and scale 1 (Marsaglia, Tsang
// 2000).
func gamma(s *rng.Stream, shape float64) float64 {
	d := shape - 1./3
	k := 1 / math.Sqrt(9*d)
	var z [2]float64
	for {
		s.Normals(z[:])
		v := 1 + k*z[0]
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-s.Float64()) < z[0]*z[0]/2+d*(1-v+math.Log(v)) {
			return d * v
		}
	}
}

// Provenance is Proved, under the stated assumption on the sampler.
func (KNorm) Provenance() Provenance { return Proved }

// Assumptions names the double-precision sampler.
func (KNorm) Assumptions() []string {
	return []string{"the double-precision sampler is indistinguishable from the K-norm law"}
}

func (KNorm) sealed() {}
