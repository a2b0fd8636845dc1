package oracle

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

var _ privacy.Stateful = (*StatefulResidual)(nil)

// StatefulResidualName is the oracle "km-stateful".
const StatefulResidualName = "km-stateful"

// StatefulResidual is the oracle "km-stateful": DP-dKM as published, whose agents go on
// with an iterate that has no noise. That iterate is private and stays here. The query's
// point is the public mix m of what all agents have released, its step α; the answer is
// the residual r(x) = T(x) - x at the private x, scaled to norm at most B, and x becomes
// m + α r(x). What the algorithm then has, m plus α times the noisy answer, is the
// private iterate plus noise.
//
// Release k hides one record if its noise fits S_k, the most by which the record moves
// the answer while all former answers are equal. T is nonexpansive and moves by τ with
// the record (see KM), so that
//
//	S_k = min(τ + 2Δ_k, 2B),  Δ_{k+1} = α_k S_k,  Δ_0 = 0
//
// for the distance Δ_k of the private iterates; at a constant α it is Δ_k = ατ (1 -
// (2α)^k)/(1 - 2α). Every release has the noise multiplier of the run times its own S_k,
// and K releases compose as K of one kind. Nothing is amplified, because the state ties
// the rounds together: full batches only. Nonexpansive as evaluated are the proximal
// operators, and the forward ones where features are scaled so that γ times the
// smoothness is at most 2. For a loss whose slope is not bounded only 2B is left.
//
// The state follows from the queries alone, so that Replay recovers it.
type StatefulResidual struct {
	KM
	Start tensor.Vec // x_0, public
	// Published is for replication, under a mechanism that claims nothing: sensitivities
	// do not grow and nothing is refused for them, and Iterate puts out x. The noise of
	// the iterate is the same in every round, that of an answer α_0/α_k times the first
	// one's.
	Published bool
	// OneRecord, of Published, has T see one record in every round, drawn uniformly, as
	// if it were all (Definition 2).
	OneRecord bool

	state  []float64 // x; nil before the first answer
	growth float64   // S_k/τ, for the release to come
	first  float64   // Published: α_0; 0 before the first answer
}

// Validate names the first field that cannot be used. It looks at the number of records,
// not at them.
func (k *StatefulResidual) Validate() error {
	k.bounded, k.anywhere = !k.Published, k.Published
	if err := k.KM.Validate(); err != nil {
		return err
	}
	switch {
	case k.SampleRate != 1:
		return config.Bad("sample_rate", k.SampleRate,
			"1 with own_state: a state that lasts ties the batches together")
	case len(k.Start) != k.Dim:
		return config.Bad("start", len(k.Start), "as many values as the model has parameters")
	case k.Published:
	case k.OneRecord:
		return config.Bad("one_record", true, "false but in the published form")
	case k.proven() && k.forward() && k.Adjacency == account.AddRemove:
		return config.Bad("adjacency", k.Adjacency, "replace-one or zero-out with own_state and operator "+
			k.Operator+": the smoothness of the mean loss follows from the number of records")
	case k.proven() && k.forward() && float64(len(k.Records.Index)) > k.ExpectedBatchSize:
		return config.Bad("batch_size", k.ExpectedBatchSize, "at least the number of records with own_state")
	case k.proven() && k.forward() && !(k.Gamma*k.smoothness() <= 2):
		return config.Bad("gamma", k.Gamma,
			fmt.Sprintf("at most %.6g with own_state: 2 over the smoothness %.6g of a loss whose "+
				"gradients are at most max_grad_norm long", 2/k.smoothness(), k.smoothness()))
	}
	k.described.Oracle = StatefulResidualName
	k.growth = 1
	return nil
}

// smoothness bounds Λ of the mean loss over at most L records.
func (k *StatefulResidual) smoothness() float64 {
	x := k.radius()
	if k.GLM.Intercept {
		x = math.Hypot(x, 1)
	}
	return k.GLM.Curvature * x * x
}

// Describe states the release: the scale alone changes from one to the next.
func (k *StatefulResidual) Describe(q *agent.Query) (account.Release, error) {
	if !(q.Step > 0 && q.Step <= 1) {
		return account.Release{}, config.Bad("step", q.Step, "above 0 and at most 1")
	}
	r, err := k.KM.Describe(q)
	r.Scale *= k.factor(q)
	return r, err
}

// factor is the noise of the release to come over that of the first one.
func (k *StatefulResidual) factor(q *agent.Query) float64 {
	if k.Published && k.first > 0 {
		return k.first / q.Step
	}
	return k.growth
}

// Evaluate answers with the residual at the state, and moves the state.
func (k *StatefulResidual) Evaluate(dst *privacy.Value, q *agent.Query, sample *rng.Stream) {
	scale := k.described.Scale * k.factor(q)
	if k.OneRecord {
		k.draw(sample)
	}
	for i, x := range k.advance(q) {
		dst.Float[i] = narrowed(x / scale)
	}
}

// advance moves the state by one query and returns the residual.
func (k *StatefulResidual) advance(q *agent.Query) []float64 {
	if k.whole == nil {
		k.whole = k.mean(nil)
	}
	if k.state == nil {
		k.state = widen(k.Start)
	}
	r := k.residual(k.whole, k.state)
	for i, m := range q.At {
		k.state[i] = float64(m) + float64(q.Step*r[i])
	}
	if !k.Published {
		k.growth = min(1+2*q.Step*k.growth, k.most())
	} else if k.first == 0 {
		k.first = q.Step
	}
	return r
}

// draw makes the mean loss that of one record.
func (k *StatefulResidual) draw(sample *rng.Stream) {
	if k.whole != nil {
		k.whole.erase()
	}
	all := k.Records.Index
	if len(all) > 0 {
		at := sample.Below(uint64(len(all)))
		k.Records.Index = all[at : at+1]
	}
	k.whole = k.mean(nil)
	k.whole.normaliser = 1
	k.Records.Index = all
}

// Iterate is the private iterate of the published form, which puts it out; nil of others.
func (k *StatefulResidual) Iterate() []float64 {
	if !k.Published {
		return nil
	}
	return k.state
}

// most is 2B over τ, both with room for rounding; 1 where 2B is all that bounds a
// release, or where there is no B: whoever has none has no noise either.
func (k *StatefulResidual) most() float64 {
	if math.IsInf(k.Residual, 1) {
		return 1
	}
	p := k.described.Parts[0]
	return max(1, 2*(1+0x1p-23)*k.Residual/(p.Clip*p.Shift*k.described.Scale))
}

// Replay recovers the state from the queries that were answered before, in order. Nothing
// is released. What was drawn of OneRecord is not recovered.
func (k *StatefulResidual) Replay(q *agent.Query) { clear(k.advance(q)) }

// Drawn reports OneRecord, whose state depends on the records drawn.
func (k *StatefulResidual) Drawn() bool { return k.OneRecord }

// Erase clears the state and what was made from the records. What comes after begins
// anew, at Start.
func (k *StatefulResidual) Erase() {
	clear(k.state)
	k.state, k.growth, k.first = nil, 1, 0
	if k.whole != nil {
		k.whole.erase()
		k.whole = nil
	}
}
