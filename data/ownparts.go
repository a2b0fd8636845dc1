package data

import (
	"slices"
	"sort"
)

// places says where the records of an owner's file stand in it.
type places struct {
	rows int   // of the file, those that are left out too
	of   []int // the row of each record, ascending
}

// placesOf are those of records at some lines of a file, where rows at other lines are
// left out.
func placesOf(lines, dropped []int) *places {
	all := slices.Sorted(slices.Values(slices.Concat(lines, dropped)))
	p := &places{rows: len(all)}
	for _, line := range lines {
		p.of = append(p.of, sort.SearchInts(all, line))
	}
	return p
}

// holdOut draws the test part among the rows of the file. Which part a record is in
// follows from its place alone, and so does what a limit leaves: another cell, a missing
// one or another group of one row moves no other row from one part to the other.
func (o *places) holdOut(d *Dataset, p TableParams, seed uint64) (*Split, error) {
	rows := make([]int32, o.rows)
	for i := range rows {
		rows[i] = int32(i)
	}
	source(seed).Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
	n := int(p.TestFraction * float64(len(rows)))
	record := make([]int32, o.rows) // 1 + the record of each row; 0: it is left out
	for i, row := range o.of {
		record[row] = int32(i) + 1
	}
	there := func(rows []int32, limit int) (records []int32) {
		slices.Sort(rows)
		if limit > 0 {
			rows = rows[:min(limit, len(rows))]
		}
		for _, row := range rows {
			if record[row] > 0 {
				records = append(records, record[row]-1)
			}
		}
		return records
	}
	return cut(d, there(rows[n:], p.Limit), there(rows[:n], p.TestLimit), p)
}
