package decimal

import (
	"math"
	"strconv"
)

// Fixed writes an end of an interval with some decimals: an upper one is rounded up, a
// lower one down, so that what is written holds as well.
func Fixed(x float64, decimals int, up bool) string {
	return bounded(x, 'f', decimals, math.Pow10(-decimals), up)
}

// Digits is Fixed with some significant digits.
func Digits(x float64, digits int, up bool) string {
	place := 1. // what the last digit is worth
	if x > 0 && !math.IsInf(x, 1) {
		place = math.Pow(10, math.Floor(math.Log10(x))-float64(digits-1))
	}
	return bounded(x, 'g', digits, place, up)
}

func bounded(x float64, form byte, digits int, place float64, up bool) string {
	s := strconv.FormatFloat(x, form, digits, 64)
	switch shown, _ := strconv.ParseFloat(s, 64); {
	case up && shown < x:
		return strconv.FormatFloat(shown+place, form, digits, 64)
	case !up && shown > x:
		return strconv.FormatFloat(shown-place, form, digits, 64)
	}
	return s
}

// Resolving is how many significant digits show an interval of this value's size: five,
// and more where its width would be lost, so that rounding moves an end by at most half a
// hundredth of the width. All of the double's are 17.
func Resolving(low, high float64) int {
	most, width := max(math.Abs(low), math.Abs(high)), high-low
	if !(width > 0) || math.IsInf(width, 1) {
		return 5
	}
	return min(max(5, 2+int(math.Ceil(math.Log10(most/width)))), 17)
}
