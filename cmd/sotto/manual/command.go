package manual

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
)

// Command is sotto man, for a program's name with its version.
func Command(program string, codes []Exit) *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages of all commands",
		Example: "  sotto man man1 && man ./man1/sotto-run.1",
		Args:    cli.Exactly(1, "one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			pages := Pages(cmd.Root(), program, codes)
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
