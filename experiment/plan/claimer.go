package plan

import "sotto/config"

// Claimer is a publication's own accounting: the noise that it would take, and the
// epsilon that it would claim. No guarantee follows from either; the ledger charges what
// is released.
type Claimer interface {
	Claim(a *Agent, t *Target) (noise, epsilon float64, err error)
	String() string // equal strings claim alike for equal agents
}

// rule is what sets an agent's noise: its budget, or a publication's own accounting.
type rule interface {
	String() string // of equal rules for equal agents equal
	binds() bool    // no more is charged than the budget pays for
	solve(c *calibrator, i int) (outcome, error)
}

func (t *Target) rule() rule {
	if t.Claimer != nil {
		return claimed{t.Claimer}
	}
	return budget{}
}

// claimed sets the noise that a publication would take.
type claimed struct{ Claimer }

func (claimed) binds() bool { return false }

func (k claimed) solve(c *calibrator, i int) (outcome, error) {
	a, t := &c.agents[i], c.target
	if t.Noise > 0 && t.Epsilon > 0 {
		return outcome{}, config.Bad("noise_multiplier", t.Noise, "nothing beside target_epsilon with a "+
			"claimed accounting, which keeps to no budget")
	}
	noise, claim, err := k.Claim(a, t)
	return outcome{noise: noise, claim: claim, admitted: a.Queries()}, err
}
