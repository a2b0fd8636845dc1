// Package memory makes a data set of what a program has in memory, for
// experiment.BuildOn.
package memory

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"sotto/config"
	"sotto/data"
	"sotto/data/schema"
	"sotto/tensor"
)

// Name is what a run file calls a data set that a program holds.
const Name = "memory"

// Table is records in memory: those of all owners of a simulation. Features are best
// within [0, 1] or [-1, 1]; scale them by public bounds, never by statistics of the
// records.
type Table struct {
	Columns []string // names of the features, all different; none: they have no names
	// X has a row of features for each record, all of one length, finite as float32.
	X [][]float64
	// Classes are the names of at least two classes, all different, Labels the number of
	// each record's from 0; or Targets are finite numbers to predict.
	Classes []string
	Labels  []int
	Targets []float64
	// Owners are the names of the owners, Owner the number of each record's, for
	// partition natural; none: nobody knows whose the records are.
	Owners []string
	Owner  []int
	// Norm is a public bound of the L2 norm of a record's features, which clips follow
	// from; records that are longer are scaled to it. 0: none is known.
	Norm float64
}

// Split is the data set of records for training and for tests, which have the same
// columns and classes and, where both have owners, the same owners. It copies the tables.
// What is wrong is a *config.Error that names the place, and of labels and owners the
// value.
func Split(train, test *Table) (*data.Split, error) {
	s := &data.Split{}
	for _, part := range []struct {
		name string
		from *Table
		to   **data.Dataset
	}{{"train", train, &s.Train}, {"test", test, &s.Test}} {
		d, err := part.from.dataset(part.name)
		if err != nil {
			return nil, err
		}
		*part.to = d
	}
	if a, b := train.Norm, test.Norm; a != b {
		return nil, config.Bad("test.Norm", b, fmt.Sprintf("%v, as in train", a))
	}
	if a, b := s.Train.X.Cols, s.Test.X.Cols; a != b {
		return nil, config.Bad("test.X", fmt.Sprintf("%d features", b), fmt.Sprintf("%d, as in train", a))
	}
	for _, l := range []struct {
		name        string
		train, test []string
	}{
		{"Columns", train.Columns, test.Columns}, {"Classes", train.Classes, test.Classes},
		{"Owners", train.Owners, test.Owners},
	} {
		if l.name == "Owners" && (len(l.train) == 0 || len(l.test) == 0) {
			continue
		}
		if !slices.Equal(l.train, l.test) {
			return nil, config.Bad("test."+l.name, fmt.Sprintf("%q", l.test),
				fmt.Sprintf("%q, as in train", l.train))
		}
	}
	return s, nil
}

// Check says whether s is a data set that Split has made and nobody has changed: its
// digests are those of its records.
func Check(s *data.Split) error {
	if s == nil || s.Train == nil || s.Test == nil {
		return config.Bad("records", "none", "what memory.Split returns")
	}
	for part, d := range map[string]*data.Dataset{"train": s.Train, "test": s.Test} {
		if d.Name != Name || d.Units != nil || d.Digest != digest(part, d) {
			return config.Bad("records", "a digest that is not that of the records",
				"what memory.Split returns, unchanged")
		}
	}
	return nil
}

func (t *Table) dataset(part string) (*data.Dataset, error) {
	if err := t.check(part); err != nil {
		return nil, err
	}
	n, width := len(t.X), len(t.X[0])
	d := &data.Dataset{Name: Name, X: tensor.NewMat(n, width), Shape: [3]int{1, 1, width},
		Classes: len(t.Classes), ClassNames: slices.Clone(t.Classes)}
	for i, row := range t.X {
		scale := t.scale(row)
		for c, x := range row {
			d.X.Row(i)[c] = float32(scale * x)
		}
		if d.Classes > 0 {
			d.Labels = append(d.Labels, int32(t.Labels[i]))
		} else {
			d.Targets = append(d.Targets, float32(t.Targets[i]))
		}
		if len(t.Owner) > 0 {
			d.Groups = append(d.Groups, int32(t.Owner[i]))
		}
	}
	d.GroupNames, d.RowNorm, d.Columns = slices.Clone(t.Owners), t.Norm, slices.Clone(t.Columns)
	for k, name := range t.Columns {
		d.Variables = append(d.Variables, schema.Variable{Name: name, At: k, Missing: -1})
	}
	if len(t.Columns) > 0 {
		outcome := schema.Variable{Name: "target", At: -1, Missing: -1, Categories: d.ClassNames}
		if d.Classes > 0 {
			outcome.Name = "label"
		}
		d.Variables = append(d.Variables, outcome)
	}
	d.Digest = digest(part, d)
	return d, nil
}

// scale makes a row no longer than Norm, by a little more than rounding to float32 takes.
func (t *Table) scale(row []float64) float64 {
	square := 0.
	for _, x := range row {
		square += x * x
	}
	if n := math.Sqrt(square); t.Norm > 0 && n*(1+1e-6) > t.Norm {
		return t.Norm / n * (1 - 1e-6)
	}
	return 1
}

func (t *Table) check(part string) error {
	if t == nil || len(t.X) == 0 || len(t.X[0]) == 0 {
		return config.Bad(part+".X", "no records", "at least one record of at least one feature")
	}
	if err := t.checkNames(part); err != nil {
		return err
	}
	if err := t.checkLengths(part); err != nil {
		return err
	}
	return t.checkRecords(part)
}

// checkNames checks what is public.
func (t *Table) checkNames(part string) error {
	bad := func(what, found, allowed string) error { return config.Bad(part+"."+what, found, allowed) }
	switch {
	case len(t.Columns) > 0 && len(t.Columns) != len(t.X[0]):
		return bad("Columns", fmt.Sprint(len(t.Columns)),
			fmt.Sprintf("%d, one for each feature", len(t.X[0])))
	case !(t.Norm >= 0) || math.IsInf(t.Norm, 1):
		return bad("Norm", fmt.Sprint(t.Norm), "0, or a finite bound above 0")
	case len(t.Classes) == 1 || len(t.Classes) > 0 && len(t.Targets) > 0:
		return bad("Classes", fmt.Sprintf("%q", t.Classes),
			"at least two, with Labels; or none, with Targets")
	case len(t.Owners) == 0 && len(t.Owner) > 0:
		return bad("Owners", "none", "the names of the owners that Owner numbers")
	}
	for _, l := range []struct {
		what  string
		names []string
	}{{"Columns", t.Columns}, {"Classes", t.Classes}, {"Owners", t.Owners}} {
		for i, name := range l.names {
			if name == "" || slices.Contains(l.names[:i], name) {
				return bad(fmt.Sprintf("%s[%d]", l.what, i), name, "a name that no other has")
			}
		}
	}
	return nil
}

// checkLengths checks that there is one entry for each record, or none.
func (t *Table) checkLengths(part string) error {
	for _, l := range []struct {
		what string
		got  int
		need bool
	}{
		{"Labels", len(t.Labels), len(t.Classes) > 0}, {"Targets", len(t.Targets), len(t.Classes) == 0},
		{"Owner", len(t.Owner), len(t.Owners) > 0},
	} {
		want := 0
		if l.need {
			want = len(t.X)
		}
		if l.got != want {
			return config.Bad(part+"."+l.what, l.got, fmt.Sprintf("%d", want))
		}
	}
	return nil
}

func (t *Table) checkRecords(part string) error {
	for i, row := range t.X {
		bad := func(what string, found any, allowed string) error {
			return config.Bad(fmt.Sprintf("%s.%s[%d]", part, what, i), found, allowed)
		}
		if len(row) != len(t.X[0]) {
			return bad("X", fmt.Sprintf("%d features", len(row)), fmt.Sprint(len(t.X[0])))
		}
		for _, x := range row {
			if !(math.Abs(x) <= math.MaxFloat32) {
				return bad("X", "a number that is not finite", "finite ones in single precision")
			}
		}
		switch {
		case len(t.Targets) > 0 && !(math.Abs(t.Targets[i]) <= math.MaxFloat32):
			return bad("Targets", "a number that is not finite", "finite ones in single precision")
		case len(t.Labels) > 0 && (t.Labels[i] < 0 || t.Labels[i] >= len(t.Classes)):
			return bad("Labels", t.Labels[i], fmt.Sprintf("0 to %d", len(t.Classes)-1))
		case len(t.Owner) > 0 && (t.Owner[i] < 0 || t.Owner[i] >= len(t.Owners)):
			return bad("Owner", t.Owner[i], fmt.Sprintf("0 to %d", len(t.Owners)-1))
		}
	}
	return nil
}

// digest is the SHA-256 of all that the records are.
func digest(part string, d *data.Dataset) string {
	h := sha256.New()
	columns := make([]string, len(d.Variables))
	for i := range columns {
		columns[i] = d.Variables[i].Name
	}
	fmt.Fprintf(h, "%s %s %q %q %q %v\n", Name, part, columns, d.ClassNames, d.GroupNames, d.Shape)
	if d.RowNorm > 0 {
		fmt.Fprintf(h, "norm %v\n", d.RowNorm)
	}
	for i := range d.Len() {
		binary.Write(h, binary.LittleEndian, []float32(d.X.Row(i)))
	}
	for _, v := range []any{d.Labels, d.Targets, d.Groups} {
		binary.Write(h, binary.LittleEndian, v)
	}
	return hex.EncodeToString(h.Sum(nil))
}
