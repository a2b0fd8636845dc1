package cli

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// Output is how a command prints its result: "text", "json", or what the command has
// beside them. "table" is an older name of "text".
type Output string

// Register adds --output and its short form --json. more are values beside text and json.
func (o *Output) Register(c *cobra.Command, more ...string) {
	usage := append([]string{"text", "json"}, more...)
	last := len(usage) - 1
	c.Flags().StringVar((*string)(o), "output", "text",
		strings.Join(usage[:last], ", ")+" or "+usage[last])
	f := c.Flags().VarPF(jsonFlag{o}, "json", "", "the same as --output json")
	f.NoOptDefVal = "true"
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
