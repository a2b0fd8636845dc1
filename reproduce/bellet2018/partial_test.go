package bellet2018

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"sotto/experiment/rundir"
	"sotto/experiment/sweep"
	"sotto/reproduce"
	"sotto/reproduce/reproducetest"
)

// Rows of some instances are held against the constants of these instances: the line of
// instance 3 alone is the same whether or not instances 1 and 2 come before it.
func TestPartKnowsItsInstances(t *testing.T) {
	for name, bound := range map[string]int{"theorem2": 5, "remark1": 3} {
		s := Paper.Studies[name]
		f := &reproduce.Results{Curves: reproduce.Curves{}, Scale: reproduce.Full,
			Rows: reproducetest.Runs(s.Cells(reproduce.Full), func([]string) float64 { return 0 })}
		f.Rows = slices.DeleteFunc(f.Rows, func(r sweep.Row) bool { return reproduce.SeedOf(&r) != "3" })
		for i := range f.Rows {
			k := reproduce.CurveKey(&f.Rows[i])
			for _, wake := range []uint64{0, 500} {
				f.Curves[k] = append(f.Curves[k], rundir.Row{Round: wake, Agent: "all", Metric: "objective"})
			}
		}
		d := s.Report(f)
		if len(d.Rows) == 0 {
			t.Fatalf("%s: no rows", name)
		}
		for _, r := range d.Rows {
			dim, err := strconv.Atoi(r[0])
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if name == "remark1" {
				o, err := newConvexOptimum(dim, 3)
				if err != nil {
					t.Fatal(err)
				}
				want = reproduce.Cells(o.bound(500))[0]
			} else {
				p, err := newLinearProblem(taskAgents, 3)
				if err != nil {
					t.Fatal(err)
				}
				scale, factor := reproduce.Number(r[2]), 1.
				if r[1] == "gaussian" {
					factor = .5
				}
				c, noise := p.terms(dim, scale)
				wakes := reproduce.Number(r[3])
				sum := 0.
				for t := 0.; t < wakes; t++ {
					sum = sum*c + factor*noise
				}
				want = reproduce.Cells(sum)[0]
			}
			if r[bound] != want {
				t.Errorf("%s, %v: bound %s, want %s", name, r[:4], r[bound], want)
			}
		}
	}
}

// What comes late is compared with the same method on all records: without that run there
// is nothing to compare with.
func TestPartIsComparedWithItsOwnMethod(t *testing.T) {
	s := Paper.Studies["arrival"]
	rows := reproducetest.Runs(s.Cells(reproduce.Full), func([]string) float64 { return .5 })
	rows = slices.DeleteFunc(rows, func(r sweep.Row) bool {
		return r.Values[1] == "cd-gaussian" && r.Values[7] == ""
	})
	d := s.Report(&reproduce.Results{Rows: rows, Scale: reproduce.Full})
	found := 0
	for _, r := range d.Rows {
		if r[0] == methodNames["cd-gaussian"] {
			if found++; r[3] != "" || r[4] != "" {
				t.Errorf("%v is compared", r)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d lines, want 3", found)
	}
}

// Tables of the smallest size say that they are.
func TestSmallTablesSaySo(t *testing.T) {
	for name, s := range Paper.Studies {
		rows := reproducetest.Runs(s.Cells(reproduce.Smoke), func([]string) float64 { return .5 })
		for _, scale := range []reproduce.Scale{reproduce.Smoke, reproduce.Full} {
			d := s.Report(&reproduce.Results{Rows: rows, Curves: reproduce.Curves{}, Scale: scale})
			said := strings.Contains(strings.Join(d.Notes, "\n"), "scale smoke")
			if said != (scale == reproduce.Smoke) {
				t.Errorf("%s at scale %s: %q", name, scale, d.Notes)
			}
		}
	}
}
