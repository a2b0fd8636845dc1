package experiment

import (
	"fmt"
	"slices"

	"sotto/oracle"
	"sotto/privacy/account"
	"sotto/sim"
)

// perPerson reports whether what is protected are all records of one person.
func (p *PrivacyParams) perPerson() bool { return p.unit.Kind == account.UnitPerson }

// servesPersons reports whether all answers of the algorithm bound what a person adds.
func servesPersons(f *File) bool {
	return !slices.ContainsFunc(f.Spec.Asks, func(name string) bool {
		return !oracle.Kinds[name].Person
	})
}

// parsePersons checks the keys of unit person, and that there is none without it.
func (p *PrivacyParams) parsePersons(f *File) error {
	column := f.Data.UnitColumn
	if p.perPerson() && column == "" {
		return f.Refuse("data.unit_column", column,
			"with unit person the column that has the id of each record's person")
	}
	if p.perPerson() {
		if _, err := account.New(account.Default, p.adjacency, p.unit); err != nil {
			return f.Refuse("data.unit_column", column, "with unit person a column whose name has 1 to 64 "+
				"ASCII characters and no quote, backslash or parenthesis; or the number of the column")
		}
		if p.Persons.Gradient == "" {
			p.Persons.Gradient = oracle.MeanOfPerson
		}
	}
	return p.Persons.Validate(p.unit)
}

// checkUnits refuses a column of persons that the data set has not read.
func (e builder) checkUnits() error {
	f := e.File
	if column := f.Data.UnitColumn; column != "" && e.Task.Split.Train.Units == nil {
		return f.Refuse("data.unit_column", column, "nothing with data set "+f.Data.Dataset+
			", which has no column of persons")
	}
	return nil
}

// units is how many units of the run's kind the rows are: persons, or records.
func (p *PrivacyParams) units(t *Task, rows []int32) int {
	if p.perPerson() {
		return t.Split.Train.UnitCount(rows)
	}
	return len(rows)
}

// personsRemark says what of a person a figure protects.
func personsRemark(e *Experiment, _ sim.Stats) string {
	if e.File.Privacy.perPerson() {
		return "the unit is a " + UnitText(e.File) + "; records, rates and batches are counted in persons"
	}
	return ""
}

// UnitText is the unit of privacy in words.
func UnitText(f *File) string {
	p := &f.Privacy
	if !p.perPerson() {
		return p.unit.String()
	}
	return fmt.Sprintf("person (column %s, at most %d rows each)", p.unit.Of, p.Persons.MaxRows)
}
