// Package schemas is "sotto data schema": owners agree on what a record is.
package schemas

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/data/schema"
	"sotto/internal/atomicfile"
	"sotto/node/roster"
)

// New makes "sotto data schema".
func New() *cobra.Command {
	return cli.Group("schema", "Agree on what a record is: columns, kinds, public bounds, missing cells",
		newSchemaDraft(), newSchemaCheck(), newSchemaShow(), newSchemaDiff())
}

// ReadingFlags add the flags that say how an owner's file is written.
func ReadingFlags(c *cobra.Command, how *schema.Reading) {
	c.Flags().StringVar(&how.Delimiter, "delimiter", "", "comma, semicolon, tab or pipe; default: detected")
	c.Flags().StringVar(&how.Encoding, "encoding", "",
		"utf-8, latin-1, windows-1252 or utf-16; default: detected")
	c.Flags().BoolVar(&how.DecimalComma, "decimal-comma", false, "numbers have a decimal comma, as in 81,5")
}

var readingNames = map[string]string{"delimiter": "--delimiter", "encoding": "--encoding",
	"target": "--target"}

func newSchemaDraft() *cobra.Command {
	var how schema.Reading
	var target, out string
	c := &cobra.Command{
		Use:   "draft FILE",
		Short: "Propose a schema from one owner's CSV file (private: it holds values of records)",
		Long: `Propose a schema from one owner's CSV file. Bounds, categories and target values come from its
records and are marked "# private: agree on public values first". Replace them by public values
before anybody else sees the file. Then agree with the other owners and write confirmed = true:
records are refused until then.`,
		Example: "  sotto data schema draft patients.csv --target outcome --out schema.toml",
		Args:    cli.Exactly(1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			draft, layout, err := schema.Draft(args[0], b, how, target)
			if err != nil {
				return cli.OfFlag(err, readingNames)
			}
			fmt.Fprintf(cli.Notes(cmd), "%s: read as %s\n", args[0], layout.Text())
			if out == "" {
				_, err := cmd.OutOrStdout().Write(draft)
				return err
			}
			err = atomicfile.Create(out, draft, cli.ForOwner)
			if errors.Is(err, fs.ErrExist) {
				return cli.Usagef("--out: %s exists; nothing is overwritten", out)
			}
			return err
		},
	}
	ReadingFlags(c, &how)
	c.Flags().StringVar(&target, "target", "", "column to predict; default: the last one")
	c.Flags().StringVar(&out, "out", "", "new file for the draft; default: standard output")
	return c
}

func newSchemaCheck() *cobra.Command {
	var how schema.Reading
	var output cli.Output
	c := &cobra.Command{
		Use: "check SCHEMA FILE",
		Short: "Tell an owner what in its CSV file does not fit a schema (exact figures, for the owner " +
			"alone)",
		Long: cli.Unwrap(`\
Tell an owner what in its CSV file does not fit a schema: numbers outside the bounds, unknown texts,
missing cells, and rows that are left out. It also says how the classes are distributed. The figures
are exact and for the owner alone. Exit code 2 means that the schema refuses a row.`),
		Args: cli.Exactly(2, "SCHEMA and FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			s, err := schema.Read(args[0])
			if err != nil {
				return err
			}
			b, err := os.ReadFile(args[1])
			if err != nil {
				return err
			}
			counts, err := s.Check(args[1], b, how)
			if err != nil {
				return cli.OfFlag(err, readingNames)
			}
			if output.JSON() {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(counts)
			} else {
				err = writeCounts(cmd, s, counts)
			}
			if err == nil && counts.Refused > 0 {
				err = fmt.Errorf("%s refused, the first of them: %w", config.Count(counts.Refused, "row"),
					counts.First)
			}
			return err
		},
	}
	ReadingFlags(c, &how)
	output.Register(c)
	return c
}

func writeCounts(cmd *cobra.Command, s *schema.Schema, n *schema.Counts) error {
	line, flush := cli.Output("text").Rows(cmd.OutOrStdout())
	line("for the owner alone", "exact figures of records")
	line("read as", "%s", n.Layout.Text())
	line("rows", "%d: %d kept, %d dropped, %d refused", n.Rows, n.Kept, n.Dropped, n.Refused)
	line("with missing cells", "%s", config.Count(n.Incomplete, "row"))
	line("extra columns", "%d", n.Extra)
	if n.RepeatedIDs > 0 {
		line("repeated ids", "%s", config.Count(n.RepeatedIDs, "row"))
	}
	if n.EmptyIDs > 0 {
		line("empty ids", "%s: refused where privacy is of persons", config.Count(n.EmptyIDs, "row"))
	}
	var classes []string
	for k, count := range n.Classes {
		classes = append(classes, fmt.Sprintf("%s %d", s.Target.Values[k], count))
	}
	if classes != nil {
		line("classes", "%s", strings.Join(classes, ", "))
	}
	if !s.Confirmed {
		line("schema", "not confirmed: records are refused")
	}
	if err := flush(); err != nil {
		return err
	}
	t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "\ncolumn\tmissing\tfilled\tclipped\tother\trefused")
	for _, c := range n.Columns {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\n", c.Name, c.Missing, c.Filled, c.Clipped, c.Other, c.Refused)
	}
	return t.Flush()
}

func newSchemaDiff() *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "diff SCHEMA OTHER",
		Short: "The first difference between two schemas; exit code 1 if there is one",
		Long: cli.Unwrap(`\
Say whether two schemas mean the same record: print their digests and the first difference, as it is
in the first file ("here") and in the second ("there"). A roster counts as a schema too: the one
that its members sign.`),
		Example: "  sotto data schema diff schema.toml roster.toml",
		Args:    cli.Exactly(2, "SCHEMA and OTHER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			var both [2]*schema.Schema
			for i, path := range args {
				var err error
				if both[i], err = schemaOf(path); err != nil {
					return err
				}
			}
			diff := both[0].Diff(both[1])
			if err := writeDiff(cmd, &output, args, both, diff); err != nil || diff == "" {
				return err
			}
			return fmt.Errorf("%s and %s differ", args[0], args[1])
		},
	}
	output.Register(c)
	return c
}

func writeDiff(cmd *cobra.Command, output *cli.Output, paths []string, both [2]*schema.Schema,
	diff string) error {
	var digests []string
	for _, s := range both {
		digests = append(digests, fmt.Sprintf("%x", s.Digest()))
	}
	if output.JSON() {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"digests": digests,
			"first_difference": diff})
	}
	line, flush := cli.Output("text").Rows(cmd.OutOrStdout())
	for i, path := range paths {
		line(path, "%s", digests[i])
	}
	if diff != "" {
		line("first difference", "%s", diff)
	}
	return flush()
}

// schemaOf reads a schema file, or the schema in a roster.
func schemaOf(path string) (*schema.Schema, error) {
	s, err := schema.Read(path)
	if err == nil {
		return s, nil
	}
	if r, rosterErr := roster.Read(path); rosterErr == nil && r.Schema != "" {
		return schema.Parse(path+", schema", []byte(r.Schema))
	}
	return nil, err
}

// shown is what "data schema show" prints.
type shown struct {
	Name      string   `json:"name"`
	Digest    string   `json:"digest"`
	Confirmed bool     `json:"confirmed"`
	Features  []string `json:"features"`
	Target    string   `json:"target"`
}

func newSchemaShow() *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "show SCHEMA",
		Short: "Features in order, target and digest of a schema",
		Args:  cli.Exactly(1, "one SCHEMA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			s, err := schema.Read(args[0])
			if err != nil {
				return err
			}
			v := shown{s.Name, fmt.Sprintf("%x", s.Digest()), s.Confirmed, s.Features(), s.Target.Column}
			if output.JSON() {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			line, flush := cli.Output("text").Rows(cmd.OutOrStdout())
			if v.Name != "" {
				line("name", "%s", v.Name)
			}
			line("digest", "%s", v.Digest)
			line("confirmed", "%t", v.Confirmed)
			line("target", "%s (%s)", v.Target, s.Target.Kind)
			for i, name := range v.Features {
				line(fmt.Sprintf("feature %d", i+1), "%s", name)
			}
			return flush()
		},
	}
	output.Register(c)
	return c
}
