package audit

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"gonum.org/v1/gonum/mat"

	"sotto/config"
	"sotto/privacy/account/network"
)

// Solved is what an adversary makes of one agent's value where nothing is noised.
type Solved struct {
	Agent      int    `json:"agent"`
	Determined bool   `json:"determined"` // by exact algebra
	Value      Figure `json:"value"`      // the private one
	Solved     Figure `json:"solved"`     // from messages; null where they do not determine it
	// Error is the distance of the two. Limit is what rounding of messages to float32
	// explains: that of one message times the length of the weights that the solution
	// gives to messages, eightfold.
	Error Figure `json:"error"`
	Limit Figure `json:"limit"`
	// Other is another value of this agent that leads, with other values of others, to
	// messages which differ from the real ones by at most Apart; null where the value is
	// determined.
	Other Figure `json:"other_value"`
	Apart Figure `json:"other_apart"`
}

// ReconstructReport says whose values an adversary gets exactly.
type ReconstructReport struct {
	Report
	Observer   string   `json:"observer"`
	Arithmetic string   `json:"arithmetic"`
	Messages   int      `json:"messages"`
	Agents     []Solved `json:"agents"` // without members
}

// Reconstruct runs an averaging whose gates add no noise, hands an adversary the messages
// that it receives, and has it solve for the others' values by least squares. Exact
// algebra over fractions says beforehand whose values are determined. For every agent
// whose value is not, a second run with other values shows that messages do not tell.
//
// Values that rounding to float32 hides count as determined: the exact algebra decides,
// and Limit says what the numbers can show.
func (a *AveragingTarget) Reconstruct(ctx context.Context, adversary network.Adversary,
	seed uint64) (*ReconstructReport,
	error) {
	members := adversary.Members()
	switch {
	case len(members) == 0:
		return nil, config.Bad("observer", adversary.String(), "an agent or a coalition")
	case len(a.Gossip.Rounds) == 0:
		return nil, config.Bad("rounds", 0, "at least one round of averaging")
	}
	exact, err := a.Gossip.Reconstruct(adversary)
	if err != nil {
		return nil, err
	}
	none := Figure(math.NaN())
	r := &ReconstructReport{Observer: adversary.String(), Arithmetic: exact.Arithmetic}
	r.Report = Report{
		Mode:         "reconstruct",
		Target:       a.Name,
		EpsilonLower: none,
		Claimed:      none,
		Ratio:        none,
		Confidence:   1,
		Valid: []string{"nothing is noised: with noise the adversary gets the noised value of a " +
			"determined agent, at the full local loss"},
	}
	values, listens := a.publicValues(seed), a.listeners(adversary, false)
	for i := range values {
		values[i] = float64(float32(values[i] / 2)) // room for other values that nothing shows
	}
	all, _, err := a.run(ctx, values, listens, members, seed)
	if err != nil {
		return nil, err
	}
	r.Messages, r.Observations = len(all), 1
	s, err := a.solve(all, values, members)
	if err != nil {
		return nil, err
	}
	for u := range a.Gossip.Agents {
		if slices.Contains(members, u) {
			continue
		}
		g := Solved{
			Agent:      u,
			Determined: slices.Contains(exact.Agents, u),
			Value:      Figure(values[u]),
			Solved:     none,
			Error:      none,
			Limit:      none,
			Other:      none,
			Apart:      none,
		}
		if g.Determined {
			x, limit := s.value(u, largest(all)*0x1p-24)
			g.Solved, g.Error, g.Limit = Figure(x), Figure(math.Abs(x-values[u])), Figure(limit)
			if g.Error > g.Limit {
				r.refute("the value of agent %d is determined, but the messages give %s in place of %s", u,
					g.Solved, g.Value)
			}
		} else if err := a.confuse(ctx, &g, s, all, values, listens, members, seed); err != nil {
			return nil, err
		}
		r.Agents = append(r.Agents, g)
	}
	return r, nil
}

// equations are what an adversary knows of the values of those who are no members:
// weights times values = heard.
type equations struct {
	others []int
	u, v   mat.Dense
	s      []float64 // above the cut
	heard  []float64 // less what members' own values explain
}

// solve takes a view apart. Directions below 1e-9 of the largest are left out: rounding
// of messages hides them, or they are rounding.
func (a *AveragingTarget) solve(all []heard, values []float64, members []int) (*equations, error) {
	powers, err := a.products()
	if err != nil {
		return nil, err
	}
	s := &equations{}
	for u := range a.Gossip.Agents {
		if !slices.Contains(members, u) {
			s.others = append(s.others, u)
		}
	}
	b := mat.NewDense(max(1, len(all)), max(1, len(s.others)), nil)
	s.heard = make([]float64, max(1, len(all)))
	for i, h := range all {
		row := powers[h.round][h.from]
		s.heard[i] = h.value
		for _, m := range members {
			s.heard[i] -= row[m] * values[m]
		}
		for k, u := range s.others {
			b.Set(i, k, row[u])
		}
	}
	var svd mat.SVD
	if !svd.Factorize(b, mat.SVDThin) {
		return nil, fmt.Errorf("audit: the weights of %d messages have no singular values", len(all))
	}
	svd.UTo(&s.u)
	svd.VTo(&s.v)
	s.s = svd.Values(nil)
	for k, x := range s.s {
		if x <= 1e-9*s.s[0] {
			s.s = s.s[:k]
			break
		}
	}
	return s, nil
}

// value is the least-squares solution for agent u, and how far an error of that size in
// each message may move it, eightfold.
func (s *equations) value(u int, rounding float64) (x, limit float64) {
	at := slices.Index(s.others, u)
	weights := make([]float64, len(s.heard))
	for k, size := range s.s {
		for i := range weights {
			weights[i] += s.v.At(at, k) / size * s.u.At(i, k)
		}
	}
	for i, w := range weights {
		x += w * s.heard[i]
		limit += math.Abs(w)
	}
	return x, 8 * rounding * limit
}

// hidden is the part of the unit vector of agent u that no message shows, by agent among
// the others.
func (s *equations) hidden(u int) []float64 {
	at := slices.Index(s.others, u)
	out := make([]float64, len(s.others))
	out[at] = 1
	for k := range s.s {
		for j := range out {
			out[j] -= s.v.At(at, k) * s.v.At(j, k)
		}
	}
	return out
}

// confuse runs once more, with values that differ where no message shows it.
func (a *AveragingTarget) confuse(ctx context.Context, g *Solved, s *equations, all []heard, values []float64,
	listens []bool, members []int, seed uint64) error {
	other, room := slices.Clone(values), slices.Min(a.Clip)/2
	for k, d := range s.hidden(g.Agent) {
		other[s.others[k]] += d * room
	}
	again, _, err := a.run(ctx, other, listens, members, seed)
	if err != nil {
		return err
	}
	apart := 0.
	for i := range all {
		apart = max(apart, math.Abs(all[i].value-again[i].value))
	}
	g.Other, g.Apart = Figure(other[g.Agent]), Figure(apart)
	return nil
}

// WriteText writes the report for a person.
func (r *ReconstructReport) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "observer %s\t%d messages, arithmetic %s\n\n", r.Observer, r.Messages, r.Arithmetic)
	fmt.Fprintln(t, "agent\tvalue\tsolved from messages\terror\tanother value with the same messages")
	for _, g := range r.Agents {
		if g.Determined {
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\tnone\n", g.Agent, g.Value, g.Solved, g.Error)
		} else {
			fmt.Fprintf(t, "%d\t%s\tnot determined\t\t%s (messages %s apart)\n", g.Agent, g.Value, g.Other,
				g.Apart)
		}
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	return r.Report.WriteText(w)
}
