package network

import "math/big"

// exactView is a view in exact arithmetic, for plain methods or one matrix in all rounds:
// independent rows with integer entries, apart from the known columns, where they are 0.
type exactView struct {
	known   []bool
	rows    [][]*big.Int
	rank    int // without what the members know themselves
	agents  int
	columns int // not known
}

// exactView forms the running product of fractions. Which rows are independent is decided
// modulo a prime: rows that are dependent there, and not in truth, would be missed with
// the probability that a random prime of 61 bits divides a determinant.
func (g *Gossip) exactView(a Adversary) *exactView {
	p := g.primes()[0]
	e := newEchelon(p, g.Agents, a.members)
	v := &exactView{known: e.known, agents: g.Agents}
	now := make([][]*big.Rat, g.Agents)
	for i := range now {
		now[i] = make([]*big.Rat, g.Agents)
		for u := range now[i] {
			now[i][u] = new(big.Rat)
		}
		now[i][i].SetInt64(1)
	}
	for k, m := range g.Rounds {
		g.observed(a, k, func(sum []Link) {
			switch {
			case k == 0 && !g.SecureSum:
				e.learn(sum[0].From)
			case !e.full():
				x := combineExact(sum, now)
				if e.add(p.reduceAll(x)) {
					v.rows = append(v.rows, g.integers(x, e.known))
				}
			}
		})
		if e.full() {
			break
		}
		next := make([][]*big.Rat, len(m.rows))
		for i, row := range m.rows {
			next[i] = combineExact(append([]Link{{row.Agent, row.Self}}, row.In...), now)
		}
		for i, row := range m.rows {
			now[row.Agent] = next[i]
		}
	}
	v.rank = e.rank - len(a.members)
	for _, k := range v.known {
		if !k {
			v.columns++
		}
	}
	return v
}

func (m modulus) reduceAll(x []*big.Rat) []uint64 {
	out := make([]uint64, len(x))
	for u, v := range x {
		if v.Sign() != 0 {
			out[u] = m.reduce(v)
		}
	}
	return out
}

func combineExact(sum []Link, rows [][]*big.Rat) []*big.Rat {
	x := make([]*big.Rat, len(rows))
	var t big.Rat
	for u := range x {
		x[u] = new(big.Rat)
		for _, l := range sum {
			if v := rows[l.From][u]; v.Sign() != 0 {
				x[u].Add(x[u], t.Mul(l.Weight.Exact, v))
			}
		}
	}
	return x
}

// integers multiplies the columns of a row by the noise and the row by its common
// denominator.
func (g *Gossip) integers(x []*big.Rat, known []bool) []*big.Int {
	den, s := big.NewInt(1), new(big.Rat)
	scaled := make([]*big.Rat, len(x))
	for u, v := range x {
		scaled[u] = new(big.Rat)
		if !known[u] {
			scaled[u].Mul(v, s.SetFloat64(g.noise(u)))
		}
		d := scaled[u].Denom()
		den.Mul(den, new(big.Int).Div(d, new(big.Int).GCD(nil, nil, den, d)))
	}
	out := make([]*big.Int, len(x))
	for u, v := range scaled {
		out[u] = new(big.Int).Div(new(big.Int).Mul(v.Num(), den), v.Denom())
	}
	return out
}

// scores returns numerators over one denominator of the leverage scores b_u' (B B')^-1
// b_u of the columns b_u, by elimination of [B B' | B] that stays in integers (Bareiss
// 1968): with pivots d_k and entries v_ku of row k when it is the pivot row, the score is
// the sum of v_ku^2/(d_k d_{k+1}), and N_{k+1} = (N_k d_{k+1} + v_ku^2)/d_k is an integer
// for every partial sum N_k/d_k.
func (v *exactView) scores() (numerators []*big.Int, denominator *big.Int) {
	r := len(v.rows)
	m := make([][]*big.Int, r)
	var t big.Int
	for i := range m {
		m[i] = make([]*big.Int, r+v.agents)
		for j := range r {
			dot := new(big.Int)
			for u, x := range v.rows[i] {
				dot.Add(dot, t.Mul(x, v.rows[j][u]))
			}
			m[i][j] = dot
		}
		for u, x := range v.rows[i] {
			m[i][r+u] = new(big.Int).Set(x)
		}
	}
	sums := make([]*big.Int, v.agents)
	for u := range sums {
		sums[u] = new(big.Int)
	}
	last := big.NewInt(1)
	for k := range r {
		pivot := m[k][k]
		for u, n := range sums {
			n.Mul(n, pivot)
			n.Add(n, t.Mul(m[k][r+u], m[k][r+u]))
			n.Quo(n, last)
		}
		for i := k + 1; i < r; i++ {
			for j := k + 1; j < r+v.agents; j++ {
				x := m[i][j]
				x.Mul(x, pivot)
				x.Sub(x, t.Mul(m[i][k], m[k][j]))
				x.Quo(x, last)
			}
		}
		last = pivot
	}
	return sums, last
}

// leaks returns the exact leaks, rounded once.
func (v *exactView) leaks() []float64 {
	out := make([]float64, v.agents)
	if len(v.rows) == v.columns {
		for u := range out {
			out[u] = 1
		}
		return out
	}
	num, den := v.scores()
	for u := range out {
		if out[u], _ = new(big.Rat).SetFrac(num[u], den).Float64(); v.known[u] {
			out[u] = 1
		}
	}
	return out
}

// determined tells whether a unit row is in the row space.
func (v *exactView) determined() func(u int) bool {
	if len(v.rows) == v.columns {
		return func(int) bool { return true }
	}
	num, den := v.scores()
	return func(u int) bool { return v.known[u] || num[u].Cmp(den) == 0 }
}

// Reconstruction lists the agents whose values an adversary gets exactly where nothing is
// noised.
type Reconstruction struct {
	Agents     []int // without members
	Arithmetic string
}

// Reconstruct returns the agents whose values the view of a determines: those whose unit
// row is in its row space. Without noise it gets the values themselves, with noise each
// of them at the full local loss. Up to 128 agents and with fractions the answer is
// exact; with more agents it is computed modulo two primes, and with weights that are not
// fractions in double precision.
func (g *Gossip) Reconstruct(a Adversary) (*Reconstruction, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	if err := a.validate(g.Agents); err != nil {
		return nil, err
	}
	var determined func(u int) bool
	out := &Reconstruction{Agents: []int{}}
	switch {
	case !g.exact():
		v, err := g.View(a)
		if err != nil {
			return nil, err
		}
		out.Arithmetic = "double precision, cut 1e-12"
		determined = func(u int) bool { return v.Leak[u] == 1 }
	case g.Agents > largestExact:
		out.Arithmetic = "modulo two primes of 61 bits"
		determined = g.modularDetermined(a)
	default:
		e := g.exactView(a)
		out.Arithmetic = "exact"
		determined = e.determined()
	}
	for u := range g.Agents {
		if !a.has(u) && determined(u) {
			out.Agents = append(out.Agents, u)
		}
	}
	return out, nil
}

// modularDetermined tells whether a unit row is in the row space modulo either of two
// primes.
func (g *Gossip) modularDetermined(a Adversary) func(u int) bool {
	var spaces []*echelon
	for _, p := range g.primes() {
		if g.static() {
			e := newEchelon(p, g.Agents, a.members)
			e.krylov(g, a)
			spaces = append(spaces, e)
		} else {
			spaces = append(spaces, p.running(g, []Adversary{a})...)
		}
	}
	return func(u int) bool {
		for _, e := range spaces {
			if e.known[u] || e.full() {
				return true
			}
			x := make([]uint64, g.Agents)
			x[u] = e.m.one
			if !e.reduce(x) {
				return true
			}
		}
		return false
	}
}
