package network_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"sotto/internal/long"
)

// The worst pair is that of the largest epsilon of all pairs, composed one by one, on
// four graphs with links by chance, ten with the tag long.
func TestWorstPair(t *testing.T) {
	graphs := uint64(4)
	if long.Tests {
		graphs = 10
	}
	for seed := range graphs {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 3 + r.IntN(5)
		var l links
		for i := range n {
			for j := range i {
				if j == 0 && r.IntN(2) == 0 || r.IntN(3) == 0 || j == i-1 {
					l = append(l, [2]int{j, i})
				}
			}
		}
		w := walk(t, n, l, false)
		w.Steps, w.Visits = []int{3, 40, 400}[r.IntN(3)], 1+r.IntN(4)
		var pairs [][2]int
		for u := range n {
			for v := range n {
				if u != v {
					pairs = append(pairs, [2]int{u, v})
				}
			}
		}
		each, err := w.Pairs(pairs, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		k, epsilon, err := w.Worst(pairs, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		largest := 0.
		for _, x := range each {
			largest = max(largest, x)
		}
		if math.Abs(epsilon-largest) > 1e-9*largest || math.Abs(each[k]-largest) > 1e-9*largest {
			t.Errorf("graph %d, %v: pair %v with epsilon %v, the largest of %d is %v", seed, l, pairs[k],
				epsilon, len(each), largest)
		}
	}
}
