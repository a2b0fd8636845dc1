package trained

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"sotto/data"
	"sotto/data/schema"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/experiment/shapes"
	"sotto/internal/jsontext"
	"sotto/model"
)

// Card describes the model to strangers, in Markdown: what it predicts from which
// columns, how it was trained, what that cost in privacy, and figures where they are
// public. All of it follows from files that may be shown: an owner's own figures are not
// in it. The statements of a simulation are recomputed from its ledgers first, the
// signature of a node's is checked. Of an owner's own model it says that it is not to be
// shown, and nothing of how the shared one was trained.
func (m *Model) Card() ([]byte, error) {
	c := card{Model: m}
	own, err := m.Own()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&c, "# Model card: %s\n", text(m.file.Run.Name))
	if own {
		fmt.Fprintf(&c, "\n**This model is %s.**\n", OwnNote)
	}
	if !own && !m.file.Private() {
		c.WriteString("\n**This model was trained without noise and must not be published: it may tell " +
			"about every record that it was trained on.**\n")
	}
	c.prediction()
	c.columns()
	if own {
		fmt.Fprintf(&c, "\n## How it was made\n\nModel %s of %d parameters, of a shared model and of the "+
			"records of one owner. What is stated of the shared model's privacy does not hold for it.\n",
			text(m.file.Model.Name), len(m.theta))
		return []byte(c.String()), nil
	}
	if err := c.training(); err != nil {
		return nil, err
	}
	if err := c.shapes(); err != nil {
		return nil, err
	}
	if err := c.privacy(); err != nil {
		return nil, err
	}
	if err := c.figures(); err != nil {
		return nil, err
	}
	return []byte(c.String()), nil
}

// OwnNote says what a model is whose Own is true.
const OwnNote = "made of an owner's records without noise: for the owner alone"

// card is the text so far of a model's card.
type card struct {
	*Model
	strings.Builder
}

// text is what Markdown shows as it stands, also in a cell of a table.
func text(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) { // a line break would end a row of a table
			r = ' '
		}
		if strings.ContainsRune("\\`*_{}[]<>#|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func texts(all []string) string {
	var quoted []string
	for _, s := range all {
		quoted = append(quoted, text(s))
	}
	return strings.Join(quoted, ", ")
}

func (m *card) prediction() {
	m.WriteString("\n## What it predicts\n\n")
	name, unit := m.Target()
	if name == "" {
		name = "the label of data set " + m.file.Data.Dataset
	}
	switch m.Kind() {
	case Probabilities:
		fmt.Fprintf(m, "%s: a probability for each of the classes %s.\n", text(name), texts(m.Classes()))
	case Margins:
		fmt.Fprintf(m, "%s: one of the classes %s, by a margin that ranks records and is no probability.\n",
			text(name), texts(m.Classes()))
	case Value:
		what := "a number"
		if model.Counts(m.net) {
			what = "the mean of a count"
		}
		fmt.Fprintf(m, "%s: %s%s.\n", text(name), what, in(unit))
	case Sample:
		m.WriteString("Nothing: it gives a record again, or the mean of all.\n")
	}
	if m.schema != nil && m.schema.Target.Bounds != nil {
		t := &m.schema.Target
		fmt.Fprintf(m, "It was trained on targets that were clipped to %v to %v%s.\n", t.Bounds[0],
			t.Bounds[1], in(unit))
	}
}

func in(unit string) string {
	if unit == "" {
		return ""
	}
	return " in " + text(unit)
}

func (m *card) columns() {
	m.WriteString("\n## What it reads\n\n")
	if m.schema == nil {
		fmt.Fprintf(m, "%d features of data set %s, without a schema.\n", m.shape.Features(),
			text(m.file.Data.Dataset))
		if names := m.names.Features; names != nil {
			fmt.Fprintf(m, "\nColumns, by name, in any order: %s.\n", texts(names))
		}
		if m.format != nil && len(m.format.Scaled) > 0 {
			m.WriteString("\n| column | clipped to |\n|---|---|\n")
			for _, s := range m.format.Scaled {
				fmt.Fprintf(m, "| %s | %v to %v |\n", text(s.Column), s.Low, s.High)
			}
		}
		return
	}
	m.WriteString("| column | kind | unit | values | a missing cell |\n|---|---|---|---|---|\n")
	for i := range m.schema.Columns {
		c := &m.schema.Columns[i]
		values := ""
		switch c.Kind {
		case schema.Number:
			values = fmt.Sprintf("%v to %v, clipped", c.Bounds[0], c.Bounds[1])
		case schema.Category:
			values = texts(c.Categories)
			if c.Other {
				values += "; others count as other"
			}
		default:
			continue
		}
		missing := fmt.Sprintf("becomes %v", c.Missing)
		switch c.Missing {
		case schema.Refuse:
			missing = "is refused"
		case schema.Drop:
			missing = "gives no prediction"
		}
		if c.Indicator {
			missing += ", and a feature says so"
		}
		fmt.Fprintf(m, "| %s | %s | %s | %s | %s |\n", text(c.Name), c.Kind, text(c.Unit), values,
			text(missing))
	}
	fmt.Fprintf(m, "\nSchema %x.\n", m.schema.Digest())
}

func (m *card) training() error {
	f := m.file
	steps, owners := fmt.Sprint(f.Steps), fmt.Sprintf("%d owners", f.Topology.Agents)
	left := ""
	if rundir.IsNode(m.dir) {
		n, err := rundir.ReadNode(m.dir)
		if err != nil {
			return err
		}
		if n.Left() {
			steps, left = fmt.Sprintf("%d of %s", n.Round, steps), " Its member left the run after these."
		}
		if n.Epoch > 0 {
			owners = "owners that changed, " + owners + n.Lastly() + ","
		}
	}
	fmt.Fprintf(m, "\n## How it was trained\n\nModel %s of %d parameters, by algorithm %s in %s %s of %s "+
		"without a server (engine %s).%s This card is of %s.\n", text(f.Model.Name), len(m.theta),
		text(f.Algorithm.Name), steps, cmp.Or(f.Pace.Word, "rounds"), owners, experiment.EngineVersion, left,
		m.whose())
	return nil
}

// whose says whose model it is: that of a node is its member's, not a mean. Of a run it
// is the mean of agents, or of tokens.
func (m *card) whose() string {
	switch {
	case m.agent != "mean":
		return "the model of agent " + text(m.names.List(m.agent))
	case rundir.IsNode(m.dir):
		return "this member's model"
	}
	return "the mean of all models of the run"
}

// shapes are those that a run has left.
func (m *card) shapes() error {
	path := filepath.Join(m.dir, rundir.ShapesFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var all []shapes.Shape
	if err := json.Unmarshal(raw, &all); err != nil {
		return jsontext.Error(path, raw, err, "the shapes of a run")
	}
	of := "the mean of all agents' models"
	if rundir.IsNode(m.dir) {
		of = "this member's model"
	}
	fmt.Fprintf(m, "\n## What it has learned\n\nWhat each variable adds to the output, of %s; ± is one "+
		"standard deviation of what the noise alone can do.\n\n"+
		"| variable | importance | adds |\n|---|---|---|\n", of)
	for _, s := range all {
		var adds []string
		for _, p := range s.Points {
			at := p.Category
			if at == "" {
				at = fmt.Sprintf("%.4g", p.At)
			}
			adds = append(adds, fmt.Sprintf("%s: %.2f ± %.2f", text(at), p.Adds, p.Noise))
		}
		fmt.Fprintf(m, "| %s | %.3f | %s |\n", text(s.Variable), s.Importance, strings.Join(adds, "; "))
	}
	return nil
}

func (m *card) privacy() error {
	m.WriteString("\n## What it cost in privacy\n\n")
	simulated, err := m.Simulated()
	if err != nil {
		return err
	}
	if simulated && m.file.Private() {
		m.WriteString("**Simulated noise protects nobody: the noise of this training came from a seed. " +
			"The model may tell about the records that it was trained on.**\n\n")
	}
	path := filepath.Join(m.dir, rundir.PrivacyFile)
	if !rundir.Stands(path) {
		m.WriteString("There is no privacy statement in the folder of the model: nothing is stated.\n")
		return nil
	}
	if rundir.Stands(filepath.Join(m.dir, rundir.SummaryFile)) {
		all, err := rundir.Statements(m.dir)
		for _, s := range all {
			fmt.Fprintf(m, "- Agents %s: %s\n", text(m.names.List(s.Agents)), text(s.Text))
		}
		return err
	}
	s, err := rundir.SignedStatement(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(m, "%s\n\nSigned with the key %s, ledger %s.\n", text(s.Statement.String()), s.PublicKey,
		text(s.LedgerID))
	return nil
}

func (m *card) figures() error {
	m.WriteString("\n## How good it is\n\n")
	path := filepath.Join(m.dir, rundir.SummaryFile)
	if m.schema != nil || data.OfUsers(m.file.Data.Dataset) || !rundir.Stands(path) {
		m.WriteString("Not stated: exact figures of an owner's records are the owner's own.")
		if m.schema != nil || m.format != nil { // there are files that Read takes
			m.WriteString(" `sotto evaluate` says how good it is on records of yours.")
		}
		m.WriteString("\n")
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var s rundir.Summary
	if err := json.Unmarshal(raw, &s); err != nil {
		return jsontext.Error(path, raw, err, "the summary of a run")
	}
	of := func(name string, v *rundir.Stats) {
		if v != nil {
			fmt.Fprintf(m, "- %s: %.4g on average over agents, from %.4g to %.4g\n", name, v.Mean, v.Min,
				v.Max)
		}
	}
	fmt.Fprintf(m, "Of the simulation's test records, in data set %s:\n\n- loss: %.4g on average over "+
		"agents\n", text(s.Dataset), float64(s.Loss))
	of("accuracy", s.Accuracy)
	of("root mean squared error", s.RMSE)
	return nil
}
