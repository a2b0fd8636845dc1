package decimal_test

import (
	"math"
	"testing"

	"sotto/internal/decimal"
)

func TestParse(t *testing.T) {
	for s, want := range map[string]float64{"7": 7, "-.5": -.5, "1e3": 1000, "+2.": 2, "-0": 0} {
		if v, ok := decimal.Parse(s); !ok || v != want {
			t.Errorf("%q: %v, %v", s, v, ok)
		}
	}
	for _, s := range []string{"", "a", "0x10", "inf", "-Inf", "nan", "1_000", "1e300", "1,5", " 1", "1p3"} {
		if v, ok := decimal.Parse(s); ok {
			t.Errorf("%q is read as %v", s, v)
		}
	}
}

// A number is one however large it is; what is none for Parse is none here.
func TestParseAny(t *testing.T) {
	for s, want := range map[string]float64{"1e39": 1e39, "-1e300": -1e300, "1e309": math.Inf(1),
		"-1e999": math.Inf(-1), "1e-400": 0} {
		if v, ok := decimal.ParseAny(s); !ok || v != want {
			t.Errorf("%q: %v, %v", s, v, ok)
		}
	}
	for _, s := range []string{"", "a", "inf", "-Inf", "nan", "1e"} {
		if v, ok := decimal.ParseAny(s); ok {
			t.Errorf("%q is read as %v", s, v)
		}
	}
}
