package privacy

import (
	"maps"
	"slices"
)

// frozen is m with values, maps and lists of its own: noise that changed behind a gate
// would not be what its events say.
func frozen(m Mechanism) Mechanism {
	switch g := m.(type) {
	case Gaussian:
		g.PartNoise = maps.Clone(g.PartNoise)
		return g
	case DiscreteGaussian:
		g.PartNoise = maps.Clone(g.PartNoise)
		return g
	case Decor:
		g.Neighbors = slices.Clone(g.Neighbors)
		return g
	case *Gaussian:
		return frozenAt(g)
	case *DiscreteGaussian:
		return frozenAt(g)
	case *Laplace:
		return frozenAt(g)
	case *KNorm:
		return frozenAt(g)
	case *Truncated:
		return frozenAt(g)
	case *RandomizedResponse:
		return frozenAt(g)
	case *Decor:
		return frozenAt(g)
	case *DataDependent:
		return frozenAt(g)
	case *PaperNoise:
		return frozenAt(g)
	}
	return m
}

// frozenAt is what p points to, frozen.
func frozenAt[M Mechanism](p *M) Mechanism {
	if p == nil {
		return nil
	}
	return frozen(*p)
}
