package main

import (
	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment/trained"
)

func newExport() *cobra.Command {
	var agent, format, out string
	c := &cobra.Command{
		Use:   "export MODEL",
		Short: "Write a model for other programs: ONNX, NPZ, safetensors or JSON",
		Long: cli.Unwrap(`\
Write a model for other programs. MODEL is the folder of a finished run, or the state folder of a
node. The ending of --out sets the format, unless --format does:

  onnx           a graph (operator set 21). If the records have a schema: one input per column, by its
                 name and in its own unit, and outputs probabilities and label, or value. Otherwise the
                 same as onnx-features.
  onnx-features  a graph from features: input x, one flattened sample per row, and output y, the model's own
  npz, safetensors            the parameters of each layer, with PyTorch's names and shapes
  flat-npz, flat-safetensors  all parameters as one vector
  json           names of features and classes, and the parameters of each layer

A model that a simulation has trained protects nobody: its noise came from the seed.`),
		Example: "  sotto export runs/mnist-dsgd-1a2b3c4d --out model.onnx\n  sotto export " +
			"west/state --out model.npz",
		Args: cli.Exactly(1, "one MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			as, err := trained.ExportFormat(out, format)
			if err != nil {
				return err
			}
			m, err := loadModel(cmd, args[0], agent)
			if err != nil {
				return err
			}
			b, err := m.Export(as)
			if err != nil {
				return err
			}
			return cli.WriteTo(cmd, out, b, cli.ForAll, args[0])
		},
	}
	c.Flags().StringVar(&agent, "agent", "mean", "an agent's number, or mean")
	c.Flags().StringVar(&format, "format", "",
		"onnx, onnx-features, npz, safetensors, flat-npz, flat-safetensors or json; default: by --out, "+
			"else onnx")
	c.Flags().StringVar(&out, "out", "", "file to write; default: standard output")
	return c
}
