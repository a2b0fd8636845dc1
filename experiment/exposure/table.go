package exposure

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/privacy/account/network"
)

// WriteCSV writes a line for each agent and adversary.
func (r *Views) WriteCSV(w io.Writer) error {
	head := "observed,adversary,distance,leak,epsilon"
	if r.formula != nil {
		head += ",formula_not_a_bound"
	}
	fmt.Fprintln(w, head)
	for i, a := range r.Adversaries {
		d := r.distances(a)
		for u := range r.Gossip.Agents {
			if r.member(u, i) {
				continue
			}
			line := fmt.Sprintf("%d,%s,%d,%s,%s", u, quoted(a.String()), d[u], plain(r.views[i].Leak[u]),
				plain(r.upper(u, i)))
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

func plain(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// quoted puts a coalition, which has commas, between quotes.
func quoted(s string) string {
	if strings.Contains(s, ",") {
		return `"` + s + `"`
	}
	return s
}

// WriteText writes what a person reads: a line for each agent seen by one adversary, or
// for each distance from several.
func (r *Views) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d agents, %s of averaging (%s), one release each at noise multiplier %v\n",
		r.Graph.Name(), r.Gossip.Agents, config.Count(len(r.Gossip.Rounds), "round"), r.Gossip.Method.Name,
		r.Noise)
	fmt.Fprintf(w, "against everyone: epsilon %s at delta %g (%s)\n", rundir.FormatFine(r.Local.Upper),
		r.Delta, r.Adjacency)
	if u, i, ok := r.worst(); ok {
		fmt.Fprintf(w, "worst pair: adversary %s learns leak %.6g of agent %d, epsilon %s\n",
			r.Adversaries[i], r.views[i].Leak[u], u, rundir.FormatFine(r.upper(u, i)))
	}
	if err := r.writeRows(w); err != nil {
		return err
	}
	for i, d := range r.determined {
		fmt.Fprintf(w, "without noise adversary %s would get the values of agents %v (%s)\n",
			r.Adversaries[i], d.Agents, d.Arithmetic)
	}
	var decided []string
	for _, v := range r.views {
		decided = append(decided, v.Decided)
	}
	slices.Sort(decided)
	fmt.Fprintf(w, "%s (%s); rank: %s\n", network.ViewMethod, network.Proved,
		strings.Join(slices.Compact(decided), "; "))
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	_, err := fmt.Fprintf(w, "not covered: %s\n%s\n", strings.Join(network.NotCovered, "; "),
		network.MeanLabel)
	return err
}

// writeRows writes the table of a text.
func (r *Views) writeRows(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	line := func(last []string, cells ...string) {
		fmt.Fprintln(t, strings.Join(append(cells, last...), "\t"))
	}
	var last []string
	if r.formula != nil {
		last = []string{"formula (" + notABound + ")"}
	}
	if len(r.views) == 1 {
		line(last, "agent", "distance", "leak", "epsilon")
		d := r.distances(r.Adversaries[0])
		for u := range r.Gossip.Agents {
			if !r.member(u, 0) {
				line(r.formulaCell(u, 0), fmt.Sprint(u), fmt.Sprint(d[u]),
					fmt.Sprintf("%.6g", r.views[0].Leak[u]), rundir.FormatFine(r.upper(u, 0)))
			}
		}
		return t.Flush()
	}
	line(last, "distance", "pairs", "largest leak", "largest epsilon", "mean leak")
	for _, s := range r.byDistance() {
		line(r.formulaCell(s.u, s.i), fmt.Sprint(s.distance), fmt.Sprint(s.pairs),
			fmt.Sprintf("%.6g", s.most), rundir.FormatFine(r.upper(s.u, s.i)), fmt.Sprintf("%.6g", s.mean))
	}
	return t.Flush()
}

func (r *Views) formulaCell(u, i int) []string {
	switch {
	case r.formula == nil:
		return nil
	case r.formula[i] == nil:
		return []string{"-"}
	}
	return []string{fmt.Sprintf("%.6g", r.formula[i][u])}
}
