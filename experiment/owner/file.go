package owner

import (
	"fmt"
	"strings"
)

// A Remark is what an owner should know of its own file before it takes part. It is
// private: a figure of records.
type Remark struct {
	Text    string
	Warning bool // it spoils the training or weakens the guarantee
}

// Remarks are about the owner's file: how it was read, what was left out, how classes are
// spread, how many rows one person has.
func Remarks(o *Owner) []Remark {
	var all []Remark
	say := func(warning bool, format string, args ...any) {
		all = append(all, Remark{fmt.Sprintf(format, args...), warning})
	}
	c := &o.own.Counts
	if c.Read != "" {
		say(false, "read as %s; %d cells filled, %d clipped, %d taken for other texts", c.Read, c.Filled,
			c.Clipped, c.Other)
	}
	if c.Dropped > 0 {
		say(true, "%d of %d rows are left out for a missing cell: the model does not learn from such people",
			c.Dropped, c.Rows)
	}
	remarkClasses(o, say)
	if c.MostOfID > 1 && o.e.File.Privacy.Unit == "record" {
		say(true, "one id is in up to %d rows, and the guarantee is for a row: whoever has several is "+
			"protected less. data.unit_column and privacy.unit = \"person\" of the run file count persons",
			c.MostOfID)
	}
	return all
}

// remarkClasses says how classes are spread.
func remarkClasses(o *Owner, say func(warning bool, format string, args ...any)) {
	train, test := o.own.Split.Train, o.own.Split.Test
	if train.Classes == 0 {
		return
	}
	counts := make([]int, train.Classes)
	for _, part := range [][]int32{train.Labels, test.Labels} {
		for _, k := range part {
			counts[k]++
		}
	}
	var spread, empty []string
	for k, n := range counts {
		name := fmt.Sprint(k)
		if k < len(train.ClassNames) {
			name = train.ClassNames[k]
		}
		if spread = append(spread, fmt.Sprintf("%s %d", name, n)); n == 0 {
			empty = append(empty, name)
		}
	}
	if len(spread) <= mostClasses {
		say(false, "classes: %s", strings.Join(spread, ", "))
	}
	switch {
	case len(empty) == train.Classes-1:
		say(true, "all records have one class: alone they teach nothing, and accuracy on them tells nothing")
	case len(empty) > 0:
		say(true, "no record has class %s", strings.Join(empty, ", "))
	}
}

// mostClasses is how many classes are counted out.
const mostClasses = 20
