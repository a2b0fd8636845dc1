package exposure

import (
	"math"

	"sotto/internal/jsonfloat"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
)

const notABound = "not a bound"

// Figures are what [Views] come to, in JSON. Rows are observed agents, columns
// adversaries; null stands where the agent belongs to the adversary.
type Figures struct {
	averagedOnce
	LocalEpsilon account.StatedInterval `json:"local_epsilon"` // against everyone
	learned
	basis
	Reference *printedFormula `json:"reference,omitempty"`
	// Determined lists for each adversary the agents whose values it would get exactly if
	// nothing were noised.
	Determined  [][]int  `json:"determined,omitempty"`
	Arithmetics []string `json:"determined_by,omitempty"`
}

// averagedOnce says what is averaged.
type averagedOnce struct {
	Topology  string  `json:"topology"`
	Agents    int     `json:"agents"`
	Rounds    int     `json:"rounds"`
	Method    string  `json:"method"`
	SecureSum bool    `json:"secure_sum"`
	Dropout   float64 `json:"dropout"`
	Noise     float64 `json:"noise_multiplier"`
	Delta     float64 `json:"delta"`
	Adjacency string  `json:"adjacency"`
	Unit      string  `json:"unit"`
}

// learned says who learns what.
type learned struct {
	Adversaries []string   `json:"adversaries"`
	Leak        [][]any    `json:"leak"`
	Epsilon     [][]any    `json:"epsilon"`     // upper ends
	MaxLeak     []any      `json:"max_leak"`    // of each agent, over all adversaries
	MaxEpsilon  []any      `json:"max_epsilon"` // the same
	Rank        []int      `json:"rank"`
	Decided     []string   `json:"rank_decided"`
	Worst       *worstPair `json:"worst,omitempty"`
	MeanLeak    []float64  `json:"mean_leak"`
	MeanLabel   string     `json:"mean_label"`
}

// basis says what figures rest on.
type basis struct {
	Provenance  string   `json:"provenance"`
	Accounting  string   `json:"accounting"`
	Assumptions []string `json:"assumptions"`
	NotCovered  []string `json:"not_covered"`
	Notes       []string `json:"notes,omitempty"`
}

type worstPair struct {
	Observed  int             `json:"observed"`
	Adversary string          `json:"adversary"`
	Leak      float64         `json:"leak"`
	Epsilon   jsonfloat.Float `json:"epsilon"`
}

// printedFormula is the published formula; null where there is no single observer.
type printedFormula struct {
	Name       string  `json:"name"`
	Label      string  `json:"label"`
	Provenance string  `json:"provenance"`
	Formula    [][]any `json:"formula"`
}

// Figures returns them.
func (r *Views) Figures() *Figures {
	out := &Figures{
		averagedOnce: averagedOnce{
			Topology:  r.Graph.Name(),
			Agents:    r.Gossip.Agents,
			Rounds:    len(r.Gossip.Rounds),
			Method:    r.Gossip.Method.Name,
			SecureSum: r.Gossip.SecureSum,
			Dropout:   r.Dropout,
			Noise:     r.Noise,
			Delta:     r.Delta,
			Adjacency: r.Adjacency.String(),
			Unit:      "one agent's value, released once",
		},
		LocalEpsilon: account.StatedInterval(r.Local),
		learned:      r.learned(),
		basis: basis{network.Proved, network.ViewMethod, network.Assumptions, network.NotCovered,
			r.Notes},
	}
	for _, d := range r.determined {
		out.Determined, out.Arithmetics = append(out.Determined, d.Agents),
			append(out.Arithmetics, d.Arithmetic)
	}
	if r.formula != nil {
		out.Reference = &printedFormula{
			"published per-message formula, in units of the local Renyi divergence", notABound,
			network.Claimed,
			r.matrix(func(u, i int) float64 {
				if r.formula[i] == nil {
					return math.NaN()
				}
				return r.formula[i][u]
			})}
	}
	return out
}

func (r *Views) learned() learned {
	out := learned{MeanLabel: network.MeanLabel}
	for i, a := range r.Adversaries {
		v := r.views[i]
		out.Adversaries, out.Rank, out.Decided = append(out.Adversaries, a.String()),
			append(out.Rank, v.Rank), append(out.Decided, v.Decided)
		out.MeanLeak = append(out.MeanLeak, v.Mean())
	}
	out.Leak = r.matrix(func(u, i int) float64 { return r.views[i].Leak[u] })
	out.Epsilon = r.matrix(r.upper)
	for u := range r.Gossip.Agents {
		leak, eps := r.largest(u)
		out.MaxLeak, out.MaxEpsilon = append(out.MaxLeak, leak), append(out.MaxEpsilon, eps)
	}
	if u, i, ok := r.worst(); ok {
		out.Worst = &worstPair{u, r.Adversaries[i].String(), r.views[i].Leak[u],
			jsonfloat.Float(r.upper(u, i))}
	}
	return out
}

// largest is the largest leak of agent u to any adversary and its epsilon, nil for one
// that belongs to all of them.
func (r *Views) largest(u int) (leak, epsilon any) {
	most := -1.
	for i, v := range r.views {
		if !r.member(u, i) && v.Leak[u] > most {
			most = v.Leak[u]
			leak, epsilon = most, jsonfloat.Float(r.upper(u, i))
		}
	}
	return leak, epsilon
}

func (r *Views) matrix(of func(u, i int) float64) [][]any {
	out := make([][]any, r.Gossip.Agents)
	for u := range out {
		out[u] = make([]any, len(r.views))
		for i := range r.views {
			if !r.member(u, i) {
				out[u][i] = jsonfloat.Float(of(u, i))
			}
		}
	}
	return out
}
