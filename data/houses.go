package data

import (
	"math"
	"slices"

	"sotto/config"
	"sotto/data/csv"
	"sotto/tensor"
)

// HousesParams are the parameters of "houses".
type HousesParams struct {
	// Target is "value" (default): 1 where the median house value is above 179,700
	// dollars, the published median; or "longitude": 1 where a block group lies east of
	// -119.57 degrees, the published mean. The latter is what OpenML's data set "houses",
	// version 2, holds, by its count of classes: the house value is a feature there and
	// the last column of the file the target.
	Target string `toml:"target"`
	// Scaling is "bounds" (default): public bounds to -1 .. 1; or "standard": the mean
	// and standard deviation of all records, as published, which is a release of its own
	// that nobody pays for (Split.Derived).
	Scaling      string  `toml:"scaling"`
	TestFraction float64 `toml:"test_fraction"` // share of each class that is held out; default .2
	// seed of the draw of test records, whatever the run's seed; default 42
	SplitSeed uint64 `toml:"split_seed"`
	// Limit and TestLimit keep as many records of each part, drawn with SplitSeed; 0
	// keeps all.
	Limit        int  `toml:"limit"`
	TestLimit    int  `toml:"test_limit"`
	AllowAltered bool `toml:"allow_altered"` // reads files that are not the published ones
}

// housesMeridian is the mean longitude of all block groups, 8,914 of which lie west of
// it.
const housesMeridian = -119.5697

// housesTargets are the features and class names by target.
var housesTargets = map[string]struct {
	column   string
	above    float64
	classes  []string
	features []feature
}{
	"value": {"9", housingMedian, []string{"below", "above"}, housingFeatures},
	"longitude": {"1", housesMeridian, []string{"west", "east"},
		append(slices.Clone(housingFeatures[1:]), feature{name: "9", lo: 0, hi: 500_001})},
}

// houses loads the houses data of StatLib (Pace, Barry 1997) as the publications on
// random walks prepare it: two classes, 8 features, rows of norm 1. Labels are 0 and 1;
// the logistic loss reads them as -1 and +1.
func houses(decode func(any) error, src Source) (*Split, error) {
	p := HousesParams{Target: "value", Scaling: "bounds", TestFraction: .2, SplitSeed: 42}
	if err := decode(&p); err != nil {
		return nil, err
	}
	target, ok := housesTargets[p.Target]
	switch {
	case !ok:
		return nil, config.Bad("target", p.Target, "value, longitude")
	case p.Scaling != "bounds" && p.Scaling != "standard":
		return nil, config.Bad("scaling", p.Scaling, "bounds, standard")
	case !(p.TestFraction > 0 && p.TestFraction < 1):
		return nil, config.Bad("test_fraction", p.TestFraction, "above 0 and below 1")
	}
	if err := limits(p.Limit, p.TestLimit); err != nil {
		return nil, err
	}
	st := &store{dir: src.Dir, any: p.AllowAltered}
	t, err := st.table("california-housing/cal_housing.data", csv.Options{})
	if err != nil {
		return nil, err
	}
	x, err := encode(t, target.features, t.Complete(true), p.Scaling == "bounds")
	if err != nil {
		return nil, err
	}
	if p.Scaling == "bounds" {
		for i := range x.Data {
			x.Data[i] = 2*x.Data[i] - 1
		}
	} else {
		standardize(x)
	}
	unitRows(x)
	all := flat("houses", x)
	all.Classes, all.ClassNames, all.RowNorm = 2, target.classes, 1
	c, err := t.Column(target.column)
	if err != nil {
		return nil, err
	}
	for _, v := range c.Numbers {
		label := int32(0)
		if v > target.above {
			label = 1
		}
		all.Labels = append(all.Labels, label)
	}
	split, err := stratified(all, &p)
	if err != nil {
		return nil, err
	}
	if p.Scaling == "standard" {
		split.Derived = "features scaled by the mean and deviation of all records"
	}
	return split.seal(p, 0, st.sums), nil
}

// standardize makes every column's mean 0 and its standard deviation 1, over the rows of
// x; a constant column becomes 0.
func standardize(x tensor.Mat) {
	n := float64(x.Rows)
	for c := range x.Cols {
		mean, square := 0., 0.
		for r := range x.Rows {
			mean += float64(x.Row(r)[c]) / n
		}
		for r := range x.Rows {
			d := float64(x.Row(r)[c]) - mean
			square += d * d / n
		}
		for r := range x.Rows {
			if square == 0 {
				x.Row(r)[c] = 0
			} else {
				x.Row(r)[c] = float32((float64(x.Row(r)[c]) - mean) / math.Sqrt(square))
			}
		}
	}
}

// unitRows scales every row to L2 norm 1, a millionth less so that no rounding goes
// above; a row of zeros stays.
func unitRows(x tensor.Mat) {
	for r := range x.Rows {
		row := tensor.Vec(x.Row(r))
		if n := row.Norm(); n > 0 {
			row.Scale((1-1e-6)/n, row)
		}
	}
}

// stratified draws test_fraction of every class, rounded down, as the test part.
func stratified(d *Dataset, p *HousesParams) (*Split, error) {
	byClass := make([][]int32, d.Classes)
	for i, label := range d.Labels {
		byClass[label] = append(byClass[label], int32(i))
	}
	r := source(p.SplitSeed)
	var train, test []int32
	for _, rows := range byClass {
		r.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		n := int(p.TestFraction * float64(len(rows)))
		test, train = append(test, rows[:n]...), append(train, rows[n:]...)
	}
	for _, part := range []struct {
		rows  *[]int32
		limit int
	}{{&train, p.Limit}, {&test, p.TestLimit}} {
		rows := *part.rows
		r.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		if part.limit > 0 {
			*part.rows = rows[:min(part.limit, len(rows))]
		}
	}
	return cut(d, train, test, TableParams{TestFraction: p.TestFraction})
}
