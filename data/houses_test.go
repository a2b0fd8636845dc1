package data_test

import (
	"math"
	"testing"

	"sotto/data"
)

// Both targets have the counts of the file: 10,323 values are at most 179,700, the
// published median of 20,640, and 8,914 block groups lie west of the mean longitude. Rows
// have norm 1, parts are drawn by class, and do not depend on the run's seed.
func TestHouses(t *testing.T) {
	dir := dataDir(t, "houses")
	for _, c := range []struct {
		params  string
		zeros   int
		derived bool
	}{
		{"", 10323, false},
		{`target = "longitude"`, 8914, false},
		{"target = \"longitude\"\nscaling = \"standard\"", 8914, true},
	} {
		s, err := data.Load("houses", dir, 1, params(c.params))
		if err != nil {
			t.Fatal(err)
		}
		zeros, inTest := 0, 0
		for _, d := range []*data.Dataset{s.Train, s.Test} {
			for i, label := range d.Labels {
				if label == 0 {
					zeros++
				}
				norm := 0.
				for _, x := range d.X.Row(i) {
					norm += float64(x) * float64(x)
				}
				if n := math.Sqrt(norm); !(n <= 1 && n > 1-1e-5) {
					t.Fatalf("%q: row %d has norm %g", c.params, i, n)
				}
			}
		}
		for _, label := range s.Test.Labels {
			inTest += int(1 - label)
		}
		if zeros != c.zeros || inTest != zeros/5 || s.Train.Len()+s.Test.Len() != 20640 ||
			s.Test.Len() != zeros/5+(20640-zeros)/5 {
			t.Errorf("%q: %d of class 0, %d of them among %d test records, %d in all", c.params, zeros,
				inTest, s.Test.Len(), s.Train.Len()+s.Test.Len())
		}
		if s.Train.RowNorm != 1 || (s.Derived != "") != c.derived {
			t.Errorf("%q: rows of norm %g, derived %q", c.params, s.Train.RowNorm, s.Derived)
		}
		other, err := data.Load("houses", dir, 2, params(c.params))
		if err != nil {
			t.Fatal(err)
		}
		if other.Train.Digest != s.Train.Digest {
			t.Errorf("%q: the run's seed changes the split", c.params)
		}
	}
	small, err := data.Load("houses", dir, 1, params("limit = 160\ntest_limit = 50"))
	if err != nil || small.Train.Len() != 160 || small.Test.Len() != 50 {
		t.Errorf("160 and 50 records: %d and %d, %v", small.Train.Len(), small.Test.Len(), err)
	}
}

// Standard scaling has mean 0 and deviation 1 in each column before rows are scaled, so
// that the columns of the unit rows are balanced: the sums of squares over all columns
// are the number of rows, and no column has more than three times its share.
func TestHousesStandard(t *testing.T) {
	s, err := data.Load("houses", dataDir(t, "houses"), 1, params(`scaling = "standard"`))
	if err != nil {
		t.Fatal(err)
	}
	total, n := 0., 0.
	columns := make([]float64, 8)
	for _, d := range []*data.Dataset{s.Train, s.Test} {
		for i := range d.Len() {
			n++
			for c, x := range d.X.Row(i) {
				columns[c] += float64(x) * float64(x)
				total += float64(x) * float64(x)
			}
		}
	}
	if math.Abs(total-n) > 1e-4*n {
		t.Errorf("squares sum to %g over %g rows", total, n)
	}
	for c, x := range columns {
		if x > 3*n/8 || x < n/8/20 {
			t.Errorf("column %d has %g of %g", c, x, n)
		}
	}
}

func TestHousesRefuses(t *testing.T) {
	for _, c := range []struct{ params, key string }{
		{`target = "price"`, "target"},
		{`scaling = "none"`, "scaling"},
		{`test_fraction = 1.0`, "test_fraction"},
		{`limit = -1`, "limit"},
		{`test_limit = -1`, "test_limit"},
	} {
		_, err := data.Load("houses", "", 1, params(c.params))
		wantBad(t, c.params, err, c.key)
	}
}
