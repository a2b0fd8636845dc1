package network

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// wakes are rounds in which two agents meet and take their mean; the others keep their
// values.
func wakes(t *testing.T, r *rand.Rand, agents, rounds int) []*Matrix {
	var out []*Matrix
	half := Fraction(1, 2)
	for range rounds {
		i := r.IntN(agents)
		j := (i + 1 + r.IntN(agents-1)) % agents
		m, err := NewMatrix([]Row{{i, half, []Link{{j, half}}}, {j, half, []Link{{i, half}}}})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// uneven are rounds of matrices that are neither symmetric nor alike.
func uneven(t *testing.T, r *rand.Rand, agents, rounds int) []*Matrix {
	var out []*Matrix
	for range rounds {
		var rows []Row
		for i := range agents {
			row := Row{Agent: i, Self: Fraction(int64(r.IntN(3)), 7)}
			for j := range agents {
				if j != i && r.IntN(agents) < 2 {
					row.In = append(row.In, Link{j, Fraction(int64(r.IntN(4)), 7)})
				}
			}
			rows = append(rows, row)
		}
		m, err := NewMatrix(rows)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// Double precision, arithmetic modulo primes and exact fractions agree on leaks, ranks
// and which values are determined: meetings of two, and matrices that change, are
// singular or have weight 0 on a link.
func TestArithmeticsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	for trial := range 60 {
		n := 3 + r.IntN(8)
		g := Gossip{Agents: n, SecureSum: trial%3 == 0}
		switch trial % 4 {
		case 0, 1:
			g.Rounds = wakes(t, r, n, 1+r.IntN(40))
		case 2:
			g.Rounds = uneven(t, r, n, 1+r.IntN(6))
		default:
			m := uneven(t, r, n, 1)[0]
			for range 1 + r.IntN(6) {
				g.Rounds = append(g.Rounds, m)
			}
		}
		if trial%5 == 0 {
			g.Noise = make([]float64, n)
			for i := range g.Noise {
				g.Noise[i] = .25 + r.Float64()
			}
		}
		a := Coalition(r.IntN(n), r.IntN(n))
		e := g.exactView(a)
		v, err := g.View(a)
		if err != nil {
			t.Fatal(err)
		}
		if v.Rank != e.rank {
			t.Fatalf("trial %d: rank %d, exact %d (%s)", trial, v.Rank, e.rank, v.Decided)
		}
		for u, want := range e.leaks() {
			if !a.has(u) && math.Abs(v.Leak[u]-want) > 1e-9 {
				t.Fatalf("trial %d: leak of %d is %v, exact %v", trial, u, v.Leak[u], want)
			}
		}
		for _, p := range g.primes() {
			if rank := p.ranks(&g, []Adversary{a})[0]; rank != e.rank {
				t.Fatalf("trial %d: rank %d modulo %d, want %d", trial, rank, p.p, e.rank)
			}
		}
		determined := g.modularDetermined(a)
		got, err := g.Reconstruct(a)
		if err != nil {
			t.Fatal(err)
		}
		for u := range n {
			if is := slices.Contains(got.Agents, u); !a.has(u) &&
				(is != determined(u) || is != (v.Leak[u] == 1)) {
				t.Fatalf("trial %d: agent %d is determined exactly %v, modulo primes %v, leak %v", trial, u,
					is, determined(u), v.Leak[u])
			}
		}
	}
}

func TestMontgomery(t *testing.T) {
	m := newModulus(1<<61 - 1)
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		num, den := int64(r.IntN(1<<20))-1<<19, int64(1+r.IntN(1<<20))
		x := m.reduce(Fraction(num, den).Exact)
		back := m.mul(x, m.reduce(Fraction(den, 1).Exact))
		if back != m.reduce(Fraction(num, 1).Exact) {
			t.Fatalf("%d/%d times %d is not %d", num, den, den, num)
		}
		if x != 0 && m.mul(x, m.invert(x)) != m.one || m.add(x, m.sub(0, x)) != 0 {
			t.Fatalf("inverses of %d/%d fail", num, den)
		}
	}
}

// Three agents in a line: 2 gets everybody's value from two rounds, and 0 shares no link
// with it.
func TestReconstructThree(t *testing.T) {
	third := Fraction(1, 3)
	m, err := NewMatrix([]Row{{0, Fraction(2, 3), []Link{{1, third}}},
		{1, third, []Link{{0, third}, {2, third}}}, {2, Fraction(2, 3), []Link{{1, third}}}})
	if err != nil {
		t.Fatal(err)
	}
	for rounds, want := range [][]int{{}, {1}, {0, 1}} {
		g := Gossip{Agents: 3}
		for range rounds {
			g.Rounds = append(g.Rounds, m)
		}
		got, err := g.Reconstruct(Observer(2))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Agents, want) || got.Arithmetic != "exact" {
			t.Errorf("%d rounds: %v (%s), want %v", rounds, got.Agents, got.Arithmetic, want)
		}
	}
	// Without its own value, half of 0's loss: the direction (1, 0, 1)/sqrt 2 beside x_1.
	e := exactView{known: []bool{false, true, false}, agents: 3, columns: 2, rows: rowsOf(1, 0, 1)}
	if l := e.leaks(); l[0] != .5 || l[2] != .5 {
		t.Errorf("leaks %v, want .5", l)
	}
}

func rowsOf(x ...int64) [][]*big.Int {
	row := make([]*big.Int, len(x))
	for u, v := range x {
		row[u] = big.NewInt(v)
	}
	return [][]*big.Int{row}
}

// twoCycles is a random graph with four links an agent.
func twoCycles(t *testing.T, r *rand.Rand, n int) *Matrix {
	for {
		neighbors := make([]map[int]bool, n)
		for i := range neighbors {
			neighbors[i] = map[int]bool{}
		}
		for range 2 {
			p := r.Perm(n)
			for k, i := range p {
				j := p[(k+1)%n]
				neighbors[i][j], neighbors[j][i] = true, true
			}
		}
		fifth := Fraction(1, 5)
		var rows []Row
		for i, js := range neighbors {
			row := Row{Agent: i, Self: fifth}
			for j := range n {
				if js[j] {
					row.In = append(row.In, Link{j, fifth})
				}
			}
			rows = append(rows, row)
		}
		if slices.ContainsFunc(rows, func(r Row) bool { return len(r.In) != 4 }) {
			continue
		}
		m, err := NewMatrix(rows)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// Rows of high powers of W are alike to rounding: their singular values fall below a cut
// of 1e-12, and directions that are there seem to be missing. A round of a random
// 4-regular graph tells its observer four new numbers, 80 in 20 rounds; the rank modulo a
// prime, which is never above the true one, is 80 too.
func TestNoDirectionDrowns(t *testing.T) {
	const n, rounds = 512, 20
	m := twoCycles(t, rand.New(rand.NewPCG(20, 4)), n)
	g := Gossip{Agents: n}
	for range rounds {
		g.Rounds = append(g.Rounds, m)
	}
	a := Observer(7)
	v, err := g.View(a)
	if err != nil {
		t.Fatal(err)
	}
	if rank := g.primes()[0].ranks(&g, []Adversary{a})[0]; v.Rank != 80 || rank != 80 {
		t.Errorf("rank %d, modulo a prime %d, want 80", v.Rank, rank)
	}
	// The same round by round, where there is no Krylov space.
	for k := range g.Rounds {
		again, err := NewMatrix(slices.Clone(m.rows))
		if err != nil {
			t.Fatal(err)
		}
		g.Rounds[k] = again
	}
	w, err := g.View(a)
	if err != nil {
		t.Fatal(err)
	}
	for u, l := range v.Leak {
		if math.Abs(w.Leak[u]-l) > 1e-9 {
			t.Fatalf("leak of %d: %v from one matrix, %v round by round", u, l, w.Leak[u])
		}
	}
}
