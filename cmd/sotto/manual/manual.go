// Package manual writes the manual pages of commands, in roff for man: one page a
// command, from what its help says.
package manual

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Page is one file of section 1.
type Page struct {
	Name string // of the file, such as sotto-run.1
	Text []byte
}

// Exit is an exit code and what it means.
type Exit struct {
	Code int
	What string
}

// Pages are those of a command and of all below it, hidden ones left out. version stands
// in the foot of each; the same program gives the same bytes.
func Pages(c *cobra.Command, version string, exits []Exit) []Page {
	pages := []Page{page(c, version, exits)}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, Pages(sub, version, exits)...)
		}
	}
	return pages
}

func page(c *cobra.Command, version string, exits []Exit) Page {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	var b bytes.Buffer
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put(".TH %q 1 \"\" %q \"sotto\"", strings.ToUpper(name), version)
	put(".SH NAME\n%s \\- %s", escape(name), escape(c.Short))
	use := c.UseLine()
	if len(c.Commands()) > 0 {
		use += "\n.br\n" + c.CommandPath() + " COMMAND"
	}
	put(".SH SYNOPSIS\n%s", lines(use))
	if c.Long != "" {
		put(".SH DESCRIPTION\n.nf\n%s\n.fi", lines(c.Long))
	}
	flags(put, "OPTIONS", c.NonInheritedFlags())
	flags(put, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		put(".SH EXAMPLES\n.nf\n%s\n.fi", lines(c.Example))
	}
	put(".SH EXIT STATUS")
	for _, e := range exits {
		put(".TP\n%d\n%s", e.Code, escape(e.What))
	}
	var also []string
	if c.HasParent() {
		also = append(also, reference(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			also = append(also, reference(sub))
		}
	}
	if also != nil {
		put(".SH SEE ALSO\n%s", strings.Join(also, ",\n"))
	}
	return Page{name + ".1", b.Bytes()}
}

func flags(put func(string, ...any), title string, set *pflag.FlagSet) {
	first := true
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if first {
			put(".SH %s", title)
			first = false
		}
		what, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if what != "" {
			name += " " + what
		}
		standard := ""
		fixed := !strings.Contains(usage, "(environment: ") // of each machine its own
		if d := f.DefValue; fixed && d != "" && d != "false" && d != "0" && d != "[]" && d != "0s" {
			standard = " (default " + d + ")"
		}
		put(".TP\n\\fB%s\\fR\n%s", escape(name), lines(usage+standard))
	})
}

func reference(c *cobra.Command) string {
	return "\\fB" + escape(strings.ReplaceAll(c.CommandPath(), " ", "-")) + "\\fR(1)"
}

// escape makes text of roff: a backslash, and a dash that is to stay one.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
}

// lines escapes lines, of which none becomes a request.
func lines(s string) string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		if l != ".br" {
			l = escape(l)
			if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
				l = `\&` + l
			}
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}
