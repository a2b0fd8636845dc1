package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/data/csv"
	"sotto/tensor"
)

// TableParams are the parameters that tables share.
type TableParams struct {
	// TestFraction of the records is held out, drawn with the seed; default .25, above 0
	// and below 1.
	TestFraction float64 `toml:"test_fraction"`
	// Normalize scales features by the public bounds of the data set to [0, 1]. Default
	// true.
	Normalize bool `toml:"normalize"`
	// Limit and TestLimit keep the first records of each part after the draw; 0 keeps
	// all.
	Limit     int `toml:"limit"`
	TestLimit int `toml:"test_limit"`
	// AllowAltered reads files that are not the published ones.
	AllowAltered bool `toml:"allow_altered"`
}

func tableDefaults() TableParams { return TableParams{TestFraction: .25, Normalize: true} }

func (p *TableParams) validate() error {
	if !(p.TestFraction > 0 && p.TestFraction < 1) {
		return config.Bad("test_fraction", p.TestFraction, "above 0 and below 1")
	}
	return limits(p.Limit, p.TestLimit)
}

// feature says how a column becomes columns of X. Bounds are constants: never computed
// from data.
type feature struct {
	name   string
	as     string    // what people call it; "": name
	lo, hi float64   // scaled to (x - lo)/(hi - lo) and clamped to [0, 1]
	log    bool      // scaled to ln(1 + x - lo)/ln(1 + hi - lo) instead, for counts with a long tail
	values []float64 // categories; all but the first get a column that is 0 or 1
	fill   float64   // stands for a missing cell
	plain  bool      // taken as it is
}

func (f *feature) width() int { return max(1, len(f.values)-1) }

func (f *feature) scale(x float64) float64 {
	x = min(max(x, f.lo), f.hi)
	if f.log {
		return math.Log1p(x-f.lo) / math.Log1p(f.hi-f.lo)
	}
	return (x - f.lo) / (f.hi - f.lo)
}

// longest is a public bound of the norm of encoded rows; 0 where there is none. Each
// feature is in [0, 1], or has at most one column that is not 0.
func longest(features []feature, normalize bool) float64 {
	if !normalize || slices.ContainsFunc(features, func(f feature) bool { return f.plain }) {
		return 0
	}
	return math.Sqrt(float64(len(features)))
}

// encode returns the features of the rows at keep.
func encode(t *csv.Table, features []feature, keep []int, normalize bool) (tensor.Mat, error) {
	width := 0
	for k := range features {
		width += features[k].width()
	}
	x := tensor.NewMat(len(keep), width)
	at := 0
	for k := range features {
		f := &features[k]
		c, err := t.Column(f.name)
		if err != nil {
			return x, err
		}
		for i, row := range keep {
			v := c.Numbers[row]
			if math.IsNaN(v) {
				v = f.fill
			}
			switch {
			case f.values != nil:
				category := slices.Index(f.values, v)
				if category < 0 {
					return x, t.Bad(row, f.name, fmt.Sprint(v), fmt.Sprint(f.values))
				}
				if category > 0 {
					x.Row(i)[at+category-1] = 1
				}
			case normalize && !f.plain:
				x.Row(i)[at] = float32(f.scale(v))
			default:
				x.Row(i)[at] = float32(v)
			}
		}
		at += f.width()
	}
	return x, nil
}

// holdOut draws fraction of the records of every group (of all, without groups), rounded
// down, as the test part; with persons see holdOutUnits, and Source.OneByOne, and of one
// owner's file places.holdOut. Both parts keep the order of the file.
func holdOut(d *Dataset, p TableParams, src Source) (*Split, error) {
	if err := src.checkLimit(p.Limit); err != nil {
		return nil, err
	}
	if d.Units != nil {
		return holdOutUnits(d, p, src.Seed)
	}
	if src.OneByOne {
		return holdOutOneByOne(d, p, src.Seed)
	}
	if src.own != nil {
		return src.own.holdOut(d, p, src.Seed)
	}
	groups := [][]int32{nil}
	if d.Groups != nil {
		groups = make([][]int32, len(d.GroupNames))
	}
	for i := range d.Len() {
		g := int32(0)
		if d.Groups != nil {
			g = d.Groups[i]
		}
		groups[g] = append(groups[g], int32(i))
	}
	r := source(src.Seed)
	var train, test []int32
	for _, rows := range groups {
		r.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		n := int(p.TestFraction * float64(len(rows)))
		test, train = append(test, rows[:n]...), append(train, rows[n:]...)
	}
	return cut(d, train, test, p)
}

// twoFiles loads a user's records and those for tests: all of testPath, or where that is
// "" some of path.
func twoFiles(path, testPath string, p TableParams, src Source,
	load func(path string) (*Dataset, error)) (*Split, error) {
	train, err := load(path)
	if err != nil {
		return nil, absent("path", path, err)
	}
	if testPath == "" {
		return holdOut(train, p, src)
	}
	if err := src.checkLimit(p.Limit); err != nil {
		return nil, err
	}
	test, err := load(testPath)
	if err != nil {
		return nil, absent("test_path", testPath, err)
	}
	return &Split{Train: train.head(p.Limit), Test: test.head(p.TestLimit)}, nil
}

// cut makes the parts from their rows.
func cut(d *Dataset, train, test []int32, p TableParams) (*Split, error) {
	if len(train) == 0 || len(test) == 0 {
		return nil, config.Bad("test_fraction", p.TestFraction, "a value that leaves records in both parts")
	}
	slices.Sort(train)
	slices.Sort(test)
	return &Split{Train: d.Select(train).head(p.Limit), Test: d.Select(test).head(p.TestLimit)}, nil
}

// table reads a published delimited file.
func (s *store) table(path string, o csv.Options) (*csv.Table, error) {
	b, at, err := s.open(path)
	if err != nil {
		return nil, err
	}
	return csv.Read(b, at, o)
}

// labelsFrom maps text to classes.
func labelsFrom(t *csv.Table, column string, classes []string, keep []int) ([]int32, error) {
	c, err := t.Column(column)
	if err != nil {
		return nil, err
	}
	labels := make([]int32, len(keep))
	for i, row := range keep {
		k := slices.Index(classes, c.Text[row])
		if k < 0 {
			return nil, t.Bad(row, column, strconv.Quote(c.Text[row]), fmt.Sprintf("%q", classes))
		}
		labels[i] = int32(k)
	}
	return labels, nil
}

// flat is a data set of rows without labels yet.
func flat(name string, x tensor.Mat) *Dataset {
	return &Dataset{Name: name, X: x, Shape: [3]int{1, 1, x.Cols}}
}

// digested is what digests cover of parameters: their Go syntax, without a last field of
// no value, so that data sets from before there was that field keep their digests.
func digested(name, syntax, field string) string {
	fields := strings.TrimSuffix(syntax[strings.Index(syntax, "{"):], "}")
	return name + strings.TrimSuffix(fields, field) + "}"
}
