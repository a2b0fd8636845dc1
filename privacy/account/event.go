package account

import (
	"fmt"
	"math"

	"sotto/config"
)

// Type names a kind of event; it is the "type" of the JSON form.
type Type string

const (
	TypeNoOp               Type = "noop"
	TypeNonPrivate         Type = "nonprivate"
	TypeGaussian           Type = "gaussian"
	TypeDiscreteGaussian   Type = "discrete_gaussian"
	TypeLaplace            Type = "laplace"
	TypeDiscreteLaplace    Type = "discrete_laplace"
	TypeBoundedNoise       Type = "bounded_noise"
	TypeRandomizedResponse Type = "randomized_response"
	TypeEpsDelta           Type = "eps_delta"
	TypeZCDP               Type = "zcdp"
	TypeGDP                Type = "gdp"
	TypeRDP                Type = "rdp"
	TypePoisson            Type = "poisson"
	TypePoissonTruncated   Type = "poisson_truncated"
	TypeFixedSize          Type = "fixed_size"
	TypeCyclic             Type = "cyclic"
	TypeMixtureGaussian    Type = "mixture_gaussian"
	TypeTree               Type = "tree"
	TypeRepeatSelect       Type = "repeat_select"
	TypeCompose            Type = "compose"
	TypeRepeat             Type = "repeat"
	TypeParallel           Type = "parallel"
)

// Event describes one release, relative to unit sensitivity, so that an accountant needs
// nothing else. It is an immutable value made by a constructor or from JSON; the zero
// Event is invalid and refused everywhere. The exported fields are those of the root
// only: which adjacency and unit the shift was stated for, and public facts for the
// record (clip, oracle, sampler). Adjacency and Unit may be zero for an event that any
// accountant may read; accountants refuse an event whose fields differ from theirs.
type Event struct {
	Adjacency Adjacency
	Unit      Unit
	Clip      float64 // public bound of one record's contribution, 0 = not stated
	Oracle    string
	Sampler   string // for instance "poisson/1"
	body      *body
}

// body is the immutable tree below the root; the fields in use depend on typ (see
// schema).
type body struct {
	typ        Type
	reason     string
	family     string
	norm       string
	noise      float64
	shift      float64
	scale      float64
	sigmaGrid  float64
	l2Grid     float64
	linfGrid   int
	l1Grid     int
	dim        int
	a          float64
	truncation float64
	beta       float64
	p          float64
	k          int
	epsilon    float64
	delta      float64
	rho, xi    float64
	mu         float64
	orders     []float64
	values     []float64
	shifts     []float64
	probs      []float64
	rate       float64
	maxBatch   int
	population int
	batch      int
	period     int
	steps      int
	restarts   int
	mean       float64
	shape      shape
	count      int
	event      *body
	events     []*body
}

// shape of the distribution of the number of runs in private selection: truncated
// negative binomial with parameter eta >= 0, or Poisson.
type shape struct {
	eta     float64
	poisson bool
}

func newEvent(b *body) (Event, error) {
	n, err := normalise(b, 0)
	return Event{body: n}, err
}

// Type returns the type of the root, "" for the zero Event.
func (e Event) Type() Type {
	if e.body == nil {
		return ""
	}
	return e.body.typ
}

// Equal reports whether two events have the same canonical form.
func (e Event) Equal(f Event) bool {
	if e.body == f.body {
		f.body = e.body
		return e == f
	}
	return e.body != nil && f.body != nil && e.Key() == f.Key()
}

// NoOp is an answer that does not depend on the data.
func NoOp() Event { return Event{body: &body{typ: TypeNoOp}} }

// NonPrivate is an answer without a guarantee: epsilon is infinite under every
// accountant. reason is public.
func NonPrivate(reason string) Event {
	return Event{body: &body{typ: TypeNonPrivate, reason: reason}}
}

// Gaussian is normal noise of standard deviation noiseMultiplier times the clip on a
// value whose L2 sensitivity is shift times the clip (clipped sums: 1, or 2 under
// replace-one; a residual clip: 2 always). noiseMultiplier 0 is legal and has infinite
// epsilon.
func Gaussian(noiseMultiplier, shift float64) (Event, error) {
	return newEvent(&body{typ: TypeGaussian, noise: noiseMultiplier, shift: shift})
}

// DiscreteGaussian is integer noise P(x) proportional to exp(-x^2/(2 sigmaGrid^2)) on
// every coordinate of an integer vector of the stated L2 and maximum sensitivities
// (Canonne, Kamath, Steinke 2020).
func DiscreteGaussian(sigmaGrid, l2Grid float64, linfGrid, dim int) (Event, error) {
	return newEvent(&body{
		typ:       TypeDiscreteGaussian,
		sigmaGrid: sigmaGrid,
		l2Grid:    l2Grid,
		linfGrid:  linfGrid,
		dim:       dim,
	})
}

// Laplace is Laplace noise; scale is its scale b over the L1 sensitivity.
func Laplace(scale float64) (Event, error) { return newEvent(&body{typ: TypeLaplace, scale: scale}) }

// DiscreteLaplace is integer noise P(x) proportional to exp(-a|x|) on a value of integer
// L1 sensitivity l1Grid.
func DiscreteLaplace(a float64, l1Grid int) (Event, error) {
	return newEvent(&body{typ: TypeDiscreteLaplace, a: a, l1Grid: l1Grid})
}

// Families of BoundedNoise.
const (
	BoundedLaplace     = "laplace"     // density proportional to exp(-|x|/scale)
	BoundedGaussian    = "gaussian"    // exp(-x^2/(2 scale^2))
	BoundedGeneralized = "generalized" // exp(-(|x|/scale)^beta)
)

// BoundedNoise is scalar noise with density of the family on [-truncation, truncation];
// scale and truncation are relative to the sensitivity, and beta (0 unless the family is
// generalized) is at least 1.
func BoundedNoise(family string, scale, truncation, beta float64) (Event, error) {
	return newEvent(&body{
		typ:        TypeBoundedNoise,
		family:     family,
		scale:      scale,
		truncation: truncation,
		beta:       beta,
		dim:        1,
		norm:       L2.String(),
	})
}

// RandomizedResponse answers uniformly over k values with probability p and truthfully
// otherwise.
func RandomizedResponse(p float64, k int) (Event, error) {
	return newEvent(&body{typ: TypeRandomizedResponse, p: p, k: k})
}

// EpsDelta is a black box of which only (epsilon, delta) is known.
func EpsDelta(epsilon, delta float64) (Event, error) {
	return newEvent(&body{typ: TypeEpsDelta, epsilon: epsilon, delta: delta})
}

// ZCDP is a black box with Renyi divergence at most xi + rho a at every order a (Bun,
// Steinke 2016).
func ZCDP(rho, xi float64) (Event, error) { return newEvent(&body{typ: TypeZCDP, rho: rho, xi: xi}) }

// GDP is a black box that is mu-Gaussian differentially private (Dong, Roth, Su 2022).
func GDP(mu float64) (Event, error) { return newEvent(&body{typ: TypeGDP, mu: mu}) }

// RDP is a black box with the given Renyi divergences at the given orders (ascending,
// above 1).
func RDP(orders, values []float64) (Event, error) {
	return newEvent(&body{typ: TypeRDP, orders: append([]float64(nil), orders...),
		values: append([]float64(nil), values...)})
}

// MixtureGaussian is normal noise on a sum in which the unit takes part a random,
// data-independent number of times: with probability probs[j] the value moves by
// shifts[j] clips. shifts ascend from at least 0.
func MixtureGaussian(noiseMultiplier float64, shifts, probs []float64) (Event, error) {
	return newEvent(&body{
		typ:    TypeMixtureGaussian,
		noise:  noiseMultiplier,
		shifts: append([]float64(nil), shifts...),
		probs:  append([]float64(nil), probs...),
	})
}

// Tree is binary tree aggregation over steps values with normal noise on each node and
// one participation in each of restarts+1 trees; noiseMultiplier is relative to the
// sensitivity.
func Tree(noiseMultiplier float64, steps, restarts int) (Event, error) {
	return newEvent(&body{typ: TypeTree, noise: noiseMultiplier, steps: steps, restarts: restarts})
}

// PoissonSampled keeps each record independently with probability rate before ev. Rate 1
// is ev, rate 0 is NoOp, and Poisson sampling of Poisson sampling multiplies the rates;
// other nested samplers are refused.
func PoissonSampled(rate float64, ev Event) (Event, error) {
	return ev.wrap(&body{typ: TypePoisson, rate: rate})
}

// TruncatedPoissonSampled is Poisson sampling from a public number of records whose
// surplus over maxBatch is dropped uniformly at random.
func TruncatedPoissonSampled(rate float64, population, maxBatch int, ev Event) (Event, error) {
	return ev.wrap(&body{typ: TypePoissonTruncated, rate: rate, population: population, maxBatch: maxBatch})
}

// FixedSizeSampled draws batch of population records without replacement. population is
// public, so an event marked AddRemove is refused.
func FixedSizeSampled(population, batch int, ev Event) (Event, error) {
	return ev.wrap(&body{typ: TypeFixedSize, population: population, batch: batch})
}

// CyclicSampled lets each record take part in exactly one of every period consecutive
// events. Accountants count ceil(n/period) copies of ev for n of them: no amplification.
// A sampler that starts a new cycle early must first charge the rest of the old one.
func CyclicSampled(period int, ev Event) (Event, error) {
	return ev.wrap(&body{typ: TypeCyclic, period: period})
}

// RepeatSelect runs ev a random number of times and publishes the best run (Papernot,
// Steinke 2022). The number of runs has the given mean and a truncated negative binomial
// law of parameter eta (0 logarithmic, 1 geometric).
func RepeatSelect(mean, eta float64, ev Event) (Event, error) {
	return ev.wrap(&body{typ: TypeRepeatSelect, mean: mean, shape: shape{eta: eta}})
}

// RepeatSelectPoisson is RepeatSelect with a Poisson number of runs.
func RepeatSelectPoisson(mean float64, ev Event) (Event, error) {
	return ev.wrap(&body{typ: TypeRepeatSelect, mean: mean, shape: shape{poisson: true}})
}

// Repeat is count adaptive copies of ev.
func Repeat(count int, ev Event) (Event, error) {
	return ev.wrap(&body{typ: TypeRepeat, count: count})
}

// Compose is the adaptive sequence of events; without any it is NoOp. Their adjacencies
// and units must agree.
func Compose(events ...Event) (Event, error) { return join(TypeCompose, events) }

// Parallel is one event on each of disjoint owners or partitions; epsilon is the maximum
// over the children, taken at the final delta. Child i of every Parallel in one
// accountant concerns the same owner i.
func Parallel(events ...Event) (Event, error) { return join(TypeParallel, events) }

// wrap puts b around e, keeping e's root fields.
func (e Event) wrap(b *body) (Event, error) {
	b.event = e.body
	if b.typ == TypeFixedSize && e.Adjacency == AddRemove {
		return Event{}, config.Bad("population", b.population,
			"none under add-remove: the number of records is private")
	}
	n, err := normalise(b, 0)
	if err != nil {
		return Event{}, err
	}
	e.body = n
	return e, nil
}

func join(t Type, events []Event) (Event, error) {
	root := Event{}
	b := &body{typ: t}
	for _, e := range events {
		if e.Adjacency != 0 {
			if root.Adjacency != 0 && root.Adjacency != e.Adjacency {
				return Event{}, config.Bad("adjacency", e.Adjacency,
					fmt.Sprintf("%v as in the events before", root.Adjacency))
			}
			root.Adjacency = e.Adjacency
		}
		if e.Unit != (Unit{}) {
			if root.Unit != (Unit{}) && root.Unit != e.Unit {
				return Event{}, config.Bad("unit", e.Unit,
					fmt.Sprintf("%v as in the events before", root.Unit))
			}
			root.Unit = e.Unit
		}
		b.events = append(b.events, e.body)
	}
	n, err := normalise(b, 0)
	root.body = n
	return root, err
}

// sampled reports whether a sampler stands anywhere in b.
func (b *body) sampled() bool {
	switch b.typ {
	case TypePoisson, TypePoissonTruncated, TypeFixedSize, TypeCyclic:
		return true
	}
	if b.event != nil && b.event.sampled() {
		return true
	}
	for _, c := range b.events {
		if c.sampled() {
			return true
		}
	}
	return false
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
func atLeast0(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }
func inUnit(x float64) bool   { return x >= 0 && x <= 1 }
