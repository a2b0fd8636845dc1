package algo

import (
	"fmt"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

var _ agent.Algorithm = (*SGD)(nil)

// SGDParams are the parameters of the single-site baselines.
type SGDParams struct {
	StepSize
	Optimizer
	Momentum    float64 `toml:"momentum"`     // β in [0, 1); default .9 with optimizer momentum
	WeightDecay float64 `toml:"weight_decay"` // public L2 factor, >= 0
}

// SGD is the DP-SGD of one site that sends nothing: Abadi et al. 2016 with Poisson
// batches and momentum,
//
//	v <- β v + G̃(θ) + wd θ,  θ <- θ - η_k v,
//
// or another Optimizer.
//
// As "central" one agent holds all data: a trusted curator, the upper reference, not
// decentralized. As "local" every agent trains on its own data alone, the lower
// reference. Every round asks one "grad" query. With β = 0 and one agent it equals
// DP-DSGD with W = [1] bit for bit. Exhausted: the model and v stay as they are.
type SGD struct {
	p      SGDParams
	name   string
	rounds uint64

	theta  tensor.Vec
	update updater
}

// NewCentral decodes SGDParams for the central baseline; it refuses more than one agent.
func NewCentral(decode func(any) error) (agent.Factory, error) { return newSGD("central", decode) }

// NewLocal decodes SGDParams for the local-only baseline.
func NewLocal(decode func(any) error) (agent.Factory, error) { return newSGD("local", decode) }

func newSGD(name string, decode func(any) error) (agent.Factory, error) {
	p := SGDParams{StepSize: StepSize{StepSize: .1, Schedule: "const"}}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	if err := p.complete(&p.Momentum); err != nil {
		return nil, err
	}
	if !notNegative(p.WeightDecay) {
		return nil, config.Bad("weight_decay", p.WeightDecay, "at least 0 and finite")
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		if name == "central" && env.Agents != 1 {
			return nil, fmt.Errorf("the central baseline holds all data at one agent: %w",
				config.Bad("agents", env.Agents, "1 with algorithm central"))
		}
		a := &SGD{
			p:      p,
			name:   name,
			rounds: env.Rounds,
			theta:  make(tensor.Vec, env.Dim),
		}
		copy(a.theta, env.Init)
		var err error
		a.update, err = newUpdater(p.Optimizer, p.Momentum, env)
		return a, err
	}, nil
}

// Step asks for a gradient each round and takes the step on its answer.
func (a *SGD) Step(in *agent.Input, out *agent.Output) error {
	switch in.Kind {
	case agent.Round:
		out.Ask("grad", a.theta)
	case agent.Answer:
		eta := a.p.At(in.Round, a.rounds)
		a.update.apply(a.theta, eta, in.Answer, a.p.WeightDecay, a.theta)
		a.update.average(in.Round, a.theta)
	case agent.Exhausted:
		a.update.average(in.Round, a.theta)
	case agent.Start, agent.Stop:
	default:
		return fmt.Errorf("%s: %w: %v", a.name, agent.ErrKind, in.Kind)
	}
	return nil
}

// Params returns θ, or its average with ema or tail.
func (a *SGD) Params() tensor.Vec { return a.update.params(a.theta) }

// AppendState writes θ and the optimizer's state.
func (a *SGD) AppendState(b []byte) []byte { return appendState(b, a.name+"/2", len(a.theta), a.parts) }

// LoadState reads AppendState's bytes.
func (a *SGD) LoadState(b []byte) error { return loadState(b, a.name+"/2", len(a.theta), a.parts) }

func (a *SGD) parts(s *state) {
	s.vecs(a.theta)
	a.update.parts(s)
}
