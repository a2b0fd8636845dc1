package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/internal/jsontext"
	"sotto/query"
)

// queryFlags are those of sotto query.
type queryFlags struct {
	output         cli.Output
	set, data      []string
	schema         string
	epsilon, delta float64
	out, dataDir   string
	live           cli.Live
}

func newQuery() *cobra.Command {
	var f queryFlags
	c := &cobra.Command{
		Use: "query FILE | DIR | QUESTION...",
		Short: "Ask for private statistics of all owners' tables: counts, means, histograms, quantiles, " +
			"survival",
		Long: cli.Unwrap(`\
Ask questions about tables that stay with their owners. Each owner answers all questions of a run by
one release, and the graph averages these releases. The more questions, the more noise in each
answer.

FILE is a run file with algorithm query: its questions are asked in a simulation. DIR is the folder
of such a run, or the state folder of a node that has taken part in one: its answers are printed.
QUESTIONs are asked in a simulation in which each file of --data belongs to one owner; --schema
describes the files. Simulated noise protects nobody, so the true values are printed beside the
answers. Real owners ask with sotto node. docs/query.md lists the questions.`),
		Example: `  sotto query examples/query/heart.toml
  sotto query west/state --json
  sotto query "mean(age) by sex" --data north.csv --data south.csv --schema schema.toml --epsilon 0.2`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.data, "data", nil, "with QUESTIONs: the file of one owner (repeatable)")
	fl.StringVar(&f.schema, "schema", "", "with QUESTIONs: the schema of the files")
	fl.Float64Var(&f.epsilon, "epsilon", 1,
		"with QUESTIONs: the most that all answers together may cost each owner's records")
	fl.Float64Var(&f.delta, "delta", 1e-5, "with QUESTIONs: the delta of that epsilon")
	fl.StringArrayVar(&f.set, "set", nil, "change one key of the run file, section.key=value (repeatable)")
	fl.StringVar(&f.out, "out", "runs", "folder of run directories")
	f.output.Register(c, "csv")
	f.live.Register(c)
	cli.DataDirFlag(c, &f.dataDir)
	return c
}

func (f *queryFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.output.Check("csv"); err != nil {
		return err
	}
	if len(args) == 0 {
		return cli.Usagef("%s needs a FILE, a DIR or a QUESTION", cmd.CommandPath())
	}
	info, err := os.Stat(args[0])
	switch {
	case err == nil && len(args) > 1:
		return cli.Usagef("%s takes one FILE or DIR", cmd.CommandPath())
	case err == nil && info.IsDir():
		return f.print(cmd.OutOrStdout(), args[0])
	}
	var text []byte
	file := args[0]
	if err == nil {
		text, err = os.ReadFile(file)
	} else if strings.HasSuffix(file, ".toml") || !strings.Contains(file, "(") {
		return err
	} else {
		file = "questions"
		text, err = f.runFile(args)
	}
	if err != nil {
		return err
	}
	if simulateQuestions == nil {
		return cli.Usagef("this program simulates nothing: sotto node asks, and sotto query STATE reads")
	}
	dir, err := simulateQuestions(cmd, f, file, text)
	if err != nil {
		return err
	}
	return f.print(cmd.OutOrStdout(), dir)
}

// runFile is that of questions on the command line.
func (f *queryFlags) runFile(questions []string) ([]byte, error) {
	if len(f.data) == 0 || f.schema == "" {
		return nil, cli.Usagef("a QUESTION needs --data FILE, once for each owner, and --schema FILE")
	}
	switch {
	case !(f.epsilon > 0) || math.IsInf(f.epsilon, 1):
		return nil, config.Bad("--epsilon", f.epsilon, "above 0 and finite")
	case !(f.delta > 0 && f.delta < 1):
		return nil, config.Bad("--delta", f.delta, "above 0 and below 1")
	}
	for _, q := range questions {
		if _, err := query.Parse(q); err != nil {
			return nil, err
		}
	}
	schema, err := filepath.Abs(f.schema)
	if err != nil {
		return nil, err
	}
	list := func(all []string) string {
		b, _ := json.Marshal(all)
		return string(b)
	}
	name := list([]string{schema})
	return fmt.Appendf(nil, `name = "query"
rounds = 2
[topology]
graph = "complete"
agents = %d
[data]
dataset = "table"
partition = "natural"
schema = %s
paths = %s
[model]
name = "mean"
[algorithm]
name = "query"
ask = %s
[privacy]
target_epsilon = %v
target_delta = %v
`, len(f.data), name[1:len(name)-1], list(f.data), list(questions), f.epsilon, f.delta), nil
}

// print shows the answers in a folder.
func (f *queryFlags) print(w io.Writer, dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, rundir.AnswersFile))
	if os.IsNotExist(err) {
		return &config.Error{File: dir, Found: "no " + rundir.AnswersFile,
			Allowed: "the folder of a finished run, or node, with algorithm query"}
	}
	if err != nil {
		return err
	}
	var a experiment.Answers
	if err := json.Unmarshal(b, &a); err != nil {
		return jsontext.Error(filepath.Join(dir, rundir.AnswersFile), b, err, "the answers of a run")
	}
	s, err := readCost(dir)
	switch {
	case err != nil:
		return err
	case f.output.JSON():
		return writeAnswers(w, b, s)
	case f.output == "csv":
		return a.WriteCSV(w)
	}
	if err := a.WriteTable(w); err != nil || s == nil {
		return err
	}
	fmt.Fprintln(w)
	return s.WriteCost(w)
}

// readCost reads the summary of the simulation at dir; nil: it is a node's, whose owners
// have statements.
func readCost(dir string) (*rundir.Summary, error) {
	path := filepath.Join(dir, rundir.SummaryFile)
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s rundir.Summary
	if err := json.Unmarshal(b, &s); err != nil || len(s.Privacy) == 0 {
		return nil, &config.Error{File: path, Found: "no figures that can be read",
			Allowed: "the summary of a run"}
	}
	s.Run = dir
	return &s, nil
}

// askedAt is what is said before the answers of a simulation, in JSON.
type askedAt struct {
	Run       string        `json:"run"`
	Simulated bool          `json:"simulated"` // nobody is protected
	Epsilon   rundir.Bounds `json:"epsilon"`   // of the owner who has spent most
	Delta     float64       `json:"delta"`
	Adjacency string        `json:"adjacency"`
	Unit      string        `json:"unit"`
}

// writeAnswers writes the file of answers, of a simulation with what they cost.
func writeAnswers(w io.Writer, answers []byte, s *rundir.Summary) error {
	if s != nil {
		p := &s.Privacy[0]
		head, err := rundir.Indent(askedAt{s.Run, s.Noise == "simulated", rundir.NewBounds(s.Worst()),
			p.Delta, p.Adjacency, p.Unit})
		if err != nil {
			return err
		}
		head = bytes.TrimSuffix(head, []byte("\n}\n"))
		answers = append(append(head, ','), bytes.TrimPrefix(answers, []byte("{"))...)
	}
	_, err := w.Write(answers)
	return err
}
