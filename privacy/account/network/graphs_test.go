package network_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"sotto/privacy/account/network"
)

// links lists pairs i < j.
type links [][2]int

func ring(n int) links {
	var l links
	for i := range n {
		l = append(l, [2]int{min(i, (i+1)%n), max(i, (i+1)%n)})
	}
	return l
}

func path(n int) links {
	var l links
	for i := 1; i < n; i++ {
		l = append(l, [2]int{i - 1, i})
	}
	return l
}

func complete(n int) links {
	var l links
	for i := range n {
		for j := i + 1; j < n; j++ {
			l = append(l, [2]int{i, j})
		}
	}
	return l
}

func hypercube(dim int) links {
	var l links
	for i := range 1 << dim {
		for b := range dim {
			if j := i ^ 1<<b; i < j {
				l = append(l, [2]int{i, j})
			}
		}
	}
	return l
}

// named reads "ring(8)".
func named(t testing.TB, name string) (n int, l links) {
	for family, f := range map[string]func(int) links{"ring": ring, "path": path, "complete": complete,
		"hypercube": hypercube} {
		if k, err := fmt.Sscanf(name, family+"(%d)", &n); k == 1 && err == nil {
			l = f(n)
			if family == "hypercube" {
				n = 1 << n
			}
			return n, l
		}
	}
	t.Fatalf("no graph %q", name)
	return 0, nil
}

// metropolis puts weights 1/(1+max degree) on links, as fractions.
func metropolis(t testing.TB, n int, l links) *network.Matrix {
	t.Helper()
	degree := make([]int, n)
	for _, e := range l {
		degree[e[0]]++
		degree[e[1]]++
	}
	return weighted(t, n, l, func(i, j int) (num, den int64) {
		return 1, int64(1 + max(degree[i], degree[j]))
	})
}

// weighted puts symmetric fractions on links; the remainder is the agent's own.
func weighted(t testing.TB, n int, l links, w func(i, j int) (num, den int64)) *network.Matrix {
	t.Helper()
	rows := make([]network.Row, n)
	for i := range rows {
		rows[i] = network.Row{Agent: i, Self: network.Fraction(1, 1)}
	}
	for _, e := range l {
		num, den := w(e[0], e[1])
		for k, i := range e {
			weight := network.Fraction(num, den)
			rows[i].In = append(rows[i].In, network.Link{From: e[1-k], Weight: weight})
			rows[i].Self.Exact.Sub(rows[i].Self.Exact, weight.Exact)
		}
	}
	for i := range rows {
		rows[i].Self.Value, _ = rows[i].Self.Exact.Float64()
	}
	m, err := network.NewMatrix(rows)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// repeat is K rounds of one matrix.
func repeat(m *network.Matrix, rounds int) []*network.Matrix {
	all := make([]*network.Matrix, rounds)
	for k := range all {
		all[k] = m
	}
	return all
}

// apart are K rounds of equal matrices that are not the same.
func apart(t testing.TB, n int, l links, rounds int) []*network.Matrix {
	all := make([]*network.Matrix, rounds)
	for k := range all {
		all[k] = metropolis(t, n, l)
	}
	return all
}

func view(t testing.TB, g network.Gossip, a network.Adversary) *network.View {
	t.Helper()
	v, err := g.View(a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// drawGraph is a connected random graph of 3 to 12 agents: a random tree and links on
// top.
func drawGraph(t *rapid.T) (n int, l links) {
	n = rapid.IntRange(3, 12).Draw(t, "agents")
	has := map[[2]int]bool{}
	add := func(i, j int) {
		e := [2]int{min(i, j), max(i, j)}
		if i != j && !has[e] {
			has[e] = true
			l = append(l, e)
		}
	}
	for i := 1; i < n; i++ {
		add(i, rapid.IntRange(0, i-1).Draw(t, "parent"))
	}
	for range rapid.IntRange(0, n).Draw(t, "more") {
		add(rapid.IntRange(0, n-1).Draw(t, "i"), rapid.IntRange(0, n-1).Draw(t, "j"))
	}
	return n, l
}
