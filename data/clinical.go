package data

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sotto/config"
	"sotto/data/csv"
)

// HeartParams are the parameters of "heart-disease".
type HeartParams struct {
	TableParams
	// Missing says what happens to rows with missing cells. "drop" (default) leaves out
	// the columns slope, ca and thal, which most hospitals lack, and then the rows that
	// are not complete: the setting of FLamby, 303, 261, 46 and 130 rows. "fill" keeps
	// all rows and columns and puts public constants in the gaps.
	Missing string `toml:"missing"`
	// Target is "num" for the diagnosis itself, 0 to 4, as a count; "": its label.
	Target string `toml:"target,omitempty"`
}

// GoString is what digests cover.
func (p HeartParams) GoString() string {
	type plain HeartParams
	return digested("data.HeartParams", fmt.Sprintf("%#v", plain(p)), `, Target:""`)
}

func (p *HeartParams) check() error {
	if p.Target != "" && p.Target != "num" {
		return config.Bad("target", p.Target, "num, or nothing")
	}
	if p.Missing != "drop" && p.Missing != "fill" {
		return config.Bad("missing", p.Missing, "drop, fill")
	}
	return p.validate()
}

// layout returns the features in use and how a hospital's file is read.
func (p *HeartParams) layout() ([]feature, csv.Options) {
	if p.Missing == "fill" {
		return heartFeatures, csv.Options{Missing: []string{"?"}}
	}
	return heartFeatures[:10], csv.Options{Missing: []string{"?"}, Drop: []string{"11", "12", "13"}}
}

// heartFeatures have clinical ranges as bounds and normal or usual values as fill: 13
// columns without the last three features, 18 with them.
var heartFeatures = []feature{
	{name: "age", lo: 0, hi: 100},
	{name: "sex", lo: 0, hi: 1},
	{name: "cp", values: []float64{1, 2, 3, 4}, fill: 4},
	{name: "trestbps", lo: 60, hi: 220, fill: 130},
	{name: "chol", lo: 0, hi: 600, fill: 240},
	{name: "fbs", lo: 0, hi: 1, fill: 0},
	{name: "restecg", values: []float64{0, 1, 2}, fill: 0},
	{name: "thalach", lo: 60, hi: 220, fill: 140},
	{name: "exang", lo: 0, hi: 1, fill: 0},
	{name: "oldpeak", lo: -3, hi: 7, fill: 0},
	{name: "slope", values: []float64{1, 2, 3}, fill: 1},
	{name: "ca", lo: 0, hi: 3, fill: 0},
	{name: "thal", values: []float64{3, 6, 7}, fill: 3},
}

var hospitals = []string{"cleveland", "hungarian", "switzerland", "va"}

// heartDisease loads the UCI heart disease data of four hospitals (Janosi, Steinbrunn,
// Pfisterer, Detrano 1988), one group each. The label is 1 where the diagnosis is above
// 0. Under "fill" a cholesterol of 0, which stands for a missing value in 172 rows, is
// filled too; under "drop" it stays, as in FLamby (Ogier du Terrail et al. 2022). The
// test part is drawn within each hospital.
func heartDisease(decode func(any) error, src Source) (*Split, error) {
	p := HeartParams{tableDefaults(), "drop", ""}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	features, options := p.layout()
	all := p.empty(hospitals)
	st := &store{dir: src.Dir, any: p.AllowAltered}
	for g, hospital := range hospitals {
		t, err := st.table("heart-disease/processed."+hospital+".data", options)
		if err != nil {
			return nil, err
		}
		if err := all.addHospital(t, int32(g), features, &p); err != nil {
			return nil, err
		}
	}
	all.Shape, all.RowNorm = [3]int{1, 1, all.X.Cols}, longest(features, p.Normalize)
	all.Variables = append(variablesOf(features, p.Normalize), all.outcome("num", "num"))
	split, err := holdOut(all, p.TableParams, src)
	if err != nil {
		return nil, err
	}
	return split.seal(p, src.Seed, st.sums), nil
}

// empty is the data set without records.
func (p *HeartParams) empty(groups []string) *Dataset {
	d := &Dataset{Name: "heart-disease", GroupNames: groups}
	if p.Target == "" {
		d.Classes, d.ClassNames = 2, []string{"healthy", "disease"}
	}
	return d
}

// addHospital names the columns of t and appends its rows.
func (d *Dataset) addHospital(t *csv.Table, group int32, features []feature, p *HeartParams) error {
	fill := p.Missing == "fill"
	if len(t.Columns) != len(features)+1 {
		return &config.Error{File: t.File, Line: t.Lines[0], Found: fmt.Sprintf("%d columns", len(t.Columns)),
			Allowed: "14 columns"}
	}
	for k := range features {
		t.Columns[k].Name = features[k].name
	}
	diagnosis := &t.Columns[len(features)]
	diagnosis.Name = "num"
	if chol, err := t.Column("chol"); err != nil {
		return err
	} else if fill {
		for row, v := range chol.Numbers {
			if v == 0 {
				chol.Numbers[row] = features[4].fill
			}
		}
	}
	keep := t.Complete(fill)
	x, err := encode(t, features, keep, p.Normalize)
	if err != nil {
		return err
	}
	for _, row := range keep {
		v := diagnosis.Numbers[row]
		if !slices.Contains([]float64{0, 1, 2, 3, 4}, v) {
			return t.Bad(row, "num", fmt.Sprint(v), "0 to 4")
		}
		if p.Target == "num" {
			d.Targets = append(d.Targets, float32(v))
		} else {
			d.Labels = append(d.Labels, int32(min(v, 1)))
		}
		d.Groups = append(d.Groups, group)
	}
	d.X.Rows, d.X.Cols, d.X.Stride = d.X.Rows+x.Rows, x.Cols, x.Cols
	d.X.Data = append(d.X.Data, x.Data...)
	return nil
}

// BreastCancerParams are the parameters of "breast-cancer".
type BreastCancerParams struct{ TableParams }

// wdbcUpper are upper bounds of the 30 features: the maxima in the published description,
// rounded up. The lower bounds are 0.
var wdbcUpper = [30]float64{
	30, 40, 200, 2600, .17, .35, .43, .21, .31, .1,
	3, 5, 22, 550, .032, .14, .4, .053, .08, .03,
	37, 50, 255, 4300, .23, 1.1, 1.3, .3, .67, .21,
}

// breastCancer loads the Wisconsin diagnostic data (Street, Wolberg, Mangasarian 1993):
// 569 records of 30 features, benign (357) or malignant (212). The patient number is
// dropped.
func breastCancer(decode func(any) error, src Source) (*Split, error) {
	p := BreastCancerParams{tableDefaults()}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	st := &store{dir: src.Dir, any: p.AllowAltered}
	t, err := st.table("breast-cancer-wdbc/wdbc.data", csv.Options{Drop: []string{"1"}, Text: []string{"2"}})
	if err != nil {
		return nil, err
	}
	features := make([]feature, len(wdbcUpper))
	for k, hi := range wdbcUpper {
		features[k] = feature{name: strconv.Itoa(k + 3), hi: hi}
	}
	keep := t.Complete(true)
	x, err := encode(t, features, keep, p.Normalize)
	if err != nil {
		return nil, err
	}
	all := flat("breast-cancer", x)
	all.RowNorm = longest(features, p.Normalize)
	all.Classes, all.ClassNames = 2, []string{"benign", "malignant"}
	if all.Labels, err = labelsFrom(t, "2", []string{"B", "M"}, keep); err != nil {
		return nil, err
	}
	split, err := holdOut(all, p.TableParams, src)
	if err != nil {
		return nil, err
	}
	return split.seal(p, src.Seed, st.sums), nil
}

// ParkinsonsParams are the parameters of "parkinsons".
type ParkinsonsParams struct {
	TableParams
	Target string `toml:"target"` // motor_UPDRS (default) or total_UPDRS
	// Holdout says what test_fraction counts: "people" (default) holds out whole persons,
	// so that the test is about people never seen; "records" holds out recordings of
	// every person.
	Holdout string `toml:"holdout"`
	// UnitColumn is "subject#" where persons are what is protected; "": every record is
	// its own person.
	UnitColumn string `toml:"unit_column,omitempty"`
}

// GoString is what digests cover. Without persons it is what it was before there were
// any.
func (p ParkinsonsParams) GoString() string {
	type plain ParkinsonsParams
	s := "data.ParkinsonsParams" + strings.TrimPrefix(fmt.Sprintf("%#v", plain(p)), "data.plain")
	if p.UnitColumn == "" {
		s = strings.TrimSuffix(s, `, UnitColumn:""}`) + "}"
	}
	return s
}

// updrsMax are the largest scores of the rating scale: targets are divided by them under
// normalize.
var updrsMax = map[string]float64{"motor_UPDRS": 108, "total_UPDRS": 176}

// voiceFeatures have bounds chosen from the measures' definitions or, where these are
// open, above the values usual in the literature.
var voiceFeatures = []feature{
	{name: "age", lo: 0, hi: 100}, {name: "sex", lo: 0, hi: 1}, {name: "test_time", lo: -10, hi: 220},
	{name: "Jitter(%)", hi: .1}, {name: "Jitter(Abs)", hi: 5e-4}, {name: "Jitter:RAP", hi: .06},
	{name: "Jitter:PPQ5", hi: .07}, {name: "Jitter:DDP", hi: .18}, {name: "Shimmer", hi: .3},
	{name: "Shimmer(dB)", hi: 2.5}, {name: "Shimmer:APQ3", hi: .2}, {name: "Shimmer:APQ5", hi: .2},
	{name: "Shimmer:APQ11", hi: .3}, {name: "Shimmer:DDA", hi: .5}, {name: "NHR", hi: .8},
	{name: "HNR", hi: 40}, {name: "RPDE", hi: 1}, {name: "DFA", hi: 1}, {name: "PPE", hi: 1},
}

// parkinsons loads the UCI Parkinsons telemonitoring data (Tsanas, Little, McSharry,
// Ramig 2009): 5,875 voice recordings of 42 people, 19 features, a regression on a
// clinical score. The group is the person, who is also the unit of privacy to choose.
func parkinsons(decode func(any) error, src Source) (*Split, error) {
	p := ParkinsonsParams{TableParams: tableDefaults(), Target: "motor_UPDRS", Holdout: "people"}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := cmp.Or(p.validate(), src.checkLimit(p.Limit)); err != nil {
		return nil, err
	}
	if _, ok := updrsMax[p.Target]; !ok {
		return nil, config.Bad("target", p.Target, "motor_UPDRS, total_UPDRS")
	}
	if p.Holdout != "people" && p.Holdout != "records" {
		return nil, config.Bad("holdout", p.Holdout, "people, records")
	}
	if p.UnitColumn != "" && p.UnitColumn != personColumn {
		return nil, config.Bad("unit_column", p.UnitColumn, personColumn)
	}
	if p.Holdout == "records" && src.PersonsVary {
		return nil, config.Bad("holdout", p.Holdout, "people with unit person, but under zero-out: "+
			"with another number of recordings of one person others' test records are drawn anew")
	}
	st := &store{dir: src.Dir, any: p.AllowAltered}
	t, err := st.table("parkinsons-telemonitoring/parkinsons_updrs.data", csv.Options{Header: true})
	if err != nil {
		return nil, err
	}
	all, err := recordings(t, p)
	if err != nil {
		return nil, err
	}
	hold := holdOut
	if p.Holdout == "people" {
		hold = holdOutGroups
	}
	split, err := hold(all, p.TableParams, src)
	if err != nil {
		return nil, err
	}
	if p.UnitColumn != "" {
		split.Train.groupsAreUnits()
		split.Test.groupsAreUnits()
	}
	return split.seal(p, src.Seed, st.sums), nil
}

// personColumn names the person of a recording.
const personColumn = "subject#"

// groupsAreUnits makes the person of each record that of its group.
func (d *Dataset) groupsAreUnits() {
	ids := make([]string, d.Len())
	for i, g := range d.Groups {
		ids[i] = d.GroupNames[g]
	}
	d.SetUnits(ids)
}

func recordings(t *csv.Table, p ParkinsonsParams) (*Dataset, error) {
	keep := t.Complete(true)
	x, err := encode(t, voiceFeatures, keep, p.Normalize)
	if err != nil {
		return nil, err
	}
	score, err := t.Column(p.Target)
	if err != nil {
		return nil, err
	}
	person, err := t.Column(personColumn)
	if err != nil {
		return nil, err
	}
	d := flat("parkinsons", x)
	d.RowNorm = longest(voiceFeatures, p.Normalize)
	unit := 1.
	if p.Normalize {
		unit = updrsMax[p.Target]
	}
	for _, row := range keep {
		subject := person.Numbers[row]
		if subject != float64(int32(subject)) || subject < 1 || subject > 42 {
			return nil, t.Bad(row, personColumn, fmt.Sprint(subject), "1 to 42")
		}
		d.Groups = append(d.Groups, int32(subject)-1)
		d.Targets = append(d.Targets, float32(score.Numbers[row]/unit))
	}
	for subject := 1; subject <= 42; subject++ {
		d.GroupNames = append(d.GroupNames, "person "+strconv.Itoa(subject))
	}
	return d, nil
}

// holdOutGroups draws fraction of the groups, rounded down, as the test part, and numbers
// the groups of each part anew.
func holdOutGroups(d *Dataset, p TableParams, src Source) (*Split, error) {
	n := len(d.GroupNames)
	held := make([]bool, n)
	for _, g := range source(src.Seed).Perm(n)[:int(p.TestFraction*float64(n))] {
		held[g] = true
	}
	var rows [2][]int32
	for i, g := range d.Groups {
		part := 0
		if held[g] {
			part = 1
		}
		rows[part] = append(rows[part], int32(i))
	}
	split, err := cut(d, rows[0], rows[1], p)
	if err != nil {
		return nil, err
	}
	split.Train.renumber(func(g int) bool { return !held[g] })
	split.Test.renumber(func(g int) bool { return held[g] })
	return split, nil
}

// renumber keeps the groups that of selects, in order.
func (d *Dataset) renumber(of func(g int) bool) {
	number := make([]int32, len(d.GroupNames))
	var names []string
	for g, name := range d.GroupNames {
		number[g] = int32(len(names))
		if of(g) {
			names = append(names, name)
		}
	}
	for i, g := range d.Groups {
		d.Groups[i] = number[g]
	}
	d.GroupNames = names
}
