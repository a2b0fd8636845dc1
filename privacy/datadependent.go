package privacy

import (
	"math"

	"sotto/config"
	"sotto/privacy/account"
)

var _ Mechanism = DataDependent{}

// DataDependent adds normal noise of standard deviation NoiseMultiplier times the L2 norm
// of the private value to every coordinate, as AdaD2P of "Sensitivity-Aware
// Differentially Private Decentralized Learning with Adaptive Noise" does with gradients
// that are not clipped. It is for replication: the noise tells the norm, and a value of 0
// leaves as it is, so that there is no guarantee at any epsilon.
type DataDependent struct {
	// noise standard deviation over the norm of the value, > 0 and finite
	NoiseMultiplier float64 `toml:"noise_multiplier"`
	// Norm > 0 takes the place of that norm, as G does in ConstD2P: the largest gradient
	// norm seen in earlier runs on the same data, to which nothing is clipped. There is
	// no guarantee either.
	Norm float64 `toml:"norm,omitempty"`
}

func (m *DataDependent) setScale(z float64) { m.NoiseMultiplier = z }

func newDataDependent(decode func(params any) error) (Mechanism, error) {
	var m DataDependent
	if err := decode(&m); err != nil {
		return nil, err
	}
	if m.Norm != 0 && !positive(m.Norm) {
		return nil, config.Bad("norm", m.Norm, "0, for that of the value, or above 0 and finite")
	}
	return m, checkMultipliers(m.NoiseMultiplier, nil)
}

// Event is non-private whatever the release.
func (m DataDependent) Event(account.Release) (account.Event, error) {
	if m.Norm > 0 {
		return account.NonPrivate("noise in proportion to a gradient norm that was measured, not enforced"),
			nil
	}
	return account.NonPrivate("noise in proportion to the norm of the private gradient"), nil
}

// Perturb adds the noise.
func (m DataDependent) Perturb(v *Value, r account.Release, c Charge) {
	v.Exact(r)
	s := m.NoiseMultiplier * m.Norm
	if m.Norm == 0 {
		s = m.NoiseMultiplier * v.Float.Norm()
	}
	var normals [512]float64
	for lo := 0; lo < len(v.Float); lo += len(normals) {
		n := normals[:min(len(normals), len(v.Float)-lo)]
		c.Noise.Normals(n)
		for i, z := range n {
			x := float64(v.Float[lo+i]) + float64(s*z)
			if x > math.MaxFloat32 { // min and max make the loop 1.7 times as long
				x = math.MaxFloat32
			} else if x < -math.MaxFloat32 {
				x = -math.MaxFloat32
			}
			v.Float[lo+i] = float32(x)
		}
	}
	clear(normals[:])
}

// Provenance is Claimed: the published guarantee is false.
func (DataDependent) Provenance() Provenance { return Claimed }

// Assumptions names what is wrong with the claim.
func (DataDependent) Assumptions() []string {
	return []string{"none would help: what the noise follows is no bound of one record's contribution"}
}

func (DataDependent) sealed() {}
