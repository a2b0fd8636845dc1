package loss

import (
	"math"
	"testing"
)

// A block of tails is what the scan gives one by one, up to the rounding of either.
func TestFillIsScan(t *testing.T) {
	for name, s := range map[string]Source{
		"shifted":        Shifted(1.3),
		"little":         Shifted(1e-3),
		"sampled":        Sampled(.01, Shifted(1)),
		"seldom":         Sampled(1e-7, Shifted(3)),
		"often":          Sampled(1-0x1p-53, Shifted(.5)),
		"antipodal":      Antipodal(.02, .7),
		"subset":         Subset(.02, Shifted(1.4)),
		"all":            Subset(1, Shifted(.5)),
		"one of many":    Subset(1e-6, Shifted(3)),
		"sampled twice":  Sampled(.3, Sampled(.1, Shifted(2))),
		"without a fill": Sampled(.2, Source{Scan: Shifted(1).Scan}),
	} {
		t0, t1 := Support(s.Scan, 1e-20)
		for _, h := range []float64{(t1 - t0) / 3, (t1 - t0) / 1000, (t1 - t0) / 20011} {
			tab, at := Tabulate(s, h, t0-3*h, t1+3*h), s.Scan()
			for i, got := range tab.at {
				l := h * float64(tab.lo+i)
				want := at(l)
				for k, pair := range [][2]float64{{got.PUp, want.PUp}, {got.QUp, want.QUp},
					{got.PLo, want.PLo}, {got.QLo, want.QLo}} {
					if d := math.Abs(pair[0] - pair[1]); !(d <= 1e-12*pair[1]+1e-290) {
						t.Fatalf("%s, loss %v, tail %d: %v, one by one %v", name, l, k, pair[0], pair[1])
					}
				}
			}
		}
	}
}

// Tails of sampled mechanisms at losses whose place is known: at 0 the densities of P and
// Q are equal, which is where those of the mechanism are.
func TestSourcesAtZero(t *testing.T) {
	const mu, q = 1.5, .1
	above, with := .5*math.Erfc(mu/2/math.Sqrt2), .5*math.Erfc(-mu/2/math.Sqrt2)
	for name, tc := range map[string]struct {
		s    Source
		want Tails
	}{
		"shifted": {Shifted(mu), Tails{with, above, above, with}},
		"sampled": {Sampled(q, Shifted(mu)), Tails{(1-q)*above + q*with, above, (1-q)*with + q*above, with}},
		"antipodal": {Antipodal(q, mu), Tails{(1-q)*.5 + q*.5*math.Erfc(-mu/math.Sqrt2),
			(1-q)*.5 + q*.5*math.Erfc(mu/math.Sqrt2), (1-q)*.5 + q*.5*math.Erfc(mu/math.Sqrt2),
			(1-q)*.5 + q*.5*math.Erfc(-mu/math.Sqrt2)}},
		"subset": {Subset(q, Shifted(mu)), Tails{(1-q)*above + q*with, above, (1-q)*with + q*above, with}},
	} {
		var got [1]Tails
		tc.s.filler()(got[:], []float64{0})
		for _, v := range []Tails{got[0], tc.s.Scan()(0)} {
			for k, d := range []float64{v.PUp - tc.want.PUp, v.QUp - tc.want.QUp, v.PLo - tc.want.PLo,
				v.QLo - tc.want.QLo} {
				if math.Abs(d) > 1e-15 {
					t.Errorf("%s, tail %d: %v, want %v", name, k, v, tc.want)
				}
			}
		}
	}
}
