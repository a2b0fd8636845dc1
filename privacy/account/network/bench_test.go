package network_test

import (
	"math/rand/v2"
	"testing"

	"sotto/privacy/account/network"
)

// scattered links points in the unit square that are at most r apart: far fewer
// directions are lost than on regular graphs.
func scattered(n int, r float64) links {
	draw := rand.New(rand.NewPCG(7, 7))
	x, y := make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], y[i] = draw.Float64(), draw.Float64()
	}
	var l links
	for i := range n {
		for j := i + 1; j < n; j++ {
			if (x[i]-x[j])*(x[i]-x[j])+(y[i]-y[j])*(y[i]-y[j]) <= r*r {
				l = append(l, [2]int{i, j})
			}
		}
	}
	return l
}

// regular is a cycle with chords to the agents a quarter of it away and further: four
// links an agent.
func regular(n int) links {
	l := ring(n)
	for i := range n {
		j := (i + n/4 + 1) % n
		l = append(l, [2]int{min(i, j), max(i, j)})
	}
	return l
}

// BenchmarkObserver is one observer of 2,000 agents over 40 rounds; to reach: 10 s.
func BenchmarkObserver(b *testing.B) {
	const n = 2000
	for name, l := range map[string]links{"regular": regular(n), "geometric": scattered(n, .07)} {
		g := network.Gossip{Agents: n, Rounds: repeat(metropolis(b, n, l), 40)}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				view(b, g, network.Observer(5))
			}
		})
	}
}

// BenchmarkMatrix is every observer of 256 agents over 20 rounds; to reach: 10 s.
func BenchmarkMatrix(b *testing.B) {
	const n = 256
	var all []network.Adversary
	for v := range n {
		all = append(all, network.Observer(v))
	}
	for name, g := range map[string]network.Gossip{
		"hypercube": {Agents: n, Rounds: repeat(metropolis(b, n, hypercube(8)), 20)},
		"geometric": {Agents: n, Rounds: repeat(metropolis(b, n, scattered(n, .12)), 20)},
		"changing":  {Agents: n, Rounds: apart(b, n, regular(n), 20)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Views(all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
