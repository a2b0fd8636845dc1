package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// Output is how a command prints its result: "text", "json", or what the command has
// beside them. "table" is an older name of "text".
type Output string

// Register adds --output and its short form --json. more are values beside text and json;
// others are refused before the command runs.
func (o *Output) Register(c *cobra.Command, more ...string) {
	usage := append([]string{"text", "json"}, more...)
	last := len(usage) - 1
	c.Flags().StringVar((*string)(o), "output", "text",
		strings.Join(usage[:last], ", ")+" or "+usage[last])
	f := c.Flags().VarPF(jsonFlag{o}, "json", "", "the same as --output json")
	f.NoOptDefVal = "true"
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if *o == "table" {
			fmt.Fprintln(Notes(c), "sotto: --output table is now --output text")
		}
		return o.Check(more...)
	}
}

// Check refuses what Register did not offer.
func (o *Output) Check(more ...string) error {
	if *o == "table" {
		*o = "text"
	}
	allowed := append([]string{"text", "json"}, more...)
	if slices.Contains(allowed, string(*o)) {
		return nil
	}
	return Usagef("--output: found %q, allowed: %s", string(*o), strings.Join(allowed, ", "))
}

// Print prints v as JSON, or else the text.
func (o Output) Print(w io.Writer, v any, format string, args ...any) error {
	if o.JSON() {
		return json.NewEncoder(w).Encode(v)
	}
	_, err := fmt.Fprintf(w, format, args...)
	return err
}

// Row is one line of Rows.
type Row struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Rows prints names and values: in two columns, or as a JSON array of Row. A name may
// come more than once.
func (o Output) Rows(w io.Writer) (row func(what, format string, args ...any), flush func() error) {
	rows := []Row{}
	row = func(what, format string, args ...any) {
		rows = append(rows, Row{what, fmt.Sprintf(format, args...)})
	}
	return row, func() error {
		if o.JSON() {
			return json.NewEncoder(w).Encode(rows)
		}
		t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		for _, r := range rows {
			fmt.Fprintf(t, "%s\t%s\n", r.Name, r.Value)
		}
		return t.Flush()
	}
}

// JSON says that JSON is asked for.
func (o Output) JSON() bool { return o == "json" }

// jsonFlag is --json.
type jsonFlag struct{ o *Output }

func (j jsonFlag) String() string { return strconv.FormatBool(j.o != nil && *j.o == "json") }

func (j jsonFlag) Type() string { return "bool" }

func (j jsonFlag) Set(s string) error {
	yes, err := strconv.ParseBool(s)
	if err == nil && yes {
		*j.o = "json"
	}
	return err
}

// DataDirFlag adds --data-dir, whose default is the environment's SOTTO_DATA.
func DataDirFlag(cmd *cobra.Command, dir *string) {
	def := os.Getenv("SOTTO_DATA")
	if def == "" {
		def = "data"
	}
	cmd.Flags().StringVar(dir, "data-dir", def, "folder of data sets (environment: SOTTO_DATA)")
}
