package experiment

import (
	"fmt"
	"strings"

	"sotto/data"
	"sotto/data/schema"
)

// tableRemarks say what of the user's own files spoils a training: rows that are left
// out, features without public bounds, labels without records. They are for simulations,
// whose readers have the files.
func tableRemarks(d *data.Dataset) []string {
	if !data.OfUsers(d.Name) {
		return nil
	}
	var all []string
	if d.Dropped > 0 {
		all = append(all, fmt.Sprintf("%d rows of the files are left out for a missing cell: the model does "+
			"not learn from such records", d.Dropped))
	}
	if names := unscaled(d); len(names) > 0 {
		all = append(all, "features without public bounds stand as they are, where steps and clips are for "+
			"values of about 1: "+strings.Join(names, ", ")+"; [data.bounds] scales them")
	}
	return append(all, labelRemarks(d)...)
}

// undescribed reports whether no schema or format says what the columns of d are.
func undescribed(d *data.Dataset) bool { return d.Name == "csv" }

// unscaled are the numbers among the features that nothing public bounds.
func unscaled(d *data.Dataset) []string {
	var names []string
	for _, v := range d.Variables {
		if v.At >= 0 && v.Categories == nil && v.Form == schema.Plain && undescribed(d) {
			names = append(names, v.Name)
		}
	}
	return names
}

// labelRemarks say which classes have no training record.
func labelRemarks(d *data.Dataset) []string {
	if d.Classes == 0 {
		return nil
	}
	counts := make([]int, d.Classes)
	for _, c := range d.Labels {
		counts[c]++
	}
	var empty, filled []string
	for c, n := range counts {
		name := fmt.Sprintf("%q", d.ClassNames[c])
		if n == 0 {
			empty = append(empty, name)
		} else {
			filled = append(filled, name)
		}
	}
	switch {
	case len(empty) == 0:
		return nil
	case len(filled) == 1:
		return []string{"all training records have the label " + filled[0] +
			": every model that says so is right, and accuracy tells nothing"}
	}
	return []string{"no training record has the label " + strings.Join(empty, ", ") +
		": the model has outputs for labels that never occur"}
}
