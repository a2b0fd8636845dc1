package algo

import (
	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

var _ agent.Algorithm = (*Boosting)(nil)

// BoostingParams are the parameters of Boosting. No default needs to be tuned to the
// data.
type BoostingParams struct {
	Recursion     // of the rounds of averaging; default chebyshev, plain where no spectrum is known
	Steps     int `toml:"steps"` // T, 1 to 1000; default 9
	// Spread is τ: how far the noise alone may move the output by one value of a feature,
	// in log-odds, or in target bounds for a regression; above 0, default 0.3.
	Spread float64 `toml:"spread"`
	// CountsNoise is the noise of the counts divided by the noise of a step, each
	// relative to its clip; above 0, default 1.
	CountsNoise float64 `toml:"counts_noise"`
	// GradientClip is the clip of gradients, divided by the length of the longest
	// gradient of a typical record; above 0 and at most 1, default 0.5. Without noise
	// only max_grad_norm = 1 lets it clip.
	GradientClip float64 `toml:"gradient_clip"`
	// Swing is how much further a curve of a number may go from end to end than the value
	// of a feature that is 0 or 1; above 0, default 1.5.
	Swing float64 `toml:"swing"`
	// TargetBound is the largest residual of least squares that is not cut, in units of
	// the target; above 0, default 1. Without noise only max_grad_norm = 1 lets it cut.
	TargetBound float64 `toml:"target_bound"`
}

// Boosting fits the shape functions of an additive model all at once, from noisy sums of
// residuals by bin (after Nori, Caruana, Bu, Shen, Kulkarni 2021, who boost one feature
// after the other). An agent asks once for its "row-sum", the counts by bin, and then T
// times for its "gradient-sum" at θ. Each answer is averaged over all agents. The counts
// give the mean row x̄, and gradients are of x - x̄ in place of x, with the constant 1,
// whose norm is that of a spread: of most records it is not much above
//
//	ℓ = sqrt(1 + Σ x̄(1 - x̄)),
//
// far below that of a row. The clip is GradientClip Slope ℓ; an answer is in units of its
// agent's ℓ, and so is an average of whoever takes a step by it. A step is
//
//	θ_f <- θ_f - (c C_f + λ R_f)^-1 ḡ_f,  λ = s sqrt(T)/τ
//
// for each feature f at the same time, and for the constant. C_f is the covariance of its
// bins by the counts, c the loss's largest curvature, s the standard deviation of the
// noise in a value of ḡ, λ at least a hundredth of c times the records, and R_f the
// precision of a random walk over the knots of a curve with variance Swing² from end to
// end; 1 where a feature is 0 or 1. In T steps the noise alone moves a value that no
// record has by τ. Features are taken as independent; later steps mend what that makes.
//
// This departs from the paper in four ways: bins have equal width in public bounds, not
// equal counts; features take their steps together, at one release a step; curves are
// linear between knots, so that a line is one; and no learning rate is to be chosen.
//
// A run has m(T+1)+1 rounds, as Newton does. Exhausted: the agent counts as one without
// records.
type Boosting struct {
	p      BoostingParams
	table  agent.Table
	env    facts
	theta  tensor.Vec
	counts tensor.Vec // averaged; behind them an agent's records and the variance of its noise
	averaging
	curves
}

// facts are what a Boosting keeps of its Env.
type facts struct{ agents, records int }

// NewBoosting decodes BoostingParams and returns their factory.
func NewBoosting(decode func(any) error) (agent.Factory, error) {
	p := BoostingParams{Recursion: Recursion{Acceleration: "chebyshev"}, Steps: 9, Spread: .3,
		CountsNoise: 1, GradientClip: .5, Swing: 1.5, TargetBound: 1}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		a := &Boosting{p: p, table: env.Table, env: facts{env.Agents, env.Records}}
		if k := a.table.Outputs; k < 1 || env.Dim%k != 0 {
			return nil, config.Bad("name", "boosting",
				"another algorithm: the outputs of the model are not linear in its parameters")
		}
		if a.table.Target > 0 { // the loss is a square
			a.table.Slope = 2 * a.table.Target * p.TargetBound
		}
		a.theta = make(tensor.Vec, env.Dim)
		copy(a.theta, env.Init)
		a.counts = make(tensor.Vec, a.rows()+2)
		return a, a.prepare(env, p.Recursion, p.Steps, uint64(p.Steps)+1, max(len(a.counts), env.Dim))
	}, nil
}

func (p *BoostingParams) check() error {
	switch {
	case p.Steps < 1 || p.Steps > 1000:
		return config.Bad("steps", p.Steps, "1 to 1000")
	case !positive(p.Spread):
		return config.Bad("spread", p.Spread, "above 0 and finite")
	case !positive(p.CountsNoise):
		return config.Bad("counts_noise", p.CountsNoise, "above 0 and finite")
	case !(p.GradientClip > 0 && p.GradientClip <= 1):
		return config.Bad("gradient_clip", p.GradientClip, "above 0 and at most 1")
	case !positive(p.Swing):
		return config.Bad("swing", p.Swing, "above 0 and finite")
	case !positive(p.TargetBound):
		return config.Bad("target_bound", p.TargetBound, "above 0 and finite")
	}
	return p.Recursion.check()
}

// rows is the number of features, with the constant as the last one.
func (a *Boosting) rows() int { return len(a.theta) / a.table.Outputs }

// Step implements one round as the type's comment states it.
func (a *Boosting) Step(in *agent.Input, out *agent.Output) error {
	return a.step("boosting", a, a.theta, in, out)
}

// ask asks for the counts, or for the next gradient.
func (a *Boosting) ask(out *agent.Output) {
	if a.asked == 0 {
		out.Ask("row-sum", a.theta)
		out.Query.Clip, out.Query.Values = a.table.Norm, a.rows()
		if a.p.CountsNoise != 1 {
			out.Query.Noise = a.p.CountsNoise
		}
		return
	}
	out.Ask("gradient-sum", a.point)
	copy(a.point, a.theta)
	out.Query.Clip, out.Query.Values = a.p.GradientClip*a.table.Slope, len(a.theta)
}

// begin starts the average of an answer, or of nothing.
func (a *Boosting) begin(answer tensor.Vec) {
	a.answered(answer)
	if answer != nil && a.asked == 1 {
		a.y[a.rows()] = float32(a.env.records)
		a.y[a.rows()+1] = float32(a.table.Noise * a.table.Noise)
	}
}

// take goes on from an average.
func (a *Boosting) take() {
	if a.asked == 1 {
		copy(a.counts, a.y)
		a.shapes()
		return
	}
	a.boost()
}

// Params returns θ.
func (a *Boosting) Params() tensor.Vec { return a.theta }

const boostingTag = "boosting/1"

// AppendState writes the averages, the counts and θ.
func (a *Boosting) AppendState(b []byte) []byte {
	return appendState(b, boostingTag, len(a.theta), a.parts)
}

// LoadState reads AppendState's bytes.
func (a *Boosting) LoadState(b []byte) error {
	err := loadState(b, boostingTag, len(a.theta), a.parts)
	if err == nil && (a.asked > 1 || a.asked == 1 && a.ready) {
		a.shapes()
	}
	return err
}

func (a *Boosting) parts(s *state) {
	s.uint(&a.asked)
	s.bool(&a.over)
	s.uint(&a.averaged)
	s.float(&a.omega)
	s.bool(&a.ready)
	s.vecs(a.theta, a.y, a.previous, a.counts)
}
