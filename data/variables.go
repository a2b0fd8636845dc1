package data

import (
	"cmp"
	"fmt"
	"strconv"

	"sotto/data/schema"
)

// variablesOf describes what encode makes of features.
func variablesOf(features []feature, normalize bool) []schema.Variable {
	all, at := make([]schema.Variable, 0, len(features)+1), 0
	for k := range features {
		f := &features[k]
		c := schema.Variable{Name: cmp.Or(f.as, f.name), At: at, Missing: -1}
		switch {
		case f.values != nil:
			for _, v := range f.values {
				c.Categories = append(c.Categories, fmt.Sprint(v))
			}
			c.Implicit = true
		case !f.plain:
			if c.Low, c.High = f.lo, f.hi; normalize {
				c.Form = schema.Unit
			}
			if normalize && f.log {
				c.Form = schema.Logarithm
			}
		}
		all, at = append(all, c), at+f.width()
	}
	return all
}

// Described are the variables of d: those that it names, else its features by number from
// 1 and its "label" or "target".
func (d *Dataset) Described() []schema.Variable {
	if d.Variables != nil {
		return d.Variables
	}
	var all []schema.Variable
	for k := range d.X.Cols {
		all = append(all, schema.Variable{Name: strconv.Itoa(k + 1), At: k, Missing: -1})
	}
	return append(all, d.outcome("label", "target"))
}

// outcome is the column to predict.
func (d *Dataset) outcome(label, target string) schema.Variable {
	c := schema.Variable{Name: target, At: -1, Missing: -1}
	if d.Classes > 0 {
		c.Name, c.Categories = label, d.ClassNames
		for k := len(c.Categories); k < d.Classes; k++ {
			c.Categories = append(c.Categories, strconv.Itoa(k))
		}
	}
	return c
}
