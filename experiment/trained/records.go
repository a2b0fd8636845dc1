package trained

import (
	"fmt"
	"os"

	"sotto/config"
	"sotto/data/schema"
	"sotto/tensor"
)

// Records are those of an owner's file as the model takes them. They are private.
type Records struct {
	X       tensor.Mat // a row of Features for each record
	Labels  []int32    // of ReadLabelled for classes: indices of Classes
	Targets []float64  // of ReadLabelled for a number, in its own unit, within its bounds
	IDs     []string   // nil where the file has none: whose each record is
	Lines   []int      // of each record in the file
	// Dropped are the lines of rows that get no prediction: a cell is missing, and what
	// the owners agreed on says to leave such rows out.
	Dropped []int
}

// Read reads new records from the file at path: by the schema, whatever the order of its
// columns, where the model has one; of data set csv by the names of the training file's
// columns, or by position where that had none, as the run file says, and how must be zero
// then. The target may be absent. Cells that are missing become what
// the schema says. A row that it refuses is a *config.Error with line and column that
// holds no cell.
func (m *Model) Read(path string, how schema.Reading) (*Records, error) {
	return m.read(path, how, false)
}

var errNoRecords = config.Bad("records", "none", "those of Read or ReadLabelled")

// ReadLabelled is Read of records whose target is known.
func (m *Model) ReadLabelled(path string, how schema.Reading) (*Records, error) {
	return m.read(path, how, true)
}

func (m *Model) read(path string, how schema.Reading, labelled bool) (*Records, error) {
	if m.schema != nil {
		return m.bySchema(path, how, labelled)
	}
	if m.format == nil {
		return nil, &config.Error{File: m.dir, Key: "data.dataset",
			Found:   fmt.Sprintf("%q", m.file.Data.Dataset),
			Allowed: "a model of tables of owners: it has a " + schema.FileName + ", or data set csv"}
	}
	if how != (schema.Reading{}) {
		return nil, config.Bad("delimiter, encoding, decimal_comma", "a value",
			"none: a model without a schema reads files as its run file says")
	}
	of, err := m.format.Read(path, m.names.Features, labelled)
	if err != nil {
		return nil, err
	}
	if of.X.Cols != m.shape.Features() {
		return nil, &config.Error{File: path, Line: 1,
			Found:   fmt.Sprintf("%d columns of features", of.X.Cols),
			Allowed: fmt.Sprintf("%d, in the order of the training file", m.shape.Features())}
	}
	r := &Records{X: of.X, Labels: of.Labels, Lines: of.Lines, Dropped: of.Dropped}
	if of.Targets != nil {
		r.Targets = m.targets(of.Targets)
	}
	return r, nil
}

func (m *Model) bySchema(path string, how schema.Reading, labelled bool) (*Records, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read := m.schema.ReadNew
	if labelled {
		read = m.schema.Read
	}
	of, err := read(path, b, how)
	if err != nil {
		return nil, err
	}
	r := &Records{Labels: of.Labels, IDs: of.IDs, Lines: of.Lines, Dropped: of.Dropped}
	r.X = tensor.Mat{Rows: of.Len(), Cols: of.Width, Stride: of.Width, Data: of.X}
	if of.Targets != nil {
		r.Targets = m.targets(of.Targets)
	}
	return r, nil
}

// check refuses records that are not there, and ids that are not theirs.
func (r *Records) check() error {
	if r == nil {
		return errNoRecords
	}
	if r.IDs != nil && len(r.IDs) != r.X.Rows {
		return config.Bad("records", config.Count(len(r.IDs), "id"), "one for each record, or none")
	}
	return nil
}

// persons numbers whose each record is, by its id; one without an id is nobody else's.
// nil where all are of different persons.
func (r *Records) persons() []int32 {
	of, number := make([]int32, len(r.IDs)), map[string]int32{}
	for i, id := range r.IDs {
		if id == "" {
			id = fmt.Sprintf("\x00%d", i)
		}
		if _, ok := number[id]; !ok {
			number[id] = int32(len(number))
		}
		of[i] = number[id]
	}
	if len(number) == len(of) {
		return nil
	}
	return of
}

// targets are in their own unit.
func (m *Model) targets(scaled []float32) []float64 {
	own := make([]float64, len(scaled))
	for i, v := range scaled {
		own[i] = m.natural(float64(v))
	}
	return own
}
