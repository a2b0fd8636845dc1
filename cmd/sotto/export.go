//go:build !operator

package main

import (
	"sotto/cmd/sotto/cli"
	"sotto/experiment/run"

	"github.com/spf13/cobra"
)

func newExport() *cobra.Command {
	var agent, format, out string
	c := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run's or node's model as ONNX, NPZ or safetensors",
		Long: cli.Unwrap(`\
Write the model of a finished run or node for other programs: as an ONNX graph (operator set \
21; input x, one flattened sample
a row, output y), or its parameters as one vector in an NPZ archive or a safetensors file.

The file of a simulated run holds what the run's note says: models trained with simulated noise protect \
nobody.`),
		Example: "  sotto export runs/mnist-dsgd-1a2b3c4d --out model.onnx\n  sotto export " +
			"runs/mnist-dsgd-1a2b3c4d --agent 3 --format npz --out agent3.npz",
		Args: cli.Exactly(1, "one RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := run.Export(args[0], agent, format)
			if err != nil {
				return err
			}
			return cli.WriteTo(cmd, out, b)
		},
	}
	c.Flags().StringVar(&agent, "agent", "mean", "an agent's number, or mean")
	c.Flags().StringVar(&format, "format", "onnx", "onnx, npz or safetensors")
	c.Flags().StringVar(&out, "out", "", "file to write; default: standard output")
	return c
}
