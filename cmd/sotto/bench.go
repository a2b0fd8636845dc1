//go:build !operator

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sotto/bench"
	"sotto/cmd/sotto/cli"
	"sotto/config"
)

func newBench() *cobra.Command {
	var (
		o         bench.Options
		models    []string
		output    cli.Output
		agents    int
		simulator bool
	)
	names := make([]string, len(bench.Cases))
	for i := range bench.Cases {
		names[i] = bench.Cases[i].Name
	}
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure the engine on this machine: peak, products, private and non-private training, noise",
		Long: cli.Unwrap(`\
Measure in one run: what the processor and its memory can do; matrix products; samples per second
of each model, with clipping and noise and without either; the price of privacy as the ratio of
these two (median and range over alternating turns); the integer path that tests compare with;
noise per coordinate; and mixing. The data are random numbers.

Models: `) + strings.Join(names, ", ") + `.`,
		Example: "  sotto bench\n  sotto bench --models convnet --explain\n  sotto bench --seconds 5 " +
			"--output json",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			for _, m := range models {
				o.Models = append(o.Models, strings.TrimSpace(m))
			}
			if simulator && (models != nil || o.Explain) {
				return cli.Usagef("--models, --explain: found with --sim, allowed: without it")
			}
			if !simulator && cmd.Flags().Changed("agents") {
				return cli.Usagef("--agents: found %d, allowed: with --sim", agents)
			}
			note := func(what string) { fmt.Fprintf(cli.Notes(cmd), "measuring %s\n", what) }
			if simulator {
				return benchSim(cmd, o.Seconds, o.Workers, agents, output, note)
			}
			r, err := bench.Run(o, note)
			switch {
			case err != nil:
				return flagError(err)
			case output.JSON():
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return r.WriteTable(cmd.OutOrStdout())
		},
	}
	c.Flags().StringSliceVar(&models, "models", nil, "models to measure, separated by commas (default: all)")
	c.Flags().Float64Var(&o.Seconds, "seconds", 2,
		"time for each model; a step that takes longer is still finished")
	cli.WorkersFlag(c, &o.Workers, "worker goroutines (0: one for each processor)")
	c.Flags().BoolVar(&o.Explain, "explain", false,
		"list each model's layers: sizes, work, how gradient norms are computed")
	c.Flags().BoolVar(&simulator, "sim", false,
		"measure the asynchronous simulator instead, from 1,000 to 1,000,000 agents")
	c.Flags().IntVar(&agents, "agents", 0,
		"with --sim: skip sizes with more agents than this (0: skip none; a million agents take 8 GB)")
	output.Register(c)
	return c
}

// benchSim prints what a wake costs at every size.
func benchSim(cmd *cobra.Command, seconds float64, workers, agents int, output cli.Output,
	note func(string)) error {
	r, err := bench.Sim(seconds, workers, agents, note)
	switch {
	case err != nil:
		return flagError(err)
	case output.JSON():
		return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
	}
	return bench.WriteSimTable(cmd.OutOrStdout(), r)
}

// flagError names the flag that a value came from.
func flagError(err error) error {
	var bad *config.Error
	if errors.As(err, &bad) && bad.File == "" {
		bad.Key = "--" + bad.Key
	}
	return err
}
