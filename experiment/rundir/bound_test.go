package rundir

import "testing"

// What is printed of an upper end is not below it, of a lower end not above.
func TestFormatBound(t *testing.T) {
	for _, c := range []struct {
		x        float64
		decimals int
		up, down string
	}{
		{4, 4, "4.0000", "4.0000"}, {.3, 4, "0.3000", "0.3000"}, {203.42338, 4, "203.4234", "203.4233"},
		{.04494499610, 6, "0.044945", "0.044944"}, {3.363e-8, 6, "3.37e-08", "3.36e-08"},
		{0, 6, "0.000000", "0.000000"},
		{9.9999999, 4, "10.0000", "9.9999"}, {9.999e-6, 6, "1.00e-05", "9.99e-06"},
		{1e15, 4, "1000000000000000.0000", "1000000000000000.0000"}, {1e-5, 6, "0.000010", "0.000010"},
	} {
		if got := FormatBound(c.x, c.decimals, true); got != c.up {
			t.Errorf("%v rounded up: %s, want %s", c.x, got, c.up)
		}
		if got := FormatBound(c.x, c.decimals, false); got != c.down {
			t.Errorf("%v rounded down: %s, want %s", c.x, got, c.down)
		}
	}
	for x, want := range map[float64][2]string{2.0324324: {"2.03244", "2.03243"},
		1.234e-9: {"1.234e-09", "1.234e-09"}, 3.00000004: {"3.00001", "3"}, 0: {"0", "0"}} {
		up, down := FormatDigits(x, 6, true), FormatDigits(x, 6, false)
		if up != want[0] || down != want[1] {
			t.Errorf("%v: %s and %s, want %v", x, up, down, want)
		}
	}
}
