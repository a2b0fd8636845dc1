//go:build !operator

package main

import (
	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment/attack"
)

func newClaims() *cobra.Command {
	var (
		scale  string
		output cli.Output
		seed   uint64
		beta   float64
	)
	c := &cobra.Command{
		Use: "claims",
		Short: "Audit published guarantees: every switch of [replication] and every mechanism that is " +
			"only claimed",
		Long: cli.Unwrap(`\
Audit published guarantees: every switch of [replication] and every mechanism that is only claimed.

Each row has the published epsilon, the true one as the accountant computes it, a lower bound from
observing this program's own mechanisms, gates and messages, and a verdict. A refuted publication
does not count as a failure. Exit code 3 says that a lower bound is above what the accountant calls
true.`),
		Example: "  sotto audit claims\n  sotto audit claims --scale full --output json",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			r, err := attack.Claims(cmd.Context(), scale, seed, beta)
			if err != nil {
				return err
			}
			return conclude(cmd, output, r)
		},
	}
	fl := c.Flags()
	fl.StringVar(&scale, "scale", "smoke", "number of observations: smoke or full")
	fl.Uint64Var(&seed, "seed", 1, "seed of all keys that the audit draws")
	fl.Float64Var(&beta, "beta", 1e-3, "largest probability that a row's lower bound exceeds the truth")
	output.Register(c)
	return c
}
