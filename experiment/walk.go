package experiment

import (
	"sotto/config"
)

// TokenParams is the [token] section of algorithms whose models walk.
type TokenParams struct {
	Count int `toml:"count"` // tokens, each of which makes rounds steps; default 1
	// Hops "secret" (default) draws each hop from its holder's own stream, "public" from
	// the run's seed, for all to compute.
	Hops string `toml:"hops"`
	// Accounting "local" (default) is epsilon against who sees every message. "network"
	// asks for a figure against one agent that sees only the tokens which visit it; see
	// Amplified for what it needs.
	Accounting string `toml:"accounting"`
}

func (p *TokenParams) validate() error {
	switch {
	case p.Count < 1 || p.Count > 1<<20:
		return config.Bad("count", p.Count, "1 to 1048576")
	case p.Hops != "secret" && p.Hops != "public":
		return config.Bad("hops", p.Hops, "one of public, secret")
	case p.Accounting != "local" && p.Accounting != "network":
		return config.Bad("accounting", p.Accounting, "one of local, network")
	}
	return nil
}

// visiting is implemented by algorithms whose models walk, for the network accountant.
type visiting interface {
	Blurs() bool          // every visit adds noise
	LargestStep() float64 // of the run
	SmallestStep() float64
}

// Walking is the algorithm of one agent, in dimension 1.
func (e *Experiment) Walking() (visiting, error) {
	a, err := e.oneDimensional()
	if err != nil {
		return nil, e.File.At("algorithm", err)
	}
	w, ok := a.(visiting)
	if !ok {
		return nil, e.File.Refuse("algorithm.name", e.File.Algorithm.Name, "one whose models walk")
	}
	return w, nil
}
