package account

import (
	"errors"
	"slices"

	"sotto/config"
)

// kind is what there is to know about one type of event. Each family of types has a file
// with its kinds; what is nil the type has not. Functions of a kind reach other kinds by
// the bodies that they are given, never by name.
type kind struct {
	typ    Type
	traits traits
	// fields lists the members of the JSON form but children, with what they must be.
	fields func(b *body) []field
	// normalise checks what members must be together, and applies the laws of the
	// algebra: trivial samplers, repeats and sequences disappear. Children are canonical.
	normalise func(b *body) (*body, error)
	// expand takes a sequence apart for a tally, which asks about what has none as it is.
	expand func(b *body, t *tally, dst []addition, list, n int) ([]addition, error)
	// mu is the parameter of the Gaussian mechanism that the event is, without sampling.
	mu func(b *body) (mu float64, ok bool)
	// pair is the dominating pair of an event that has no mu, noPair without noise.
	pair func(b *body, r relation) (pair, error)
	// rdp is the curve of Renyi divergences.
	rdp func(b *body, r relation) (curve, error)
	// pure is the smallest e for which the event is e-DP with delta 0, else +Inf.
	pure func(b *body, r relation) float64
	// box reads the event as an (epsilon, delta) box; epsilon is +Inf without noise.
	box func(b *body, r relation) (eps, delta float64, ok bool)
}

type traits uint8

const (
	holdsOne  traits = 1 << iota // it has a child, event
	holdsMany                    // it has children, events
	sampler                      // it draws records, which hides no owner
	bare                         // no sampler may stand around it
	single                       // what is known of one record or owner says nothing of a group
)

func (k *kind) is(t traits) bool { return k.traits&t != 0 }

// leaf is the normalise of a kind without laws.
func leaf(check func(b *body) error) func(b *body) (*body, error) {
	return func(b *body) (*body, error) {
		if err := check(b); err != nil {
			return nil, err
		}
		return b, nil
	}
}

// kinds has every type of event. Only what reads JSON looks a type up: a body has its
// kind.
var kinds = map[Type]*kind{
	TypeNoOp:               &noOpKind,
	TypeNonPrivate:         &nonPrivateKind,
	TypeGaussian:           &gaussianKind,
	TypeDiscreteGaussian:   &discreteGaussianKind,
	TypeLaplace:            &laplaceKind,
	TypeDiscreteLaplace:    &discreteLaplaceKind,
	TypeBoundedNoise:       &boundedKind,
	TypeRandomizedResponse: &responseKind,
	TypeEpsDelta:           &epsDeltaKind,
	TypeZCDP:               &zcdpKind,
	TypeGDP:                &gdpKind,
	TypeRDP:                &rdpKind,
	TypePoisson:            &poissonKind,
	TypePoissonTruncated:   &truncatedKind,
	TypeFixedSize:          &fixedSizeKind,
	TypeCyclic:             &cyclicKind,
	TypeMixtureGaussian:    &mixtureKind,
	TypeTree:               &treeKind,
	TypeRepeatSelect:       &selectKind,
	TypeCompose:            &composeKind,
	TypeRepeat:             &repeatKind,
	TypeParallel:           &parallelKind,
}

// errNoProof is what a kind answers for a relation in which nothing is known of it; who
// asked says what is supported.
var errNoProof = errors.New("account: no proof")

// relation is what figures are about: which change of the data is hidden.
type relation struct {
	adjacency Adjacency
	unit      Unit
}

func (r relation) members() int { return r.unit.members() }

// alone reports that one record or owner changes, not a group.
func (r relation) alone() bool { return r.members() == 1 }

// alonePair is the pair of a kind of which nothing is known for groups.
func alonePair(f func(b *body) pair) func(*body, relation) (pair, error) {
	return func(b *body, r relation) (pair, error) {
		if !r.alone() {
			return noPair, errNoProof
		}
		return f(b), nil
	}
}

// aloneCurve is the curve of such a kind.
func aloneCurve(f func(b *body) curve) func(*body, relation) (curve, error) {
	return func(b *body, r relation) (curve, error) {
		if !r.alone() {
			return nil, errNoProof
		}
		return f(b), nil
	}
}

// normalise returns the canonical form of b, whose children are canonical. Equal
// mechanisms then have equal forms.
func normalise(b *body) (*body, error) {
	if b.kind.is(holdsOne) && b.event == nil {
		return nil, config.Bad("event", "no event", "an event made by a constructor")
	}
	if slices.Contains(b.events, nil) {
		return nil, config.Bad("events", "an empty event", "events made by a constructor")
	}
	for _, f := range b.fields() {
		if err := f.check(); err != nil {
			return nil, err
		}
	}
	if b.kind.normalise != nil {
		return b.kind.normalise(b)
	}
	return b, nil
}

// has reports whether p holds for b or an event in it.
func (b *body) has(p func(*kind) bool) bool {
	return p(b.kind) || b.event != nil && b.event.has(p) ||
		slices.ContainsFunc(b.events, func(e *body) bool { return e.has(p) })
}

func (b *body) contains(t Type) bool { return b.has(func(k *kind) bool { return k.typ == t }) }
