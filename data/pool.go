package data

import (
	"slices"

	"sotto/tensor"
)

// Pool returns the records of both parts, training first, in memory of their own: what
// cross-validation deals anew. Who has records in both parts is one person.
func (s *Split) Pool() *Dataset {
	a, b := s.Train, s.Test
	p := *a
	p.X = tensor.NewMat(a.Len()+b.Len(), a.X.Cols)
	for i := range p.X.Rows {
		from, row := a, i
		if i >= a.Len() {
			from, row = b, i-a.Len()
		}
		copy(p.X.Row(i), from.X.Row(row))
	}
	p.Labels, p.Targets = slices.Concat(a.Labels, b.Labels), slices.Concat(a.Targets, b.Targets)
	if p.Groups = slices.Concat(a.Groups, b.Groups); len(p.Groups) < p.Len() {
		p.Groups = nil // of one part nobody knows whose records they are
	}
	if p.RowNorm = max(a.RowNorm, b.RowNorm); a.RowNorm == 0 || b.RowNorm == 0 {
		p.RowNorm = 0
	}
	p.Units, p.unitKeys = nil, nil
	number := map[uint64]int32{}
	for _, d := range []*Dataset{a, b} {
		for _, u := range d.Units {
			key := d.unitKey(u)
			if _, ok := number[key]; !ok {
				number[key] = int32(len(number))
				p.unitKeys = append(p.unitKeys, key)
			}
			p.Units = append(p.Units, number[key])
		}
	}
	return &p
}
