package oracle

import (
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
)

var _ privacy.Oracle = (*KM)(nil)

// KMName is the oracle "km".
const KMName = "km"

// KM is the oracle "km": the residual T(x) - x of an operator T of the owner's mean loss,
// scaled to norm at most Residual, at the query's point x. Full batches at SampleRate 1,
// Poisson batches below.
//
// One record moves T(x) by at most γG/L when it is added, removed or nulled, and by twice
// that when it changes, G the largest norm of a record's gradient and L the public
// normaliser: the forward step by its formula, the soft threshold because it is
// nonexpansive, and prox_{γf} because its objective is 1/γ-strongly convex. Forward
// operators scale every record's gradient to G; the others need a loss with a bounded
// slope, and have features scaled so that G holds. Then a release is the residual times
// L/γ, with the clip G and the scale γ/L. Where nothing bounds G, for the proximal
// operators on Poisson batches, and where it says less, the residual's own bound B does:
// T(x) lies within B of x, so that a record moves it by 2B, whatever it is.
type KM struct {
	GLM               model.GLM
	Records           Records
	Operator          string  // a key of Operators
	Gamma             float64 // γ > 0, finite
	L1                float64 // λ >= 0, finite; 0 without a regulariser
	Residual          float64 // B > 0; +Inf: none, for runs that are not private
	ClipNorm          float64 // G > 0; +Inf: none, where B bounds all there is
	SampleRate        float64 // q in (0, 1]
	ExpectedBatchSize float64 // L > 0
	Adjacency         account.Adjacency
	Unit              account.Unit
	Dim               int

	bounded   bool // features are scaled under forward operators too, as km-stateful needs
	anywhere  bool // no point is too far, where nothing is guaranteed
	described described
	whole     *meanLoss // of all records, gathered at the first answer
}

// described is the release of fields that Validate has seen.
type described struct {
	account.Release
	of kmFields
}

// kmFields are those that the release of a KM follows from, apart from the loss.
type kmFields struct {
	operator  string
	numbers   [6]float64
	adjacency account.Adjacency
	unit      account.Unit
}

func (k *KM) fields() kmFields {
	return kmFields{k.Operator, [...]float64{k.Gamma, k.L1, k.Residual, k.ClipNorm, k.SampleRate,
		k.ExpectedBatchSize}, k.Adjacency, k.Unit}
}

// farthest is the largest norm of a query's point, in units of B: what the
// double-precision residual loses there is far below the rounding to single precision
// that the sensitivity has room for.
const farthest = 1 << 16

// Validate names the first field that cannot be used. It looks at the number of records,
// not at them.
func (k *KM) Validate() error {
	if err := checkRate(k.SampleRate); err != nil {
		return err
	}
	for _, p := range []struct {
		key   string
		value float64
	}{{"batch_size", k.ExpectedBatchSize}, {"gamma", k.Gamma}} {
		if err := checkPositive(p.key, p.value); err != nil {
			return err
		}
	}
	switch {
	case Operators[k.Operator] == nil:
		return config.Bad("operator", k.Operator, config.OneOf(Operators))
	case !(k.L1 >= 0) || math.IsInf(k.L1, 1):
		return config.Bad("l1", k.L1, "at least 0 and finite")
	case k.L1 > 0 && (k.Operator == Forward || k.Operator == Backward):
		return config.Bad("l1", k.L1, "0 with operator "+k.Operator+", which has no regulariser")
	case !(k.Residual > 0):
		return config.Bad("residual_clip", k.Residual, "above 0")
	case !(k.ClipNorm > 0):
		return config.Bad("max_grad_norm", k.ClipNorm, "above 0")
	case (!k.forward() || k.bounded) && !math.IsInf(k.radius(), 1) && !(k.radius() > 0):
		return config.Bad("max_grad_norm", k.ClipNorm,
			"above the slope of the loss: with an intercept no record has a smaller bound")
	case k.Unit != account.Record():
		return config.Bad("unit", k.Unit, "record: the sensitivity of an operator is that of one record")
	}
	k.described = described{k.release(), k.fields()}
	if !k.forward() && k.proven() {
		return countedWith(&k.Records, k.ExpectedBatchSize)
	}
	return nil
}

func (k *KM) forward() bool { return k.Operator == Forward || k.Operator == ForwardBackward }

// radius is the norm of features, without the intercept's 1, that bounds a record's
// gradient by G whatever the model; +Inf where gradients are clipped instead, or nothing
// bounds them.
func (k *KM) radius() float64 {
	if k.forward() && !k.bounded || math.IsInf(k.GLM.Slope, 1) || math.IsInf(k.ClipNorm, 1) {
		return math.Inf(1)
	}
	r := k.ClipNorm / k.GLM.Slope
	if !k.GLM.Intercept {
		return r
	}
	return math.Sqrt(max(0, (r-1)*(r+1)))
}

// proven says that γG/L bounds what one record does.
func (k *KM) proven() bool {
	if math.IsInf(k.ClipNorm, 1) {
		return false
	}
	return k.forward() && !k.bounded || k.SampleRate == 1 && !math.IsInf(k.GLM.Slope, 1)
}

// release chooses the smaller of the two bounds. The shift has room for the rounding of
// the answer to single precision and for the tolerance of a proximal operator, both for
// the next power of two of L, so that owners of about the same size have one sensitivity.
func (k *KM) release() account.Release {
	sampler := account.Sampler{Kind: account.FullBatch}
	whole := shift(k.Adjacency) // of the residual bound, in units of 2B
	if k.SampleRate < 1 {
		sampler = account.Sampler{Kind: account.Poisson, SampleRate: k.SampleRate}
	} else {
		whole = 1
	}
	const rounding = 0x1p-23 * (1 + 1e-3)
	p := account.Part{
		Name:  "residual",
		Clip:  k.Residual,
		Shift: 2*whole + rounding*whole,
		Norm:  account.L2,
		Dim:   k.Dim,
	}
	scale := 1.
	if size := math.Exp2(math.Ceil(math.Log2(k.ExpectedBatchSize))); k.proven() {
		s := shift(k.Adjacency)
		slack := rounding * k.Residual * size / (k.Gamma * k.ClipNorm)
		if !k.forward() {
			slack += 2 * Tolerance * size
		}
		if (s+slack*s)*k.Gamma*k.ClipNorm/k.ExpectedBatchSize <= p.Shift*k.Residual {
			p.Clip, p.Shift, scale = k.ClipNorm, s+slack*s, k.Gamma/k.ExpectedBatchSize
		}
	}
	return account.Release{
		Oracle:    KMName,
		Adjacency: k.Adjacency,
		Unit:      k.Unit,
		Sampler:   sampler,
		Parts:     []account.Part{p},
		Scale:     scale,
	}
}

// Describe states the release. Far from zero the residual is lost in rounding; a point
// there is refused where B is finite.
func (k *KM) Describe(q *agent.Query) (account.Release, error) {
	if err := checkPoint(q, k.Dim); err != nil {
		return account.Release{}, err
	}
	switch {
	case k.described.of != k.fields():
		return account.Release{}, errUnseen
	case q.Clip != 0:
		return account.Release{}, config.Bad("clip", q.Clip, "0: oracle km has the clips of its run")
	case !k.anywhere && !(q.At.Norm() <= farthest*k.Residual):
		return account.Release{}, config.Bad("point", q.At.Norm(),
			"at most 65536 times residual_clip long: the iteration diverges")
	case !k.anywhere && k.roundOff(q.At.Norm()) > k.tolerance()/2:
		return account.Release{}, config.Bad("point", q.At.Norm(), "shorter, or a smaller gamma: double "+
			"precision does not resolve the gradient to the tolerance that the sensitivity counts with")
	}
	return k.described.Release, nil
}

// Evaluate computes the residual in double precision.
func (k *KM) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	f := k.whole
	if f == nil || k.SampleRate < 1 {
		f = k.mean(sample)
	}
	if k.SampleRate == 1 {
		k.whole = f
	} else {
		defer f.erase()
	}
	r := k.residual(f, widen(q.At))
	for i, x := range r {
		dst.Float[i] = narrowed(x / k.described.Scale)
	}
	clear(r)
}

// mean gathers the batch.
func (k *KM) mean(sample *rng.Stream) *meanLoss {
	drawn := k.Records
	if k.SampleRate < 1 {
		drawn.Index = poisson(nil, k.Records.Index, k.SampleRate, sample)
	}
	f := &meanLoss{glm: k.GLM, normaliser: k.ExpectedBatchSize, clip: math.Inf(1)}
	if k.forward() {
		f.clip = k.ClipNorm
	}
	f.x, f.y = gatherRows(&drawn, k.GLM.Intercept, k.radius())
	return f
}

// tolerance is that of a proximal operator.
func (k *KM) tolerance() float64 {
	if math.IsInf(k.ClipNorm, 1) {
		return Tolerance
	}
	return Tolerance * k.ClipNorm
}

// roundOff bounds the error of a gradient that a proximal operator computes at a point of
// norm at; 0 where nothing bounds gradients, so that the sensitivity does not rest on it.
func (k *KM) roundOff(at float64) float64 {
	if k.forward() || math.IsInf(k.ClipNorm, 1) || math.IsInf(k.GLM.Slope, 1) {
		return 0
	}
	x := k.ClipNorm / k.GLM.Slope
	return gradientError(k.GLM, k.ExpectedBatchSize, 1/(2*k.Gamma), x, 2*k.Gamma*k.ClipNorm, at, k.Dim)
}

// residual is T(x) - x, scaled to norm at most B. What is not finite, which only losses
// without a bound give, is 0.
func (k *KM) residual(f *meanLoss, at []float64) []float64 {
	r := make([]float64, k.Dim)
	f.tolerance = k.tolerance() - min(k.tolerance()/2, k.roundOff(norm(at)))
	Operators[k.Operator](&splitting{f, k.Gamma, k.Gamma * k.L1}, r, at)
	size := norm(r)
	switch {
	case size-size != 0:
		clear(r)
	case size > k.Residual:
		for i := range r {
			r[i] *= k.Residual / size * (1 - 1e-12)
		}
	}
	return r
}
