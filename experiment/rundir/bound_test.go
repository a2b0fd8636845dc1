package rundir

import (
	"math"
	"testing"
)

// What is printed of an upper end is not below it, of a lower end not above.
func TestFormatBound(t *testing.T) {
	for _, c := range []struct {
		x        float64
		decimals int
		up, down string
	}{
		{203.42338, 4, "203.4234", "203.4233"}, {.00100001, 4, "0.0011", "0.0010"},
		{.00099999, 4, "0.001", "0.000999"}, {3.363e-8, 6, "3.37e-08", "3.36e-08"},
		{0, 4, "0.0000", "0.0000"},
		{math.Inf(1), 4, "infinite", "infinite"},
	} {
		if up, down := FormatBound(c.x, c.decimals, true), FormatBound(c.x, c.decimals, false); up != c.up ||
			down != c.down {
			t.Errorf("%v: %s and %s, want %s and %s", c.x, up, down, c.up, c.down)
		}
	}
}
