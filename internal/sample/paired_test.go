package sample_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"sotto/internal/sample"
)

// of is a setting with one run.
func of(seed string, figure float64) map[string][]sample.Run {
	return map[string][]sample.Run{seed: {{Figure: figure}}}
}

// Student's own example, ten people who slept with one drug and with the other, as R's
// t.test(extra ~ group, data = sleep, paired = TRUE) prints it.
func TestSleep(t *testing.T) {
	first := []float64{.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2}
	second := []float64{1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	a, b := of("alone", 9), of("other", -9) // which nothing is paired with
	for k := range first {
		who := string(rune('a' + k))
		a[who], b[who] = of(who, first[k])[who], of(who, second[k])[who]
	}
	d := sample.Compare([]map[string][]sample.Run{a, b})[0]
	for name, x := range map[string][2]float64{"mean": {d.Mean, 1.58}, "low": {d.Low, .7001142},
		"high": {d.High, 2.4598858}, "p": {d.P, .002833}, "Holm": {d.Holm, .002833}} {
		if math.Abs(x[0]-x[1]) > 5e-7 {
			t.Errorf("%s is %.8f, want %.8f", name, x[0], x[1])
		}
	}
	if d.Pairs != 10 {
		t.Errorf("%d pairs", d.Pairs)
	}
	if row := d.Row(1, 2); !slices.Equal(row, []string{"10", "+1.58", "+0.70 to +2.46", "0.0028", "0.0028"}) {
		t.Errorf("%q", row)
	}
}

// survival is the mass of Student's law beyond x >= 0, by Simpson's rule on t = tan u,
// where its density is a power of a cosine.
func survival(x, freedom float64) float64 {
	const steps = 20000
	area := func(from, to float64) float64 {
		h, sum := (to-from)/steps, 0.
		for k := range steps + 1 {
			w := 2.
			switch {
			case k == 0 || k == steps:
				w = 1
			case k%2 == 1:
				w = 4
			}
			sum += w * math.Pow(math.Cos(from+float64(k)*h), freedom-1)
		}
		return sum * h / 3
	}
	return area(math.Atan(x/math.Sqrt(freedom)), math.Pi/2) / area(-math.Pi/2, math.Pi/2)
}

// P is that of an integral, and the ends of the interval are where the integral is .025.
func TestIntegrals(t *testing.T) {
	for _, s := range []sample.Sample{{1, 2}, {.1, -.2, .4}, {3.1, 3.5, 3.9, 3.2, 3.6},
		{-1, 0, 2, 3, -2, 1, 9}} {
		low, high, p := s.Interval()
		e := s.SD() / math.Sqrt(float64(len(s)))
		freedom := float64(len(s) - 1)
		if want := 2 * survival(math.Abs(s.Mean())/e, freedom); math.Abs(p-want) > 1e-9 {
			t.Errorf("%v: p %.12f, want %.12f", s, p, want)
		}
		if got := survival((high-s.Mean())/e, freedom); math.Abs(got-.025) > 1e-9 ||
			math.Abs(high+low-2*s.Mean()) > 1e-12*high {
			t.Errorf("%v: %v to %v, mass beyond %.12f", s, low, high, got)
		}
	}
}

// What has no spread, or no pairs, has no P but that of no difference at all.
func TestNoSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		s sample.Sample
		p float64
	}{
		"one":   {sample.Sample{1}, math.NaN()},
		"none":  {nil, math.NaN()},
		"equal": {sample.Sample{.8 - .7, .7 - .6, .6 - .5}, math.NaN()},
		"zero":  {sample.Sample{0, 0}, 1},
	} {
		low, high, p := tc.s.Interval()
		if p != tc.p && !(math.IsNaN(p) && math.IsNaN(tc.p)) {
			t.Errorf("%s: %v", name, p)
		}
		if !math.IsNaN(low) || !math.IsNaN(high) { // a width of 0 would claim certainty
			t.Errorf("%s: %v to %v", name, low, high)
		}
	}
	all := sample.Compare([]map[string][]sample.Run{of("1", 1), of("2", 2)})
	if sample.Paired(all) || all[0].Pairs != 0 || strings.Join(all[0].Row(1, 2), " ") != "0 – – – –" {
		t.Errorf("%+v %q", all, all[0].Row(1, 2))
	}
}

// The correction by hand: the least times 3, the next times 2, never falling.
func TestHolm(t *testing.T) {
	nan := math.NaN()
	got := sample.Holm([]float64{.04, nan, .01, .03, .9})
	for k, want := range []float64{.09, nan, .04, .09, .9} {
		if !(math.Abs(got[k]-want) < 1e-15) && !(math.IsNaN(got[k]) && math.IsNaN(want)) {
			t.Errorf("%v", got)
		}
	}
	if got := sample.Holm([]float64{.6, .7}); got[0] != 1 || got[1] != 1 {
		t.Errorf("%v", got)
	}
}

// Two settings that are equal on every fold, which are hard and easy. One lacks two of
// them: the mean of what is left would be 10 or 20 more.
func TestFoldsThatBothHave(t *testing.T) {
	first := map[string][]sample.Run{"1": {{"0", 40}, {"1", 60}}, "2": {{"0", 41}, {"1", 81}},
		"3": {{"0", 1}}}
	second := map[string][]sample.Run{"1": {{"1", 60}}, "2": {{"1", 81}}, "3": {{"1", 2}}}
	d := sample.Compare([]map[string][]sample.Run{first, second})[0]
	if d.Pairs != 2 || d.Mean != 0 || d.P != 1 {
		t.Errorf("%+v", d)
	}
}
