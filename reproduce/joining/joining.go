// Package joining studies what joining brings its members: the model that an owner ends
// with, beside the one that it would have alone, on six real data sets. It follows no
// publication.
package joining

import "sotto/reproduce"

// Paper has the studies.
var Paper = reproduce.Paper{
	Name: "joining",
	Key:  "joining",
	Studies: map[string]reproduce.Study{
		"map": {
			Title: "what joining brings over owners and records, census, every owner's own noise",
			Axes:  axes, Base: base, Cells: reproduce.TwoSizes(mapCells), Report: worthMap, Curves: true},
		"owners": {
			Title: "what joining brings each owner (the runs of joining-pays)",
			Axes:  axes, Base: base, Cells: reproduce.TwoSizes(paysCells), Report: owners, Curves: true},
		"pays": {
			Title: "models alone, shared and of the owners' own, on real tables",
			Axes:  axes, Base: base, Cells: reproduce.TwoSizes(paysCells), Report: pays, Curves: true},
	},
}
