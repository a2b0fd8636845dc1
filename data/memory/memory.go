// Package memory makes a data set of what a program has in memory, for
// experiment.File.BuildOn.
package memory

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

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
	Columns []string // names of the features
	// X has a row of features for each record, all of one length, finite.
	X [][]float64
	// Classes are the names of at least two classes, Labels the number of each record's
	// from 0; or Targets are numbers to predict.
	Classes []string
	Labels  []int
	Targets []float64
	// Owners are the names of the owners, Owner the number of each record's, for
	// partition natural; none: one owner.
	Owners []string
	Owner  []int
}

// Split is the data set of records for training and for tests, which have the same
// columns and classes. What is wrong is a *config.Error that names record and value.
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
	switch a, b := s.Train, s.Test; {
	case a.X.Cols != b.X.Cols:
		return nil, config.Bad("test", fmt.Sprintf("%d features", b.X.Cols),
			fmt.Sprintf("%d, as in train", a.X.Cols))
	case a.Classes != b.Classes:
		return nil, config.Bad("test", fmt.Sprintf("%d classes", b.Classes),
			fmt.Sprintf("%d, as in train", a.Classes))
	}
	return s, nil
}

func (t *Table) dataset(part string) (*data.Dataset, error) {
	if err := t.check(part); err != nil {
		return nil, err
	}
	n, width := len(t.X), len(t.X[0])
	d := &data.Dataset{Name: Name, X: tensor.NewMat(n, width), Shape: [3]int{1, 1, width},
		Classes: len(t.Classes), ClassNames: t.Classes}
	for i, row := range t.X {
		for c, x := range row {
			d.X.Row(i)[c] = float32(x)
		}
		if d.Classes > 0 {
			d.Labels = append(d.Labels, int32(t.Labels[i]))
		} else {
			d.Targets = append(d.Targets, float32(t.Targets[i]))
		}
		if t.Owner != nil {
			d.Groups = append(d.Groups, int32(t.Owner[i]))
		}
	}
	d.GroupNames = t.Owners
	for k, name := range t.Columns {
		d.Variables = append(d.Variables, schema.Variable{Name: name, At: k, Missing: -1})
	}
	if t.Columns != nil {
		outcome := schema.Variable{Name: "target", At: -1, Missing: -1, Categories: t.Classes}
		if d.Classes > 0 {
			outcome.Name = "label"
		}
		d.Variables = append(d.Variables, outcome)
	}
	d.Digest = digest(part, d)
	return d, nil
}

func (t *Table) check(part string) error {
	bad := func(what, found, allowed string) error { return config.Bad(part+"."+what, found, allowed) }
	n := len(t.X)
	lengths := map[string]int{"Labels": len(t.Labels), "Targets": len(t.Targets), "Owner": len(t.Owner)}
	switch {
	case n == 0 || len(t.X[0]) == 0:
		return bad("X", "no records", "at least one record of at least one feature")
	case t.Columns != nil && len(t.Columns) != len(t.X[0]):
		return bad("Columns", fmt.Sprint(len(t.Columns)),
			fmt.Sprintf("%d, one for each feature", len(t.X[0])))
	case len(t.Classes) == 1 || len(t.Classes) > 0 && t.Targets != nil:
		return bad("Classes", fmt.Sprintf("%q", t.Classes),
			"at least two, with Labels; or none, with Targets")
	case len(t.Owners) == 0 && t.Owner != nil:
		return bad("Owners", "none", "the names of the owners that Owner numbers")
	}
	for what, need := range map[string]bool{"Labels": len(t.Classes) > 0, "Targets": len(t.Classes) == 0,
		"Owner": len(t.Owners) > 0} {
		if got := lengths[what]; need && got != n || !need && got != 0 {
			want := 0
			if need {
				want = n
			}
			return bad(what, fmt.Sprintf("%d of them", got), fmt.Sprintf("%d", want))
		}
	}
	for i, row := range t.X {
		at := func(what string) string { return fmt.Sprintf("%s[%d]", what, i) }
		if len(row) != len(t.X[0]) {
			return bad(at("X"), fmt.Sprintf("%d features", len(row)), fmt.Sprint(len(t.X[0])))
		}
		for _, x := range row {
			if !(math.Abs(x) <= math.MaxFloat32) {
				return bad(at("X"), "a number that is not finite", "finite ones in single precision")
			}
		}
		switch {
		case t.Targets != nil && !(math.Abs(t.Targets[i]) <= math.MaxFloat32):
			return bad(at("Targets"), "a number that is not finite", "finite ones in single precision")
		case t.Labels != nil && (t.Labels[i] < 0 || t.Labels[i] >= len(t.Classes)):
			return bad(at("Labels"), fmt.Sprint(t.Labels[i]), fmt.Sprintf("0 to %d", len(t.Classes)-1))
		case t.Owner != nil && (t.Owner[i] < 0 || t.Owner[i] >= len(t.Owners)):
			return bad(at("Owner"), fmt.Sprint(t.Owner[i]), fmt.Sprintf("0 to %d", len(t.Owners)-1))
		}
	}
	return nil
}

// digest is the SHA-256 of all that the records are.
func digest(part string, d *data.Dataset) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %q %q %v\n", Name, part, d.ClassNames, d.GroupNames, d.Shape)
	for i := range d.Len() {
		binary.Write(h, binary.LittleEndian, []float32(d.X.Row(i)))
	}
	for _, v := range []any{d.Labels, d.Targets, d.Groups} {
		binary.Write(h, binary.LittleEndian, v)
	}
	return hex.EncodeToString(h.Sum(nil))
}
