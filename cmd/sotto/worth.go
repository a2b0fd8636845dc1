package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sotto/cmd/sotto/cli"
	"sotto/experiment"
	"sotto/experiment/owner"
	"sotto/experiment/worth"
)

// worthFlags are those of what joining would bring.
type worthFlags struct {
	ask      bool
	agent    int
	others   []int
	epsilons []float64
	worlds   int
	workers  int
}

func (f *worthFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.BoolVar(&f.ask, "worth", false,
		"say what joining would bring the owner of --data, or one agent of a simulation, from simulations "+
			"of the run on records that stand in for those of all members; for the owner alone, nothing "+
			"leaves")
	fl.IntVar(&f.agent, "agent", 0, "with --worth for a simulation: the agent whose records are used")
	fl.IntSliceVar(&f.others, "others", nil,
		"with --worth: how many records each other member has; default: their true number, or if nobody "+
			"knows it as many as the owner has")
	fl.Float64SliceVar(&f.epsilons, "epsilons", []float64{.5, 1, 3, 8},
		"with --worth: the epsilons to simulate")
	fl.IntVar(&f.worlds, "worlds", 20, "with --worth: number of simulations of each kind, at least 2")
	cli.WorkersFlag(c, &f.workers,
		"with --worth: simulations at the same time; 0: one for each processor; changes no result")
}

// check refuses flags of --worth without it.
func (f *worthFlags) check(given *pflag.FlagSet) error {
	for _, name := range []string{"agent", "others", "epsilons", "worlds", "workers"} {
		if given.Changed(name) && !f.ask {
			return cli.Usagef("--%s: found without --worth, allowed: with --worth", name)
		}
	}
	if given.Changed("agent") && given.Changed("data") {
		return cli.Usagef("--agent: found with --data, allowed: with --worth of a simulation")
	}
	return nil
}

// simulatedWorth asks for an agent of a simulation.
func (f *planFlags) simulatedWorth(cmd *cobra.Command, args []string) error {
	e, err := build(args, f.set, f.dataDir)
	if err != nil {
		return err
	}
	parts := e.Task.Parts
	if f.worth.agent < 0 || f.worth.agent >= len(parts) {
		return cli.Usagef("--agent: found %d, allowed: 0 to %d", f.worth.agent, len(parts)-1)
	}
	own := parts[f.worth.agent]
	others := f.worth.others
	for k := range parts {
		if k != f.worth.agent && len(f.worth.others) == 0 {
			others = append(others, len(parts[k]))
		}
	}
	name := fmt.Sprintf("agent %d", f.worth.agent)
	if names := experiment.NamesOf(e); len(names.Agents) > 0 {
		name = names.Agent(f.worth.agent)
	}
	return f.answer(cmd.Context(), cmd.OutOrStdout(), &worth.Question{File: e.File,
		Records: e.Task.Split.Train.Select(own), Own: len(own), Others: others},
		worthWords{owner: name})
}

// memberWorth asks for an owner's own data.
func (f *planFlags) memberWorth(cmd *cobra.Command, m *owner.Membership) error {
	file, records := owner.Everything(m.Owner)
	q := &worth.Question{File: file, Records: records, Own: owner.TrainRecords(m.Owner),
		Others: f.worth.others}
	var words worthWords
	if len(q.Others) == 0 {
		for range m.Roster.Size - 1 {
			q.Others = append(q.Others, q.Own)
		}
		words.assumed = "each other member is taken to have as many records as you; --others says how many"
	}
	return f.answer(cmd.Context(), cmd.OutOrStdout(), q, words)
}

// worthWords are what an answer says beside itself: whose records are looked at, "" for
// those of the reader, and what is assumed of the others.
type worthWords struct{ owner, assumed string }

func (f *planFlags) answer(ctx context.Context, w io.Writer, q *worth.Question,
	words worthWords) error {
	if n := q.File.Topology.Agents - 1; len(q.Others) != n {
		return cli.Usagef("--others: found %d numbers, allowed: %d, one for each other member",
			len(q.Others), n)
	}
	q.Epsilons, q.Worlds, q.Seed, q.Workers = f.worth.epsilons, f.worth.worlds, 1, f.worth.workers
	a, err := worth.Ask(ctx, q)
	if err != nil {
		return err
	}
	if f.output.JSON() {
		return json.NewEncoder(w).Encode(a)
	}
	row, flush := rows(w)
	reader := "you"
	if words.owner != "" {
		reader = words.owner
	}
	row("for "+reader+" alone", "what joining would bring, by %d simulations of each kind on records that "+
		"stand in for those of all members; nothing leaves", q.Worlds)
	if words.assumed != "" {
		row("others", "%s", words.assumed)
	}
	a.Say(row, q.Records.Len(), words.owner)
	return flush()
}
