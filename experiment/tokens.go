package experiment

import (
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/experiment/plan"
	"sotto/privacy"
	"sotto/sim"
	"sotto/tensor"
)

// TokenParams is the [token] section of algorithms whose models walk.
type TokenParams struct {
	// Count is the number of tokens, 1 to 2^20; each of them makes as many steps as
	// rounds says; default 1.
	Count int `toml:"count"`
	// Hops "secret" (default) draws each hop from its holder's own stream, "public" from
	// the run's seed, for all to compute.
	Hops string `toml:"hops"`
	// Accounting "local" (default) states epsilon against an observer of every message.
	// "network" asks for a figure against one agent that sees only the tokens which visit
	// it, where that is proved: with secret hops and a convex model on rows with a public
	// bound.
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
	f := e.File
	a, err := e.Factory(agent.Env{Agents: f.Topology.Agents, Dim: 1, Rounds: f.Steps,
		Turns: agent.Turns{Tokens: f.Token.Count}, Init: tensor.Vec{0}})
	if err != nil {
		return nil, e.File.At("algorithm", err)
	}
	w, ok := a.(visiting)
	if !ok {
		return nil, e.File.Refuse("algorithm.name", e.File.Algorithm.Name, "one whose models walk")
	}
	return w, nil
}

// FreeQueries ask for noise alone: they read no data.
var FreeQueries = map[string]bool{noiseQuery: true}

const noiseQuery = "zero" // the name under which tokens' algorithms ask for it

// tokens is models that walk: all agents are visited alike, as far as is known before.
var tokens = Pace{
	Word:    agent.PacingTokens.String(),
	Walking: true,
	keys: paceKeys{
		section: "token",
		read: func(f *File) error {
			f.Token = TokenParams{Count: 1, Hops: "secret", Accounting: "local"}
			return f.doc.Read("token", &f.Token)
		},
		check: func(f *File) error { return f.Token.validate() },
	},
	length: paceLength{steps: everyRound, each: evenShare, own: allSteps},
	plan: pacePlan{
		facts: nothing,
		rehearse: func(p planner) error {
			n := p.File.Token.Count
			return p.rehearseAlike(plan.Life{Steps: p.File.Steps * uint64(n), Free: FreeQueries},
				agent.Env{Turns: agent.Turns{Tokens: n}})
		},
		claim: planner.claimAlike,
		judge: planner.warn,
	},
	open: func(g *privacy.Gate, oracles map[string]privacy.Oracle) {
		for name := range oracles {
			g.NoiseOnly(noiseQuery, name)
		}
	},
	counter: rounds.counter,
}

// Models is how many models a run has, and what holds one: an agent or a token.
func (f *File) Models() (n int, holder string) {
	if f.Pace.Walking {
		return f.Token.Count, "token"
	}
	return f.Topology.Agents, "agent"
}

func tokensRemark(e *Experiment, _ sim.Stats) string {
	if t := e.File.Token.Count; t > 0 {
		return fmt.Sprintf("%d tokens carry the models: accuracy and loss are of what they hold, epsilon "+
			"is each agent's, against who sees all messages", t)
	}
	return ""
}
