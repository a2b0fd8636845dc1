// Package explain is "sotto explain": what the keys of a run file mean.
package explain

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment"
	"sotto/experiment/keys"
)

// columns is how wide text is.
const columns = 100

// New makes "sotto explain". search points to the keys of section [tune]; nil: the
// program does not search.
func New(search any) *cobra.Command {
	var more []keys.Section
	if search != nil {
		more = append(more, keys.Section{Name: experiment.TuneSection, Params: []any{search}})
	}
	more = append(more, keys.Policy()...)
	var output cli.Output
	c := &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Say what the keys of a run file or a policy mean: all keys, one section or one key",
		Long: cli.Unwrap(`\
Say what the keys of a run file mean, which values they take, and what applies without them. KEY is
a section, a key with its section, or a key alone; "policy" stands for the keys of an owner's
policy. Some keys exist only if the section names a certain graph, data set, partition, model or
algorithm. Without KEY all keys are listed.`),
		Example: "  sotto explain\n  sotto explain topology\n  sotto explain privacy.max_grad_norm\n" +
			"  sotto explain batch_size --json",
		Args: cli.AtMostOne("KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			found := keys.List(more...)
			if len(args) == 1 {
				var err error
				if found, err = keys.Find(found, args[0]); err != nil {
					return err
				}
			}
			switch {
			case output == "markdown":
				return page(cmd.OutOrStdout(), found)
			case len(args) == 0 && !output.JSON():
				return list(cmd.OutOrStdout(), found)
			}
			var text strings.Builder
			for i, k := range found {
				if i > 0 {
					text.WriteString("\n")
				}
				explain(&text, &k)
			}
			return output.Print(cmd.OutOrStdout(), found, "%s", text.String())
		},
	}
	output.Register(c, "markdown")
	return c
}

// title is a section as a file has it.
func title(section string) string {
	switch in, ok := strings.CutPrefix(section, keys.PolicyFile); {
	case section == "":
		return "before all sections"
	case ok && in == "":
		return "of an owner's policy"
	case ok:
		return "[[" + in[1:] + "]] of a policy"
	}
	return "[" + section + "]"
}

// with is what a section names for a key to be there, such as "graph = grid, torus"; "":
// nothing.
func with(k *keys.Key) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(k.With)) {
		all = append(all, key+" = "+strings.Join(k.With[key], ", "))
	}
	return strings.Join(all, "; ")
}

// groups are runs of keys of one section that are there under the same names.
func groups(all []keys.Key) (out [][]keys.Key) {
	at := map[string]int{}
	for _, k := range all {
		id := k.Section + "\n" + with(&k)
		i, ok := at[id]
		if !ok {
			i = len(out)
			at[id] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], k)
	}
	return out
}

// each goes through sections and their groups of keys, each with what it is there with.
func each(all []keys.Key, section func(title string), group func(of string, group []keys.Key)) {
	last := "none"
	for _, g := range groups(all) {
		if g[0].Section != last {
			last = g[0].Section
			section(title(last))
		}
		group(with(&g[0]), g)
	}
}

// list has the names of all keys.
func list(w io.Writer, all []keys.Key) error {
	var b strings.Builder
	b.WriteString("Keys of a run file, and of a policy. sotto explain KEY says what one means, or those " +
		"of a section.\n")
	each(all, func(title string) {
		fmt.Fprintf(&b, "\n%s\n", title)
	}, func(of string, group []keys.Key) {
		text := names(group)
		if of != "" {
			text = of + ": " + text
		}
		wrap(&b, text, "  ", "    ")
	})
	_, err := io.WriteString(w, b.String())
	return err
}

func names(group []keys.Key) string {
	var all []string
	for _, k := range group {
		all = append(all, k.Name)
	}
	return strings.Join(all, ", ")
}

// explain has all that is known of a key.
func explain(b *strings.Builder, k *keys.Key) {
	head := k.Dotted() + ": " + k.Kind
	if of := with(k); of != "" {
		head += "; with " + of
	}
	const indent = "    "
	wrap(b, head, "", indent)
	for line := range strings.SplitSeq(k.Text, "\n") {
		if strings.HasPrefix(line, " ") { // it is set apart
			b.WriteString(indent + line + "\n")
			continue
		}
		wrap(b, line, indent, indent)
	}
	if k.Default != "" {
		wrap(b, "Default: "+k.Default, indent, indent)
	}
	if k.Values != nil {
		wrap(b, "One of "+strings.Join(k.Values, ", "), indent, indent)
	}
}

// wrap writes words in lines of at most so many columns, the first one after an indent of
// its own.
func wrap(b *strings.Builder, text, first, others string) {
	width := 0
	for i, word := range strings.Fields(text) {
		switch n := utf8.RuneCountInString(word); {
		case i == 0:
			b.WriteString(first + word)
			width = len(first) + n
		case width+1+n > columns:
			b.WriteString("\n" + others + word)
			width = len(others) + n
		default:
			b.WriteString(" " + word)
			width += 1 + n
		}
	}
	b.WriteString("\n")
}

// page is all of it in Markdown.
func page(w io.Writer, all []keys.Key) error {
	var b strings.Builder
	b.WriteString("# The keys of a run file, and of a policy\n\nMade by `sotto explain --output markdown`. " +
		"What they do together is on the page of [run files](run-file.md).\n")
	each(all, func(title string) {
		fmt.Fprintf(&b, "\n## %s\n", strings.ToUpper(title[:1])+title[1:])
	}, func(of string, group []keys.Key) {
		if of != "" {
			fmt.Fprintf(&b, "\nWith %s:\n", of)
		}
		b.WriteString("\n| key | takes | what it is |\n|---|---|---|\n")
		for _, k := range group {
			text := k.Text
			if k.Default != "" {
				text += "\nDefault: " + k.Default
			}
			if k.Values != nil {
				text += "\nOne of " + strings.Join(k.Values, ", ")
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, k.Kind, cell.Replace(text))
		}
	})
	_, err := io.WriteString(w, b.String())
	return err
}

var cell = strings.NewReplacer("|", `\|`, "\n", "<br>", "*", `\*`, "_", `\_`, "<", "&lt;")
