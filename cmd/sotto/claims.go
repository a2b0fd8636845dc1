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
Audit published guarantees: every switch of [replication] and every mechanism that is \
only claimed.

Each row has the published epsilon, the true one by the accountant, a lower bound from observations of this \
program's own mechanisms,
gates and messages, and a verdict. A refuted publication is no failure; exit code 3 says that a lower bound \
is above what the
accountant calls true.`),
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
	fl.StringVar(&scale, "scale", "smoke", "smoke or full: observations")
	fl.Uint64Var(&seed, "seed", 1, "of all keys of the audit")
	fl.Float64Var(&beta, "beta", 1e-3,
		"probability, at most, with which the bound of a row exceeds the truth")
	output.Register(c)
	return c
}
