package network

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// unlearned holds, for every agent, the part of its row of the running product that an
// adversary has not learned yet. Projections commute with mixing, which acts on the other
// side. What is observed later is thus compared with what is still unknown and not with
// rows that have become alike.
type unlearned struct {
	now, before [][]float64 // before: of the round before, for methods that need it
	norms       []float64   // lengths of now
}

// running adds to b the rows that a receives over rounds with matrices of their own.
func (g *Gossip) running(a Adversary, b *basis) {
	method := g.method()
	r := g.unlearned(b.known, method)
	for k, m := range g.Rounds {
		scale := slices.Max(r.norms)
		first := len(b.rows)
		g.observed(a, k, func(sum []Link) {
			switch {
			case b.full():
			case k == 0 && !g.SecureSum:
				b.learn(sum[0].From)
			default:
				r.observe(sum, scale, b)
			}
		})
		if b.full() {
			return
		}
		if k == 0 {
			r.forget(b.known, scale)
		}
		r.deflate(b.rows[first:], scale)
		r.mix(m, method, k, scale)
	}
}

func (g *Gossip) unlearned(known []bool, method Method) *unlearned {
	square := func() [][]float64 {
		rows := make([][]float64, g.Agents)
		for i := range rows {
			rows[i] = make([]float64, g.Agents)
		}
		return rows
	}
	r := &unlearned{now: square(), norms: make([]float64, g.Agents)}
	for i, k := range known {
		if !k {
			r.now[i][i], r.norms[i] = g.noise(i), g.noise(i)
		}
	}
	if !method.plain {
		r.before = square()
	}
	return r
}

// observe adds a received row to b. scale is the length of the longest row.
func (r *unlearned) observe(sum []Link, scale float64, b *basis) {
	x, size := make([]float64, len(r.now)), 0.
	for _, l := range sum {
		floats.AddScaled(x, l.Weight.Value, r.now[l.From])
		size += math.Abs(l.Weight.Value)
	}
	b.add(x, scale*size)
}

// forget zeroes columns that are known. It is called in round 0 only, when before is 0.
func (r *unlearned) forget(known []bool, scale float64) {
	for i, x := range r.now {
		for u, k := range known {
			if k {
				x[u] = 0
			}
		}
		r.set(i, x, scale)
	}
}

// deflate removes the directions q from all rows.
func (r *unlearned) deflate(q [][]float64, scale float64) {
	if len(q) == 0 {
		return
	}
	for _, rows := range [][][]float64{r.now, r.before} {
		for _, x := range rows {
			for _, d := range q {
				if c := floats.Dot(d, x); c != 0 {
					floats.AddScaled(x, -c, d)
				}
			}
		}
	}
	for i, x := range r.now {
		r.set(i, x, scale)
	}
}

// mix moves every agent's row one round on.
func (r *unlearned) mix(m *Matrix, method Method, k int, scale float64) {
	if method.plain { // agents without a row keep theirs: a wake of two agents costs two rows
		next := make([][]float64, len(m.rows))
		for i, row := range m.rows {
			next[i] = mixed(row, r.now)
		}
		for i, row := range m.rows {
			r.set(row.Agent, next[i], scale)
		}
		return
	}
	a, p, c := method.Step(k)
	next := make([][]float64, len(r.now))
	for i, x := range r.now {
		if row, has := m.row(i); has {
			next[i] = mixed(row, r.now)
		} else {
			next[i] = slices.Clone(x)
		}
		floats.Scale(a, next[i])
		floats.AddScaled(next[i], p, x)
		floats.AddScaled(next[i], -c, r.before[i])
	}
	for i, x := range r.now {
		r.before[i] = x
		r.set(i, next[i], scale)
	}
}

// set changes a row. What is left of one that cancels, below the cut times scale, is
// rounding and becomes 0.
func (r *unlearned) set(i int, x []float64, scale float64) {
	r.now[i], r.norms[i] = x, floats.Norm(x, 2)
	if r.norms[i] <= independenceCut*scale {
		clear(x)
		r.norms[i] = 0
	}
}

// mixed is one row of W times the rows.
func mixed(r Row, rows [][]float64) []float64 {
	x := slices.Clone(rows[r.Agent])
	floats.Scale(r.Self.Value, x)
	for _, l := range r.In {
		floats.AddScaled(x, l.Weight.Value, rows[l.From])
	}
	return x
}
