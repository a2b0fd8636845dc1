package experiment

import (
	"fmt"
	"strings"

	"sotto/data"
)

// labelRemarks say which classes of the user's own file have no training record. They are
// for simulations, whose readers have the file.
func labelRemarks(d *data.Dataset) []string {
	if !data.OfUsers(d.Name) || d.Classes == 0 {
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
