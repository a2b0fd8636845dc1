package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"sotto/config"
	"sotto/data/csv"
	"sotto/data/libsvm"
	"sotto/data/schema"
)

// HousingParams are the parameters of "california-housing".
type HousingParams struct {
	TableParams
	// Target is "class" (default): 1 where the median house value is above 179,700
	// dollars, the published median; or "value": the house value in 100,000 dollars; or
	// "scaled": the house value scaled from -1 (0) to 1 (500,001 dollars, the census
	// cap).
	Target string `toml:"target"`
	// Regions makes five groups by latitude and longitude.
	Regions bool `toml:"regions,omitempty"`
	// Symmetric scales features to [-1, 1]: they vary twice as much under the same noise.
	Symmetric bool `toml:"symmetric,omitempty"`
}

// GoString is what digests cover.
func (p HousingParams) GoString() string {
	type plain HousingParams
	return digested("data.HousingParams", fmt.Sprintf("%#v", plain(p)), ", Regions:false, Symmetric:false")
}

const housingMedian, housingCap = 179_700, 500_001

// housingFeatures have public bounds: the state's extent, the caps of the census file and
// round figures above the largest block group.
var housingFeatures = []feature{
	{name: "1", as: "longitude", lo: -125, hi: -114},            // longitude
	{name: "2", as: "latitude", lo: 32, hi: 43},                 // latitude
	{name: "3", as: "age", lo: 0, hi: 52},                       // median age, capped
	{name: "4", as: "rooms", lo: 0, hi: 40_000, log: true},      // rooms
	{name: "5", as: "bedrooms", lo: 0, hi: 6_500, log: true},    // bedrooms
	{name: "6", as: "population", lo: 0, hi: 36_000, log: true}, // population
	{name: "7", as: "households", lo: 0, hi: 6_500, log: true},  // households
	{name: "8", as: "income", lo: 0, hi: 15.0001, log: true},    // median income in 10,000 dollars, capped
}

// californiaHousing loads the houses data of StatLib (Pace, Barry 1997): 20,640 block
// groups, 8 features.
func californiaHousing(decode func(any) error, src Source) (*Split, error) {
	p := HousingParams{tableDefaults(), "class", false, false}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	switch {
	case p.Symmetric && !p.Normalize:
		return nil, config.Bad("symmetric", true, "false without normalize")
	case !slices.Contains([]string{"class", "value", "scaled"}, p.Target):
		return nil, config.Bad("target", p.Target, "class, value, scaled")
	}
	st := &store{dir: src.Dir, any: p.AllowAltered}
	t, err := st.table("california-housing/cal_housing.data", csv.Options{})
	if err != nil {
		return nil, err
	}
	keep := t.Complete(true)
	x, err := encode(t, housingFeatures, keep, p.Normalize)
	if err != nil {
		return nil, err
	}
	for k := range x.Data {
		if p.Symmetric {
			x.Data[k] = 2*x.Data[k] - 1
		}
	}
	value, err := t.Column("9")
	if err != nil {
		return nil, err
	}
	all := flat("california-housing", x)
	all.RowNorm = longest(housingFeatures, p.Normalize)
	if p.Target == "class" {
		all.Classes, all.ClassNames = 2, []string{"below", "above"}
	}
	for _, v := range value.Numbers {
		switch {
		case p.Target == "value":
			all.Targets = append(all.Targets, float32(v/100_000))
		case p.Target == "scaled":
			all.Targets = append(all.Targets, float32(2*min(max(v/housingCap, 0), 1)-1))
		case v > housingMedian:
			all.Labels = append(all.Labels, 1)
		default:
			all.Labels = append(all.Labels, 0)
		}
	}
	if p.Regions {
		all.regions(t)
	}
	if !p.Symmetric { // variables know features from 0 to 1
		all.Variables = append(variablesOf(housingFeatures, p.Normalize), all.outcome("value", "value"))
	}
	split, err := holdOut(all, p.TableParams, src)
	if err != nil {
		return nil, err
	}
	return split.seal(p, src.Seed, st.sums), nil
}

// regions makes groups by round degrees.
func (d *Dataset) regions(t *csv.Table) {
	d.GroupNames = []string{"north", "bay", "valley", "angeles", "south"}
	for row, north := range t.Columns[1].Numbers {
		east := t.Columns[0].Numbers[row]
		in := []bool{north >= 38.5, east < -121.5 && north >= 36.5, north >= 34.8,
			north >= 33.5 && east < -117.7, true}
		d.Groups = append(d.Groups, int32(slices.Index(in, true)))
	}
}

// AdultParams are the parameters of "adult-a9a".
type AdultParams struct {
	Limit        int  `toml:"limit"`         // how many training records are kept, the first ones; 0: all
	TestLimit    int  `toml:"test_limit"`    // as limit, of test records
	AllowAltered bool `toml:"allow_altered"` // reads files that are not the published ones
}

const adultFeatures = 123

// adult loads a9a, the binarised census income data (Kohavi 1996; Platt 1998): 32,561 and
// 16,281 records of 123 features that are 0 or 1, 11 to 14 of them 1; classes 0 (-1 in
// the file) and 1.
func adult(decode func(any) error, src Source) (*Split, error) {
	var p AdultParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := cmp.Or(limits(p.Limit, p.TestLimit), src.checkLimit(p.Limit)); err != nil {
		return nil, err
	}
	st := &store{dir: src.Dir, any: p.AllowAltered}
	var parts [2]*Dataset
	for k, name := range []string{"a9a", "a9a.t"} {
		r, at, err := st.open("adult-a9a/" + name)
		if err != nil {
			return nil, err
		}
		x, y, err := libsvm.Read(r, at, adultFeatures)
		if err != nil {
			return nil, err
		}
		parts[k] = flat("adult-a9a", x)
		parts[k].Classes, parts[k].ClassNames = 2, []string{"at most 50K", "above 50K"}
		parts[k].RowNorm = math.Sqrt(14) // a 1 for each of 14 attributes, or none where it is missing
		parts[k].Variables = append(adultVariables(), parts[k].outcome("income", ""))
		if parts[k].Labels, err = numbered(y, []float64{-1, 1}, at); err != nil {
			return nil, err
		}
	}
	split := &Split{Train: parts[0].head(p.Limit), Test: parts[1].head(p.TestLimit)}
	return split.seal(p, 0, st.sums), nil
}

// adultColumns are the attributes of a9a in the order of its columns, with how many
// columns each has: one for each category, or for each quantile of a number. Of those
// that are missing for some a record has none.
var adultColumns = []struct {
	name    string
	columns int
	missing bool
}{
	{"age", 5, false}, {"workclass", 8, true}, {"fnlwgt", 5, false}, {"education", 16, false},
	{"education-num", 5, false}, {"marital-status", 7, false}, {"occupation", 14, true},
	{"relationship", 6, false}, {"race", 5, false}, {"sex", 2, false}, {"capital-gain", 2, false},
	{"capital-loss", 2, false}, {"hours-per-week", 5, false}, {"native-country", 41, true},
}

// adultVariables describes the columns of a9a. The file does not name categories: their
// names here are their numbers.
func adultVariables() []schema.Variable {
	var all []schema.Variable
	at := 0
	for _, c := range adultColumns {
		v := schema.Variable{Name: c.name, At: at, Open: c.missing, Missing: -1}
		for k := range c.columns {
			v.Categories = append(v.Categories, strconv.Itoa(k+1))
		}
		all, at = append(all, v), at+c.columns
	}
	return all
}

// numbered maps numeric labels to classes.
func numbered(y, classes []float64, file string) ([]int32, error) {
	labels := make([]int32, len(y))
	for i, v := range y {
		k := slices.Index(classes, v)
		if k < 0 {
			return nil, &config.Error{
				File:    file,
				Key:     "label of record " + strconv.Itoa(i+1),
				Found:   fmt.Sprint(v),
				Allowed: fmt.Sprint(classes),
			}
		}
		labels[i] = int32(k)
	}
	return labels, nil
}
