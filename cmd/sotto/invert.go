//go:build !operator

package main

import (
	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment/attack"
)

func newAuditInvert() *cobra.Command {
	var (
		o      attack.InvertOptions
		out    string
		output cli.Output
	)
	c := &cobra.Command{
		Use:   "invert",
		Short: "Reconstruct an owner's image from the gradient that it sends, without noise and with noise",
		Long: `Reconstruct an owner's image from the gradient that it sends, without noise and with noise.

The owner has one image and takes one step of DP-DSGT. The observer reads the gradient in its
message. In the first linear layer, the quotient of two gradients is exactly the layer's input; for
the convnet, gradient descent finds an image that gives this input. The images before and after
noise are written as PNG files, and side by side on a page.`,
		Example: "  sotto audit invert\n  sotto audit invert --dataset mnist --record 7 --noise 0,0.01,1 " +
			"--out demo",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			r, err := attack.Invert(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := r.Write(out); err != nil {
				return err
			}
			return conclude(cmd, output, r)
		},
	}
	fl := c.Flags()
	fl.StringVar(&o.Dataset, "dataset", "glyphs", "images of one channel: glyphs, mnist, fashion-mnist")
	fl.IntVar(&o.Record, "record", 0, "number of the record in the training file, from 0")
	fl.StringVar(&o.Model, "model", "convnet", "convnet or mlp")
	fl.Float64SliceVar(&o.Noise, "noise", []float64{0, .001, .01, .1, 1}, "noise multipliers; 0: no noise")
	fl.Uint64Var(&o.Seed, "seed", 1, "seed of the model's start and of the noise")
	fl.StringVar(&out, "out", "invert", "folder for the images and the page invert.html")
	output.Register(c)
	cli.DataDirFlag(c, &o.DataDir)
	return c
}
