package account

import (
	"errors"
	"fmt"
	"slices"

	"sotto/config"
)

// Version names the accounting rules; it changes when a figure does (see CHANGELOG.md).
const Version = "sotto/account 2"

var (
	// ErrUnsupported: no proof is implemented for this event, adjacency, unit and
	// sampler. The message says what is supported.
	ErrUnsupported = errors.New("account: unsupported")
	// ErrInfeasible: no parameter in range meets the budget. The message says what limits
	// it.
	ErrInfeasible = errors.New("account: budget cannot be met")
	// ErrDeltaTooSmall: the numerical error would exceed a tenth of delta.
	ErrDeltaTooSmall = errors.New("account: delta too small for this accountant")
	// ErrExhausted: a filter refused a charge because the budget would be exceeded.
	ErrExhausted = errors.New("account: privacy budget exhausted")

	errInvalidEvent = config.Bad("event", "the zero Event", "an event made by a constructor")
	errNotMade      = config.Bad("accountant", "the zero value", "one made by a constructor, such as New")
	errNoFilter     = config.Bad("filter", "the zero value", "one made by a constructor")
)

// Interval holds an epsilon: the true value of the events lies in [Lower, Upper]. Upper
// is the guarantee. Lower is what no accounting of these events can go below; a release
// whose event has room for rounding moves by less than is charged, and may have a smaller
// one. It is 0 where only upper bounds are known (RDP, black boxes, truncated Poisson
// sampling), and both are +Inf for non-private events.
type Interval struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// Description says how an accountant works, for privacy statements.
type Description struct {
	Method      string
	Provenance  string // "proved": every accountant here; reference figures are plain functions
	Citations   []string
	Assumptions []string
}

// Accountant composes events and reads off epsilon. Implementations are not safe for
// concurrent Compose; Epsilon does not change them.
type Accountant interface {
	// Compose adds times adaptive copies of ev, in time that does not depend on times. It
	// refuses what it cannot prove with ErrUnsupported, and is unchanged after any error.
	// times may be 0.
	Compose(ev Event, times int) error
	// Epsilon returns epsilon at delta in [0, 1]; +Inf where nothing can be guaranteed,
	// never NaN.
	Epsilon(delta float64) (Interval, error)
	// Describe names method, citations and assumptions.
	Describe() Description
}

// DeltaAccountant is offered by accountants that can answer the inverse question.
type DeltaAccountant interface {
	Accountant
	// Delta returns the smallest proven delta for epsilon >= 0.
	Delta(epsilon float64) (Interval, error)
}

// New returns an empty accountant by name, see Accountants.
func New(name string, a Adjacency, u Unit) (Accountant, error) {
	f, ok := Accountants[name]
	if !ok {
		return nil, config.Bad("accountant", name, config.OneOf(Accountants))
	}
	return f(a, u)
}

// Names lists the keys of Accountants in order.
func Names() []string {
	names := make([]string, 0, len(Accountants))
	for n := range Accountants {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func checkPair(a Adjacency, u Unit) error {
	if !a.valid() {
		return config.Bad("adjacency", a, adjacencyAllowed)
	}
	return u.validate()
}

func checkDelta(delta float64) error {
	return bad(inUnit(delta), "delta", delta, "0 to 1")
}

func checkEpsilon(eps float64) error {
	return bad(atLeast0(eps), "epsilon", eps, "a finite number >= 0")
}

// Budget is a target or a limit: epsilon is finite and above 0, delta 0 to below 1.
type Budget struct {
	Epsilon float64 `json:"epsilon" toml:"target_epsilon"`
	Delta   float64 `json:"delta" toml:"target_delta"`
}

func (b Budget) validate() error {
	return first(bad(positive(b.Epsilon), "target_epsilon", b.Epsilon, "a finite number > 0"),
		bad(b.Delta >= 0 && b.Delta < 1, "target_delta", b.Delta, "0 to below 1"))
}

// unsupported wraps ErrUnsupported with what was asked and what would be accepted.
func (r relation) unsupported(b *body, accountant, supported string) error {
	name := string(b.kind.typ)
	if b.event != nil {
		name += " of " + string(b.event.kind.typ)
	}
	return fmt.Errorf("%w: %s under %v, unit %v, by accountant %s; supported: %s", ErrUnsupported, name,
		r.adjacency, r.unit, accountant, supported)
}
