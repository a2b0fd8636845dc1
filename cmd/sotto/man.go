package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/manual"
)

func newMan() *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages of all commands",
		Example: "  sotto man man1 && man ./man1/sotto-run.1",
		Args:    cli.Exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var codes []manual.Exit
			for _, e := range exits {
				codes = append(codes, manual.Exit{Code: e.code, What: e.what})
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			version, _ := buildVersion()
			pages := manual.Pages(cmd.Root(), "sotto "+version, codes)
			for _, p := range pages {
				if err := os.WriteFile(filepath.Join(args[0], p.Name), p.Text, 0o644); err != nil {
					return err
				}
			}
			return output.Print(cmd.OutOrStdout(), map[string]any{"folder": args[0], "pages": len(pages)},
				"%d pages in %s\n", len(pages), args[0])
		},
	}
	output.Register(c)
	return c
}
