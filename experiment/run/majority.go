package run

import (
	"fmt"

	"sotto/data"
	"sotto/experiment"
	"sotto/experiment/rundir"
)

// belowMajority says that a model of the user's records is no better than one that always
// says the most frequent class of the test records; "" where it is.
func belowMajority(e *experiment.Experiment, accuracy *rundir.Stats) string {
	test := e.Task.Split.Test
	if !data.OfUsers(test.Name) || accuracy == nil || test.Labels == nil {
		return ""
	}
	counts, most := make([]int, test.Classes), 0
	for _, c := range test.Labels {
		if counts[c]++; counts[c] > counts[most] {
			most = int(c)
		}
	}
	share := float64(counts[most]) / float64(test.Len())
	if accuracy.Mean > share {
		return ""
	}
	name := fmt.Sprint(most)
	if most < len(test.ClassNames) {
		name = test.ClassNames[most]
	}
	return fmt.Sprintf("the accuracy, %.4g, is not above %.4g, which a model has that always says %q",
		accuracy.Mean, share, name)
}
