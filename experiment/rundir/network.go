package rundir

import (
	"fmt"
	"math"
	"strconv"

	"sotto/internal/jsonfloat"
)

// NetworkFigures say what one agent's view of a private average tells of another's value:
// less than its messages would alone, because most of what it sees is mixed already. It
// is exact for values that are released once and then only averaged.
type NetworkFigures struct {
	Adversary   string          `json:"adversary"`
	Rounds      int             `json:"rounds_of_averaging"`
	Observer    int             `json:"worst_observer"`
	Agent       int             `json:"worst_agent"` // whose value it learns most of
	Leak        float64         `json:"worst_leak"`  // share of the local loss mu², in [0, 1]
	Epsilon     Bounds          `json:"worst_epsilon"`
	Local       Bounds          `json:"local_epsilon"` // against who sees every message
	MeanLeak    float64         `json:"mean_leak"`
	MeanEpsilon jsonfloat.Float `json:"mean_epsilon"`
	MeanLabel   string          `json:"mean_label"`
	Delta       float64         `json:"delta"`
	Method      string          `json:"method"`
	Assumptions []string        `json:"assumptions"`
	Citations   []string        `json:"citations"`
}

// WalkFigures say what an agent that sees a token only when it holds it learns of
// another's contributions: less than who sees every message, because steps of others add
// their noise in between. Upper ends, under the assumptions.
type WalkFigures struct {
	Adversary   string          `json:"adversary"`
	Observers   []WalkObserver  `json:"observers"`
	Examined    string          `json:"examined"` // which pairs of an observer and an agent
	Observer    int             `json:"worst_observer"`
	Agent       int             `json:"worst_agent"`
	Epsilon     jsonfloat.Float `json:"worst_epsilon"`
	MeanEpsilon jsonfloat.Float `json:"mean_epsilon"`
	MeanLabel   string          `json:"mean_label"`
	Local       Bounds          `json:"local_epsilon"` // against who sees every message
	Delta       float64         `json:"delta"`
	Method      string          `json:"method"`
	Provenance  string          `json:"provenance"`
	Assumptions []string        `json:"assumptions"`
	Citations   []string        `json:"citations"`
	Printed     *WalkReference  `json:"reference,omitempty"`
}

// WalkObserver is what one observer learns.
type WalkObserver struct {
	Observer int             `json:"observer"`
	Agent    int             `json:"worst_agent"`
	Worst    jsonfloat.Float `json:"worst_epsilon"`
	Mean     jsonfloat.Float `json:"mean_epsilon"`
}

// WalkReference are figures by the published closed form, over all agents as seen by the
// same observers.
type WalkReference struct {
	Worst      jsonfloat.Float `json:"worst_epsilon"`
	Mean       jsonfloat.Float `json:"mean_epsilon"`
	Label      string          `json:"label"`
	Provenance string          `json:"provenance"`
	Citation   string          `json:"citation"`
}

// Text is what a person reads.
func (n *NetworkFigures) Text(names *Names) string {
	return fmt.Sprintf("%s upper, against any one agent: the worst of all pairs, agent %s seen by %s, "+
		"which learns %s of the local loss; mean %s (%s)", FormatEpsilon(float64(n.Epsilon.Upper)),
		names.Agent(n.Agent), names.Agent(n.Observer),
		strconv.FormatFloat(math.Round(1e4*n.Leak)/1e4, 'g', -1, 64), FormatEpsilon(float64(n.MeanEpsilon)),
		"no guarantee for any single agent")
}

// Text is what a person reads.
func (s *WalkFigures) Text(names *Names) string {
	return fmt.Sprintf("%s upper, %s: agent %s seen by %s, the worst pair of those looked at (%s); mean "+
		"%s (no guarantee for any single agent)",
		FormatEpsilon(float64(s.Epsilon)), s.Adversary, names.Agent(s.Agent), names.Agent(s.Observer),
		s.Examined,
		FormatEpsilon(float64(s.MeanEpsilon)))
}

// Text is what a person reads.
func (r *WalkReference) Text() string {
	return fmt.Sprintf("%s for the worst pair, %s in the mean: %s (%s)", FormatEpsilon(float64(r.Worst)),
		FormatEpsilon(float64(r.Mean)), r.Label, r.Provenance)
}
