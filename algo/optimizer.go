package algo

import (
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/tensor"
)

// Optimizer says how an algorithm turns its answers into steps. It works on public
// answers alone: whatever it does with them costs no privacy. g is the answer, d the
// direction that η_k multiplies.
//
//	sgd       d = g
//	momentum  m <- β m + g, d = m  (Polyak 1964)
//	adam      m <- β1 m + (1-β1) g, v <- β2 v + (1-β2) g²,
//	          d = m/(1-β1^t) / (sqrt(v/(1-β2^t)) + adam_epsilon)
//	          (Kingma, Ba 2015, Algorithm 1)
//	adam-bc   as adam, with
//	          d = m/(1-β1^t) / sqrt(max(v/(1-β2^t) - s², f_t, adam_epsilon²))
//	          (Tang, Shpilevskiy, Lécuyer 2023, "DP-AdamBC: Your DP-Adam Is Actually
//	          DP-SGD (Unless You Apply Bias Correction)", Algorithm 1)
//
// t counts answers. Adam's v holds the variance of the noise beside that of the gradient:
// where noise dominates, its steps become those of momentum with a smaller step size.
// adam-bc takes that variance off, s² of each value of an answer, which is public. What
// is left is at least f_t, the standard deviation that v/(1-β2^t) has where answers are
// noise alone: s² sqrt(2 (1-β2)(1+β2^t)/((1+β2)(1-β2^t))). The paper has a constant
// there, which is tuned. weight_decay is part of g with momentum and acts on the
// parameters directly with sgd, where it is the same, and adam (Loshchilov, Hutter 2019).
//
// With ema, an average of the parameters is kept, e <- ema e + (1-ema) θ after every
// round, from e = θ^0; with tail, e is the mean of θ after each of the last tail R of R
// rounds, rounded up, and θ itself before (Polyak, Juditsky 1992; tail 1 takes all). It
// is what Params returns, to be evaluated and saved; gradients, messages and mixing use
// θ.
type Optimizer struct {
	// "sgd", "momentum", "adam" or "adam-bc"; "" is momentum where momentum is above 0,
	// otherwise sgd
	Optimizer string `toml:"optimizer,omitempty"`
	// adam, adam-fresh, adam-bc; in (0, 1); default 0.9
	Beta1 float64 `toml:"beta1,omitempty"`
	// adam, adam-fresh, adam-bc; in (0, 1); default 0.999
	Beta2 float64 `toml:"beta2,omitempty"`
	// adam, adam-fresh, adam-bc; above 0; default 1e-8
	AdamEpsilon float64 `toml:"adam_epsilon,omitempty"`
	EMA         float64 `toml:"ema,omitempty"`  // in [0, 1); 0: no average
	Tail        float64 `toml:"tail,omitempty"` // in [0, 1], without ema; 0: no average
}

// adaptive reports whether steps are divided by second moments.
func (o *Optimizer) adaptive() bool { return o.Optimizer == "adam" || o.Optimizer == "adam-bc" }

// complete checks o and the momentum beside it and fills in what zero values stand for.
func (o *Optimizer) complete(momentum *float64) error {
	if !(*momentum >= 0 && *momentum < 1) {
		return config.Bad("momentum", *momentum, "at least 0 and below 1")
	}
	if !(o.EMA >= 0 && o.EMA < 1) {
		return config.Bad("ema", o.EMA, "at least 0 and below 1")
	}
	if !(o.Tail >= 0 && o.Tail <= 1) || o.Tail > 0 && o.EMA > 0 {
		return config.Bad("tail", o.Tail, "0 to 1, and 0 with ema: there is one average")
	}
	switch o.Optimizer {
	case "", "sgd", "momentum", "adam", "adam-bc":
	default:
		return config.Bad("optimizer", o.Optimizer, "one of adam, adam-bc, momentum, sgd")
	}
	if *momentum > 0 && o.Optimizer != "" && o.Optimizer != "momentum" {
		return config.Bad("momentum", *momentum, "0 with optimizer "+o.Optimizer)
	}
	if o.Optimizer == "momentum" && *momentum == 0 {
		*momentum = .9
	}
	for _, p := range []struct {
		key       string
		value     *float64
		otherwise float64
		allowed   string
		below     float64
	}{
		{"beta1", &o.Beta1, .9, "at least 0 (0: 0.9) and below 1", 1},
		{"beta2", &o.Beta2, .999, "at least 0 (0: 0.999) and below 1", 1},
		{"adam_epsilon", &o.AdamEpsilon, 1e-8, "at least 0 (0: 1e-8) and finite", math.Inf(1)},
	} {
		switch {
		case !o.adaptive() && *p.value != 0:
			return config.Bad(p.key, *p.value, "no value without optimizer = \"adam\" or \"adam-bc\"")
		case !(*p.value >= 0 && *p.value < p.below):
			return config.Bad(p.key, *p.value, p.allowed)
		case o.adaptive() && *p.value == 0:
			*p.value = p.otherwise
		}
	}
	return nil
}

// updater is the state of an Optimizer at one agent. Vectors that it does not need are
// nil.
type updater struct {
	p      Optimizer
	beta   float64    // momentum
	steps  uint64     // answers so far
	first  tensor.Vec // m
	second tensor.Vec // v
	step   tensor.Vec // adam's d, of a block
	mean   tensor.Vec // e
	rounds uint64     // R
	taken  uint64     // of tail: how many θ are in e
	noise  float64    // s²
}

func newUpdater(p Optimizer, momentum float64, env agent.Env) (updater, error) {
	u := updater{p: p, beta: momentum, rounds: env.Rounds}
	if momentum > 0 || p.adaptive() {
		u.first = make(tensor.Vec, env.Dim)
	}
	if p.adaptive() {
		u.second = make(tensor.Vec, env.Dim)
	}
	if p.Optimizer == "adam-bc" {
		if u.noise = env.Noise * env.Noise; math.IsNaN(u.noise) {
			return u, config.Bad("optimizer", p.Optimizer, "adam, momentum or sgd: the variance of this "+
				"run's noise is not known beforehand, or changes")
		}
	}
	if p.EMA > 0 || p.Tail > 0 {
		u.mean = make(tensor.Vec, env.Dim)
		copy(u.mean, env.Init)
	}
	return u, nil
}

// restart forgets the moments.
func (u *updater) restart() {
	u.steps = 0
	u.first.Zero()
	u.second.Zero()
}

// blockSize is how many coordinates are taken through all of a step at a time: what a
// step reads several times then comes from the cache.
const blockSize = 2048

// apply takes the step of answer g from x, whose gradient was asked at the point at: x
// may be at.
func (u *updater) apply(x tensor.Vec, eta float64, g tensor.Vec, decay float64, at tensor.Vec) {
	u.steps++
	for lo := 0; lo < len(x); lo += blockSize {
		u.block(lo, x, eta, g[lo:min(lo+blockSize, len(x))], decay, at)
	}
}

// block is apply of the coordinates from lo on that g holds; the caller counts the step.
func (u *updater) block(lo int, x tensor.Vec, eta float64, g tensor.Vec, decay float64, at tensor.Vec) {
	hi := lo + len(g)
	x, at = x[lo:hi], at[lo:hi]
	if u.beta > 0 {
		first := u.first[lo:hi]
		first.Scale(u.beta, first)
		first.AddScaled(1, g)
		if decay > 0 {
			first.AddScaled(decay, at)
		}
		x.AddScaled(-eta, first)
		return
	}
	if decay > 0 {
		x.AddScaled(-eta*decay, at)
	}
	if u.second != nil {
		g = u.adam(lo, g)
	}
	x.AddScaled(-eta, g)
}

// adam advances both moments and returns the direction, which is valid until the next
// call. Arithmetic is in float64, moments are stored in float32.
func (u *updater) adam(lo int, g tensor.Vec) tensor.Vec {
	if u.step == nil {
		u.step = make(tensor.Vec, min(blockSize, len(u.first)))
	}
	b1, b2 := u.p.Beta1, u.p.Beta2
	first := 1 / (1 - math.Pow(b1, float64(u.steps)))
	power := math.Pow(b2, float64(u.steps))
	second, epsilon := 1/(1-power), u.p.AdamEpsilon
	bias := u.p.Optimizer == "adam-bc"
	least := max(u.noise*math.Sqrt(2*(1-b2)*(1+power)/((1+b2)*(1-power))), epsilon*epsilon)
	ms, vs, step := u.first[lo:lo+len(g)], u.second[lo:lo+len(g)], u.step[:len(g)]
	for i, x := range g {
		x := float64(x)
		m := float32(float64(b1*float64(ms[i])) + float64((1-b1)*x))
		v := float32(float64(b2*float64(vs[i])) + float64((1-b2)*float64(x*x)))
		ms[i], vs[i] = m, v
		if bias {
			step[i] = float32(float64(m) * first / math.Sqrt(max(float64(v)*second-u.noise, least)))
			continue
		}
		step[i] = float32(float64(m) * first / (math.Sqrt(float64(v)*second) + epsilon))
	}
	return step
}

// average takes θ of a finished round into the mean.
func (u *updater) average(round uint64, theta tensor.Vec) {
	if u.p.Tail > 0 {
		if left := u.rounds - min(u.rounds, round); float64(left) > math.Ceil(u.p.Tail*float64(u.rounds)) {
			copy(u.mean, theta)
			return
		}
		u.taken++
		for i, m := range u.mean {
			u.mean[i] = float32(float64(m) + (float64(theta[i])-float64(m))/float64(u.taken))
		}
		return
	}
	for i := range u.mean {
		u.mean[i] = float32(float64(u.p.EMA*float64(u.mean[i])) + float64((1-u.p.EMA)*float64(theta[i])))
	}
}

// params is the vector to evaluate.
func (u *updater) params(theta tensor.Vec) tensor.Vec {
	if u.mean != nil {
		return u.mean
	}
	return theta
}

// parts lists the number of answers and the vectors that u holds.
func (u *updater) parts(s *state) {
	s.uint(&u.steps)
	s.vecs(u.first, u.second)
	u.averages(s)
}

// averages lists what the mean needs.
func (u *updater) averages(s *state) {
	if u.p.Tail > 0 {
		s.uint(&u.taken)
	}
	s.vecs(u.mean)
}
