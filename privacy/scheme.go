package privacy

import (
	"fmt"
	"maps"
	"slices"

	"sotto/agent"
	"sotto/config"
)

// Scheme says how the agents of a run make their noise. One value prices the plan of
// every agent and makes the mechanism that answers, so that what is planned is what is
// charged. The schemes are those of this package.
type Scheme interface {
	// At is the mechanism of an agent whose noise counts as noiseMultiplier: plans are
	// priced by its event.
	At(noiseMultiplier float64) (Mechanism, error)
	// Mechanism is the one that answers for agent self, whose noise counts as
	// noiseMultiplier. secret gives what the agent shares with another and with nobody
	// else; schemes of independent noise do not call it.
	Mechanism(self agent.ID, noiseMultiplier float64, secret func(peer agent.ID) []byte) (Mechanism, error)
	// Counts is by what factor, at least 1, agent self's noise counts more than its own
	// part of it.
	Counts(self agent.ID) float64
	// Neighbors are the agents that self shares noise with, ascending. All agents of a
	// scheme with shared noise have own parts of one size.
	Neighbors(self agent.ID) []agent.ID
	// Shared reports whether noise is shared among agents.
	Shared() bool
	// String tells schemes apart: equal strings give equal events, and but for Pairwise,
	// which [Planned] compares, equal noise.
	String() string

	scheme()
}

// Independent is noise of every agent's own.
type Independent struct {
	Name string // of a mechanism whose main parameter is a noise scale over the clip
	// PartNoise is the noise of parts that have their own, over their clips; nil without.
	// With it the mechanism is gaussian: Name and Norm are not read.
	PartNoise map[string]float64
	// Stated is the clip that noise multipliers are stated over, where it is not that of
	// the release, Bound; 0: it is.
	Stated, Bound float64
	// Norm > 0 is the parameter of the same name of proportional noise; else none.
	Norm float64
}

// At implements Scheme.
func (s Independent) At(z float64) (Mechanism, error) {
	if s.Stated > 0 {
		z = z * s.Stated / s.Bound
	}
	switch {
	case s.PartNoise != nil:
		return New("gaussian", func(params any) error {
			m := params.(*Gaussian)
			m.NoiseMultiplier, m.PartNoise = z, s.PartNoise
			return nil
		})
	case s.Norm > 0:
		return New(s.Name, func(params any) error {
			m, ok := params.(*DataDependent)
			if !ok {
				return config.Bad("norm", s.Norm, "0 with mechanism "+s.Name)
			}
			m.NoiseMultiplier, m.Norm = z, s.Norm
			return nil
		})
	}
	return New(s.Name, func(p any) error {
		if p, ok := p.(scaled); ok {
			p.setScale(z)
		}
		return nil
	})
}

// Mechanism implements Scheme.
func (s Independent) Mechanism(_ agent.ID, z float64, _ func(agent.ID) []byte) (Mechanism, error) {
	return s.At(z)
}

// Counts implements Scheme.
func (Independent) Counts(agent.ID) float64 { return 1 }

// Neighbors implements Scheme.
func (Independent) Neighbors(agent.ID) []agent.ID { return nil }

// Shared implements Scheme.
func (Independent) Shared() bool { return false }

func (s Independent) String() string {
	parts := ""
	for _, k := range slices.Sorted(maps.Keys(s.PartNoise)) {
		parts += fmt.Sprintf(" %s=%v", k, s.PartNoise[k])
	}
	return fmt.Sprintf("%s clip=%v/%v norm=%v%s", s.Name, s.Stated, s.Bound, s.Norm, parts)
}

func (Independent) scheme() {}

// Fixed is one mechanism, whatever the noise multiplier: for answers that carry no noise
// of their own, or noise that was fixed before the run was planned.
type Fixed struct {
	Answers Mechanism // not nil
}

// At implements Scheme.
func (s Fixed) At(float64) (Mechanism, error) { return s.Answers, nil }

// Mechanism implements Scheme.
func (s Fixed) Mechanism(agent.ID, float64, func(agent.ID) []byte) (Mechanism, error) {
	return s.Answers, nil
}

// Counts implements Scheme.
func (Fixed) Counts(agent.ID) float64 { return 1 }

// Neighbors implements Scheme.
func (Fixed) Neighbors(agent.ID) []agent.ID { return nil }

// Shared implements Scheme.
func (Fixed) Shared() bool { return false }

func (s Fixed) String() string { return fmt.Sprintf("fixed %T %+v", s.Answers, s.Answers) }

func (Fixed) scheme() {}

// Pairwise is noise of which agents share a part with each neighbor: mechanism decor.
type Pairwise struct {
	With    [][]agent.ID // neighbors by agent, ascending
	Factors []float64    // by agent: see Counts; computed by account/network
	Ratio   float64      // noise of each link over the agent's own, > 0
	Curious string       // whom the factors allow for, in words
}

// At implements Scheme: normal noise as it counts.
func (s *Pairwise) At(z float64) (Mechanism, error) { return NewMechanism("gaussian", z) }

// Mechanism implements Scheme.
func (s *Pairwise) Mechanism(self agent.ID, z float64, secret func(agent.ID) []byte) (Mechanism, error) {
	own := z / s.Counts(self)
	return NewDecor(Decor{
		NoiseMultiplier: own,
		Pair:            s.Ratio * own,
		Effective:       max(own, z),
		Curious:         s.Curious,
		Self:            self,
		Neighbors:       s.With[self],
		Secret:          secret,
	})
}

// Counts implements Scheme.
func (s *Pairwise) Counts(self agent.ID) float64 { return s.Factors[self] }

// Neighbors implements Scheme.
func (s *Pairwise) Neighbors(self agent.ID) []agent.ID { return s.With[self] }

// Shared implements Scheme.
func (*Pairwise) Shared() bool { return true }

func (s *Pairwise) String() string { return "pairwise" }

func (*Pairwise) scheme() {}

// Planned is a scheme as it was when plans were priced by it.
type Planned struct {
	text string
	pair *Pairwise // a copy; nil: another scheme
}

// PlannedBy notes a scheme, which may be changed afterwards.
func PlannedBy(s Scheme) Planned {
	p := Planned{text: s.String()}
	if s, ok := s.(*Pairwise); ok {
		p.pair = &Pairwise{slices.Clone(s.With), slices.Clone(s.Factors), s.Ratio, s.Curious}
		for i, with := range s.With {
			p.pair.With[i] = slices.Clone(with)
		}
	}
	return p
}

// Is reports whether s makes the noise of agent self as the plan has it.
func (p *Planned) Is(s Scheme, self agent.ID) bool {
	if s == nil {
		return false
	}
	now, pairs := s.(*Pairwise)
	if !pairs || p.pair == nil {
		return !pairs && p.pair == nil && s.String() == p.text
	}
	was, i := p.pair, int(self)
	return now != nil && len(now.Factors) == len(was.Factors) && len(now.With) == len(was.With) &&
		i < len(was.Factors) && i < len(was.With) && now.Factors[i] == was.Factors[i] &&
		slices.Equal(now.With[i], was.With[i]) && now.Ratio == was.Ratio && now.Curious == was.Curious
}

func (p *Planned) String() string { return p.text }
