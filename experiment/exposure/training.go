package exposure

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/internal/jsonfloat"
	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/account/network"
)

// TrainingFigures are what adversaries would learn of training, in JSON.
type TrainingFigures struct {
	Topology  string  `json:"topology"`
	Agents    int     `json:"agents"`
	Steps     int     `json:"steps"`
	Rounds    int     `json:"rounds"` // after each step
	Noise     float64 `json:"noise_multiplier"`
	Delta     float64 `json:"delta"`
	Adjacency string  `json:"adjacency"`
	// of all steps, against everyone: the guarantee
	LocalEpsilon account.StatedInterval `json:"local_epsilon"`
	Adversaries  []trainingAdversary    `json:"adversaries"`
	Notes        []string               `json:"notes,omitempty"`
}

// trainingAdversary is one of them. Share is loss mu² of all steps over that of one
// against everyone.
type trainingAdversary struct {
	Adversary  string    `json:"adversary"`
	Provenance string    `json:"provenance"`
	Label      string    `json:"label,omitempty"`
	Share      []float64 `json:"share"`
	Epsilon    []any     `json:"epsilon"` // nil: a member
}

// Training says what adversaries would learn of several steps: estimates, but for who
// sees all messages.
func (c *Case) Training(steps int) (*TrainingFigures, error) {
	out := &TrainingFigures{
		Topology:     c.Graph.Name(),
		Agents:       c.Gossip.Agents,
		Steps:        steps,
		Rounds:       len(c.Gossip.Rounds),
		Noise:        c.Noise,
		Delta:        c.Delta,
		Adjacency:    c.Adjacency.String(),
		LocalEpsilon: account.StatedInterval(local(c.Mu*math.Sqrt(float64(steps)), c.Delta)),
		Notes:        c.Notes,
	}
	for _, a := range c.Adversaries {
		v, err := (&network.Training{Gossip: c.Gossip, Steps: steps}).View(a)
		if err != nil {
			return nil, err
		}
		x := trainingAdversary{
			Adversary:  a.String(),
			Provenance: v.Provenance,
			Label:      v.Label,
			Share:      v.Share,
		}
		for u, share := range v.Share {
			var eps any
			if !isMember(u, a) {
				eps = jsonfloat.Float(gdp.Epsilon(c.Mu*math.Sqrt(share), c.Delta))
			}
			x.Epsilon = append(x.Epsilon, eps)
		}
		out.Adversaries = append(out.Adversaries, x)
	}
	return out, nil
}

// WriteText writes what a person reads: the worst agent of each adversary.
func (x *TrainingFigures) WriteText(w io.Writer) error {
	fmt.Fprintf(w,
		"%s, %d agents, %s of one release each with %s of averaging after it, at noise "+
			"multiplier %v\n", x.Topology, x.Agents, config.Count(x.Steps, "step"),
		config.Count(x.Rounds, "round"), x.Noise)
	fmt.Fprintf(w, "against everyone: epsilon %s at delta %g (%s): the guarantee\n",
		rundir.FormatFine(x.LocalEpsilon.Upper), x.Delta, x.Adjacency)
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "adversary\tworst agent\tits loss in steps\tepsilon\twhat it is")
	for _, a := range x.Adversaries {
		worst := -1
		for u, eps := range a.Epsilon {
			if eps != nil && (worst < 0 || a.Share[u] > a.Share[worst]) {
				worst = u
			}
		}
		if worst < 0 {
			continue
		}
		what := a.Label
		if what == "" {
			what = a.Provenance
		}
		fmt.Fprintf(t, "%s\t%d\t%.6g of %d\t%s\t%s\n", a.Adversary, worst, a.Share[worst], x.Steps,
			rundir.FormatFine(float64(a.Epsilon[worst].(jsonfloat.Float))), what)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range x.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	_, err := fmt.Fprintln(w,
		"An estimate takes updates as given beforehand. In training other agents' updates react to an "+
			"agent's through messages that the adversary does not see: the guarantee is the figure "+
			"against everyone.")
	return err
}
