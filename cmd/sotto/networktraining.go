package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"sotto/config"
	"sotto/privacy/account"
	"sotto/privacy/account/network"
)

// trainingFigures are what adversaries would learn of training, in JSON.
type trainingFigures struct {
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
	Epsilon    []any     `json:"epsilon"`
}

// writeTraining says what adversaries would learn of several steps: estimates, but for
// who sees all messages.
func (f *networkFlags) writeTraining(w io.Writer) error {
	r, err := f.described()
	if err != nil {
		return err
	}
	local := account.GaussianEpsilon(r.mu*math.Sqrt(float64(f.steps)), f.delta)
	out := trainingFigures{
		Topology:  r.graph.Name(),
		Agents:    r.gossip.Agents,
		Steps:     f.steps,
		Rounds:    len(r.gossip.Rounds),
		Noise:     r.noise,
		Delta:     f.delta,
		Adjacency: r.adjacency.String(),
		LocalEpsilon: account.StatedInterval{Lower: local * (1 - 1e-12),
			Upper: local * (1 + 1e-12)},
		Notes: r.notes,
	}
	for _, a := range r.adversaries {
		v, err := (&network.Training{Gossip: r.gossip, Steps: f.steps}).View(a)
		if err != nil {
			return err
		}
		x := trainingAdversary{
			Adversary:  a.String(),
			Provenance: v.Provenance,
			Label:      v.Label,
			Share:      v.Share,
		}
		for u, share := range v.Share {
			var eps any
			if !r.isMember(u, a) {
				eps = finiteOrInf(account.GaussianEpsilon(r.mu*math.Sqrt(share), f.delta))
			}
			x.Epsilon = append(x.Epsilon, eps)
		}
		out.Adversaries = append(out.Adversaries, x)
	}
	if f.output == "json" {
		return json.NewEncoder(w).Encode(out)
	}
	return out.write(w)
}

// checkTraining refuses what training has no figures for.
func (f *networkFlags) checkTraining() error {
	switch {
	case f.steps < 1:
		return config.Bad("--steps", f.steps, "at least 1")
	case f.output != "table" && f.output != "json":
		return config.Bad("--output", f.output, "table or json with --steps")
	case f.reference || f.reconstruct:
		return config.Bad("--steps", f.steps, "1 with --reference or --reconstruct")
	}
	return nil
}

func (x *trainingFigures) write(w io.Writer) error {
	fmt.Fprintf(w,
		"%s, %d agents, %d steps of one release each with %d rounds of averaging after it, at noise "+
			"multiplier %.6g\n", x.Topology, x.Agents, x.Steps, x.Rounds, x.Noise)
	fmt.Fprintf(w, "against everyone: epsilon %s at delta %g (%s): the guarantee\n",
		epsilonText(x.LocalEpsilon.Upper), x.Delta, x.Adjacency)
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
		fmt.Fprintf(t, "%s\t%d\t%.6g of %d\t%v\t%s\n", a.Adversary, worst, a.Share[worst], x.Steps,
			shortEpsilon(a.Epsilon[worst]), what)
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

func shortEpsilon(x any) string {
	if eps, ok := x.(float64); ok {
		return epsilonText(eps)
	}
	return fmt.Sprint(x)
}
