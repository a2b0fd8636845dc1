package trained

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strconv"

	"sotto/config"
)

// Row is what is said of one row of an owner's file.
type Row struct {
	Line int    `json:"line"`
	ID   string `json:"id,omitempty"`
	*Prediction
	Note string `json:"note,omitempty"` // why there is no prediction
}

// noPrediction is the note of a row that is dropped.
const noPrediction = "no prediction: a cell is missing"

// Table is what a model says of an owner's file, by line.
type Table struct {
	Outputs Kind     `json:"outputs"`
	Classes []string `json:"classes,omitempty"`
	Target  string   `json:"target,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	Rows    []Row    `json:"rows"`
	ids     bool
}

// Table predicts all records, and says which rows have no prediction.
func (m *Model) Table(r *Records) (*Table, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	all, err := m.Predict(r.X)
	if err != nil {
		return nil, err
	}
	if len(r.Lines) != len(all) {
		return nil, config.Bad("records", config.Count(len(r.Lines), "line"), "one for each record")
	}
	t := &Table{Outputs: m.Kind(), Classes: m.Classes(), ids: r.IDs != nil}
	t.Target, t.Unit = m.Target()
	for i := range all {
		row := Row{Line: r.Lines[i], Prediction: &all[i]}
		if t.ids {
			row.ID = r.IDs[i]
		}
		t.Rows = append(t.Rows, row)
	}
	for _, line := range r.Dropped {
		t.Rows = append(t.Rows, Row{Line: line, Note: noPrediction})
	}
	slices.SortFunc(t.Rows, func(a, b Row) int { return a.Line - b.Line })
	return t, nil
}

// JSON is the table as one object.
func (t *Table) JSON() ([]byte, error) {
	b, err := json.Marshal(t)
	return append(b, '\n'), err
}

// CSV is the table with a first line: line, id where records have one, class and
// "probability of CLASS" for each class, "margin of CLASS" where there are no
// probabilities, or value; and note.
func (t *Table) CSV() ([]byte, error) {
	head := []string{"line"}
	if t.ids {
		head = append(head, "id")
	}
	first := len(head)
	switch t.Outputs {
	case Value:
		head = append(head, "value")
	case Probabilities:
		head = append(head, "class")
		for _, c := range t.Classes {
			head = append(head, "probability of "+c)
		}
	default:
		head = append(head, "class")
		for _, c := range t.margins() {
			head = append(head, "margin of "+c)
		}
	}
	head = append(head, "note")
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(head)
	for _, r := range t.Rows {
		cells := make([]string, len(head))
		if cells[0] = strconv.Itoa(r.Line); t.ids {
			cells[1] = r.ID
		}
		if p := r.Prediction; p != nil {
			copy(cells[first:], p.cells())
		}
		cells[len(cells)-1] = r.Note
		w.Write(cells)
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// margins are the classes that have one.
func (t *Table) margins() []string {
	for _, r := range t.Rows {
		if r.Prediction != nil && len(r.Margins) == 1 {
			return t.Classes[1:]
		}
	}
	return t.Classes
}

func (p *Prediction) cells() []string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) }
	if p.Value != nil {
		return []string{number(*p.Value)}
	}
	cells := []string{p.Class}
	for _, v := range slices.Concat(p.Probabilities, p.Margins) {
		cells = append(cells, number(v))
	}
	return cells
}
