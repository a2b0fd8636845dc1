package data

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"sotto/config"
	"sotto/data/csv"
)

// SetUnits names the person of each record by an id. Persons are numbered by their first
// record; ids count without the space around them.
func (d *Dataset) SetUnits(ids []string) {
	number := map[string]int32{}
	d.Units, d.unitKeys = make([]int32, len(ids)), nil
	for i, id := range ids {
		id = strings.TrimSpace(id)
		u, ok := number[id]
		if !ok {
			u = int32(len(number))
			number[id] = u
			sum := sha256.Sum256([]byte(id))
			d.unitKeys = append(d.unitKeys, binary.BigEndian.Uint64(sum[:]))
		}
		d.Units[i] = u
	}
}

// setUnitsFrom takes the persons from a column of t, of which no cell may be empty.
func (d *Dataset) setUnitsFrom(t *csv.Table, column string, keep []int) error {
	c, err := t.Column(column)
	if err != nil {
		return err
	}
	ids := make([]string, len(keep))
	for i, row := range keep {
		if ids[i] = c.Text[row]; ids[i] == "" {
			return t.Bad(row, column, "an empty cell", "the id of a person in every row")
		}
	}
	d.SetUnits(ids)
	return nil
}

// UnitCount is the number of persons among the records at rows: of records, where each is
// its own.
func (d *Dataset) UnitCount(rows []int32) int {
	if d.Units == nil {
		return len(rows)
	}
	seen := map[int32]struct{}{}
	for _, r := range rows {
		seen[d.Units[r]] = struct{}{}
	}
	return len(seen)
}

// UnitCoin is a number in [0, 1) that follows from the seed, what it is for and the id of
// the person of record r: no other person's records move it. Records must have persons.
func (d *Dataset) UnitCoin(seed uint64, what string, r int) float64 {
	key := d.unitKey(d.Units[r])
	sum := sha256.Sum256(fmt.Appendf(nil, "sotto persons, %s, seed %d, id %d", what, seed, key))
	return coin(sum[:])
}

// unitKey is of a person's id, or the number where Units were made by hand.
func (d *Dataset) unitKey(u int32) uint64 {
	if d.unitKeys == nil {
		return uint64(u)
	}
	return d.unitKeys[u]
}

// holdOutUnits draws every person with probability TestFraction for the test part, by the
// person's own coin: all records of a person are in one part, and which one does not
// depend on other persons.
func holdOutUnits(d *Dataset, p TableParams, seed uint64) (*Split, error) {
	return holdOutBy(d, p, func(r int) float64 { return d.UnitCoin(seed, "test persons", r) })
}

// together refuses a partition that cuts the records of a class, where persons have
// several.
func (d *Dataset) together(partition string) error {
	if d.Units == nil || partition == "iid" || partition == "natural" {
		return nil
	}
	return config.Bad("partition", partition,
		"iid or natural with unit_column: the others would deal the records of one person to several agents")
}

// iidUnits shuffles the persons and deals them out in lots that are equal within one.
func iidUnits(ds *Dataset, agents int, seed uint64) [][]int32 {
	n := 0
	for _, u := range ds.Units {
		n = max(n, int(u)+1)
	}
	present := make([]bool, n)
	for _, u := range ds.Units {
		present[u] = true
	}
	var persons []int32
	for u, there := range present {
		if there {
			persons = append(persons, int32(u))
		}
	}
	agent := make([]int, n)
	for i, k := range source(seed).Perm(len(persons)) {
		agent[persons[k]] = i * agents / len(persons)
	}
	parts := make([][]int32, agents)
	for r, u := range ds.Units {
		parts[agent[u]] = append(parts[agent[u]], int32(r))
	}
	return parts
}
