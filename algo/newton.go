package algo

import (
	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

var _ agent.Algorithm = (*Newton)(nil)

// NewtonParams are the parameters of Newton. No default needs to be tuned to the data.
type NewtonParams struct {
	Recursion     // of the rounds of averaging; default chebyshev, plain where no spectrum is known
	Steps     int `toml:"steps"` // T, 1 to 1000; default 8; none where the loss is a square
	// Ridge is λ divided by the spectral norm of the moments' noise; above 0, default
	// 0.5.
	Ridge float64 `toml:"ridge"`
	// MomentsNoise is the noise of the moments divided by the noise of a gradient, each
	// relative to its clip; above 0, default 1.
	MomentsNoise float64 `toml:"moments_noise"`
	// GradientClip is the clip of gradients, divided by the length of the longest
	// possible gradient; above 0 and at most 1, default 0.5, which the gradients of
	// correctly classified records of a logistic regression do not reach. Without noise
	// only max_grad_norm = 1 lets it clip.
	GradientClip float64 `toml:"gradient_clip"`
	// TargetBound is what the targets of least squares are cut to, on either side of 0;
	// above 0, default 1. Without noise only max_grad_norm = 1 lets it cut.
	TargetBound float64 `toml:"target_bound"`
}

// Newton fits a model that is linear in its parameters by one private second-moment
// matrix and few private gradients (after Böhning, Lindsay 1988, whose bound of the
// Hessian is c Σ x xᵀ; the noise and the averages are ours). An agent asks once for its
// "moments", the sum of x xᵀ, and then T times for its "gradient-sum" at θ. Each answer
// is averaged over all agents by m rounds of Recursion, and
//
//	H = max(c M̄, λ I),  λ = Ridge c sqrt(2P s²),  θ <- θ - H^-1 ḡ
//
// M̄ and ḡ are the averages, P the rows of M̄, c the loss's largest curvature, and s² the
// variance of the noise in a value of M̄, which is public and averaged with it: sqrt(2P
// s²) is the spectral norm that such noise has. The maximum is that of eigenvalues, and
// λ at least 1e-5 c tr M̄/P. Of counts the moments weigh each record by max(1, y), which
// stands for the curvature, and c is 1. Where the loss is a square, the moments are those
// of (x, y), and θ = H^-1 b̄ ends the run (after Wang 2018): one release.
//
// A run has m(T+1)+1 rounds; in those beyond, models are averaged. m is what the rounds
// allow, and a run is refused whose m leaves agents apart. Messages are the averages, to
// all neighbors, all of one length: P(P+1)/2+2 values, or those of the model and one. The
// last one is the number of the average: messages of another are not mixed. Exhausted:
// the agent counts as one without records.
type Newton struct {
	p      NewtonParams
	table  agent.Table
	agents int
	theta  tensor.Vec
	averaging
	solver
}

// NewNewton decodes NewtonParams and returns their factory.
func NewNewton(decode func(any) error) (agent.Factory, error) {
	p := NewtonParams{Recursion: Recursion{Acceleration: "chebyshev"}, Steps: 8, Ridge: .5, MomentsNoise: 1,
		GradientClip: .5, TargetBound: 1}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	return func(env agent.Env) (agent.Algorithm, error) {
		a := &Newton{p: p, table: env.Table, agents: env.Agents}
		if k := a.table.Outputs; k < 1 || env.Dim%k != 0 {
			return nil, config.Bad("name", "newton",
				"another algorithm: the outputs of the model are not linear in its parameters")
		}
		a.table.Target *= p.TargetBound
		a.theta = make(tensor.Vec, env.Dim)
		copy(a.theta, env.Init)
		a.moments = make(tensor.Vec, a.numbers()+1)
		return a, a.prepare(env, p.Recursion, p.Steps, a.answers(), max(len(a.moments), env.Dim))
	}, nil
}

func (p *NewtonParams) check() error {
	switch {
	case p.Steps < 1 || p.Steps > 1000:
		return config.Bad("steps", p.Steps, "1 to 1000")
	case !positive(p.Ridge):
		return config.Bad("ridge", p.Ridge, "above 0 and finite")
	case !positive(p.MomentsNoise):
		return config.Bad("moments_noise", p.MomentsNoise, "above 0 and finite")
	case !(p.GradientClip > 0 && p.GradientClip <= 1):
		return config.Bad("gradient_clip", p.GradientClip, "above 0 and at most 1")
	case !positive(p.TargetBound):
		return config.Bad("target_bound", p.TargetBound, "above 0 and finite")
	}
	return p.Recursion.check()
}

// square reports whether one release solves all.
func (a *Newton) square() bool { return a.table.Target > 0 }

// answers is their number in a run.
func (a *Newton) answers() uint64 {
	if a.square() {
		return 1
	}
	return uint64(a.p.Steps) + 1
}

// rows is P, and order that of the matrix of moments.
func (a *Newton) rows() int { return len(a.theta) / a.table.Outputs }

func (a *Newton) order() int {
	if a.square() {
		return a.rows() + 1
	}
	return a.rows()
}

// numbers is how many moments there are.
func (a *Newton) numbers() int { return a.order() * (a.order() + 1) / 2 }

// Step implements one round as the type's comment states it.
func (a *Newton) Step(in *agent.Input, out *agent.Output) error {
	return a.step("newton", a, a.theta, in, out)
}

// ask asks for the moments, or for the next gradient.
func (a *Newton) ask(out *agent.Output) {
	t := &a.table
	if a.asked > 0 {
		out.Ask("gradient-sum", a.theta)
		out.Query.Clip = a.p.GradientClip * t.Slope * t.Norm
		out.Query.Values = len(a.theta)
		return
	}
	out.Ask("moments", a.theta)
	out.Query.Clip, out.Query.Values = a.momentsClip(), a.numbers()
	out.Query.Operator.Bound = t.Target
	if a.p.MomentsNoise != 1 {
		out.Query.Noise = a.p.MomentsNoise
	}
}

// momentsClip is the longest that a row of moments can be.
func (a *Newton) momentsClip() float64 {
	t := &a.table
	return max(1, t.Weight)*t.Norm*t.Norm + t.Target*t.Target
}

// begin starts the average of an answer, or of nothing.
func (a *Newton) begin(answer tensor.Vec) {
	a.answered(answer)
	if answer != nil && a.asked == 1 {
		s := a.table.Noise * a.p.MomentsNoise * a.momentsClip()
		a.y[a.numbers()] = float32(s * s)
	}
}

// take goes on from an average.
func (a *Newton) take() {
	if a.asked == 1 {
		copy(a.moments, a.y)
		a.invert()
	}
	if a.asked > 1 || a.square() {
		a.newtonStep()
	}
}

// Params returns θ.
func (a *Newton) Params() tensor.Vec { return a.theta }

const newtonTag = "newton/1"

// AppendState writes the averages, the moments and θ.
func (a *Newton) AppendState(b []byte) []byte {
	return appendState(b, newtonTag, len(a.theta), a.parts)
}

// LoadState reads AppendState's bytes.
func (a *Newton) LoadState(b []byte) error {
	err := loadState(b, newtonTag, len(a.theta), a.parts)
	if err == nil && a.ready {
		a.invert()
	}
	return err
}

func (a *Newton) parts(s *state) {
	s.uint(&a.asked)
	s.bool(&a.over)
	s.uint(&a.averaged)
	s.float(&a.omega)
	s.bool(&a.ready)
	s.vecs(a.theta, a.y, a.previous, a.moments)
}
