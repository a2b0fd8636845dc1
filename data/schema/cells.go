package schema

import (
	"math"
	"strings"

	"sotto/internal/decimal"
)

// number is the cell's, or the one that stands for a missing cell.
func (c *Column) number(cell string, absent, decimalComma bool) (float64, bool) {
	if !absent {
		return anyNumber(cell, decimalComma)
	}
	if v, ok := c.Missing.(float64); ok {
		return v, true
	}
	return c.Bounds[0]/2 + c.Bounds[1]/2, true
}

// scaled clips to the bounds and scales them to the scale, if there is one.
func (c *Column) scaled(v float64, n *ColumnCounts) float32 {
	lo, hi := c.Bounds[0], c.Bounds[1]
	if v < lo || v > hi {
		n.Clipped++
		v = min(max(v, lo), hi)
	}
	if c.Scale == nil {
		return float32(v)
	}
	t := (v - lo) / (hi - lo)
	if c.Scale[0] == -1 {
		t = 2*t - 1 // 2t is exact, so that a fused operation gives the same bits
	}
	return float32(t)
}

func pointed(how Reading) string {
	if how.DecimalComma {
		return "a finite number with a decimal comma and no point"
	}
	return "a finite number with a decimal point; a decimal comma is stated, not guessed: --decimal-comma, " +
		"or data.decimal_comma of a simulation"
}

// number parses a decimal number that is finite in float32.
func number(s string, decimalComma bool) (float64, bool) {
	v, ok := anyNumber(s, decimalComma)
	return v, ok && math.Abs(v) <= math.MaxFloat32
}

// anyNumber parses a decimal number that is going to be clipped, however large it is.
func anyNumber(s string, decimalComma bool) (float64, bool) {
	if decimalComma {
		if strings.Contains(s, ".") {
			return 0, false
		}
		s = strings.Replace(s, ",", ".", 1)
	}
	return decimal.ParseAny(s)
}
