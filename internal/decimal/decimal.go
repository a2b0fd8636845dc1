// Package decimal reads the numbers of owners' files, and writes ends of intervals.
package decimal

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Parse reads a decimal number that is finite in float32. Hexadecimal digits, infinities,
// "nan" and underscores are none.
func Parse(s string) (float64, bool) {
	v, ok := ParseAny(s)
	return v, ok && math.Abs(v) <= math.MaxFloat32
}

// ParseAny is Parse for numbers of any size. Those that float64 does not reach are
// infinite.
func ParseAny(s string) (float64, bool) {
	if len(s) == 1 && '0' <= s[0] && s[0] <= '9' { // most of what is sparse
		return float64(s[0] - '0'), true
	}
	if strings.ContainsAny(s, "xXpP_nNiI") {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil || errors.Is(err, strconv.ErrRange)
}
