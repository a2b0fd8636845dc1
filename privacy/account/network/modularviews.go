package network

import "math/big"

// reduced is a matrix modulo a prime.
type reduced struct {
	modulus
	of map[*big.Rat]uint64
}

func (m modulus) reduced() reduced { return reduced{m, map[*big.Rat]uint64{}} }

func (r reduced) weight(w Weight) uint64 {
	v, ok := r.of[w.Exact]
	if !ok {
		v = r.reduce(w.Exact)
		r.of[w.Exact] = v
	}
	return v
}

// ranks returns the rank of each adversary's view modulo p, without what members
// know themselves. It is never above the true rank.
func (p modulus) ranks(g *Gossip, adversaries []Adversary) []int {
	ranks := make([]int, len(adversaries))
	if g.static() {
		for i, a := range adversaries {
			e := newEchelon(p, g.Agents, a.members)
			e.krylov(g, a)
			ranks[i] = e.rank - len(a.members)
		}
		return ranks
	}
	// Rows of the running product are shared by as many adversaries as fit in memory.
	most := max(1, 1<<26/(g.Agents*g.Agents))
	for from := 0; from < len(adversaries); from += most {
		part := adversaries[from:min(len(adversaries), from+most)]
		for i, e := range p.running(g, part) {
			ranks[from+i] = e.rank - len(part[i].members)
		}
	}
	return ranks
}

// krylov is Gossip.krylov modulo p.
func (e *echelon) krylov(g *Gossip, a Adversary) {
	if len(g.Rounds) == 0 {
		return
	}
	r := e.m.reduced()
	var fresh [][]uint64
	g.observed(a, 0, func(sum []Link) {
		x := make([]uint64, g.Agents)
		for _, l := range sum {
			x[l.From] = r.weight(l.Weight)
		}
		if !g.SecureSum {
			e.learn(sum[0].From)
			fresh = append(fresh, x)
		} else if e.add(x) {
			fresh = append(fresh, x)
		}
	})
	w := r.operator(g.operator(g.Rounds[0]))
	for range len(g.Rounds) - 1 {
		var next [][]uint64
		for _, x := range fresh {
			if e.full() {
				return
			}
			if y := w.apply(x); e.add(y) {
				next = append(next, y)
			}
		}
		fresh = next
	}
}

// reducedOperator is x -> W'x modulo p; noise scales columns, which changes no rank.
type reducedOperator struct {
	*operator
	modulus
	self []uint64   // by row
	in   [][]uint64 // by row, in the order of its links
}

func (r reduced) operator(o *operator) *reducedOperator {
	out := &reducedOperator{operator: o, modulus: r.modulus}
	for _, row := range o.m.rows {
		out.self = append(out.self, r.weight(row.Self))
		in := make([]uint64, len(row.In))
		for k, l := range row.In {
			in[k] = r.weight(l.Weight)
		}
		out.in = append(out.in, in)
	}
	return out
}

func (o *reducedOperator) apply(x []uint64) []uint64 {
	y := make([]uint64, len(x))
	for i, keeps := range o.keeps {
		if keeps {
			y[i] = x[i]
		}
	}
	for k, row := range o.m.rows {
		xi := x[row.Agent]
		if xi == 0 {
			continue
		}
		y[row.Agent] = o.add(y[row.Agent], o.mul(o.self[k], xi))
		for j, l := range row.In {
			y[l.From] = o.add(y[l.From], o.mul(o.in[k][j], xi))
		}
	}
	return y
}

// running forms the running product modulo p and each adversary's rows of it.
// Methods other than plain are not exact and do not come here.
func (p modulus) running(g *Gossip, adversaries []Adversary) []*echelon {
	out := make([]*echelon, len(adversaries))
	for i, a := range adversaries {
		out[i] = newEchelon(p, g.Agents, a.members)
	}
	r := p.reduced()
	now := make([][]uint64, g.Agents)
	for i := range now {
		now[i] = make([]uint64, g.Agents)
		now[i][i] = p.one
	}
	for k, m := range g.Rounds {
		for i, a := range adversaries {
			g.observed(a, k, func(sum []Link) {
				if k == 0 && !g.SecureSum {
					out[i].learn(sum[0].From)
				} else if !out[i].full() {
					out[i].add(r.combine(sum, now))
				}
			})
		}
		next := make([][]uint64, len(m.rows))
		for i, row := range m.rows {
			next[i] = r.combine(append([]Link{{row.Agent, row.Self}}, row.In...), now)
		}
		for i, row := range m.rows {
			now[row.Agent] = next[i]
		}
	}
	return out
}

func (r reduced) combine(sum []Link, rows [][]uint64) []uint64 {
	x := make([]uint64, len(rows))
	for _, l := range sum {
		c := r.weight(l.Weight)
		for u, v := range rows[l.From] {
			if v != 0 {
				x[u] = r.add(x[u], r.mul(c, v))
			}
		}
	}
	return x
}
