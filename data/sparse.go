package data

import (
	"bytes"
	"fmt"
	"slices"

	"sotto/config"
	"sotto/data/libsvm"
)

// LibSVMParams are the parameters of "libsvm", a sparse text file of the user's.
type LibSVMParams struct {
	Path         string  `toml:"path"`          // file of the training records
	TestPath     string  `toml:"test_path"`     // "" holds out test_fraction of path, drawn with the seed
	TestFraction float64 `toml:"test_fraction"` // above 0 and below 1; default .25
	// number of features, at least 1: it is not taken from the data
	Dim        int       `toml:"dim"`
	Classes    []float64 `toml:"label_values"` // label values in order; default [-1, 1]
	Regression bool      `toml:"regression"`   // labels are numbers to predict
	Limit      int       `toml:"limit"`        // how many training records are kept, the first ones; 0: all
	TestLimit  int       `toml:"test_limit"`   // as limit, of test records
}

// libsvmFile loads the user's file; see libsvm.Read for its faults.
func libsvmFile(decode func(any) error, src Source) (*Split, error) {
	p := LibSVMParams{TestFraction: .25, Classes: []float64{-1, 1}}
	if err := decode(&p); err != nil {
		return nil, err
	}
	t := TableParams{TestFraction: p.TestFraction, Limit: p.Limit, TestLimit: p.TestLimit}
	if err := t.validate(); err != nil {
		return nil, err
	}
	switch {
	case p.Path == "":
		return nil, config.Bad("path", p.Path, "the path of a file")
	case p.Dim < 1 || p.Dim > maxCells:
		return nil, config.Bad("dim", p.Dim, fmt.Sprintf("1 to %d", maxCells))
	case !p.Regression && len(p.Classes) < 2:
		return nil, config.Bad("label_values", len(p.Classes), "at least 2 values of the label")
	case p.Regression && !slices.Equal(p.Classes, []float64{-1, 1}): // the default is no choice
		return nil, config.Bad("label_values", p.Classes, "nothing with regression = true")
	}
	var sums []string
	load := func(path string) (*Dataset, error) { return p.load(path, &sums) }
	split, err := twoFiles(p.Path, p.TestPath, t, src, load)
	if err != nil {
		return nil, err
	}
	return split.seal(p.unplaced(), src.Seed, sums), nil
}

func (p LibSVMParams) unplaced() LibSVMParams {
	p.Path, p.TestPath = "", ""
	return p
}

func (p *LibSVMParams) load(path string, sums *[]string) (*Dataset, error) {
	b, err := userBytes(path)
	if err != nil {
		return nil, err
	}
	*sums = append(*sums, hexSum(b))
	x, y, err := libsvm.Read(bytes.NewReader(b), path, p.Dim)
	if err != nil {
		return nil, err
	}
	d := flat("libsvm", x)
	if p.Regression {
		for _, v := range y {
			d.Targets = append(d.Targets, float32(v))
		}
		return d, nil
	}
	d.Classes = len(p.Classes)
	for _, c := range p.Classes {
		d.ClassNames = append(d.ClassNames, fmt.Sprint(c))
	}
	d.Labels, err = numbered(y, p.Classes, path)
	return d, err
}
