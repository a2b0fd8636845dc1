package data_test

import (
	"math"
	"slices"
	"testing"

	"sotto/data"
	"sotto/data/summary"
)

// both joins the counts of training and test part.
func both(s *data.Split, of func(summary.Summary) []int) []int {
	a, b := of(summary.Of(s.Train)), of(summary.Of(s.Test))
	sum := slices.Clone(a)
	for k := range b {
		sum[k] += b[k]
	}
	return sum
}

func classCounts(s summary.Summary) []int { return s.Counts }
func groupCounts(s summary.Summary) []int { return s.Groups }

// Rows and positives of each hospital, as published for the raw files and for FLamby's
// setting.
func TestHeartDisease(t *testing.T) {
	dir := dataDir(t, "heart-disease")
	for _, c := range []struct {
		params          string
		features        int
		rows, positives []int
	}{
		{"", 13, []int{303, 261, 46, 130}, []int{139, 98, 45, 101}},
		{"missing = 'fill'", 18, []int{303, 294, 123, 200}, []int{139, 106, 115, 149}},
	} {
		s := load(t, "heart-disease", dir, c.params)
		if got := both(s, groupCounts); !slices.Equal(got, c.rows) || s.Train.X.Cols != c.features {
			t.Errorf("%q: rows %v of %d features, want %v of %d", c.params, got, s.Train.X.Cols, c.rows,
				c.features)
		}
		positives := make([]int, 4)
		for _, d := range []*data.Dataset{s.Train, s.Test} {
			for i, g := range d.Groups {
				positives[g] += int(d.Labels[i])
			}
		}
		if !slices.Equal(positives, c.positives) {
			t.Errorf("%q: positives %v, want %v", c.params, positives, c.positives)
		}
		unit(t, s)
		// A quarter of each hospital, rounded down.
		for g, n := range summary.Of(s.Test).Groups {
			if n != c.rows[g]/4 {
				t.Errorf("%q: %d test records of hospital %d", c.params, n, g)
			}
		}
		parts, err := data.Partition("natural", s.Train, 4, 1, params(""))
		if err != nil || len(parts[2]) != c.rows[2]-c.rows[2]/4 {
			t.Errorf("%q: natural partition %v", c.params, err)
		}
	}
	// First row of cleveland: 63, male, cp 1, 145, 233, fbs 1, restecg 2, 150, 0, 2.3;
	// unscaled.
	s := load(t, "heart-disease", dir, "normalize = false")
	want := []float32{63, 1, 0, 0, 0, 145, 233, 1, 0, 1, 150, 0, 2.3}
	found := false
	for _, d := range []*data.Dataset{s.Train, s.Test} {
		for i := range d.Len() {
			found = found || slices.Equal(d.X.Row(i), want) && d.Labels[i] == 0 && d.Groups[i] == 0
		}
	}
	if !found {
		t.Error("the first row of cleveland is in neither part")
	}
	_, err := data.Load("heart-disease", dir, 1, params("missing = 'mean'"))
	wantBad(t, "missing", err, "missing")
}

// unit fails unless all features lie in [0, 1].
func unit(t *testing.T, s *data.Split) {
	t.Helper()
	for _, d := range []*data.Dataset{s.Train, s.Test} {
		if r := summary.Of(d).Features; r.Min < 0 || r.Max > 1 || r.Std == 0 {
			t.Errorf("%s: features %+v, want within [0, 1]", d.Name, r)
		}
	}
}

func TestCaliforniaHousing(t *testing.T) {
	dir := dataDir(t, "california-housing")
	s := load(t, "california-housing", dir, "")
	unit(t, s)
	// The cut is the median: the classes are equal but for ties.
	got := both(s, classCounts)
	if got[0]+got[1] != 20_640 || math.Abs(float64(got[0]-got[1])) > 20 || s.Test.Len() != 5160 {
		t.Errorf("classes %v, %d test records", got, s.Test.Len())
	}
	v := load(t, "california-housing", dir, "target = 'value'\nnormalize = false")
	if r := summary.Of(v.Train); r.Targets == nil || r.Targets.Max > 5.00002 || r.Targets.Min < .14998 ||
		v.Train.Labels != nil {
		t.Errorf("targets %+v", r.Targets)
	}
}

// Regions hold all records between them, and each one's places; scaled targets and
// features are those of the file.
func TestCaliforniaRegions(t *testing.T) {
	dir := dataDir(t, "california-housing")
	raw := load(t, "california-housing", dir, "target = 'value'\nnormalize = false\nregions = true").Train
	scaled := load(t, "california-housing", dir, "target = 'scaled'\nsymmetric = true\nregions = true").Train
	cities := []struct {
		east, north float64
		region      int32
	}{{-122.4, 40.6, 0}, {-122.4, 37.8, 1}, {-119.8, 36.7, 2}, {-118.2, 34.1, 3}, {-117.2, 32.7, 4}}
	seen := map[int32]bool{}
	for i := range raw.Len() {
		x := raw.X.Row(i)
		for _, c := range cities { // Redding, San Francisco, Fresno, Los Angeles, San Diego
			if math.Hypot(float64(x[0])-c.east, float64(x[1])-c.north) < .1 {
				if seen[c.region] = true; raw.Groups[i] != c.region {
					t.Fatalf("%v is in region %d, want %d", x[:2], raw.Groups[i], c.region)
				}
			}
		}
		age := 2*float64(x[2])/52 - 1
		value := 2*float64(raw.Targets[i])*1e5/500_001 - 1
		if math.Abs(float64(scaled.X.Row(i)[2])-age) > 1e-6 ||
			math.Abs(float64(scaled.Targets[i])-value) > 1e-6 {
			t.Fatalf("record %d: %v, %v", i, scaled.X.Row(i), scaled.Targets[i])
		}
	}
	if len(seen) != len(cities) {
		t.Errorf("regions %v", seen)
	}
}

// Diagnoses as counts are above 0 for the records whose label is 1, and only for those.
func TestHeartCounts(t *testing.T) {
	dir := dataDir(t, "heart-disease")
	labels, counts := load(t, "heart-disease", dir, ""), load(t, "heart-disease", dir, "target = 'num'")
	most := float32(0)
	for i, label := range labels.Train.Labels {
		y := counts.Train.Targets[i]
		if most = max(most, y); (y > 0) != (label == 1) || y != float32(int(y)) {
			t.Fatalf("record %d: %v, label %d", i, y, label)
		}
	}
	if most != 4 || counts.Train.Labels != nil {
		t.Errorf("counts up to %v, labels %v", most, counts.Train.Labels)
	}
	if _, err := data.Load("heart-disease", dir, 1, params("target = 'age'")); err == nil {
		t.Error("another target")
	}
}

func TestAdult(t *testing.T) {
	s := load(t, "adult-a9a", dataDir(t, "adult-a9a"), "")
	if a, b := summary.Of(s.Train).Counts,
		summary.Of(s.Test).Counts; !slices.Equal(a, []int{24_720, 7_841}) ||
		!slices.Equal(b, []int{12_435, 3_846}) {
		t.Errorf("classes %v and %v", a, b)
	}
	if s.Train.X.Cols != 123 || s.Test.X.Cols != 123 {
		t.Errorf("%d and %d features", s.Train.X.Cols, s.Test.X.Cols)
	}
	column := 0
	for i := range s.Train.Len() {
		ones := 0
		for _, v := range s.Train.X.Row(i) {
			if v == 1 {
				ones++
			}
		}
		if ones < 11 || ones > 14 {
			t.Fatalf("record %d has %d ones", i, ones)
		}
		if s.Train.X.Row(i)[122] == 1 {
			column++
			if i != 19_609 {
				t.Errorf("feature 123 in row %d, want 19,610 only", i+1)
			}
		}
	}
	if column != 1 {
		t.Errorf("feature 123 occurs %d times, want once", column)
	}
	for _, v := range s.Train.Variables { // those that are said to be missing for some are, and no others
		for _, d := range []*data.Dataset{s.Train, s.Test} {
			none := 0
			for i := range d.Len() {
				if v.Category(d.X.Row(i), d.Labels[i:]) < 0 {
					none++
				}
			}
			if none > 0 != v.Open {
				t.Errorf("%s: %d records have no value", v.Name, none)
			}
		}
	}
}

func TestBreastCancer(t *testing.T) {
	s := load(t, "breast-cancer", dataDir(t, "breast-cancer"), "test_fraction = 0.2")
	unit(t, s)
	if got := both(s, classCounts); !slices.Equal(got, []int{357, 212}) || s.Test.Len() != 113 ||
		s.Train.X.Cols != 30 {
		t.Errorf("classes %v, %d test records, %d features", got, s.Test.Len(), s.Train.X.Cols)
	}
	// The bounds lose nothing: a clamped value would be exactly 1.
	if a, b := summary.Of(s.Train).Features.Max, summary.Of(s.Test).Features.Max; max(a, b) >= 1 {
		t.Errorf("largest scaled features %v and %v", a, b)
	}
	other, err := data.Load("breast-cancer", dataDir(t, "breast-cancer"), 2, params("test_fraction = 0.2"))
	if err != nil || slices.Equal(other.Test.Labels, s.Test.Labels) || other.Test.Digest == s.Test.Digest {
		t.Errorf("the seed does not change the test part (%v)", err)
	}
}

func TestParkinsons(t *testing.T) {
	dir := dataDir(t, "parkinsons")
	people := load(t, "parkinsons", dir, "")
	unit(t, people)
	// A quarter of 42 people is ten; parts share nobody.
	if a, b := len(people.Train.GroupNames), len(people.Test.GroupNames); a != 32 || b != 10 ||
		people.Train.Len()+people.Test.Len() != 5875 {
		t.Errorf("%d and %d people, %d records", a, b, people.Train.Len()+people.Test.Len())
	}
	for _, name := range people.Test.GroupNames {
		if slices.Contains(people.Train.GroupNames, name) {
			t.Errorf("%s is in both parts", name)
		}
	}
	for _, d := range []*data.Dataset{people.Train, people.Test} {
		for g, n := range summary.Of(d).Groups {
			if n < 101 || n > 168 {
				t.Errorf("%s has %d records, want 101 to 168", d.GroupNames[g], n)
			}
		}
	}
	records := load(t, "parkinsons", dir, "holdout = 'records'\ntarget = 'total_UPDRS'\nnormalize = false")
	if len(records.Test.GroupNames) != 42 || records.Test.Len() < 1400 {
		t.Errorf("%d people, %d test records", len(records.Test.GroupNames), records.Test.Len())
	}
	if r := summary.Of(records.Train).Targets; r.Min < 7 || r.Max > 54.993 {
		t.Errorf("total_UPDRS %+v, want 7 to 54.992", r)
	}
	// persons that are protected: those of the groups, in both parts
	units := load(t, "parkinsons", dir, "unit_column = 'subject#'")
	n := units.Train.UnitCount(everyRow(units.Train))
	if n != 32 || units.Train.Digest == people.Train.Digest {
		t.Errorf("%d persons, want 32, with a digest of their own", n)
	}
	for i, g := range units.Test.Groups {
		if units.Test.Units[i] != units.Test.Units[slices.Index(units.Test.Groups, g)] {
			t.Fatalf("record %d is another person's than its group", i)
		}
	}
	_, err := data.Load("parkinsons", dir, 1, params("unit_column = 'age'"))
	wantBad(t, "unit_column", err, "unit_column")
	_, err = data.Load("parkinsons", dir, 1, params("target = 'age'"))
	wantBad(t, "target", err, "target")
	_, err = data.Load("parkinsons", dir, 1, params("holdout = 'rows'"))
	wantBad(t, "holdout", err, "holdout")
}

func everyRow(d *data.Dataset) []int32 {
	rows := make([]int32, d.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

func TestCIFAR10(t *testing.T) {
	dir := dataDir(t, "cifar-10")
	s := load(t, "cifar-10", dir, "batches = 1\nnormalize = false")
	if got := summary.Of(s.Train).Counts; !slices.Equal(got,
		[]int{1005, 974, 1032, 1016, 999, 937, 1030, 1001, 1025, 981}) {
		t.Errorf("classes %v", got)
	}
	if got := summary.Of(s.Test).Counts; !slices.Equal(got, slices.Repeat([]int{1000}, 10)) {
		t.Errorf("test classes %v", got)
	}
	_, err := data.Load("cifar-10", dir, 1, params("batches = 6"))
	wantBad(t, "batches", err, "batches")
}

func TestCIFAR100(t *testing.T) {
	dir := dataDir(t, "cifar-100")
	s := load(t, "cifar-100", dir, "")
	if !slices.Equal(s.Train.Labels[:5], []int32{61, 50, 70, 8, 85}) ||
		!slices.Equal(s.Test.Labels[:5], []int32{24, 60, 56, 0, 14}) {
		t.Errorf("first labels %v and %v", s.Train.Labels[:5], s.Test.Labels[:5])
	}
	if got := summary.Of(s.Train).Counts; !slices.Equal(got, slices.Repeat([]int{50}, 100)) {
		t.Errorf("classes %v", got)
	}
	if names := s.Train.ClassNames; names[0] != "apple" || names[99] != "worm" {
		t.Errorf("class names %v", names)
	}
	if got := summary.Of(load(t, "cifar-100", dir, "coarse = true").Test).Counts; !slices.Equal(got,
		slices.Repeat([]int{100}, 20)) {
		t.Errorf("coarse classes %v", got)
	}
}
