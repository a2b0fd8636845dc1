package privacy

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"

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
//	truncated-generalized  density C exp(-(|z|/s)^b) on [-A, A] (Eq. 3),
//	                    s = Δ ε^(-1/b), A from the mass δ of [A-Δ, A],
//	                    1/C = 2s/b γ(1/b, (A/s)^b), γ the lower incomplete gamma
//	                    function
//
// Eq. 3 comes without s and A. Those of truncated-generalized are the one rule of which
// Definition 6 is the case b = 1 and Theorem 6 the case b = 2. For one value and b <= 1
// it keeps (ε, δ), since the loss is at most (Δ/s)^b = ε; for b above 1 it does not
// (C29).
type PaperNoise struct {
	Family      string  `toml:"family"`          // one of the above
	Shape       float64 `toml:"shape,omitempty"` // b of truncated-generalized, .25 to 16; 0 for others
	Epsilon     float64 `toml:"epsilon"`         // ε, > 0 and finite
	Delta       float64 `toml:"delta"`           // δ, above 0 and below .5, of every family
	Sensitivity float64 `toml:"sensitivity"`     // Δ over the clip, > 0 and finite
	scale       float64 // of the family, over the clip
	bound       float64 // A over the clip; +Inf: none
	inside      float64 // generalized: the mass of [-A, A] before truncation
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
	generalized: func(m *PaperNoise) {
		m.scale = m.Sensitivity * math.Pow(m.Epsilon, -1/m.Shape)
		m.bound = m.Sensitivity * generalizedBound(m.Epsilon, m.Delta, m.Shape)
		m.inside = mathext.GammaIncReg(1/m.Shape, math.Pow(m.bound/m.scale, m.Shape))
	},
}

const generalized = "truncated-generalized"

// paperBound solves Theorem 6 for A/Δ: the mass of [A-Δ, A] falls with A.
func paperBound(epsilon, delta float64) float64 {
	root := math.Sqrt(epsilon)
	return boundOf(delta, func(a float64) float64 {
		return (math.Erfc((a-1)*root) - math.Erfc(a*root)) / (2 * math.Erf(a*root))
	})
}

// generalizedBound is that of density exp(-ε|z|^b).
func generalizedBound(epsilon, delta, b float64) float64 {
	beyond := func(x float64) float64 { return mathext.GammaIncRegComp(1/b, epsilon*math.Pow(x, b)) }
	const room = 1 - 1e-9 // for rounding: the strip holds no more than δ
	return boundOf(room*delta, func(a float64) float64 {
		strip := beyond(math.Abs(a-1)) - beyond(a)
		if a < 1 {
			strip = 2 - beyond(1-a) - beyond(a)
		}
		return strip / (2 * (1 - beyond(a)))
	})
}

// boundOf is the A at which mass, which falls, is delta.
func boundOf(delta float64, mass func(a float64) float64) float64 {
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
	case m.Family == generalized && !(m.Shape >= .25 && m.Shape <= 16):
		return nil, config.Bad("shape", m.Shape, "0.25 to 16 with "+generalized)
	case m.Family != generalized && m.Shape != 0:
		return nil, config.Bad("shape", m.Shape, "0 with family "+m.Family)
	case !(m.Delta > 0 && m.Delta < .5):
		return nil, config.Bad("delta", m.Delta, "above 0 and below .5")
	case !positive(m.Sensitivity):
		return nil, config.Bad("sensitivity", m.Sensitivity, "above 0 and finite")
	}
	m.bound = math.Inf(1)
	if fit(&m); !positive(m.scale) || !(m.bound > 0) {
		return nil, config.Bad("sensitivity", m.Sensitivity, fmt.Sprintf(
			"one that gives noise of finite scale and bound: with epsilon %v they are %v and %v", m.Epsilon,
			m.scale, m.bound))
	}
	return m, nil
}

// Event is non-private whatever the release.
func (m PaperNoise) Event(account.Release) (account.Event, error) {
	return account.NonPrivate(
		"noise fitted to the expectation of a sensitivity, before an output without noise"), nil
}

// Perturb adds the noise.
func (m PaperNoise) Perturb(v *Value, r account.Release, c Charge) {
	v.Exact(r)
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
	if m.Family == generalized { // (|z|/s)^b follows a gamma law of shape 1/b
		size := m.scale * math.Pow(mathext.GammaIncRegInv(1/m.Shape, s.Float64()*m.inside), 1/m.Shape)
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
	case generalized:
		return m.scale * math.Sqrt(math.Gamma(3/m.Shape)/math.Gamma(1/m.Shape))
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
