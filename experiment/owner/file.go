package owner

import (
	"fmt"
	"strings"

	"sotto/data"
	"sotto/privacy/account"
)

// A Remark is what an owner should know of its own file before it takes part. It is
// private: a figure of records.
type Remark struct {
	Text    string
	Warning bool // it spoils the training or weakens the guarantee
}

// Remarks are about the owner's file: how it was read, what was left out, how classes are
// spread, how many rows one person has, whether the policy's figures fit it.
func Remarks(m *Membership) []Remark {
	o := m.Owner
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
	remarkPolicy(m, say)
	remarkBatch(m, say)
	return all
}

// remarkBatch says where batches of the file are smaller than the policy wants, though
// what the run file states is not. No error does: how many records there are is private.
func remarkBatch(m *Membership, say func(warning bool, format string, args ...any)) {
	x, train, rows := &m.Terms, m.e.Task.Split.Train, m.e.Task.Parts[0]
	if !x.Adjacency.HidesCount() || x.Unit.Kind == account.UnitOwner {
		return
	}
	n := len(rows)
	if x.Unit.Kind == account.UnitPerson {
		n = train.UnitCount(rows)
	}
	if mean := x.Rate * float64(n); mean < m.Policy.MinimumBatch {
		say(true, "a batch has %.3g of the %d %ss for training on average, and minimum_batch = %g of the "+
			"policy: only batch_size = %g of the run file was compared with it, because the number of "+
			"%ss is secret", mean, n, x.Drawn(), m.Policy.MinimumBatch, x.Batch, x.Drawn())
	}
}

// remarkPolicy says where the policy promises more records than there are, or allows a
// delta at which one may be published. No error does: how many there are may be private.
func remarkPolicy(m *Membership, say func(warning bool, format string, args ...any)) {
	counted, n := "records", 0
	for _, part := range []*data.Dataset{m.own.Split.Train, m.own.Split.Test} {
		switch m.Terms.Unit.Kind {
		case account.UnitOwner:
			return
		case account.UnitPerson:
			counted = "persons"
			seen := map[int32]bool{}
			for _, u := range part.Units {
				seen[u] = true
			}
			n += len(seen)
		default:
			n += part.Len()
		}
	}
	b := &m.Budget
	if n < b.MinRecords {
		say(true, "min_records = %d of the policy, and the file has %d %s: a ledger that is made with it "+
			"says \"at least %d\" for good", b.MinRecords, n, counted, b.MinRecords)
	}
	if b.LifetimeDelta*float64(n) >= 1 {
		say(true, "lifetime_delta = %g of the policy is not below 1/n = %.3g for the %d %s of the file: one "+
			"of them could be published in the clear", b.LifetimeDelta, 1/float64(n), n, counted)
	}
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
