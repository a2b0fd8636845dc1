package attack

import (
	"slices"

	"sotto/data"
	"sotto/experiment"
	"sotto/privacy/account"
)

// copies is how many records stand for one of an auditor's: of a person, as many equal
// ones as a run reads at most. Where they were clipped one by one in place of the person,
// so many move a sum the most.
func copies(e *experiment.Experiment) int {
	if e.Setup.Target.Unit.Kind != account.UnitPerson {
		return 1
	}
	return e.File.Privacy.Persons.MaxRows
}

// spread makes a person of every record of d, in the unit of a person.
func spread(e *experiment.Experiment, d *data.Dataset) *data.Dataset {
	if e.Setup.Target.Unit.Kind != account.UnitPerson {
		return d
	}
	n := copies(e)
	var rows, units []int32
	for r := range int32(d.Len()) {
		rows, units = append(rows, slices.Repeat([]int32{r}, n)...), append(units, slices.Repeat([]int32{r},
			n)...)
	}
	whole := d.Select(rows)
	whole.Units = units
	return whole
}

// rowsOf are the rows of what spread has made of records.
func rowsOf(e *experiment.Experiment, records []int32) []int32 {
	n := copies(e)
	if n == 1 {
		return records
	}
	var rows []int32
	for _, r := range records {
		rows = appendRows(rows, int(r)*n, (int(r)+1)*n)
	}
	return rows
}

// lessFirst is a part without its first record, or person.
func lessFirst(d *data.Dataset, part []int32) []int32 {
	if d.Units == nil {
		return part[1:]
	}
	first := d.Units[part[0]]
	return slices.DeleteFunc(part, func(r int32) bool { return d.Units[r] == first })
}

// besidePersons are the persons of d, and of two more with so many records each.
func besidePersons(d *data.Dataset, n int) []int32 {
	if d.Units == nil {
		return nil
	}
	next := slices.Max(append([]int32{-1}, d.Units...)) + 1
	return slices.Concat(d.Units, slices.Repeat([]int32{next}, n), slices.Repeat([]int32{next + 1}, n))
}
