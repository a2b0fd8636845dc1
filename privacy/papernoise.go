package privacy

import (
	"math"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ Mechanism = PaperNoise{}

// PaperNoise adds independent noise of one family to every coordinate, with the scale
// that "A General Differentially Private Learning Framework for Decentralized Data" gives
// for (ε, δ) and a sensitivity Δ. It is for replication: Δ is the bound of an expectation
// (Theorem 1), one coordinate stands for all, one (ε, δ) for all rounds, and the run's
// output has no noise.
//
//	laplace             scale Δ/ε
//	gaussian            standard deviation Δ sqrt(2 ln(1.25/δ))/ε, of the baselines
//	truncated-laplace   scale Δ/ε on [-A, A],
//	                    A = (Δ/ε) ln(1 + (e^ε - 1)/(2δ)) (Definition 6)
//	truncated-gaussian  density ∝ exp(-(z/s)²) on [-A, A], s² = Δ²/ε,
//	                    A from the mass δ of [A-Δ, A] (Theorem 6)
type PaperNoise struct {
	Family      string  `toml:"family"`
	Epsilon     float64 `toml:"epsilon"`
	Delta       float64 `toml:"delta"`
	Sensitivity float64 `toml:"sensitivity"` // Δ over the clip
	scale       float64 // of the family, over the clip
	bound       float64 // A over the clip; +Inf: none
}

// paperFamilies are the families by name, as functions that set scale and bound.
var paperFamilies = map[string]func(m *PaperNoise){
	"laplace": func(m *PaperNoise) { m.scale = m.Sensitivity / m.Epsilon },
	"gaussian": func(m *PaperNoise) {
		m.scale = m.Sensitivity * math.Sqrt(2*math.Log(1.25/m.Delta)) / m.Epsilon
	},
	"truncated-laplace": func(m *PaperNoise) {
		m.scale = m.Sensitivity / m.Epsilon
		m.bound = m.scale * math.Log1p(math.Expm1(m.Epsilon)/(2*m.Delta))
	},
	"truncated-gaussian": func(m *PaperNoise) {
		m.scale = m.Sensitivity / math.Sqrt(m.Epsilon)
		m.bound = m.Sensitivity * paperBound(m.Epsilon, m.Delta)
	},
}

// paperBound solves Theorem 6 for A/Δ: the mass of [A-Δ, A] falls with A.
func paperBound(epsilon, delta float64) float64 {
	root := math.Sqrt(epsilon)
	mass := func(a float64) float64 {
		return (math.Erfc((a-1)*root) - math.Erfc(a*root)) / (2 * math.Erf(a*root))
	}
	low, high := .5, 1.
	for mass(high) > delta {
		high *= 2
	}
	for range 100 {
		if mid := (low + high) / 2; mass(mid) > delta {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

func newPaperNoise(decode func(any) error) (Mechanism, error) {
	m := PaperNoise{}
	if err := decode(&m); err != nil {
		return nil, err
	}
	fit, ok := paperFamilies[m.Family]
	switch {
	case !ok:
		return nil, config.Bad("family", m.Family, config.OneOf(paperFamilies))
	case !positive(m.Epsilon):
		return nil, config.Bad("epsilon", m.Epsilon, "above 0 and finite")
	case !(m.Delta > 0 && m.Delta < .5):
		return nil, config.Bad("delta", m.Delta, "above 0 and below .5")
	case !positive(m.Sensitivity):
		return nil, config.Bad("sensitivity", m.Sensitivity, "above 0 and finite")
	}
	m.bound = math.Inf(1)
	fit(&m)
	return m, nil
}

// Event is non-private whatever the release.
func (m PaperNoise) Event(account.Release) (account.Event, error) {
	return account.NonPrivate(
		"noise fitted to the expectation of a sensitivity, before an output without noise"), nil
}

// Perturb adds the noise.
func (m PaperNoise) Perturb(v *Value, r account.Release, c Charge) {
	exact(v, r)
	at := 0
	for _, p := range r.Parts {
		for i := at; i < at+p.Dim; i++ {
			x := float64(v.Float[i]) + float64(p.Clip*m.draw(c.Noise))
			v.Float[i] = float32(max(-math.MaxFloat32, min(math.MaxFloat32, x)))
		}
		at += p.Dim
	}
}

// draw is the noise of one coordinate, over the clip.
func (m PaperNoise) draw(s *rng.Stream) float64 {
	if m.Family == "laplace" || m.Family == "truncated-laplace" {
		u := s.Float64()
		size := -m.scale * math.Log1p(u*math.Expm1(-m.bound/m.scale)) // of the part below A
		if s.Uint64()&1 == 0 {
			return -size
		}
		return size
	}
	scale := m.scale
	if m.Family == "truncated-gaussian" {
		scale /= math.Sqrt2 // the density is exp(-(z/s)²)
	}
	var z [1]float64
	for {
		s.Normals(z[:])
		if x := scale * z[0]; math.Abs(x) <= m.bound {
			return x
		}
	}
}

// Std is the standard deviation of the noise over the clip, without the truncation.
func (m PaperNoise) Std() float64 {
	switch m.Family {
	case "laplace", "truncated-laplace":
		return m.scale * math.Sqrt2
	case "truncated-gaussian":
		return m.scale / math.Sqrt2
	}
	return m.scale
}

// Provenance is Claimed: the published guarantee is false.
func (PaperNoise) Provenance() Provenance { return Claimed }

// Assumptions names what is wrong with the claim.
func (PaperNoise) Assumptions() []string {
	return []string{
		"none would help: the sensitivity is that of an expectation, and what is put out has no noise"}
}

func (PaperNoise) sealed() {}

// Law returns the scale of the family, as the type's comment has it, and the largest
// magnitude of the noise, both over the clip: what an adversary knows who scores a
// release.
func (m PaperNoise) Law() (scale, bound float64) { return m.scale, m.bound }
