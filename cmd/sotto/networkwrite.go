package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"sotto/privacy/account"
	"sotto/privacy/account/network"
	"sotto/report/plot"
)

const notABound = "not a bound"

// networkFigures is the JSON of "account network". Rows are observed agents, columns
// adversaries; null stands where the agent belongs to the adversary.
type networkFigures struct {
	Topology     string                 `json:"topology"`
	Agents       int                    `json:"agents"`
	Rounds       int                    `json:"rounds"`
	Method       string                 `json:"method"`
	SecureSum    bool                   `json:"secure_sum"`
	Dropout      float64                `json:"dropout"`
	Noise        float64                `json:"noise_multiplier"`
	Delta        float64                `json:"delta"`
	Adjacency    string                 `json:"adjacency"`
	Unit         string                 `json:"unit"`
	LocalEpsilon account.StatedInterval `json:"local_epsilon"` // against everyone
	Adversaries  []string               `json:"adversaries"`
	Leak         [][]any                `json:"leak"`
	Epsilon      [][]any                `json:"epsilon"`     // upper ends
	MaxLeak      []any                  `json:"max_leak"`    // of each agent, over all adversaries
	MaxEpsilon   []any                  `json:"max_epsilon"` // the same
	Rank         []int                  `json:"rank"`
	Decided      []string               `json:"rank_decided"`
	Worst        *worstPair             `json:"worst,omitempty"`
	MeanLeak     []float64              `json:"mean_leak"`
	MeanLabel    string                 `json:"mean_label"`
	Provenance   string                 `json:"provenance"`
	Accounting   string                 `json:"accounting"`
	Assumptions  []string               `json:"assumptions"`
	NotCovered   []string               `json:"not_covered"`
	Notes        []string               `json:"notes,omitempty"`
	Reference    *networkReference      `json:"reference,omitempty"`
	// Determined lists for each adversary the agents whose values it would get exactly if
	// nothing were noised.
	Determined  [][]int  `json:"determined,omitempty"`
	Arithmetics []string `json:"determined_by,omitempty"`
}

type worstPair struct {
	Observed  int     `json:"observed"`
	Adversary string  `json:"adversary"`
	Leak      float64 `json:"leak"`
	Epsilon   any     `json:"epsilon"`
}

// networkReference is the published formula; null where there is no single observer.
type networkReference struct {
	Name       string  `json:"name"`
	Label      string  `json:"label"`
	Provenance string  `json:"provenance"`
	Formula    [][]any `json:"formula"`
}

func (f *networkFlags) write(w io.Writer, r *networkResult) error {
	switch f.output {
	case "json":
		return json.NewEncoder(w).Encode(f.figures(r))
	case "csv":
		return f.writeCSV(w, r)
	case "svg":
		d, err := f.draw(r)
		if err != nil {
			return err
		}
		return plot.WriteSVG(w, d)
	}
	return f.writeTable(w, r)
}

// member reports that agent u belongs to adversary i.
func (r *networkResult) member(u, i int) bool { return r.isMember(u, r.adversaries[i]) }

func (r *networkResult) isMember(u int, a network.Adversary) bool {
	return slices.Contains(a.Members(), u)
}

// epsilon is the upper end of u's epsilon against adversary i.
func (f *networkFlags) upper(r *networkResult, u, i int) float64 {
	return r.views[i].Epsilon(u, r.mu, f.delta).Upper
}

// worst returns the pair with the largest leak, the first of several; ok is false where
// nobody is left to observe.
func (r *networkResult) worst() (u, i int, ok bool) {
	for k, v := range r.views {
		w := v.Worst()
		if w >= 0 && (!ok || v.Leak[w] > r.views[i].Leak[u]) {
			u, i, ok = w, k, true
		}
	}
	return u, i, ok
}

func (f *networkFlags) figures(r *networkResult) networkFigures {
	g := r.gossip
	out := networkFigures{
		Topology:     r.graph.Name(),
		Agents:       g.Agents,
		Rounds:       len(g.Rounds),
		Method:       g.Method.Name,
		SecureSum:    g.SecureSum,
		Dropout:      f.graph.dropout,
		Noise:        r.noise,
		Delta:        f.delta,
		Adjacency:    r.adjacency.String(),
		Unit:         "one agent's value, released once",
		LocalEpsilon: account.StatedInterval(r.local),
		MeanLabel:    network.MeanLabel,
		Provenance:   network.Proved,
		Accounting:   network.ViewMethod,
		Assumptions:  network.Assumptions,
		NotCovered:   network.NotCovered,
		Notes:        r.notes,
	}
	for i, a := range r.adversaries {
		v := r.views[i]
		out.Adversaries, out.Rank, out.Decided = append(out.Adversaries, a.String()),
			append(out.Rank, v.Rank), append(out.Decided, v.Decided)
		out.MeanLeak = append(out.MeanLeak, v.Mean())
	}
	out.Leak = f.matrix(r, func(u, i int) any { return r.views[i].Leak[u] })
	out.Epsilon = f.matrix(r, func(u, i int) any { return finiteOrInf(f.upper(r, u, i)) })
	for u := range g.Agents {
		leak, eps := r.largest(u, f.delta)
		out.MaxLeak, out.MaxEpsilon = append(out.MaxLeak, leak), append(out.MaxEpsilon, eps)
	}
	for _, d := range r.determined {
		out.Determined, out.Arithmetics = append(out.Determined, d.Agents),
			append(out.Arithmetics, d.Arithmetic)
	}
	if u, i, ok := r.worst(); ok {
		out.Worst = &worstPair{u, r.adversaries[i].String(), r.views[i].Leak[u],
			finiteOrInf(f.upper(r, u, i))}
	}
	if r.formula != nil {
		out.Reference = &networkReference{
			"published per-message formula, in units of the local Renyi divergence", notABound,
			network.Claimed,
			f.matrix(r, func(u, i int) any {
				if r.formula[i] == nil {
					return nil
				}
				return r.formula[i][u]
			})}
	}
	return out
}

// largest is the largest leak of agent u to any adversary and its epsilon, nil for one
// that belongs to all of them.
func (r *networkResult) largest(u int, delta float64) (leak, epsilon any) {
	most := -1.
	for i, v := range r.views {
		if !r.member(u, i) && v.Leak[u] > most {
			most = v.Leak[u]
			leak, epsilon = most, finiteOrInf(v.Epsilon(u, r.mu, delta).Upper)
		}
	}
	return leak, epsilon
}

func (f *networkFlags) matrix(r *networkResult, of func(u, i int) any) [][]any {
	out := make([][]any, r.gossip.Agents)
	for u := range out {
		out[u] = make([]any, len(r.views))
		for i := range r.views {
			if !r.member(u, i) {
				out[u][i] = of(u, i)
			}
		}
	}
	return out
}

func finiteOrInf(x float64) any {
	if math.IsInf(x, 1) {
		return "inf"
	}
	return x
}

func (f *networkFlags) writeCSV(w io.Writer, r *networkResult) error {
	head := "observed,adversary,distance,leak,epsilon"
	if r.formula != nil {
		head += ",formula_not_a_bound"
	}
	fmt.Fprintln(w, head)
	for i, a := range r.adversaries {
		d := r.distances(a)
		for u := range r.gossip.Agents {
			if r.member(u, i) {
				continue
			}
			line := fmt.Sprintf("%d,%s,%d,%s,%s", u, quoted(a.String()), d[u], plain(r.views[i].Leak[u]),
				plain(f.upper(r, u, i)))
			if r.formula != nil {
				line += ","
				if r.formula[i] != nil {
					line += plain(r.formula[i][u])
				}
			}
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// quoted puts a coalition, which has commas, between quotes.
func quoted(s string) string {
	if strings.Contains(s, ",") {
		return `"` + s + `"`
	}
	return s
}

func (f *networkFlags) writeTable(w io.Writer, r *networkResult) error {
	g := r.gossip
	fmt.Fprintf(w, "%s, %d agents, %d rounds of averaging (%s), one release each at noise multiplier %.6g\n",
		r.graph.Name(), g.Agents, len(g.Rounds), g.Method.Name, r.noise)
	fmt.Fprintf(w, "against everyone: epsilon %s at delta %g (%s)\n", epsilonText(r.local.Upper), f.delta,
		r.adjacency)
	if u, i, ok := r.worst(); ok {
		fmt.Fprintf(w, "worst pair: adversary %s learns leak %.6g of agent %d, epsilon %s\n",
			r.adversaries[i], r.views[i].Leak[u], u, epsilonText(f.upper(r, u, i)))
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	line := func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")) }
	last := []string{}
	if r.formula != nil {
		last = []string{"formula (" + notABound + ")"}
	}
	if len(r.views) == 1 {
		line(append([]string{"agent", "distance", "leak", "epsilon"}, last...)...)
		d := r.distances(r.adversaries[0])
		for u := range g.Agents {
			if r.member(u, 0) {
				continue
			}
			line(append([]string{fmt.Sprint(u), fmt.Sprint(d[u]), fmt.Sprintf("%.6g", r.views[0].Leak[u]),
				epsilonText(f.upper(r, u, 0))}, f.formulaCell(r, u, 0)...)...)
		}
	} else {
		line(append([]string{"distance", "pairs", "largest leak", "largest epsilon", "mean leak"},
			last...)...)
		for _, s := range r.byDistance() {
			line(append([]string{fmt.Sprint(s.distance), fmt.Sprint(s.pairs), fmt.Sprintf("%.6g", s.most),
				epsilonText(f.upper(r, s.u, s.i)), fmt.Sprintf("%.6g", s.mean)},
				f.formulaCell(r, s.u, s.i)...)...)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, d := range r.determined {
		fmt.Fprintf(w, "without noise adversary %s would get the values of agents %v (%s)\n",
			r.adversaries[i], d.Agents, d.Arithmetic)
	}
	decided := slices.Compact(slices.Sorted(func(yield func(string) bool) {
		for _, v := range r.views {
			if !yield(v.Decided) {
				return
			}
		}
	}))
	fmt.Fprintf(w, "%s (%s); rank: %s\n", network.ViewMethod, network.Proved, strings.Join(decided, "; "))
	for _, n := range r.notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	_, err := fmt.Fprintf(w, "not covered: %s\n%s\n", strings.Join(network.NotCovered, "; "),
		network.MeanLabel)
	return err
}

func (f *networkFlags) formulaCell(r *networkResult, u, i int) []string {
	switch {
	case r.formula == nil:
		return nil
	case r.formula[i] == nil:
		return []string{"-"}
	}
	return []string{fmt.Sprintf("%.6g", r.formula[i][u])}
}

// distanceSummary is what adversaries learn at one distance.
type distanceSummary struct {
	distance, pairs int
	most, mean      float64
	u, i            int // a pair with the largest leak
}

func (r *networkResult) byDistance() []distanceSummary {
	at := map[int]*distanceSummary{}
	for i, a := range r.adversaries {
		for u, d := range r.distances(a) {
			if r.member(u, i) {
				continue
			}
			s := at[d]
			if s == nil {
				s = &distanceSummary{distance: d, most: -1}
				at[d] = s
			}
			leak := r.views[i].Leak[u]
			s.pairs++
			s.mean += leak
			if leak > s.most {
				s.most, s.u, s.i = leak, u, i
			}
		}
	}
	var out []distanceSummary
	for _, s := range at {
		s.mean /= float64(s.pairs)
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b distanceSummary) int { return a.distance - b.distance })
	return out
}
