package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/schemas"
	"sotto/config"
	"sotto/data/schema"
	"sotto/experiment/trained"
)

// modelArg is the argument of commands that use a finished model.
const modelArg = "one MODEL, the folder of a finished run or node"

// loadModel loads a model, with a note where it is an owner's own one.
func loadModel(cmd *cobra.Command, dir, agent string) (*trained.Model, error) {
	m, err := trained.Load(dir, agent)
	if err != nil {
		return nil, err
	}
	own, err := m.Own()
	if own {
		fmt.Fprintf(cli.Notes(cmd), "note: the model in %s is %s\n", dir, trained.OwnNote)
	}
	return m, err
}

// modelFlags are those of commands that read an owner's file for a model.
type modelFlags struct {
	agent, data string
	how         schema.Reading
}

func (f *modelFlags) register(c *cobra.Command, file string) {
	c.Flags().StringVar(&f.agent, "agent", "mean", "an agent's number, or mean")
	c.Flags().StringVar(&f.data, "data", "", file)
	schemas.ReadingFlags(c, &f.how)
}

func newPredict() *cobra.Command {
	var f modelFlags
	var output cli.Output
	var out string
	c := &cobra.Command{
		Use:   "predict MODEL --data FILE",
		Short: "Predict new records of your table: a class with probabilities, or a number",
		Long: cli.Unwrap(`\
Predict the records of your table. MODEL is the folder of a finished run, or the state folder of a
node.

If the model has a schema, columns are found by name, in any order, and missing cells are handled as
the schema says. A model of data set csv finds columns by the names in the training file's header;
if that file had no header, or the run file counts columns, it finds them by position. The column to
predict may be absent. The result is CSV (JSON with --output json), with a line for each row; for a
row without a prediction the line says why. The result is as private as the table.`),
		Example: "  sotto predict west/state --data patients.csv --out predictions.csv",
		Args:    cli.Exactly(1, modelArg),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			if f.data == "" {
				return cli.Usagef("%s needs --data FILE, the records to predict", cmd.CommandPath())
			}
			m, err := loadModel(cmd, args[0], f.agent)
			if err != nil {
				return err
			}
			r, err := m.Read(f.data, f.how)
			if err != nil {
				return err
			}
			t, err := m.Table(r)
			if err != nil {
				return err
			}
			if n := len(r.Dropped); n > 0 {
				fmt.Fprintf(cli.Notes(cmd), "%d of %d rows have no prediction: a cell is missing\n", n,
					n+len(r.Lines))
			}
			write := t.CSV
			if output.JSON() {
				write = t.JSON
			}
			b, err := write()
			if err != nil {
				return err
			}
			return cli.WriteTo(cmd, out, b, cli.ForOwner, args[0], f.data)
		},
	}
	f.register(c, "your table: CSV, or Parquet where the model has a schema")
	c.Flags().StringVar(&out, "out", "", "file to write; default: standard output")
	output.Register(c)
	return c
}

func newEvaluate() *cobra.Command {
	var f modelFlags
	var output cli.Output
	var dir string
	c := &cobra.Command{
		Use: "evaluate MODEL [--data FILE]",
		Short: "Say how good a model is on labelled records, beside a baseline (exact figures, keep them " +
			"private)",
		Long: `Say how good a model is on the labelled records of your table. Every figure comes with a 95 %
interval. Beside it stands the figure of a baseline, which always predicts the most frequent class,
or the mean target, of these records. Without --data the command takes the test records of the run's
own data set, which only a simulated run has. Rows with one id belong to one person, and the
intervals resample persons; a model without a schema reads no ids from a file.

The printed figures are exact, and as private as the records.`,
		Example: "  sotto evaluate west/state --data known.csv",
		Args:    cli.Exactly(1, modelArg),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			m, err := loadModel(cmd, args[0], f.agent)
			if err != nil {
				return err
			}
			e, err := f.evaluate(m, dir)
			if err != nil {
				return err
			}
			if f.data != "" {
				fmt.Fprintf(cli.Notes(cmd), "note: what the model was trained on flatters it; nobody here "+
					"knows whether records of %s were\n", f.data)
			}
			if output.JSON() {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(e)
			}
			return printEvaluation(cmd.OutOrStdout(), e)
		},
	}
	f.register(c, "labelled records, as of predict; default: the test records of a simulated run")
	cli.DataDirFlag(c, &dir)
	output.Register(c)
	return c
}

func (f *modelFlags) evaluate(m *trained.Model, dir string) (*trained.Evaluation, error) {
	if f.data == "" && f.how != (schema.Reading{}) {
		return nil, cli.Usagef("--delimiter, --encoding, --decimal-comma: found a value, allowed: none " +
			"without --data: they say how that file is written")
	}
	if f.data == "" {
		e, err := m.EvaluateHeldOut(dir)
		return e, cli.OfFlag(err, map[string]string{"data": "--data"})
	}
	r, err := m.ReadLabelled(f.data, f.how)
	if err != nil {
		return nil, err
	}
	return m.Evaluate(r)
}

func printEvaluation(w io.Writer, e *trained.Evaluation) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "records\t%d%s, and %s without a prediction\n", e.Records, ofPersons(e.Persons),
		config.Count(e.Dropped, "row"))
	fmt.Fprintf(t, "baseline\t%s\n", e.BaselineOf)
	if e.Unit != "" {
		fmt.Fprintf(t, "unit\t%s\n", e.Unit)
	}
	fmt.Fprintf(t, "\nfigure\tmodel\tbaseline\tdifference\n")
	for _, name := range e.Order {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", name, inWords(e.Figures[name], e.Bootstrap),
			inWords(e.Baseline[name], e.Bootstrap), inWords(e.Less[name], e.Bootstrap))
	}
	if e.Confusion != nil {
		fmt.Fprintf(t, "\nis, predicted as\t%s\n", strings.Join(e.Classes, "\t"))
		for k, row := range e.Confusion {
			fmt.Fprintf(t, "%s", e.Classes[k])
			for _, n := range row {
				fmt.Fprintf(t, "\t%d", n)
			}
			fmt.Fprintln(t)
		}
	}
	return t.Flush()
}

func newCard() *cobra.Command {
	var agent, out string
	c := &cobra.Command{
		Use:   "card MODEL",
		Short: "Describe a model to strangers, in Markdown: its columns, training and privacy",
		Long: cli.Unwrap(`\
Describe a model to strangers, in Markdown: what it predicts from which columns, how it was trained,
and what that cost in privacy, according to the privacy statement beside it. An owner's own figures
are private, so the card leaves them out.`),
		Example: "  sotto card west/state --out MODEL.md",
		Args:    cli.Exactly(1, modelArg),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := trained.Load(args[0], agent)
			if err != nil {
				return err
			}
			b, err := m.Card()
			if err != nil {
				return err
			}
			return cli.WriteTo(cmd, out, b, cli.ForAll, args[0])
		},
	}
	c.Flags().StringVar(&agent, "agent", "mean", "an agent's number, or mean")
	c.Flags().StringVar(&out, "out", "", "file to write; default: standard output")
	return c
}
