//go:build !operator

package calculator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/experiment/rundir"
	"sotto/report/plot"
	"sotto/topology"
)

// Topology returns the command "topology".
func Topology() *cobra.Command {
	return cli.Group("topology", "Look at communication graphs", newTopologyShow(), newTopologyDraw())
}

func newTopologyShow() *cobra.Command {
	var (
		f      cli.GraphFlags
		output cli.Output
	)
	c := &cobra.Command{
		Use:   "show GRAPH",
		Short: "Degrees, Fiedler value, spectral gap and mixing time of a graph",
		Example: "  sotto topology show ring --agents 16\n  sotto topology show er --agents 100 --set " +
			"p=0.1 --seed 7\n  sotto topology show exp-directed --agents 20 --round 3",
		Args: cli.Exactly(1, "one GRAPH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			schedule, g, err := f.Build(args[0])
			if err != nil {
				return err
			}
			info, err := topology.Analyze(g)
			if err != nil {
				return err
			}
			shown := shownGraph{
				Info:             info,
				Round:            f.Round,
				ColumnStochastic: topology.Validate(g, topology.Claims{ColumnStochastic: true}) == nil,
				Window:           topology.ConnectedWindow(schedule, f.Round, mostWindow),
			}
			if output.JSON() {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(shown)
			}
			return writeInfo(cmd, args[0], shown)
		},
	}
	f.Register(c)
	output.Register(c)
	return c
}

// mostWindow ends the search for the Window of a shownGraph.
const mostWindow = 100

// shownGraph is the graph of one round.
type shownGraph struct {
	topology.Info
	Round            uint64 `json:"round"`
	ColumnStochastic bool   `json:"column_stochastic"` // what push-sum asks for
	// Window is the least number of rounds, from Round on, whose links together connect
	// all agents; 0: more than 100.
	Window uint64 `json:"window"`
}

func newTopologyDraw() *cobra.Command {
	var (
		f        cli.GraphFlags
		run, out string
		output   cli.Output
	)
	c := &cobra.Command{
		Use:   "draw [GRAPH]",
		Short: "Draw a graph, or the one that a run used, as SVG or PNG",
		Example: "  sotto topology draw torus --agents 16 --out torus.svg\n  sotto topology draw " +
			"er-fiedler --set target=0.06 --seed 7 --out sparse.png\n" +
			"  sotto topology draw --run runs/mnist-dsgd-1a2b3c4d --out graph.svg",
		Args: func(cmd *cobra.Command, args []string) error {
			if run == "" {
				return cli.Exactly(1, "one GRAPH, or --run RUN")(cmd, args)
			}
			for _, flag := range []string{"agents", "weights", "seed", "set", "dropout", "round"} {
				if len(args) > 0 || cmd.Flags().Changed(flag) {
					return cli.Usagef("--run draws the graph of a finished run: no GRAPH, --agents, " +
						"--dropout, --round, --set, --seed or --weights beside it")
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var (
				g   *topology.Graph
				err error
			)
			if run != "" {
				g, err = rundir.ReadGraph(run)
			} else {
				_, g, err = f.Build(args[0])
			}
			if err != nil {
				return err
			}
			d, err := plot.NewGraph("graph", g)
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := plot.WriteGraph(&b, d, out); err != nil {
				return err
			}
			var read []string
			if run != "" {
				read = []string{run}
			}
			if err := cli.WriteFile(out, b.Bytes(), cli.ForAll, read...); err != nil {
				return err
			}
			return output.Print(cmd.OutOrStdout(), map[string]string{"file": out, "title": d.Title},
				"%s: %s\n", out, d.Title)
		},
	}
	f.Register(c)
	output.Register(c)
	c.Flags().StringVar(&run, "run", "", "draw the graph of this run directory")
	c.Flags().StringVar(&out, "out", "graph.svg", "file to write; its ending sets the format, .svg or .png")
	return c
}

func writeInfo(cmd *cobra.Command, name string, info shownGraph) error {
	row, flush := cli.Output("text").Rows(cmd.OutOrStdout())
	row("graph", "%s, %s, %s", name, config.Count(info.Agents, "agent"), config.Count(info.Links, "link"))
	row("degree", "%d min, %.4g mean, %d max", info.DegreeMin, info.DegreeMean, info.DegreeMax)
	row("doubly stochastic", "%v", info.DoublyStochastic)
	if !info.DoublyStochastic || info.Window != 1 {
		row("column stochastic", "%v", info.ColumnStochastic)
		window := fmt.Sprintf("from round %d on, %d rounds together connect all agents", info.Round,
			info.Window)
		if info.Window == 0 {
			window = "100 rounds together do not connect all agents"
		}
		row("connected", "%s", window)
	}
	if !info.Computed {
		row("spectrum", "not computed: %s", info.NotComputed)
		return flush()
	}
	row("Fiedler value", "%.6g (divided by agents: %s)", info.Fiedler,
		rundir.Gap(info.NormalizedFiedler))
	row("lambda_2(W)", "%.4f", info.Lambda2)
	row("lambda_n(W)", "%.4f", math.Round(1e4*info.LambdaN)/1e4+0) // + 0: not -0.0000
	row("spectral gap", "%s (1 - max(|lambda_2|, |lambda_n|): %s)", rundir.Gap(info.Gap),
		rundir.Gap(info.AbsoluteGap))
	if info.MixingTime > 0 {
		row("mixing time", "%s until disagreement has shrunk by 1/e", config.Count(info.MixingTime, "round"))
	} else {
		row("mixing time", "never: disagreement does not shrink")
	}
	return flush()
}
