package network

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// independenceCut is the distance of a row to the others, relative, from which on it
// counts as independent.
const independenceCut = 1e-12

// basis is an orthonormal basis of the space of rows that an adversary has received so
// far.
type basis struct {
	known   []bool // columns whose unit vector is in the space; rows are 0 there
	free    int    // columns that are not known
	members int
	rows    [][]float64
	coef    []float64 // scratch
	least   float64   // smallest distance to the others, relative, of a row that was taken
	dropped int       // rows within the cut of the others
}

// newBasis starts with what the members know of themselves.
func newBasis(agents int, members []int) *basis {
	b := &basis{known: make([]bool, agents), free: agents, members: len(members), least: 1}
	for _, m := range members {
		b.learn(m)
	}
	return b
}

// learn adds the unit vector of a column. It must come before rows that are not zero
// there.
func (b *basis) learn(u int) {
	if !b.known[u] {
		b.known[u] = true
		b.free--
	}
}

// full reports that nothing is left to learn.
func (b *basis) full() bool { return len(b.rows) >= b.free }

// add takes the part of x beyond the space as a new row, unless it is shorter than the
// cut times scale, and reports whether it did. x is overwritten, and belongs to the basis
// if it was taken. Projections are repeated until they no longer shorten x, so that rows
// are orthogonal to rounding.
func (b *basis) add(x []float64, scale float64) bool {
	for u, k := range b.known {
		if k {
			x[u] = 0
		}
	}
	before := floats.Norm(x, 2)
	for before > independenceCut*scale {
		after := b.project(x)
		if after > .7*before {
			if after > independenceCut*scale {
				b.least = math.Min(b.least, after/scale)
				floats.Scale(1/after, x)
				b.rows = append(b.rows, x)
				return true
			}
			break
		}
		before = after
	}
	b.dropped++
	return false
}

// holds reports whether x is in the space, up to the cut times scale.
func (b *basis) holds(x []float64, scale float64) bool {
	x = slices.Clone(x)
	for u, k := range b.known {
		if k {
			x[u] = 0
		}
	}
	before := floats.Norm(x, 2)
	for before > independenceCut*scale {
		after := b.project(x)
		if after > .7*before {
			return false
		}
		before = after
	}
	return true
}

// project removes from x its part in the rows and returns the length of what is left.
func (b *basis) project(x []float64) float64 {
	b.coef = b.coef[:0]
	for _, q := range b.rows {
		b.coef = append(b.coef, floats.Dot(q, x))
	}
	for i, q := range b.rows {
		floats.AddScaled(x, -b.coef[i], q)
	}
	return floats.Norm(x, 2)
}

// view returns the leverage scores.
func (b *basis) view(a Adversary) *View {
	n := len(b.known)
	v := &View{Adversary: a, Leak: make([]float64, n), Rank: len(b.rows) + n - b.free - b.members}
	for _, q := range b.rows {
		for u, x := range q {
			v.Leak[u] += x * x
		}
	}
	for u := range v.Leak {
		if b.known[u] || b.full() || v.Leak[u] > 1-1e-10 {
			v.Leak[u] = 1
		}
	}
	if len(b.rows) > 0 && !b.full() {
		v.margin = math.Max(1e-9, 1e-14/b.least)
	}
	return v
}
