package account

import (
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
// Event is invalid and refused everywhere. Finite numbers above 0 are 1e-100 to 1e100 in
// events, and counts at most 2^53. The exported fields are those of the root only: which
// adjacency and unit the shift was stated for, and public facts for the record (clip,
// oracle, sampler). Adjacency and Unit may be zero for an event that any accountant may
// read; accountants refuse an event whose fields differ from theirs.
type Event struct {
	Adjacency Adjacency
	Unit      Unit
	Clip      float64 // public bound of one record's contribution, 0 = not stated
	Oracle    string
	Sampler   string // for instance "poisson/1"
	body      *body
}

// body is the immutable tree below the root; the fields in use are those of its kind.
type body struct {
	kind                                *kind
	reason                              string
	noise, shift, scale                 float64
	sigmaGrid, l2Grid, a                float64 // discrete
	linfGrid, l1Grid, dim               int
	family, norm                        string // bounded
	truncation, beta                    float64
	p                                   float64 // response
	k                                   int
	epsilon, delta, rho, xi, mu         float64   // black boxes
	orders, values, shifts, probs       []float64 // black boxes and mixtures
	rate                                float64   // sampled
	maxBatch, population, batch, period int
	steps, restarts                     int     // tree
	mean                                float64 // select
	shape                               shape
	count                               int // repeat
	event                               *body
	events                              []*body
}

func newEvent(b *body) (Event, error) {
	n, err := normalise(b)
	return Event{body: n}, err
}

// Type returns the type of the root, "" for the zero Event.
func (e Event) Type() Type {
	if e.body == nil {
		return ""
	}
	return e.body.kind.typ
}

// Validate refuses the zero Event and root fields that a program has set to what no JSON
// form has: it names the field, the value and the range.
func (e Event) Validate() error {
	switch {
	case e.body == nil:
		return errInvalidEvent
	case e.Adjacency != 0 && !e.Adjacency.valid():
		return config.Bad("adjacency", e.Adjacency, adjacencyAllowed)
	case !atLeast0(e.Clip):
		return config.Bad("clip", e.Clip, "a finite number >= 0")
	case e.Unit != Unit{}:
		return e.Unit.validate()
	}
	return nil
}

// Equal reports whether two events have the same canonical form.
func (e Event) Equal(f Event) bool {
	if e.body == f.body {
		f.body = e.body
		return e == f
	}
	return e.body != nil && f.body != nil && e.Key() == f.Key()
}

// wrap puts b around e, keeping e's root fields.
func (e Event) wrap(b *body) (Event, error) {
	b.event = e.body
	n, err := normalise(b)
	if err != nil {
		return Event{}, err
	}
	e.body = n
	return e, nil
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
func atLeast0(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }
func inUnit(x float64) bool   { return x >= 0 && x <= 1 }

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
