package decimal_test

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"sotto/internal/decimal"
)

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		of       func(x float64, n int, up bool) string
		x        float64
		n        int
		up, down string
	}{
		{decimal.Fixed, 4, 4, "4.0000", "4.0000"},
		{decimal.Fixed, .3, 4, "0.3000", "0.3000"},
		{decimal.Fixed, 203.42338, 4, "203.4234", "203.4233"},
		{decimal.Fixed, 9.9999999, 4, "10.0000", "9.9999"},
		{decimal.Fixed, .04494499610, 6, "0.044945", "0.044944"},
		{decimal.Fixed, 0, 6, "0.000000", "0.000000"},
		{decimal.Fixed, 1e15, 4, "1000000000000000.0000", "1000000000000000.0000"},
		{decimal.Fixed, math.Inf(1), 4, "+Inf", "+Inf"},
		{decimal.Fixed, math.NaN(), 4, "NaN", "NaN"},
		{decimal.Digits, 3.363e-8, 3, "3.37e-08", "3.36e-08"},
		{decimal.Digits, 9.999e-6, 3, "1e-05", "9.99e-06"},
		{decimal.Digits, 2.0324324, 6, "2.03244", "2.03243"},
		{decimal.Digits, 1.234e-9, 6, "1.234e-09", "1.234e-09"},
		{decimal.Digits, 3.00000004, 6, "3.00001", "3"},
		{decimal.Digits, 0, 6, "0", "0"},
		{decimal.Digits, 203.42338, 4, "203.5", "203.4"},
		{decimal.Digits, math.Inf(1), 4, "+Inf", "+Inf"},
	} {
		if up, down := c.of(c.x, c.n, true), c.of(c.x, c.n, false); up != c.up || down != c.down {
			t.Errorf("%v: %s and %s, want %s and %s", c.x, up, down, c.up, c.down)
		}
	}
}

// What is written is on its side of the number, and near it.
func TestBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(-300, 300).Draw(t, "ln x"))
		n := rapid.IntRange(1, 15).Draw(t, "digits")
		up, _ := strconv.ParseFloat(decimal.Digits(x, n, true), 64)
		down, _ := strconv.ParseFloat(decimal.Digits(x, n, false), 64)
		if !(down <= x && x <= up) || up-down > (1.01*math.Pow(10, float64(1-n))+0x1p-51)*x {
			t.Fatalf("%v in %d digits: %v to %v", x, n, down, up)
		}
		x = rapid.Float64Range(0, 1e9).Draw(t, "x")
		n = rapid.IntRange(0, 6).Draw(t, "decimals")
		up, _ = strconv.ParseFloat(decimal.Fixed(x, n, true), 64)
		down, _ = strconv.ParseFloat(decimal.Fixed(x, n, false), 64)
		if !(down <= x && x <= up) || up-down > 1.01*math.Pow10(-n)+x*0x1p-51 {
			t.Fatalf("%v in %d decimals: %v to %v", x, n, down, up)
		}
	})
}

// An interval is told apart from its middle however narrow it is.
func TestResolving(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		digits    int
	}{{10, 20, 5}, {0, 0, 5}, {7, 7, 5}, {-3, 1e-9, 5}, {1234563, 1234571, 8}, {-1234571, -1234563, 8},
		{1, math.Nextafter(1, 2), 17}, {-math.MaxFloat64, math.MaxFloat64, 5}, {0, math.Inf(1), 5}} {
		if got := decimal.Resolving(c.low, c.high); got != c.digits {
			t.Errorf("%v to %v: %d digits, want %d", c.low, c.high, got, c.digits)
		}
	}
}
