package schema

import (
	"math"
)

// Variable is what one column of a table has become among the features of a record. It is
// public: names and bounds that stand in code, run file or schema.
type Variable struct {
	Name string
	At   int // its first feature; -1: it is the label or the target
	// Low and High bound a number; both 0: nothing public does.
	Low, High float64
	// Form says what the feature of a number is: of Low and High 0 and 1 (Unit), or -1
	// and 1 (Symmetric), also by logarithms (Logarithm), or the number itself (Plain).
	Form Form
	// Categories are the values of a category, each with a feature that is 0 or 1; with
	// Implicit the first has none. nil: a number.
	Categories []string
	Implicit   bool
	Open       bool // a record may have none of Categories, and no feature says so
	Missing    int  // the feature that is 1 where the cell was missing; -1: none
}

// Form is how a number has become a feature.
type Form int

// Forms of features.
const (
	Plain Form = iota
	Unit
	Symmetric
	Logarithm
)

// Number is the value of a number in a record with these features and this target, in its
// own unit; false where it was missing. One that was filled without a feature that says
// so counts as it was filled.
func (v *Variable) Number(row, target []float32) (float64, bool) {
	if v.At < 0 {
		return v.natural(float64(target[0])), true
	}
	if v.Missing >= 0 && row[v.Missing] == 1 {
		return 0, false
	}
	return v.natural(float64(row[v.At])), true
}

// natural has six decimal digits of the range: 40 years are 40 again, though the feature
// is a float32.
func (v *Variable) natural(x float64) float64 {
	width := v.High - v.Low
	switch v.Form {
	case Unit:
		x = v.Low + x*width
	case Symmetric:
		x = v.Low + (x+1)/2*width
	case Logarithm:
		x = v.Low + math.Expm1(x*math.Log1p(width))
	default:
		return x
	}
	digits := 5 - math.Floor(math.Log10(width))
	if digits < 0 || digits > 300 {
		return x
	}
	unit := math.Pow(10, digits)
	return min(max(math.Round(x*unit)/unit, v.Low), v.High)
}

// Category is the place among Categories of the value of a record with these features and
// this label; -1 where it was missing or none of them.
func (v *Variable) Category(row []float32, label []int32) int {
	if v.At < 0 {
		return int(label[0])
	}
	if v.Missing >= 0 && row[v.Missing] == 1 {
		return -1
	}
	first := 0
	if v.Implicit {
		first = 1
	}
	for k := first; k < len(v.Categories); k++ {
		if row[v.At+k-first] == 1 {
			return k
		}
	}
	return first - 1
}

// Variables describes the features of a record, and the target.
func (s *Schema) Variables() []Variable {
	var all []Variable
	at := 0
	for i := range s.Columns {
		c := &s.Columns[i]
		out := Variable{Name: c.Name, At: at, Missing: -1}
		switch c.Kind {
		case Number:
			out.Low, out.High, out.Form = c.Bounds[0], c.Bounds[1], Unit
			if c.Scale[0] == -1 {
				out.Form = Symmetric
			}
			at++
		case Category:
			out.Categories = append(out.Categories, c.Categories...)
			if c.Other {
				out.Categories = append(out.Categories, "other")
			}
			at += len(out.Categories)
		default:
			continue
		}
		if c.Indicator {
			out.Missing = at
			at++
		}
		all = append(all, out)
	}
	t := Variable{Name: s.Target.Column, At: -1, Missing: -1, Categories: s.Target.Values}
	if b := s.Target.Bounds; b != nil {
		if t.Low, t.High = b[0], b[1]; len(s.Target.Scale) == 2 {
			if t.Form = Unit; s.Target.Scale[0] == -1 {
				t.Form = Symmetric
			}
		}
	}
	return append(all, t)
}
