// Package trained uses a model that is finished: it predicts, judges, exports and
// describes it. A folder with config.toml, model.safetensors and, where the records have
// a schema, schema.toml is a model, whether a simulation or a node has left it. The data
// set is not needed.
//
// What a model says of private records is private, and so is every figure of such
// records.
package trained

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/data"
	"sotto/data/schema"
	"sotto/experiment"
	"sotto/experiment/rundir"
	"sotto/model"
	"sotto/tensor"
)

// Kind is what the outputs of a model stand for.
type Kind string

// Kinds of models.
const (
	Probabilities Kind = "probabilities" // of classes
	// Margins decide for classes and rank records, but are no probabilities: those of the
	// hinge loss.
	Margins Kind = "margins"
	Value   Kind = "value"  // of a number, in the unit of the target
	Sample  Kind = "sample" // the record again: a reconstruction or a mean
)

// Model is a finished model. It is immutable and may be used by many goroutines.
type Model struct {
	dir, agent string
	file       *experiment.File
	net        model.Model
	theta      tensor.Vec
	shape      model.Shape
	schema     *schema.Schema // nil: none
	names      rundir.Names   // as the run left them
	format     *data.Format   // nil: the data set reads no owner's files
}

// Load reads the model in the folder dir: of the agent with the given number, or "mean"
// for the mean of all models of the file, which of a node's is the one that there is.
func Load(dir, agent string) (*Model, error) {
	m := &Model{dir: dir, agent: agent}
	path := filepath.Join(dir, rundir.ConfigFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, absent(dir, err)
	}
	if m.file, err = experiment.Parse(path, b, nil); err != nil {
		return nil, err
	}
	if experiment.Asks(m.file) {
		return nil, &config.Error{File: dir, Allowed: "a model: sotto query " + dir + " shows answers",
			Found: "answers to questions, algorithm " + m.file.Algorithm.Name}
	}
	if m.theta, m.shape, err = rundir.ReadModel(dir, agent); err != nil {
		return nil, absent(dir, err)
	}
	if m.net, err = model.New(m.file.Model.Name, m.shape, m.file.Section("model")); err != nil {
		return nil, m.file.At("model", err)
	}
	if m.net.Dim() != len(m.theta) {
		return nil, &config.Error{File: dir, Found: fmt.Sprintf("%d parameters", len(m.theta)),
			Allowed: fmt.Sprintf("%d, as its %s says", m.net.Dim(), rundir.ConfigFile)}
	}
	if p := m.file.Model.Precision; p != "" {
		if m.net, err = model.WithPrecision(m.net, p); err != nil {
			return nil, m.file.At("model", err)
		}
	}
	for _, v := range m.theta {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, &config.Error{File: dir, Found: "parameters that are not finite",
				Allowed: "a model whose training did not diverge"}
		}
	}
	if m.names, err = rundir.ReadNames(dir); err != nil {
		return nil, err
	}
	if n := len(m.names.Features); n > 0 && n != m.shape.Features() {
		return nil, &config.Error{File: filepath.Join(dir, rundir.NamesFile), Key: "features",
			Found: config.Count(n, "name"), Allowed: fmt.Sprintf("%d, as the model has", m.shape.Features())}
	}
	if err := unaltered(dir); err != nil {
		return nil, err
	}
	return m, m.readSchema()
}

// absent says what a folder without a model lacks.
func absent(dir string, err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	found := "no " + filepath.Base(path.Path)
	if _, statErr := os.Stat(dir); statErr != nil {
		found = "no such file or directory"
	}
	return &config.Error{File: dir, Found: found, Allowed: fmt.Sprintf(
		"the folder of a finished run or node, with %s and %s", rundir.ConfigFile, rundir.ModelFile)}
}

// readSchema reads what the features are, and holds it against the model.
func (m *Model) readSchema() error {
	path := filepath.Join(m.dir, schema.FileName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if m.file.Data.Dataset == data.TableName {
			return &config.Error{File: m.dir, Found: "no " + schema.FileName,
				Allowed: "the folder of a finished run or node, with the schema of its data set " +
					data.TableName}
		}
		m.format, err = data.FormatOf(m.file.Data.Dataset, m.file.Section("data"))
		return m.file.At("data", err)
	}
	if err != nil {
		return err
	}
	if m.schema, err = schema.Parse(path, b); err != nil {
		return err
	}
	digest, want := fmt.Sprintf("%x", m.schema.Digest()), m.file.Data.SchemaDigest
	if want != "" && !strings.EqualFold(digest, want) {
		return fmt.Errorf("%w: %w", data.ErrAltered, &config.Error{File: path, Found: "digest " + digest,
			Allowed: want + ", the schema_digest of " + rundir.ConfigFile})
	}
	features, classes := len(m.schema.Features()), len(m.schema.Target.Values)
	if features != m.shape.Features() || classes != m.shape.Classes {
		return &config.Error{File: path, Found: fmt.Sprintf("%d features, %d classes", features, classes),
			Allowed: fmt.Sprintf("%d and %d, as the model has", m.shape.Features(), m.shape.Classes)}
	}
	return nil
}

// Schema is what a record is, to be read; nil where the model's data set has no schema.
func (m *Model) Schema() *schema.Schema { return m.schema }

// Parameters are the model's, one flat vector. It is the caller's own.
func (m *Model) Parameters() tensor.Vec { return slices.Clone(m.theta) }

// Kind is what the outputs stand for.
func (m *Model) Kind() Kind {
	switch {
	case model.Reconstructs(m.net):
		return Sample
	case m.shape.Classes == 0:
		return Value
	case model.Ranks(m.net):
		return Margins
	}
	return Probabilities
}

// Classes are the names of the classes in order, their numbers where the data set has no
// names; nil for a model that does not classify.
func (m *Model) Classes() []string {
	if kind := m.Kind(); kind == Value || kind == Sample {
		return nil
	}
	switch {
	case m.schema != nil:
		return slices.Clone(m.schema.Target.Values)
	case m.format != nil && len(m.format.Classes) == m.shape.Classes:
		return slices.Clone(m.format.Classes)
	}
	names := make([]string, m.shape.Classes)
	for k := range names {
		names[k] = m.names.Class(k)
	}
	return names
}

// Features are the names of the elements of a record in order; where the data set has
// none, "1", "2" and so on.
func (m *Model) Features() []string {
	switch {
	case m.schema != nil:
		return m.schema.Features()
	case m.names.Features != nil:
		return slices.Clone(m.names.Features)
	}
	names := make([]string, m.shape.Features())
	for k := range names {
		names[k] = strconv.Itoa(k + 1)
	}
	return names
}

// Target is the name of what is predicted, "" where it has none, and its unit, if known.
func (m *Model) Target() (name, unit string) {
	switch {
	case m.schema != nil:
		return m.schema.Target.Column, m.schema.Target.Unit
	case m.format != nil:
		return m.format.Target, ""
	}
	return "", ""
}

// Simulated says that the noise of the training came from seeded streams: it protects
// nobody.
func (m *Model) Simulated() (bool, error) {
	meta, err := rundir.Metadata(m.dir)
	return meta["noise"] == "simulated", err
}

// Own says that the model is an owner's own one, made of its records without noise: for
// the owner alone.
func (m *Model) Own() (bool, error) {
	meta, err := rundir.Metadata(m.dir)
	return err == nil && rundir.IsOwn(filepath.Join(m.dir, rundir.ModelFile), meta), err
}
