package account

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/internal/decimal"
)

// Statement is a privacy statement for one agent: what is protected, how well, by which
// argument, and what is not. Exactly one of Epsilon and WouldBeEpsilon is set: a
// simulation, whose noise is reproducible, guarantees nothing and states only what the
// same run with secret noise would.
type Statement struct {
	V              int                  `json:"v"`
	Unit           string               `json:"unit"`
	Adjacency      Adjacency            `json:"adjacency"`
	Delta          float64              `json:"delta"`
	Epsilon        *StatedInterval      `json:"epsilon,omitempty"`
	WouldBeEpsilon *StatedInterval      `json:"would_be_epsilon,omitempty"`
	Method         string               `json:"method"`
	Provenance     string               `json:"provenance"`
	Citations      []string             `json:"citations"`
	Sampler        string               `json:"sampler"`
	Noise          string               `json:"noise"` // "exact", "fast" or "simulated"
	Releases       int                  `json:"releases"`
	Adversary      string               `json:"adversary"`
	Assumptions    []string             `json:"assumptions"`
	NotCovered     []string             `json:"not_covered"`
	PerAdversary   []AdversaryStatement `json:"per_adversary"`
	Ledger         LedgerRange          `json:"ledger"`
	Accountant     string               `json:"accountant"`
	Overrides      []string             `json:"overrides"`
}

// AdversaryStatement is an additional figure against one weaker adversary.
type AdversaryStatement struct {
	Adversary string         `json:"adversary"`
	Method    string         `json:"method"`
	Epsilon   StatedInterval `json:"epsilon"`
}

// LedgerRange ties a statement to the charges it was computed from.
type LedgerRange struct {
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"`
	Head     string `json:"head"` // SHA-256 in hexadecimal
}

// StatedInterval is an Interval whose infinite ends are the JSON string "inf".
type StatedInterval Interval

type statedJSON struct {
	Lower any `json:"lower"`
	Upper any `json:"upper"`
}

// MarshalJSON implements json.Marshaler.
func (s StatedInterval) MarshalJSON() ([]byte, error) {
	f := func(x float64) any {
		if math.IsInf(x, 1) {
			return "inf"
		}
		return x
	}
	return json.Marshal(statedJSON{f(s.Lower), f(s.Upper)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *StatedInterval) UnmarshalJSON(b []byte) error {
	var j statedJSON
	if err := strictJSON(b, &j); err != nil {
		return err
	}
	for _, f := range []struct {
		from any
		to   *float64
	}{{j.Lower, &s.Lower}, {j.Upper, &s.Upper}} {
		switch x := f.from.(type) {
		case float64:
			*f.to = x
		case string:
			*f.to = math.Inf(1)
			if x != "inf" {
				return bad(false, "epsilon", x, "a number or \"inf\"")
			}
		default:
			return bad(false, "epsilon", fmt.Sprint(x), "a number or \"inf\"")
		}
	}
	return nil
}

// NewStatement computes the statement of everything composed in acc, which was made for a
// and u (nothing checks that), at delta in [0, 1], with noise "exact", "fast" or
// "simulated". The caller fills Sampler, Releases, Ledger, Overrides, NotCovered and
// PerAdversary.
func NewStatement(acc Accountant, a Adjacency, u Unit, delta float64, noise string) (Statement, error) {
	if err := first(bad(acc != nil, "accountant", "nothing", "an accountant"), checkPair(a, u),
		bad(noise == "exact" || noise == "fast" || noise == "simulated", "noise", noise,
			"exact, fast or simulated")); err != nil {
		return Statement{}, err
	}
	i, err := acc.Epsilon(delta)
	if err != nil {
		return Statement{}, err
	}
	d := acc.Describe()
	s := Statement{
		V:          1,
		Unit:       u.String(),
		Adjacency:  a,
		Delta:      delta,
		Method:     d.Method,
		Provenance: d.Provenance,
		Citations:  d.Citations,
		Noise:      noise,
		Adversary:  "sees every message of this agent",
		Accountant: Version,
		NotCovered: []string{},

		PerAdversary: []AdversaryStatement{},
		Overrides:    []string{},
		Assumptions: append([]string{"noise and sampling keys are secret",
			"clip, rate, batch size and schedule are public"}, d.Assumptions...),
	}
	if u.Kind == UnitPerson {
		s.Assumptions = append(s.Assumptions, "all records of one person have one id in column "+u.Of)
	}
	stated := StatedInterval(i)
	if noise == "simulated" {
		s.WouldBeEpsilon = &stated
	} else {
		s.Epsilon = &stated
	}
	if noise == "fast" {
		s.Assumptions = append(s.Assumptions,
			"the double-precision sampler is indistinguishable from the normal law")
	}
	return s, nil
}

// NothingLeaves is assumed where answers have no noise and are charged nothing: messages
// alone are covered.
const NothingLeaves = "no message of this agent and no version of its model leaves it"

// WithoutNoise is what no statement of a run without noise covers.
const WithoutNoise = "the models, which were trained without noise"

// Noiseless reports that answers had no noise: nothing left the agent, or nothing is
// guaranteed.
func (s *Statement) Noiseless() bool {
	return slices.Contains(s.NotCovered, WithoutNoise) || slices.Contains(s.Assumptions, NothingLeaves)
}

// String returns a paragraph for a data protection officer.
func (s Statement) String() string {
	var b strings.Builder
	i, would := s.Epsilon, false
	if i == nil {
		i, would = s.WouldBeEpsilon, true
	}
	if i == nil {
		return "Nothing is stated: the statement holds no epsilon."
	}
	if column, ok := strings.CutPrefix(s.Unit, unitNames[UnitPerson]+"("); ok {
		s.Unit = "person (all records with one id in column " + column
	}
	what := map[Adjacency]string{0: "an unstated change of", AddRemove: "adding or removing",
		ReplaceOne: "changing", ZeroOut: "blanking out"}[s.Adjacency]
	switch {
	case math.IsInf(i.Upper, 1):
		fmt.Fprintf(&b,
			"No privacy guarantee can be given for one %s (adjacency %v): epsilon is infinite at delta %g.",
			s.Unit, s.Adjacency, s.Delta)
	case s.Noiseless():
		fmt.Fprintf(&b, "Nothing leaves this agent, so that nothing is charged: epsilon %s at delta %g is "+
			"about messages, of which there are none. The model is not covered: it was trained without "+
			"noise, may tell about every %s, and must not be published.", decimal.Digits(i.Upper, 4, true),
			s.Delta, s.Unit)
	case would:
		fmt.Fprintf(&b,
			"This was a simulation with reproducible noise and protects nobody. With secret noise, %s one "+
				"%s would make no outcome more than e^%s times as likely, plus a probability of %g.",
			what, s.Unit, decimal.Digits(i.Upper, 4, true), s.Delta)
	default:
		fmt.Fprintf(&b,
			"%s one %s makes nothing that an adversary who %s can conclude more than e^%s times as "+
				"likely, plus a probability of %[6]g (epsilon %[4]s, at least %[5]s; delta %[6]g).",
			strings.ToUpper(what[:1])+what[1:], s.Unit, s.Adversary, decimal.Digits(i.Upper, 4, true),
			decimal.Digits(i.Lower, 4, false), s.Delta)
	}
	how := fmt.Sprintf("sampler %s, %s noise", s.Sampler, s.Noise)
	if s.Noiseless() {
		how = "without noise"
	}
	fmt.Fprintf(&b, " The figure covers %d releases (%s) and was computed by %s (%s, %s).", s.Releases, how,
		s.Method, s.Provenance, s.Accountant)
	list := func(head string, items []string) {
		if len(items) > 0 {
			fmt.Fprintf(&b, " %s: %s.", head, strings.Join(items, "; "))
		}
	}
	list("It assumes", s.Assumptions)
	list("Not covered", s.NotCovered)
	list("Overrides in force", s.Overrides)
	return b.String()
}
