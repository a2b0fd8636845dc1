package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"sotto/config"
	"sotto/topology"
)

func newTopology() *cobra.Command {
	return group("topology", "Look at communication graphs", newTopologyShow())
}

func newTopologyShow() *cobra.Command {
	var (
		agents  int
		weights string
		seed    uint64
		set     []string
		output  string
	)
	c := &cobra.Command{
		Use:     "show GRAPH",
		Short:   "Degrees, Fiedler value, spectral gap and mixing time of a graph",
		Example: "  sotto topology show ring --agents 16\n  sotto topology show er --agents 100 --set p=0.1 --seed 7",
		Args:    exactly(1, "one GRAPH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			schedule, err := topology.New(args[0], weights, agents, seed, decodeSettings(set))
			if err != nil {
				return err
			}
			g, err := schedule.At(0)
			if err != nil {
				return err
			}
			info, err := topology.Analyze(g)
			if err != nil {
				return err
			}
			if output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(info)
			}
			return writeInfo(cmd, args[0], info)
		},
	}
	c.Flags().IntVar(&agents, "agents", 10, "number of agents")
	c.Flags().StringVar(&weights, "weights", "", "metropolis, uniform, lazy or max-degree")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of random graphs")
	c.Flags().StringArrayVar(&set, "set", nil, "parameter of the graph, key=value (repeatable)")
	outputFlag(c, &output)
	return c
}

func writeInfo(cmd *cobra.Command, name string, info topology.Info) error {
	t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	row := func(what, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprintf(format, args...)) }
	row("graph", "%s, %d agents, %d links", name, info.Agents, info.Links)
	row("degree", "%d min, %.4g mean, %d max", info.DegreeMin, info.DegreeMean, info.DegreeMax)
	row("doubly stochastic", "%v", info.DoublyStochastic)
	if !info.Computed {
		row("spectrum", "not computed: %s", info.NotComputed)
		return t.Flush()
	}
	row("Fiedler value", "%.6g (divided by agents: %.4f)", info.Fiedler, info.NormalizedFiedler)
	row("lambda_2(W)", "%.4f", info.Lambda2)
	row("lambda_n(W)", "%.4f", math.Round(1e4*info.LambdaN)/1e4+0) // + 0: not -0.0000
	row("spectral gap", "%.4f (1 - max(|lambda_2|, |lambda_n|): %.4f)", info.Gap, info.AbsoluteGap)
	if info.MixingTime > 0 {
		row("mixing time", "%d rounds until disagreement has shrunk by 1/e", info.MixingTime)
	} else {
		row("mixing time", "never: disagreement does not shrink")
	}
	return t.Flush()
}

// decodeSettings decodes "key=value" flags into parameter structs, strictly: each key must be known to
// the first struct that is decoded.
func decodeSettings(set []string) func(any) error {
	return func(params any) error {
		for _, s := range set {
			key, value, ok := strings.Cut(s, "=")
			if !ok {
				return usageError{fmt.Errorf("--set: found %q, allowed: key=value", s)}
			}
			dec := func(v string) error {
				d := toml.NewDecoder(strings.NewReader(key + " = " + v))
				return d.DisallowUnknownFields().Decode(params)
			}
			if err := dec(value); err == nil {
				continue
			}
			if err := dec(fmt.Sprintf("%q", value)); err != nil { // a bare string
				return config.Bad(key, value, "a parameter of this graph or data set, of the right type")
			}
		}
		return nil
	}
}
