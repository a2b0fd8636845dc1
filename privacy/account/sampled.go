package account

import (
	"fmt"
	"math"

	"sotto/config"
	"sotto/privacy/account/loss"
)

var poissonKind = kind{
	typ:       TypePoisson,
	traits:    holdsOne | sampler,
	fields:    func(b *body) []field { return []field{{"rate", &b.rate, probability}} },
	normalise: normalisePoisson,
	pair:      poissonFor,
	rdp: func(b *body, r relation) (curve, error) {
		mu, ok := gaussianMu(b.event)
		if !ok || !r.alone() || r.adjacency == ReplaceOne {
			return nil, errNoProof
		}
		return func(a float64) float64 { return loss.SampledGaussianRenyi(b.rate, 1/mu, a) }, nil
	},
	pure: func(b *body, r relation) float64 {
		if !r.alone() || r.adjacency == ReplaceOne {
			return math.Inf(1)
		}
		return amplified(pureEpsilon(b.event, r), b.rate)
	},
	box: func(b *body, r relation) (eps, delta float64, ok bool) {
		e := pureEpsilon(b, r)
		return e, 0, !math.IsInf(e, 1) && r.unit.whole()
	},
}

var truncatedKind = kind{
	typ:    TypePoissonTruncated,
	traits: holdsOne | sampler,
	fields: func(b *body) []field {
		return []field{{"rate", &b.rate, rule{}}, {"max_batch", &b.maxBatch, rule{}},
			{"population", &b.population, rule{}}}
	},
	normalise: sampled(func(b *body) error {
		return first(bad(b.rate > 0 && b.rate < 1, "rate", b.rate, "above 0 and below 1"),
			bad(b.population >= 1, "population", b.population, "an integer >= 1"),
			bad(b.maxBatch >= 1 && b.maxBatch <= min(b.population, largestBatch), "max_batch", b.maxBatch,
				fmt.Sprintf("1 to population, at most %d", largestBatch)))
	}),
	pair: truncatedFor,
}

var fixedSizeKind = kind{
	typ:    TypeFixedSize,
	traits: holdsOne | sampler,
	fields: func(b *body) []field {
		return []field{{"population", &b.population, integers(1)}, {"batch", &b.batch, rule{}}}
	},
	normalise: sampled(func(b *body) error {
		return bad(b.batch >= 1 && b.batch <= b.population, "batch", b.batch, "1 to population")
	}),
	pair: fixedSizeFor,
	pure: func(b *body, r relation) float64 {
		if !r.alone() || r.adjacency != ReplaceOne {
			return math.Inf(1)
		}
		return amplified(pureEpsilon(b.event, r), float64(b.batch)/float64(b.population))
	},
	rdp: func(b *body, r relation) (curve, error) {
		mu, ok := gaussianMu(b.event)
		if !ok || !r.alone() || r.adjacency != ReplaceOne {
			return nil, errNoProof
		}
		return loss.FixedSizeRenyi(float64(b.batch)/float64(b.population), 1/mu), nil
	},
}

var cyclicKind = kind{
	typ:    TypeCyclic,
	traits: holdsOne | sampler,
	fields: func(b *body) []field { return []field{{"period", &b.period, integers(1)}} },
	normalise: func(b *body) (*body, error) {
		n, err := simplifySampler(b)
		if err == nil && b.period == 1 {
			return b.event, nil
		}
		return n, err
	},
	// How many copies count is known at the end; here it is asked about as many as come.
	expand: func(b *body, t *tally, dst []addition, list, n int) ([]addition, error) {
		if t.adjacency == AddRemove {
			return nil, t.unsupported(b, t.name, movesOthers)
		}
		if _, err := t.expand(nil, list, b.event, n); err != nil {
			return nil, err
		}
		return t.keep(dst, list, b, n), nil
	},
}

// amplified is e' with e^e' = 1 + q (e^e - 1).
func amplified(e, q float64) float64 {
	if e > 700 {
		return e
	}
	return math.Log1p(q * math.Expm1(e))
}

// PoissonSampled keeps each record independently with probability rate in [0, 1] before
// ev. Rate 1 is ev, rate 0 is NoOp, and Poisson sampling of Poisson sampling multiplies
// the rates; other nested samplers are refused.
func PoissonSampled(rate float64, ev Event) (Event, error) {
	return ev.wrap(&body{kind: &poissonKind, rate: rate})
}

// ofAllRecords says where what is drawn from a public number of records holds.
const ofAllRecords = "none under add-remove, where the number of records is private; replace-one has one"

// TruncatedPoissonSampled is Poisson sampling from a public number of records whose
// surplus over maxBatch is dropped uniformly at random. rate lies inside (0, 1), maxBatch
// in 1 .. population and is at most 1e7. An event marked AddRemove is refused.
func TruncatedPoissonSampled(rate float64, population, maxBatch int, ev Event) (Event, error) {
	if ev.Adjacency == AddRemove {
		return Event{}, config.Bad("population", population, ofAllRecords)
	}
	return ev.wrap(&body{kind: &truncatedKind, rate: rate, population: population, maxBatch: maxBatch})
}

// FixedSizeSampled draws batch of population records without replacement, 1 <= batch <=
// population. population is public, so an event marked AddRemove is refused.
func FixedSizeSampled(population, batch int, ev Event) (Event, error) {
	if ev.Adjacency == AddRemove {
		return Event{}, config.Bad("population", population,
			"none under add-remove: the number of records is private")
	}
	return ev.wrap(&body{kind: &fixedSizeKind, population: population, batch: batch})
}

// movesOthers says where cyclic events hold.
const movesOthers = "zero-out or replace-one: under add-remove one record more moves others between batches"

// CyclicSampled lets each record take part in exactly one of every period consecutive
// events. Accountants count ceil(n/period) copies of ev for n of them: no amplification.
// Events of one period but several kinds may make one cycle or one each: the sum of these
// numbers is counted, of the worst kinds. A sampler that starts a new cycle early must
// first charge the rest of the old one. period is at least 1. An event marked AddRemove
// is refused: one record more moves others from batch to batch.
func CyclicSampled(period int, ev Event) (Event, error) {
	if ev.Adjacency == AddRemove {
		return Event{}, config.Bad("period", period, "none under add-remove; allowed: "+movesOthers)
	}
	return ev.wrap(&body{kind: &cyclicKind, period: period})
}

// simplifySampler: what releases nothing, or everything, needs no sampler; any other
// event has only one.
func simplifySampler(b *body) (*body, error) {
	e := b.event
	if e.kind.typ == TypeNoOp || e.kind.typ == TypeNonPrivate {
		return e, nil
	}
	if e.has(func(k *kind) bool { return k.is(sampler) }) {
		return nil, config.Bad("event", string(e.kind.typ), "an event without a sampler of its own")
	}
	if e.has(func(k *kind) bool { return k.is(bare) }) {
		return nil, config.Bad("event", string(e.kind.typ), "a mechanism or a sequence of mechanisms")
	}
	return b, nil
}

// sampled is how samplers without laws of their own are normalised.
func sampled(check func(b *body) error) func(b *body) (*body, error) {
	return func(b *body) (*body, error) {
		if err := check(b); err != nil {
			return nil, err
		}
		return simplifySampler(b)
	}
}

// normalisePoisson also multiplies nested rates.
func normalisePoisson(b *body) (*body, error) {
	if e := b.event; e.kind == b.kind {
		b = &body{kind: b.kind, rate: b.rate * e.rate, event: e.event}
	}
	n, err := simplifySampler(b)
	switch e := b.event; {
	case e.kind.typ == TypeNonPrivate:
		return e, nil
	case b.rate == 0:
		return noOp, nil
	case b.rate == 1:
		return e, nil
	}
	return n, err
}

func poissonFor(b *body, r relation) (pair, error) {
	k := r.members()
	if mu, ok := gaussianMu(b.event); ok {
		switch {
		case math.IsInf(mu, 1):
			return noPair, nil
		case k > 1: // the aligned group is the worst one, by the argument of antipodalPair
			var w, c []float64
			for j := 0; j <= k; j++ {
				if p := binomialPMF(k, j, b.rate); p > 0 {
					w, c = append(w, p), append(c, float64(j)*mu)
				}
			}
			return r.mixture(1, c, w), nil
		case r.adjacency == ReplaceOne:
			return antipodalPair(b.rate, mu/2), nil
		}
		return poissonPair(b.rate, gaussianPair(mu)), nil
	}
	if r.adjacency == ReplaceOne || !r.unit.whole() {
		return noPair, errNoProof
	}
	in, err := r.pairOf(b.event)
	if err != nil || !in.noisy() {
		return noPair, err
	}
	return poissonPair(b.rate, in), nil
}

// truncatedFor is the upper bound for a batch capped at B of n records: with probability
// w = P[Bin(n-1,q) >= B] the cap binds for a sampled record, and then the record also
// displaces another one: the replace-one pair at twice the shift, at rate P[Bin(n,q) > B]
// B/(n w). Otherwise the plain Poisson pair. Under add-remove n differs between
// neighboring data sets, and a bound of one is none of the other: refused.
func truncatedFor(b *body, r relation) (pair, error) {
	mu, ok := gaussianMu(b.event)
	if !ok || r.adjacency != ReplaceOne || !r.unit.whole() {
		return noPair, errNoProof
	}
	if math.IsInf(mu, 1) {
		return noPair, nil
	}
	plain, m := antipodalPair(b.rate, mu/2), mu/2
	w := binomialTail(b.population-1, b.maxBatch, b.rate)
	rate := 0.0
	if w > 0 {
		rate = math.Min(1, binomialTail(b.population, b.maxBatch+1, b.rate)*float64(b.maxBatch)/
			(float64(b.population)*w))
	}
	if w == 0 || rate == 0 {
		plain.tight = false
		return plain, nil
	}
	p := blendPair(w, plain, antipodalPair(rate, 2*m))
	p.tight = false
	return p, nil
}

// fixedSizeFor holds for every mechanism with a pair that is the same in both directions.
// Clipped sums attain one half of it: the replaced record is C or -C, all others -C.
func fixedSizeFor(b *body, r relation) (pair, error) {
	if !r.alone() || r.adjacency != ReplaceOne {
		return noPair, errNoProof
	}
	in, err := r.pairOf(b.event)
	switch {
	case err != nil || !in.noisy():
		return noPair, err
	case !in.symmetric:
		return noPair, errNoProof
	}
	q := float64(b.batch) / float64(b.population)
	p := pair{loss.Subset(q, in.Source), true, false, nil}
	if _, ok := gaussianMu(b.event); ok && !b.coarse() {
		under := poissonPair(q, in)
		p.under = &under
	}
	return p, nil
}

// largestBatch is the largest max_batch: a tail of so many is a sum of as many
// logarithms.
const largestBatch = 10_000_000

// binomialTail is P[Bin(n,q) >= k].
func binomialTail(n, k int, q float64) float64 {
	if k <= 0 {
		return 1
	}
	if k > n {
		return 0
	}
	switch {
	case q == 0:
		return 0
	case q == 1:
		return 1
	case float64(k) > float64(n)*q:
		return binomialRun(n, k, q)
	}
	return math.Max(0, 1-binomialRun(n, n-k+1, 1-q)) // P[Bin(n,1-q) > n-k]
}

// binomialRun is P[Bin(n,q) >= k] for k above the mean: the first probability by
// logarithms of few numbers, however large n is, and the others by their ratios.
func binomialRun(n, k int, q float64) float64 {
	few := min(k, n-k)
	ln := float64(k)*math.Log(q) + float64(n-k)*math.Log1p(-q)
	for i := range few {
		ln += math.Log(float64(n-i) / float64(i+1))
	}
	sum, term := 1.0, 1.0
	for j := k; j < n && term > 1e-18*sum; j++ {
		term *= float64(n-j) / float64(j+1) * q / (1 - q)
		sum += term
	}
	return math.Min(1, math.Exp(ln)*sum)
}

// poissonPair is add-remove sampling of a mechanism; see [loss.Sampled].
func poissonPair(q float64, in pair) pair {
	return pair{loss.Sampled(q, in.Source), false, in.tight, nil}
}

// antipodalPair is (1-q)N(0) + qN(m) against (1-q)N(0) + qN(-m), unit variance: Poisson
// sampling of a Gaussian of sensitivity 2m under replace-one. It dominates all pairs of
// contributions of norm at most m: with the other records fixed, H_a is E f(U,V), f
// convex of a linear form in which the log-normal U and V of the two records have
// opposite signs, so that by Gaussian interpolation it grows with both variances and
// falls with the covariance; the extreme is the antipodal pair. It is not the add-remove
// curve at half the noise.
func antipodalPair(q, m float64) pair { return pair{loss.Antipodal(q, m), true, true, nil} }

// blendPair is a public coin between two pairs: its profile is the weighted sum of
// theirs.
func blendPair(w float64, a, b pair) pair {
	return pair{loss.Source{Scan: func() loss.Scan {
		x, y := a.Scan(), b.Scan()
		return func(t float64) loss.Tails {
			u, v := x(t), y(t)
			return loss.Tails{PUp: (1-w)*u.PUp + w*v.PUp, QUp: (1-w)*u.QUp + w*v.QUp,
				PLo: (1-w)*u.PLo + w*v.PLo, QLo: (1-w)*u.QLo + w*v.QLo}
		}
	}}, a.symmetric && b.symmetric, a.tight && b.tight, nil}
}
