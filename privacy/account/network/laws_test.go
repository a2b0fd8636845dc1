package network_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"sotto/agent"
	"sotto/algo"
	"sotto/privacy/account/network"
)

// num is a number of 300 bits.
func num(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }

// bigBasis are orthonormal rows of that precision.
type bigBasis [][]*big.Float

func bigDot(a, b []*big.Float) *big.Float {
	s := num(0)
	for i := range a {
		s.Add(s, num(0).Mul(a[i], b[i]))
	}
	return s
}

// add orthogonalises a row with the noise of its columns, but for those of members.
func (basis *bigBasis) add(row []*big.Float, members []int, noise []float64) {
	x := make([]*big.Float, len(row))
	for u := range x {
		x[u] = num(0).Mul(row[u], num(noise[u]))
		if slices.Contains(members, u) {
			x[u] = num(0)
		}
	}
	before := bigDot(x, x)
	for range 2 {
		for _, q := range *basis {
			c := bigDot(q, x)
			for u := range x {
				x[u].Sub(x[u], num(0).Mul(c, q[u]))
			}
		}
	}
	left := bigDot(x, x)
	if left.Sign() == 0 || num(0).Quo(left, before).Cmp(num(1e-120)) < 0 {
		return
	}
	s := num(0).Sqrt(left)
	for u := range x {
		x[u].Quo(x[u], s)
	}
	*basis = append(*basis, x)
}

// reference is the definition: the rows that members receive, from dense powers of W in
// 300 bits, and e_u' B^+ B e_u by Gram-Schmidt at that precision.
func reference(n, rounds int, m *mat.Dense, members []int, noise []float64) (leak []float64, rank int) {
	exact := func(i, j int) *big.Float { // weights are fractions with small denominators
		x := m.At(i, j)
		for q := 1.; ; q++ {
			if p := math.Round(x * q); math.Abs(p/q-x) < 1e-14 {
				return num(0).Quo(num(p), num(q))
			}
		}
	}
	w := make([][]*big.Float, n)
	power := make([][]*big.Float, n)
	for i := range w {
		w[i], power[i] = make([]*big.Float, n), make([]*big.Float, n)
		for j := range w[i] {
			w[i][j], power[i][j] = exact(i, j), num(0)
		}
		power[i][i] = num(1)
	}
	var basis bigBasis
	for range rounds {
		for _, a := range members {
			for s := range n {
				if s != a && m.At(a, s) != 0 && !slices.Contains(members, s) {
					basis.add(power[s], members, noise)
				}
			}
		}
		next := make([][]*big.Float, n)
		for i := range next {
			next[i] = make([]*big.Float, n)
			for u := range next[i] {
				next[i][u] = num(0)
				for j := range n {
					next[i][u].Add(next[i][u], num(0).Mul(w[i][j], power[j][u]))
				}
			}
		}
		power = next
	}
	leak = make([]float64, n)
	for u := range leak {
		for _, q := range basis {
			x, _ := q[u].Float64()
			leak[u] += x * x
		}
		if slices.Contains(members, u) {
			leak[u] = 1
		}
	}
	return leak, len(basis)
}

func dense(n int, l links) *mat.Dense {
	degree := make([]int, n)
	for _, e := range l {
		degree[e[0]]++
		degree[e[1]]++
	}
	w := mat.NewDense(n, n, nil)
	for i := range n {
		w.Set(i, i, 1)
	}
	for _, e := range l {
		x := 1 / float64(1+max(degree[e[0]], degree[e[1]]))
		for k, i := range e {
			w.Set(i, e[1-k], x)
			w.Set(i, i, w.At(i, i)-x)
		}
	}
	return w
}

func drawMembers(t *rapid.T, n int) []int {
	m := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, n-1, rapid.ID[int]).Draw(t, "members")
	slices.Sort(m)
	return m
}

// Both ways to compute a view agree with the definition, on random graphs, coalitions,
// rounds and noises.
func TestLeakIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, l := drawGraph(rt)
		rounds := rapid.IntRange(0, 8).Draw(rt, "rounds")
		members := drawMembers(rt, n)
		noise := make([]float64, n)
		for i := range noise {
			noise[i] = 1
			if rapid.Bool().Draw(rt, "noisier") {
				noise[i] = rapid.Float64Range(.1, 10).Draw(rt, "noise")
			}
		}
		want, rank := reference(n, rounds, dense(n, l), members, noise)
		for _, g := range []network.Gossip{
			{Agents: n, Rounds: repeat(metropolis(t, n, l), rounds), Noise: noise},
			{Agents: n, Rounds: apart(t, n, l, rounds), Noise: noise},
		} {
			v, err := g.View(network.Coalition(members...))
			if err != nil {
				rt.Fatal(err)
			}
			if v.Rank != rank {
				rt.Fatalf("rank %d, want %d (%s)", v.Rank, rank, v.Decided)
			}
			for u := range want {
				if math.Abs(v.Leak[u]-want[u]) > 1e-9 {
					rt.Fatalf("leak of %d: %v, want %v (%s)", u, v.Leak[u], want[u], v.Decided)
				}
			}
		}
	})
}

// Leaks are in [0, 1], add up to the rank, and never fall with rounds or with colluders;
// a secure sum never tells more than its parts.
func TestLeakLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, l := drawGraph(rt)
		rounds := rapid.IntRange(1, 6).Draw(rt, "rounds")
		members := drawMembers(rt, n)
		m := metropolis(t, n, l)
		all := repeat(m, rounds)
		if rapid.Bool().Draw(rt, "changing") {
			all = apart(t, n, l, rounds)
		}
		see := func(g network.Gossip, observers ...int) *network.View {
			v, err := g.View(network.Coalition(observers...))
			if err != nil {
				rt.Fatal(err)
			}
			sum := 0.
			for u, x := range v.Leak {
				if !(x >= 0 && x <= 1) {
					rt.Fatalf("leak of %d is %v", u, x)
				}
				if !slices.Contains(observers, u) {
					sum += x
				}
			}
			if math.Abs(sum-float64(v.Rank)) > 1e-9 {
				rt.Fatalf("leaks add up to %v at rank %d", sum, v.Rank)
			}
			return v
		}
		full := see(network.Gossip{Agents: n, Rounds: all}, members...)
		for what, less := range map[string]*network.View{
			"a round less":    see(network.Gossip{Agents: n, Rounds: all[:rounds-1]}, members...),
			"one member":      see(network.Gossip{Agents: n, Rounds: all}, members[0]),
			"a secure sum":    see(network.Gossip{Agents: n, Rounds: all, SecureSum: true}, members...),
			"one round alone": see(network.Gossip{Agents: n, Rounds: all[:1]}, members...),
		} {
			for u := range n {
				if less.Leak[u] > full.Leak[u]+1e-9 {
					rt.Fatalf("%s: leak of %d is %v, with it %v", what, u, less.Leak[u], full.Leak[u])
				}
			}
		}
	})
}

// Other names for the agents, another unit of noise and, with one matrix, another method
// change nothing; listeners learn every value's noisy form.
func TestLeakInvariances(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, l := drawGraph(rt)
		rounds := rapid.IntRange(1, 6).Draw(rt, "rounds")
		members := drawMembers(rt, n)
		w := metropolis(t, n, l)
		see := func(g network.Gossip, a network.Adversary) []float64 {
			g.Agents = n
			v, err := g.View(a)
			if err != nil {
				rt.Fatal(err)
			}
			return v.Leak
		}
		plain := see(network.Gossip{Rounds: repeat(w, rounds)}, network.Coalition(members...))

		to := rapid.Permutation(seq(n)).Draw(rt, "names")
		var renamed links
		for _, e := range l {
			renamed = append(renamed, [2]int{to[e[0]], to[e[1]]})
		}
		others := make([]int, len(members))
		for k, m := range members {
			others[k] = to[m]
		}
		permuted := see(network.Gossip{Rounds: repeat(metropolis(t, n, renamed), rounds)},
			network.Coalition(others...))
		noise := make([]float64, n)
		for i := range noise {
			noise[i] = 37.5
		}
		scaled := see(network.Gossip{Rounds: repeat(w, rounds), Noise: noise}, network.Coalition(members...))
		same := func(what string, got func(u int) float64) {
			for u := range n {
				if math.Abs(got(u)-plain[u]) > 1e-9 {
					rt.Fatalf("%s: leak of %d is %v, plain %v", what, u, got(u), plain[u])
				}
			}
		}
		same("renamed", func(u int) float64 { return permuted[to[u]] })
		same("noise in another unit", func(u int) float64 { return scaled[u] })
		for _, name := range []string{"chebyshev", "chebyshev-ns", "jacobi", "paper"} {
			recursion := algo.Recursion{Acceleration: name}
			if name == "jacobi" {
				recursion.Dimension = 2
			}
			steps, err := recursion.Coefficients(agent.Env{Graph: agent.Graph{SLEM: .6, Lambda2: .6}}, rounds)
			if err != nil {
				rt.Fatal(err)
			}
			method := network.Averaging(name, steps)
			fast := see(network.Gossip{Rounds: repeat(w, rounds), Method: method},
				network.Coalition(members...))
			same(name, func(u int) float64 { return fast[u] })
			slow := see(network.Gossip{Rounds: apart(t, n, l, rounds), Method: method},
				network.Coalition(members...))
			same(name+", round by round", func(u int) float64 { return slow[u] })
		}
		for _, a := range []network.Adversary{network.AllMessages(), network.Eavesdropper()} {
			for u, x := range see(network.Gossip{Rounds: repeat(w, 1)}, a) {
				if x != 1 {
					rt.Fatalf("%v: leak of %d is %v", a, u, x)
				}
			}
		}
	})
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// With secure sums an observer gets one number a round: on a ring of three the sum of
// both others, and never each of them.
func TestSecureSum(t *testing.T) {
	g := network.Gossip{Agents: 3, Rounds: repeat(metropolis(t, 3, complete(3)), 5), SecureSum: true}
	if v := view(t, g, network.Observer(0)); v.Rank != 1 || math.Abs(v.Leak[1]-.5) > 1e-12 ||
		math.Abs(v.Leak[2]-.5) > 1e-12 {
		t.Errorf("rank %d, leaks %v, want one direction shared by two", v.Rank, v.Leak)
	}
	// All sums together determine all three values: W - diag is invertible.
	if v := view(t, g, network.Eavesdropper()); v.Rank != 3 {
		t.Errorf("rank %d of all sums, want 3", v.Rank)
	}
	// Members know what they add to a sum themselves.
	if v := view(t, g, network.Coalition(0, 1)); v.Leak[2] != 1 {
		t.Errorf("leak %v of the only one outside a coalition", v.Leak[2])
	}
}

// A lost message is a row less: with the link 0-1 of a path lost in round 1, the observer
// 2 never learns about 0 what it does otherwise.
func TestLostMessages(t *testing.T) {
	whole, cut := metropolis(t, 3, path(3)), metropolis(t, 3, links{{1, 2}})
	for _, tc := range []struct {
		rounds []*network.Matrix
		want   float64
	}{{[]*network.Matrix{whole, whole}, 1}, {[]*network.Matrix{cut, whole}, 0},
		{[]*network.Matrix{whole, cut}, 1}} {
		if v := view(t, network.Gossip{Agents: 3, Rounds: tc.rounds},
			network.Observer(2)); math.Abs(v.Leak[0]-tc.want) > 1e-12 {
			t.Errorf("leak %v, want %v", v.Leak[0], tc.want)
		}
	}
}

// A direction below the cut of double precision is found modulo primes: with a weight of
// 1e-13 the far end of a path is determined all the same.
func TestTinyWeightsHideNothing(t *testing.T) {
	weak := func(n int) network.Gossip {
		m := weighted(t, n, path(n), func(i, _ int) (int64, int64) {
			if i == 0 {
				return 1, 10_000_000_000_000
			}
			return 1, 3
		})
		return network.Gossip{Agents: n, Rounds: repeat(m, 2)}
	}
	v := view(t, weak(3), network.Observer(2))
	if v.Leak[0] != 1 || v.Rank != 2 || v.Decided != network.DecidedExact {
		t.Errorf("leak %v, rank %d by %s", v.Leak[0], v.Rank, v.Decided)
	}
	big := weak(130)
	big.Rounds = repeat(big.Rounds[0], 3)
	v = view(t, big, network.Observer(2))
	// agents up to 5 are within three hops of 2's neighbors
	for u, want := range []float64{1, 1, 1, 1, 1, 1, 0} {
		if u != 5 && v.Leak[u] != want {
			t.Errorf("leak of %d is %v, want %v (%s)", u, v.Leak[u], want, v.Decided)
		}
	}
	if v.Decided != network.DecidedWorst {
		t.Errorf("decided by %s", v.Decided)
	}
	// Known to rounding only, the same weights count above the cut.
	rows := []network.Row{{Agent: 0, Self: network.Inexact(1),
		In: []network.Link{{From: 1, Weight: network.Inexact(1e-13)}}},
		{Agent: 1, Self: network.Inexact(.6), In: []network.Link{{From: 0, Weight: network.Inexact(1e-9)},
			{From: 2, Weight: network.Inexact(.4)}}},
		{Agent: 2, Self: network.Inexact(.6), In: []network.Link{{From: 1, Weight: network.Inexact(.4)}}}}
	m, err := network.NewMatrix(rows)
	if err != nil {
		t.Fatal(err)
	}
	if v := view(t, network.Gossip{Agents: 3, Rounds: repeat(m, 3)}, network.Observer(2)); v.Leak[0] != 1 {
		t.Errorf("leak %v by %s", v.Leak[0], v.Decided)
	}
}

func TestRecognise(t *testing.T) {
	for _, x := range []float64{0, 1, -.25, 1. / 3, 1. / 7, 2. / 65521, .05, 1 - 1./11, .5 / 13} {
		if w := network.Recognise(x); w.Exact == nil {
			t.Errorf("%v is not recognised", x)
		} else if back, _ := w.Exact.Float64(); back != x || w.Value != x {
			t.Errorf("%v became %v", x, w.Exact)
		}
	}
	for _, x := range []float64{math.Pi, math.Sqrt2, 1e-13, math.Nextafter(1./3, 1), math.NaN(),
		math.Inf(1)} {
		if w := network.Recognise(x); w.Exact != nil {
			t.Errorf("%v was taken for %v", x, w.Exact)
		}
	}
}

// Agent 1 passes on the value of agent 0 after its own: what comes of one whose noise is
// 1e-13 of the other's is within the cut, and tells all about agent 0.
func TestLittleNoiseHidesNothing(t *testing.T) {
	row := func(i int, from ...int) network.Row {
		r := network.Row{Agent: i, Self: network.Inexact(.6)}
		for _, j := range from {
			r.In = append(r.In, network.Link{From: j, Weight: network.Inexact(.4 / float64(len(from)))})
		}
		return r
	}
	m, err := network.NewMatrix([]network.Row{row(0, 1), row(1, 0, 2), row(2, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, noise := range [][]float64{nil, {1, 1e3, 1}, {1e-7, 1e6, 1}} {
		v := view(t, network.Gossip{Agents: 3, Rounds: repeat(m, 2), Noise: noise}, network.Observer(2))
		if v.Leak[0] != 1 {
			t.Errorf("noise %v: leak %v by %s", noise, v.Leak[0], v.Decided)
		}
	}
}
