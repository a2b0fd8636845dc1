package manual_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/manual"
)

func TestPages(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "tool", Short: "A tool"}
	root.PersistentFlags().BoolP("quiet", "q", false, "say less")
	sub := &cobra.Command{Use: "cut FILE", Short: "Cut a file", Run: run,
		Long: "First line.\n.a line with a dot and a back\\slash\n'quoted", Example: "  tool cut a-b.txt"}
	sub.Flags().String("size", "3", "of a piece")
	sub.Flags().String("place", "/home/me", "a folder (environment: PLACE)")
	sub.Flags().String("old", "", "nobody asks")
	_ = sub.Flags().MarkHidden("old")
	root.AddCommand(sub, &cobra.Command{Use: "secret", Hidden: true, Run: run})
	pages := manual.Pages(root, "v1", []manual.Exit{{Code: 2, What: "a bad line"}})
	if len(pages) != 2 || pages[0].Name != "tool.1" || pages[1].Name != "tool-cut.1" {
		t.Fatalf("%d pages: %v", len(pages), pages)
	}
	text := string(pages[1].Text)
	for _, want := range []string{".TH \"TOOL-CUT\" 1 \"\" \"v1\" \"sotto\"\n", "tool\\-cut \\- Cut a file\n",
		"\n\\&.a line with a dot and a back\\eslash\n\\&'quoted\n",
		"\\fB\\-\\-size string\\fR\nof a piece (default 3)\n",
		".SH OPTIONS OF ALL COMMANDS\n.TP\n\\fB\\-q, \\-\\-quiet\\fR\nsay less\n", ".TP\n2\na bad line\n",
		".SH SEE ALSO\n\\fBtool\\fR(1)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "nobody") || strings.Contains(text, "/home/me") {
		t.Error("a hidden flag is there, or a default of this machine")
	}
}

// groff, where there is one, has no complaint.
func TestRoffIsValid(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff")
	}
	c := &cobra.Command{Use: "tool FILE", Short: "A tool", Long: ".\n'\n\\",
		Run: func(*cobra.Command, []string) {}}
	cmd := exec.Command(groff, "-man", "-Tascii", "-ww", "-z")
	cmd.Stdin = strings.NewReader(string(manual.Pages(c, "v1", nil)[0].Text))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
