package rng

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
)

// drawn is what testdata/reference.json has: draws by an implementation in Python, with a
// cipher of its own, from docs/draws.md and the papers that it names
// (experiment/run/testdata/reference/samplers.py).
type drawn struct {
	Words, Public, Pair, Derived, Below []string
	Normals                             []float64
	Select                              [][2]any
	Laplace, Gauss                      map[string][]int64
	Bernoulli                           map[string]string
}

func TestReference(t *testing.T) {
	b, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var want drawn
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	at := func(seed uint64, agent uint32, seq uint64, d Domain) *Stream {
		k := Simulated(seed, agent, seq)
		return NewStream(&k, d)
	}
	check := func(what string, got, want any) {
		t.Helper()
		if a, b := fmt.Sprint(got), fmt.Sprint(want); a != b {
			t.Errorf("%s: %s, want %s", what, a, b)
		}
	}
	words := func(what string, s *Stream, want []string) {
		t.Helper()
		for i, w := range want {
			check(fmt.Sprint(what, " ", i), s.Uint64(), w)
		}
		if len(want) < 4 {
			t.Errorf("%s: %d words", what, len(want))
		}
	}
	words("word", at(7, 3, 11, Sample), want.Words)
	words("public word", Public(9, "a purpose", 2, 3), want.Public)
	pair := Pair(SimulatedPair(5, 2, 8), 6, 1)
	words("shared word", NewStream(&pair, Noise), want.Pair)
	var secret Key
	for i := range secret {
		secret[i] = byte(i)
	}
	words("derived word", Derived(&secret, "folds", 4), want.Derived)
	below := at(1, 0, 3, Noise)
	for i, n := range []uint64{3, 1<<63 + 1, 1<<63 + 1, 1<<63 + 1, 1e18, 7} {
		check(fmt.Sprint("Below ", i), below.Below(n), want.Below[i])
	}
	normals := make([]float64, 9)
	at(1, 0, 2, Noise).Normals(normals)
	for i, z := range normals {
		if math.Abs(z-want.Normals[i]) > 1e-14*max(1, math.Abs(z)) {
			t.Errorf("normal %d: %v, want %v", i, z, want.Normals[i])
		}
	}
	want.hold(t, at, check)
}

// hold checks what is drawn by integers alone.
func (want *drawn) hold(t *testing.T, at func(uint64, uint32, uint64, Domain) *Stream,
	check func(what string, got, want any)) {
	index := make([]int32, 300)
	for i := range index {
		index[i] = int32(i)
	}
	for _, w := range want.Select {
		if r, all := Threshold(w[0].(float64)); !all {
			check("Select", at(1, 0, 4, Sample).Select(nil, index, r), w[1])
		}
	}
	if len(want.Select) < 4 || len(want.Gauss) < 9 || len(want.Laplace) < 4 || len(want.Bernoulli) < 5 {
		t.Error("the file is not whole")
	}
	for k, scale := range []uint64{1, 3, 1 << 20, 1 << 40} {
		s, got := at(2, 0, uint64(k), Noise), make([]int64, 40)
		for i := range got {
			got[i] = s.DiscreteLaplace(scale)
		}
		check("DiscreteLaplace", got, want.Laplace[fmt.Sprint(scale)])
	}
	for k, q := range [][2]uint64{{7, 10}, {1, 1}, {173, 10}, {31, 1}, {32, 1}, {40, 1}, {1 << 20, 1},
		{1 << 30, 1}, {1<<20 - 1, 1}} {
		g, err := NewDiscreteGaussian(q[0], q[1])
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int64, 60)
		g.Fill(at(3, 0, uint64(k), Noise), got)
		if name := fmt.Sprintf("%d/%d", q[0], q[1]); !slices.Equal(got, want.Gauss[name]) {
			t.Errorf("DiscreteGaussian %s: %v, want %v", name, got, want.Gauss[name])
		}
	}
	for k, q := range [][2]uint64{{1, 2}, {5, 2}, {7, 7}, {0, 3}, {1e18, 1e19}} {
		s, got := at(4, 0, uint64(k), Noise), ""
		for range 60 {
			got += map[bool]string{true: "1", false: "0"}[s.BernoulliExp(q[0], q[1])]
		}
		check("BernoulliExp", got, want.Bernoulli[fmt.Sprintf("%d/%d", q[0], q[1])])
	}
}
