// Package data loads public data sets, generates synthetic ones and splits them among
// agents.
//
// Files are checked against their published SHA-256 before they are read; a missing file
// is [ErrMissing], a file that differs [ErrAltered]. Parsers are strict: any count, range
// or syntax fault is a *config.Error that names file, line or byte offset, and the value.
// Features are scaled by public constants that stand in the code, never by statistics of
// the data, which would be a release. Everything is deterministic in the source bytes,
// the parameters and the seed.
package data

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"sotto/config"
	"sotto/data/schema"
	"sotto/tensor"
)

const maxCells = 1 << 28 // of a table of numbers

var (
	// ErrMissing says that a file of a data set, or one of the user's, is not there.
	ErrMissing = errors.New("data file missing")
	// ErrAltered says that a file is not the published one: its size or SHA-256 differs.
	ErrAltered = errors.New("data file altered")
)

// Dataset is a list of records. It is shared by its readers and must not be changed.
type Dataset struct {
	Name string
	// X has one record in each row. Images are flattened with the channel last: pixel (y,
	// x) of channel c is column (y*width + x)*channels + c.
	X     tensor.Mat
	Shape [3]int // height, width, channels; {1, 1, features} for tables
	// Exactly one of Labels (class 0 .. Classes-1) and Targets (regression) is set.
	Labels     []int32
	Targets    []float32
	Classes    int // 0 for regression
	ClassNames []string
	Known
	// Groups is the natural owner of each record, an index into GroupNames; nil where
	// there is none.
	Groups     []int32
	GroupNames []string
	// Units is the person of each record, numbered by first records; nil where every
	// record is its own person. SetUnits sets it.
	Units    []int32
	unitKeys []uint64 // of each person's id
	// Digest is a SHA-256 in hex over name, part, parameters, seed and the bytes of the
	// source files.
	Digest string
}

// Known is what is known besides of where records come from.
type Known struct {
	// Variables says what the features are, and the label or target; nil where nothing is
	// known. See Dataset.Described.
	Variables []schema.Variable
	// Columns are the names of features, one for each, where a user's file is read by
	// them; nil for others.
	Columns []string
	// RowNorm is a public bound of the L2 norm of every row, 0 where none is known.
	RowNorm float64
	// Dropped is how many rows of a user's files are left out for a missing cell. It is
	// private.
	Dropped int
}

// Len returns the number of records.
func (d *Dataset) Len() int { return d.X.Rows }

// Select returns the records at rows, in that order, in memory of their own. Names and
// shape are shared.
func (d *Dataset) Select(rows []int32) *Dataset {
	s := *d
	s.X = tensor.NewMat(len(rows), d.X.Cols)
	s.Labels, s.Targets, s.Groups = pick(d.Labels, rows), pick(d.Targets, rows), pick(d.Groups, rows)
	s.Units = pick(d.Units, rows)
	for i, r := range rows {
		copy(s.X.Row(i), d.X.Row(int(r)))
	}
	return &s
}

func pick[T any](from []T, rows []int32) []T {
	if from == nil {
		return nil
	}
	to := make([]T, len(rows))
	for i, r := range rows {
		to[i] = from[r]
	}
	return to
}

// head returns the first n records without copying; all of them when n is 0.
func (d *Dataset) head(n int) *Dataset {
	if n == 0 || n >= d.Len() {
		return d
	}
	s := *d
	s.X.Rows = n
	s.X.Data = d.X.Data[:n*d.X.Stride]
	cut := func(x []int32) []int32 { return x[:min(n, len(x)):min(n, len(x))] }
	s.Labels, s.Groups, s.Units = cut(d.Labels), cut(d.Groups), cut(d.Units)
	s.Targets = d.Targets[:min(n, len(d.Targets)):min(n, len(d.Targets))]
	return &s
}

// Split is a data set with its held-out part.
type Split struct {
	Train, Test *Dataset
	// GroundTruth holds, for the generators linear-tasks and least-squares, the vector
	// behind the labels of each group (one row each) or of all records (one row), for
	// quadratics the minimiser, for values the mean (one row); no rows otherwise. Only
	// oracle baselines may use it.
	GroundTruth tensor.Mat
	// Vectors holds, for movielens and made-ratings, each group's training records as one
	// vector (one row each): what a graph from training records compares. No rows
	// otherwise.
	Vectors tensor.Mat
	// Derived names what was made from training records for all to see and paid for by
	// nobody: a guarantee does not cover it. "" for most.
	Derived string
	// Features names what records hold that was computed from images, each from its own
	// alone: "scattering". "" for records as they were read.
	Features string
	oneByOne bool // see Source.OneByOne; the digests say so
}

// Source says where a constructor finds its bytes.
type Source struct {
	Dir  string // data folder with one folder for each data set
	Seed uint64 // of generators and of held-out parts that are drawn
	// OneByOne has every record of a table be in the test part or not whatever the others
	// are, by a coin of its own contents, as a guarantee under add-remove needs it.
	// Without it who is drawn depends on the number of records.
	OneByOne bool
	// PersonsVary says that a person may have another number of records in a neighboring
	// data set.
	PersonsVary bool

	own *places // the records are one owner's, see places.holdOut
}

// Constructor makes one data set. decode fills the data set's parameter struct strictly
// over its defaults.
type Constructor func(decode func(any) error, src Source) (*Split, error)

// Datasets names every data set.
var Datasets = map[string]Constructor{
	"mnist":               mnist,
	"fashion-mnist":       fashionMNIST,
	"cifar-10":            cifar10,
	"cifar-100":           cifar100,
	"heart-disease":       heartDisease,
	"california-housing":  californiaHousing,
	"houses":              houses,
	"adult-a9a":           adult,
	"breast-cancer":       breastCancer,
	"parkinsons":          parkinsons,
	"glyphs":              glyphs,
	"linear-tasks":        linearTasks,
	"least-squares":       leastSquares,
	"logistic-regression": logisticRegression,
	"quadratics":          quadratics,
	"values":              values,
	"csv":                 csvFile,
	"libsvm":              libsvmFile,
	TableName:             tableFiles,
	"movielens":           movieLens,
	"made-ratings":        madeRatings,
}

// Load returns the data set called name from the data folder dir; generators need no
// folder, and nil for decode is no parameters. Errors are *config.Error for bad
// parameters and faults in a file, ErrMissing and ErrAltered, and those of reading.
func Load(name, dir string, seed uint64, decode func(params any) error) (*Split, error) {
	return LoadFrom(name, Source{Dir: dir, Seed: seed}, decode)
}

// LoadFrom is [Load] with all that a source has.
func LoadFrom(name string, src Source, decode func(params any) error) (*Split, error) {
	construct, ok := Datasets[name]
	if !ok {
		return nil, config.Bad("name", name, config.OneOf(Datasets))
	}
	return construct(orDefaults(decode), src)
}

// orDefaults is decode, or one that leaves the defaults as they are where it is nil.
func orDefaults(decode func(any) error) func(any) error {
	if decode != nil {
		return decode
	}
	return func(any) error { return nil }
}

// leftOut prints a list that a run file leaves empty as one that it leaves out.
var leftOut = strings.NewReplacer("[]string{}", "[]string(nil)",
	"map[string][]float64{}", "map[string][]float64(nil)")

// seal sets the digests of both parts. params must print deterministically; sums are the
// source files'.
func (s *Split) seal(params any, seed uint64, sums []string) *Split {
	for part, d := range map[string]*Dataset{"train": s.Train, "test": s.Test} {
		h := sha256.New()
		fmt.Fprintf(h, "%s\n%s\n%s\n%d\n", d.Name, part, leftOut.Replace(fmt.Sprintf("%#v", params)), seed)
		if s.oneByOne {
			io.WriteString(h, "one by one\n")
		}
		for _, sum := range sums {
			io.WriteString(h, sum+"\n")
		}
		d.Digest = hex.EncodeToString(h.Sum(nil))
	}
	return s
}
