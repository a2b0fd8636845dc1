package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/keys"
	"sotto/config"
	"sotto/experiment"
	"sotto/experiment/forecast"
	"sotto/experiment/owner"
	"sotto/experiment/rundir"
	"sotto/internal/decimal"
	"sotto/node/roster"
)

type planFlags struct {
	node    nodeFlags
	set     []string
	dataDir string
	output  cli.Output
	suggest bool
	worth   worthFlags
}

func newPlan() *cobra.Command {
	f := planFlags{node: nodeFlags{files: owner.Files{Unsigned: true}}}
	c := &cobra.Command{
		Use:   "plan [FILE | --roster FILE --data FILE --policy FILE]",
		Short: "Preflight: what a run will ask of the data and what that will cost, before it starts",
		Long: `Say what a run will ask of the data and what that will cost, before it starts.

With FILE, for a simulation: every agent's batches, noise and epsilon. With --data and --policy, for
an owner: what taking part as one member of a roster means for its own data, as "sotto node --check"
says it. The roster need not be signed yet. Nothing leaves, and nothing is charged. Lines with
FAULT after their title say what would stop the node. The exit code is then 1, unless the only fault
is a disk that may lose synced data, which can be overridden.

With --worth it says what joining would bring an owner, at several epsilons, from simulations on
records that stand in for those of all members.`,
		Example: `  sotto plan examples/hospitals/heart.toml
  sotto plan examples/hospitals/newton.toml --worth --agent 3
  sotto plan --roster roster.toml --data a.csv --policy policy.toml --state state`,
		Args: cli.AtMostOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.output.Check(); err != nil {
				return err
			}
			if err := f.worth.check(cmd.Flags()); err != nil {
				return err
			}
			if f.suggest && f.worth.ask {
				return cli.Usagef("--suggest and --worth: found both, allowed: one of them")
			}
			if n := &f.node; n.secrets.passphrase != "" && n.files.Key == "" {
				return cli.Usagef("--passphrase-file: found without --key, allowed: with --key")
			}
			for _, name := range []string{"roster", "experiment", "data", "policy", "population", "key",
				"member", "state", "listen", "delimiter", "encoding", "decimal-comma"} {
				if cmd.Flags().Changed(name) && f.suggest {
					return cli.Usagef("--suggest: found with --%s, allowed: for a simulation alone", name)
				}
				if cmd.Flags().Changed(name) {
					return f.member(cmd, args)
				}
			}
			return rememberFigures(func() error {
				if f.worth.ask {
					return f.simulatedWorth(cmd, args)
				}
				return f.simulation(cmd, args)
			})
		},
	}
	n := &f.node
	registerRoster(c, &n.files)
	fl := c.Flags()
	fl.BoolVar(&f.suggest, "suggest", false,
		"for a simulation: propose rounds, batch size, clip, step sizes and graph for its target_epsilon, "+
			"from public numbers, as lines of a run file")
	keys.PassphraseFlag(c, &n.secrets.passphrase)
	dataFlags(c, &n.files)
	fl.StringVar(&n.files.Policy, "policy", "", "the owner's policy file")
	fl.StringVar(&n.files.Population, "population", "", populationUsage)
	fl.StringVar(&n.files.Key, "key", "", "the member's key file")
	fl.StringVar(&n.files.Name, "member", "",
		"name of the member, in place of a key; default: the one that the policy's peers do not list")
	fl.StringVar(&n.daemon.State, "state", "", "state directory that the node will have, to check its disk")
	fl.StringVar(&n.reach.listen, "listen", "",
		"host:port that the node will listen on; default: the member's address in the roster")
	fl.StringArrayVar(&f.set, "set", nil,
		"for a simulation: change one key of the run file, section.key=value (repeatable)")
	f.worth.register(c)
	f.output.Register(c)
	cli.DataDirFlag(c, &f.dataDir)
	return c
}

// member plans taking part with an owner's own data.
func (f *planFlags) member(cmd *cobra.Command, args []string) error {
	n := &f.node
	switch {
	case len(args) > 0 || len(f.set) > 0:
		return cli.Usagef("sotto plan with --data and --policy takes the roster's run file as " +
			"it is: no FILE or --set")
	case n.files.Data.Path == "":
		return cli.Usagef("--data: found nothing, allowed: a path")
	case n.files.Policy == "":
		return cli.Usagef("--policy: found nothing, allowed: a path")
	}
	if _, err := n.reach.ways(); err != nil {
		return err
	}
	n.output = f.output
	m, err := n.join(io.Discard)
	if err != nil {
		return err
	}
	if f.worth.ask {
		return f.memberWorth(cmd, m)
	}
	return n.preflight(cmd.OutOrStdout(), m)
}

// simulation plans a run of a run file.
func (f *planFlags) simulation(cmd *cobra.Command, args []string) error {
	if f.suggest {
		e, s, err := forecast.Proposed(strings.Join(args, ""), f.set, f.dataDir)
		if err != nil {
			return err
		}
		cli.Say(cmd, "configuration %s", e.Digest())
		return f.writeSuggestion(cmd.OutOrStdout(), e, s)
	}
	e, err := build(args, f.set, f.dataDir)
	if err != nil {
		return err
	}
	cli.Say(cmd, "configuration %s", e.Digest())
	plan, err := forecast.Of(e)
	if err != nil {
		return err
	}
	if f.output.JSON() {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(plan)
	}
	return writePlan(cmd.OutOrStdout(), &plan)
}

// writeSuggestion says what the run could be given, and why.
func (f *planFlags) writeSuggestion(w io.Writer, e *experiment.Experiment, s *forecast.Suggestion) error {
	if f.output.JSON() {
		return json.NewEncoder(w).Encode(s)
	}
	p := &e.File.Privacy
	text := fmt.Sprintf("# For epsilon %g at delta %g with %s: noise multiplier %s", p.TargetEpsilon,
		p.TargetDelta, config.Count(e.File.Topology.Agents, "agent"), decimal.Digits(s.Noise, 4, true))
	if s.Ratio > 0 {
		text += fmt.Sprintf(", noise over signal %.2g (above %g little is learnt)", s.Ratio,
			forecast.DrownedAbove)
	}
	if len(s.Drop) > 0 {
		text += ".\n# Without " + strings.Join(s.Drop, ", ")
	}
	_, err := fmt.Fprintf(w, "%s.\n%s", text, s.TOML())
	return err
}

// rows prints names and values in two columns.
func rows(w io.Writer) (row func(what, format string, args ...any), flush func() error) {
	return cli.Output("text").Rows(w)
}

func writePlan(w io.Writer, p *forecast.Forecast) error {
	row, flush := rows(w)
	row("run", "%s, %s", p.Name, config.Count(p.Rounds, "round"))
	row("algorithm", "%s, %s with %d parameters on %s", p.Algorithm, p.Model, p.Parameters, p.Dataset)
	row("graph", "%s", p.Topology.Text())
	row("cost", "epsilon at delta %g (%s, %s, accountant %s)", p.Delta, p.Adjacency, p.Unit, p.Accountant)
	if p.Walk != nil {
		var names rundir.Names
		for _, a := range p.Agents {
			names.Agents = append(names.Agents, a.Name)
		}
		row("network", "epsilon %s", p.Walk.Text(&names))
		if p.Walk.Printed != nil {
			row("comparison", "epsilon %s", p.Walk.Printed.Text())
		}
	}
	for _, text := range p.Questions {
		row("question", "%s", text)
	}
	for _, warning := range p.Warnings {
		row("warning", "%s", warning)
	}
	if err := flush(); err != nil {
		return err
	}
	return writeOutlooks(w, p.Agents)
}

// mostRows is how many agents a table lists.
const mostRows = 50

// writeOutlooks lists what agents are asked and what that costs.
func writeOutlooks(w io.Writer, agents []forecast.Agent) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "agent\trecords\tbatch\trate\tnoise\tnoise/signal\tcharges\tepsilon of one\tepsilon\t")
	for _, o := range agents[:min(len(agents), mostRows)] {
		records, charges := "private", fmt.Sprint(o.Charges)
		if o.Records > 0 {
			records = fmt.Sprint(o.Records)
		}
		if o.Charges < o.Queries {
			charges += fmt.Sprintf(" of %d", o.Queries)
		}
		fmt.Fprintf(t, "%s\t%s\t%.4g\t%.4g\t%.4g\t%.3g\t%s\t%s\t%s\t\n",
			cmp.Or(o.Name, strconv.Itoa(o.Agent)), records, o.Batch, o.Rate, float64(o.Noise),
			float64(o.NoiseToSignal), charges, rundir.FormatFine(float64(o.First.Upper)),
			rundir.FormatFine(float64(o.Total.Upper)))
	}
	if err := t.Flush(); err != nil || len(agents) <= mostRows {
		return err
	}
	_, err := fmt.Fprintf(w, "and %d more agents: --output json lists all\n", len(agents)-mostRows)
	return err
}

// preflight says what taking part would ask and cost, and looks at what the node needs.
func (f *nodeFlags) preflight(w io.Writer, m *owner.Membership) error {
	x := &m.Terms
	look, err := m.Outlook()
	if err != nil {
		return err
	}
	write, flush := f.output.Rows(w)
	faults := 0
	row := func(what, format string, args ...any) {
		if strings.HasPrefix(fmt.Sprintf(format, args...), cli.Fault) {
			faults++
		}
		write(what, format, args...)
	}
	row("member", "%s, number %d in 0 to %d", m.Name(), m.Self, m.Roster.Size-1)
	if err := m.Roster.Verify(); err != nil {
		row("roster", "to be signed: %v", err)
	}
	if e := m.Roster.Epoch; e != nil {
		row("epoch", "%d, from round %d on", e.Number, e.Round)
	}
	amendmentRow(row, m)
	length, step := config.Count(x.Rounds, "round"), "round"
	if x.Interval > 0 {
		length, step = fmt.Sprintf("%d own wakes, one in %v on average", x.Rounds, x.Interval), "wake"
	}
	row("experiment", "%s on %s, %s, %d parameters", x.Algorithm, x.Dataset, length, x.Dim)
	row("hears", "%s on graph %s", config.Count(m.Node.Graph.Degree(m.Self), "member"), m.Roster.Graph)
	questions := owner.Expectations(m.Owner)
	parts := config.Count(owner.TrainRecords(m.Owner), "record")
	if len(questions) == 0 {
		parts += fmt.Sprintf(" for training, %d for the owner's own tests", m.TestRecords())
	}
	row("data", "%s; %s", m.Schema(), parts)
	fileRows(row, m)
	row("batches", "%s", x.Batches())
	noise := fmt.Sprintf("%s, multiplier %.6g", x.NoiseKind, x.Noise)
	if len(questions) == 0 {
		noise += fmt.Sprintf("; deviation of the mean gradient %.3g of the clip norm in each parameter, "+
			"%.3g in length", float64(look.NoiseToSignal)/math.Sqrt(float64(x.Dim)),
			float64(look.NoiseToSignal))
	}
	row("noise", "%s", noise)
	row("cost", "%s, epsilon %s at delta %g (%v, %v)", config.Count(look.Charges, "charge"),
		rundir.FormatFine(float64(look.Total.Upper)), x.Delta, x.Adjacency, x.Unit)
	if x.Reserve > 0 {
		all, err := m.WithReserve()
		if err != nil {
			return err
		}
		row("reserve", "%s of every kind, for answers that crashes lose: with all of them "+
			"epsilon %s", config.Count(x.Reserve, "further charge"), rundir.FormatFine(all.Upper))
	}
	for _, left := range x.Uncharged {
		row("not in it", "%s", left)
	}
	for _, text := range questions {
		row("question", "%s", text)
	}
	row("in odds", "%s", oddsText(x, look.Total))
	row("one charge", "epsilon %s alone", rundir.FormatFine(float64(look.First.Upper)))
	f.budgetRows(row, m, look.Charges, step)
	for _, warning := range x.Warnings {
		row("warning", "%s", warning)
	}
	row("port", "%s", cli.Port(cmp.Or(f.reach.listen, m.Roster.Members[m.Self].Address)))
	row("clock", "%s", cli.Clock(time.Now()))
	faults -= f.diskRows(row, m)
	if w := owner.Drowned(m.Owner, look); w != "" {
		row("warning", "%s", w)
	}
	if err := flush(); err != nil {
		return err
	}
	if faults > 0 {
		return codeError{fmt.Errorf("%d of the lines above say FAULT: the node would not run through",
			faults), exitFailed}
	}
	return nil
}

// diskRows look at the disks of ledger and state, and return how many faults can be
// overridden when the node starts.
func (f *nodeFlags) diskRows(row func(what, format string, args ...any), m *owner.Membership) int {
	overridable := 0
	look := func(dir string, need uint64, more string) {
		text, volatile := cli.Disk(dir, need)
		if row("disk", "%s%s", text, more); volatile {
			overridable++
		}
	}
	look(m.Policy.Ledger, cli.Trial, "")
	if f.daemon.State != "" {
		checkpoint := len(m.Node.Algorithm.AppendState(nil)) + m.Terms.Charges*m.Terms.CheckpointGrowth
		look(f.daemon.State, uint64(2*checkpoint+cli.Trial), // two take turns
			fmt.Sprintf("; a checkpoint takes about %d kB", 1+checkpoint/1000))
	}
	return overridable
}

// amendmentRow says what a start makes of an amendment in the roster file.
func amendmentRow(row func(what, format string, args ...any), m *owner.Membership) {
	switch round, err := m.Proposed(); {
	case errors.Is(err, roster.ErrUnsigned):
		row("amendment", "to be signed, until then %s holds: %v", m.Holds(), err)
	case err != nil:
		row("warning", "the roster file is not followed, %s holds: %v", m.Holds(), err)
	case round > 0:
		row("amendment", "from round %d on: the node hands it to the others", round)
	}
}

// fileRows say what the owner should know of its file.
func fileRows(row func(what, format string, args ...any), m *owner.Membership) {
	for _, r := range owner.Remarks(m) {
		what := "your file"
		if r.Warning {
			what = "warning"
		}
		row(what, "for you alone: %s", r.Text)
	}
}

// oddsText says what the run's epsilon means.
func oddsText(x *owner.Terms, total rundir.Bounds) string {
	return rundir.Guarantee{Unit: x.Unit.String(), Adjacency: x.Adjacency.String(), Epsilon: total,
		Delta: x.Delta}.Odds()
}
