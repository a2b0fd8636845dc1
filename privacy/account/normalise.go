package account

import (
	"math"
	"slices"

	"sotto/config"
)

const maxDepth = 64

// normalise validates b and its children (already normalised) and applies the laws of the
// algebra: trivial samplers, repeats and sequences disappear. Equal mechanisms then have
// equal canonical forms.
func normalise(b *body, depth int) (*body, error) {
	if depth > maxDepth {
		return nil, config.Bad("event", "nested too deeply", "at most 64 levels")
	}
	if err := b.checkChildren(); err != nil {
		return nil, err
	}
	var err error
	switch b.typ {
	case TypePoisson, TypePoissonTruncated, TypeFixedSize, TypeCyclic:
		return b.normaliseSampler()
	case TypeRepeat:
		return b.normaliseRepeat()
	case TypeCompose, TypeParallel:
		return b.normaliseList()
	case TypeRepeatSelect:
		err = b.checkSelect()
	case TypeMixtureGaussian:
		err = b.checkMixture()
	case TypeRDP:
		err = b.checkRDP()
	case TypeBoundedNoise:
		err = b.checkBounded()
	default:
		err = b.checkLeaf()
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (b *body) checkChildren() error {
	switch b.typ {
	case TypePoisson, TypePoissonTruncated, TypeFixedSize, TypeCyclic, TypeRepeat, TypeRepeatSelect:
		if b.event == nil {
			return config.Bad("event", "no event", "an event made by a constructor")
		}
	}
	if slices.Contains(b.events, nil) {
		return config.Bad("events", "an empty event", "events made by a constructor")
	}
	return nil
}

func (b *body) checkLeaf() error {
	const pos, nonneg = "a finite number > 0", "a finite number >= 0"
	switch b.typ {
	case TypeNoOp, TypeNonPrivate:
		return nil
	case TypeGaussian:
		return first(bad(atLeast0(b.noise), "noise_multiplier", b.noise, nonneg),
			bad(positive(b.shift), "shift", b.shift, pos))
	case TypeDiscreteGaussian:
		return first(bad(positive(b.sigmaGrid), "sigma_grid", b.sigmaGrid, pos),
			bad(positive(b.l2Grid), "l2_grid", b.l2Grid, pos),
			bad(b.linfGrid >= 1, "linf_grid", b.linfGrid, "an integer >= 1"),
			bad(b.dim >= 1, "dim", b.dim, "an integer >= 1"),
			bad(b.dim > 1 || b.l2Grid == math.Trunc(b.l2Grid), "l2_grid", b.l2Grid,
				"an integer when dim is 1"))
	case TypeLaplace:
		return bad(atLeast0(b.scale), "scale", b.scale, nonneg)
	case TypeDiscreteLaplace:
		return first(bad(positive(b.a), "a", b.a, pos),
			bad(b.l1Grid >= 1, "l1_grid", b.l1Grid, "an integer >= 1"))
	case TypeRandomizedResponse:
		return first(bad(inUnit(b.p), "p", b.p, "0 to 1"), bad(b.k >= 2, "k", b.k, "an integer >= 2"))
	case TypeEpsDelta:
		return first(bad(atLeast0(b.epsilon), "epsilon", b.epsilon, nonneg),
			bad(inUnit(b.delta), "delta", b.delta, "0 to 1"))
	case TypeZCDP:
		return first(bad(atLeast0(b.rho), "rho", b.rho, nonneg), bad(atLeast0(b.xi), "xi", b.xi, nonneg))
	case TypeGDP:
		return bad(atLeast0(b.mu), "mu", b.mu, nonneg)
	case TypeTree:
		return first(bad(atLeast0(b.noise), "noise_multiplier", b.noise, nonneg),
			bad(b.steps >= 1, "steps", b.steps, "an integer >= 1"),
			bad(b.restarts >= 0, "restarts", b.restarts, "an integer >= 0"))
	}
	return config.Bad("type", string(b.typ), "a known event type")
}

func (b *body) checkMixture() error {
	if err := bad(atLeast0(b.noise), "noise_multiplier", b.noise, "a finite number >= 0"); err != nil {
		return err
	}
	if len(b.shifts) == 0 || len(b.shifts) != len(b.probs) {
		return config.Bad("probs", len(b.probs), "as many as shifts, at least one")
	}
	sum, last := 0.0, -1.0
	for i, c := range b.shifts {
		if !atLeast0(c) || c <= last {
			return config.Bad("shifts", c, "finite, ascending from at least 0")
		}
		if !inUnit(b.probs[i]) {
			return config.Bad("probs", b.probs[i], "0 to 1")
		}
		last = c
		sum += b.probs[i]
	}
	return bad(math.Abs(sum-1) <= 1e-9, "probs", sum, "a sum of 1 within 1e-9")
}

func (b *body) checkRDP() error {
	if len(b.orders) == 0 || len(b.orders) != len(b.values) {
		return config.Bad("orders", len(b.orders), "as many as values, at least one")
	}
	last := 1.0
	for i, a := range b.orders {
		if !positive(a) || a <= last {
			return config.Bad("orders", a, "finite, ascending, above 1")
		}
		if !atLeast0(b.values[i]) {
			return config.Bad("values", b.values[i], "a finite number >= 0")
		}
		last = a
	}
	return nil
}

func (b *body) checkBounded() error {
	if b.family != BoundedLaplace && b.family != BoundedGaussian && b.family != BoundedGeneralized {
		return config.Bad("family", b.family, "laplace, gaussian or generalized")
	}
	if b.family == BoundedGeneralized {
		if !(b.beta >= 1 && b.beta <= 64) {
			return config.Bad("beta", b.beta, "1 to 64")
		}
	} else if b.beta != 0 {
		return config.Bad("beta", b.beta, "absent unless the family is generalized")
	}
	return first(bad(positive(b.scale), "scale", b.scale, "a finite number > 0"),
		bad(positive(b.truncation), "truncation", b.truncation, "a finite number > 0"),
		bad(b.dim == 1, "dim", b.dim, "1: vectors of bounded noise have no known worst case"),
		bad(b.norm == L1.String() || b.norm == L2.String(), "norm", b.norm, "l1 or l2"))
}

func (b *body) checkSelect() error {
	if b.event.typ == TypeRepeatSelect || b.event.typ == TypeParallel {
		return config.Bad("event", string(b.event.typ), "a mechanism or a sequence")
	}
	if b.shape.poisson {
		return bad(positive(b.mean), "mean", b.mean, "a finite number > 0")
	}
	return first(bad(atLeast0(b.shape.eta), "shape", b.shape.eta, "a finite number >= 0 or \"poisson\""),
		bad(positive(b.mean) && b.mean > 1, "mean", b.mean, "a finite number > 1"))
}

func (b *body) normaliseSampler() (*body, error) {
	e := b.event
	if err := b.checkSampler(); err != nil {
		return nil, err
	}
	if e.typ == TypeNoOp || e.typ == TypeNonPrivate {
		return e, nil
	}
	if b.typ == TypePoisson {
		if e.typ == TypePoisson {
			b = &body{typ: TypePoisson, rate: b.rate * e.rate, event: e.event}
			e = b.event
		}
		if b.rate == 0 {
			return &body{typ: TypeNoOp}, nil
		}
		if b.rate == 1 {
			return e, nil
		}
	}
	if e.sampled() {
		return nil, config.Bad("event", string(e.typ), "an event without a sampler of its own")
	}
	if e.contains(TypeParallel) || e.contains(TypeRepeatSelect) || e.contains(TypeMixtureGaussian) {
		return nil, config.Bad("event", string(e.typ), "a mechanism or a sequence of mechanisms")
	}
	if b.typ == TypeCyclic && b.period == 1 {
		return e, nil
	}
	return b, nil
}

func (b *body) checkSampler() error {
	switch b.typ {
	case TypePoisson:
		return bad(inUnit(b.rate), "rate", b.rate, "0 to 1")
	case TypePoissonTruncated:
		return first(bad(b.rate > 0 && b.rate < 1, "rate", b.rate, "above 0 and below 1"),
			bad(b.population >= 1, "population", b.population, "an integer >= 1"),
			bad(b.maxBatch >= 1 && b.maxBatch <= b.population, "max_batch", b.maxBatch, "1 to population"))
	case TypeFixedSize:
		return first(bad(b.population >= 1, "population", b.population, "an integer >= 1"),
			bad(b.batch >= 1 && b.batch <= b.population, "batch", b.batch, "1 to population"))
	}
	return bad(b.period >= 1, "period", b.period, "an integer >= 1")
}

func (b *body) normaliseRepeat() (*body, error) {
	e, n := b.event, b.count
	if err := bad(n >= 0, "count", n, "an integer >= 0"); err != nil {
		return nil, err
	}
	if e.typ == TypeRepeat {
		m, ok := mulCount(n, e.count)
		if !ok {
			return nil, config.Bad("count", n, "a total below 2^53")
		}
		e, n = e.event, m
	}
	if n == 0 || e.typ == TypeNoOp {
		return &body{typ: TypeNoOp}, nil
	}
	if n == 1 {
		return e, nil
	}
	return &body{typ: TypeRepeat, count: n, event: e}, nil
}

func (b *body) normaliseList() (*body, error) {
	if b.typ == TypeCompose {
		var flat []*body
		for _, e := range b.events {
			switch e.typ {
			case TypeNoOp:
			case TypeCompose:
				flat = append(flat, e.events...)
			default:
				flat = append(flat, e)
			}
		}
		b = &body{typ: TypeCompose, events: flat}
	} else if slices.ContainsFunc(b.events, func(e *body) bool { return e.contains(TypeParallel) }) {
		return nil, config.Bad("events", "parallel inside parallel", "children without parallel events")
	}
	switch len(b.events) {
	case 0:
		return &body{typ: TypeNoOp}, nil
	case 1:
		return b.events[0], nil
	}
	return b, nil
}

func (b *body) contains(t Type) bool {
	if b.typ == t || b.event != nil && b.event.contains(t) {
		return true
	}
	return slices.ContainsFunc(b.events, func(e *body) bool { return e.contains(t) })
}

// maxCount bounds every count so that it is exact in a float64.
const maxCount = 1 << 53

func mulCount(a, b int) (int, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	return a * b, a <= maxCount/b
}

func bad(ok bool, key string, found any, allowed string) error {
	if ok {
		return nil
	}
	return config.Bad(key, found, allowed)
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
