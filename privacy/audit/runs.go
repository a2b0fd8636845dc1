package audit

import (
	"context"

	"sotto/rng"
)

// Runs trains whole models with and without the record and guesses by its score. A half
// of the models chooses the threshold, the other half is evaluated. Observations is the
// number of models in each world.
func (t *Target) Runs(ctx context.Context, o Options) (*Report, error) {
	if t.Train == nil {
		return nil, errNotApplicable
	}
	r := t.report("runs", o)
	s := &Scores{In: make([]float64, 0, o.Observations), Out: make([]float64, 0, o.Observations)}
	for k := range o.Observations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out, err := t.Train(Out, trialSeed(o.Seed, Out, k))
		if err != nil {
			return nil, err
		}
		in, err := t.Train(In, trialSeed(o.Seed, In, k))
		if err != nil {
			return nil, err
		}
		s.Out, s.In = append(s.Out, out), append(s.In, in)
		o.look(k, s, t.Claim.Total, t.Claim.Delta)
	}
	r.Observations = 2 * o.Observations
	b := s.ByClopperPearson(Rule{Kind: Split}, o.Beta, t.Claim.Delta)
	r.Bounds = append(r.Bounds, b)
	t.bounded(r, b.Epsilon)
	r.Valid = append(r.Valid,
		"the adversary sees the last model that the attacked owner sends, and nothing else")
	return r, nil
}

// bounded compares a bound of the whole run with the claim.
func (t *Target) bounded(r *Report, lower float64) {
	r.compare(lower, t.Claim.Total)
	if lower > t.Claim.Total {
		r.refute("the run has epsilon at least %s, claimed %.4g", Figure(lower).AtLeast(), t.Claim.Total)
	}
}

// OneRun makes one run with o.Observations canaries, each of which is there by a fair
// coin, and guesses "there" for the tenth of them with the largest scores: the number of
// guesses is fixed beforehand, whatever the scores are.
func (t *Target) OneRun(ctx context.Context, o Options) (*Report, error) {
	if t.Canaries == nil {
		return nil, errNotApplicable
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := t.report("onerun", o)
	coins := make([]bool, o.Observations)
	toss := rng.Public(o.Seed, "coins", 0, 0)
	for i := range coins {
		coins[i] = toss.Uint64()&1 == 1
	}
	scores, err := t.Canaries(coins, o.Seed)
	if err != nil {
		return nil, err
	}
	s := &Scores{}
	for i, x := range scores {
		if coins[i] {
			s.In = append(s.In, x)
		} else {
			s.Out = append(s.Out, x)
		}
	}
	r.Observations = len(scores)
	top := Rule{Kind: Top, Part: .1}
	methods := []func(*Scores, Rule, float64, float64) Bound{(*Scores).ByOneRun}
	if t.Claim.Mu > 0 && t.Claim.Rate() == 1 { // the whole run is Gaussian
		methods = append(methods, (*Scores).ByOneRunFDP)
	}
	lower := 0.
	for _, bound := range methods {
		b := bound(s, top, o.Beta/float64(len(methods)), t.Claim.Delta)
		r.Bounds = append(r.Bounds, b)
		lower = max(lower, b.Epsilon)
	}
	t.bounded(r, lower)
	r.Valid = append(r.Valid,
		"canaries are records of one owner, each there or not by a coin of its own; the adversary sees "+
			"every answer of that owner")
	return r, nil
}
