package data

import (
	"cmp"
	"fmt"
	"slices"

	"sotto/config"
)

// ByValueParams are the parameters of partition "by-value".
type ByValueParams struct {
	// Columns are features, counted from 1, by whose values records are told apart: the
	// first one first, where it is the same the second one, and so on.
	Columns    []int `toml:"columns"`
	AllowEmpty bool  `toml:"allow_empty"`
}

// byValue sorts the records by the values of features and cuts them into lots that are
// equal within one, of which each agent gets one: regions, by a coordinate; occupations,
// by the columns of a category. Records of equal values are shuffled.
func byValue(decode func(any) error, ds *Dataset, agents int, seed uint64) ([][]int32, error) {
	var p ByValueParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	if len(p.Columns) == 0 {
		return nil, config.Bad("columns", "none", "at least one feature")
	}
	for _, c := range p.Columns {
		if c < 1 || c > ds.X.Cols {
			return nil, config.Bad("columns", c, fmt.Sprintf("1 to %d, the number of features", ds.X.Cols))
		}
	}
	n := ds.Len()
	rows := make([]int32, n)
	for i, r := range source(seed).Perm(n) {
		rows[i] = int32(r)
	}
	slices.SortStableFunc(rows, func(a, b int32) int {
		x, y := ds.X.Row(int(a)), ds.X.Row(int(b))
		for _, c := range p.Columns {
			if order := cmp.Compare(x[c-1], y[c-1]); order != 0 {
				return order
			}
		}
		return 0
	})
	return nonEmpty(lots(rows, agents), p.AllowEmpty)
}

// lots cuts rows into as many as there are agents, equal within one.
func lots(rows []int32, agents int) [][]int32 {
	n, parts := len(rows), make([][]int32, agents)
	for i := range parts {
		from, to := i*n/agents, (i+1)*n/agents
		parts[i] = rows[from:to:to]
	}
	return parts
}
