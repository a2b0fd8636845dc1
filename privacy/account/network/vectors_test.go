package network_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"sotto/privacy/account/network"
)

// TestVectors checks every leak, DECOR and walk row of the golden file, and that each
// interval is narrow enough to fail.
func TestVectors(t *testing.T) {
	f, err := os.Open("../testdata/accounting_vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	col := map[string]int{}
	for i, name := range rows[0] {
		col[name] = i
	}
	evaluate := map[string]func(testing.TB, params, []string) float64{
		"linear_gaussian": exactRow, "muffliato_printed": printedRow, "decor_secldp": decorRow,
		"random_walk_printed": walkRow}
	tested := map[string]int{}
	for _, r := range rows[1:] {
		name := r[col["accountant"]]
		eval, ours := evaluate[name]
		if !ours {
			continue
		}
		tested[name]++
		var p params
		if err := json.Unmarshal([]byte(r[col["params"]]), &p); err != nil {
			t.Fatal(err)
		}
		number := func(name string) float64 {
			x, err := strconv.ParseFloat(r[col[name]], 64)
			if err != nil {
				t.Fatalf("%s: %v", r[0], err)
			}
			return x
		}
		got, lo, hi := eval(t, p, r), number("accept_lo"), number("accept_hi")
		if !(got >= lo && got <= hi) {
			t.Errorf("%s %s %s: %.12g, accepted [%.12g, %.12g]", r[0], name, r[col["params"]], got, lo, hi)
		}
		if hi-lo > 1e-6*math.Max(1, hi) {
			t.Errorf("%s: the interval [%v, %v] accepts anything", r[0], lo, hi)
		}
	}
	for name, want := range map[string]int{"linear_gaussian": 33, "muffliato_printed": 32, "decor_secldp": 17,
		"random_walk_printed": 4} {
		if tested[name] != want {
			t.Errorf("%d rows of %s, want %d", tested[name], name, want)
		}
	}
}

// params are those of the rows that concern this package.
type params struct {
	Graph     string  `json:"graph"`
	Observers []int   `json:"observers"`
	Rounds    int     `json:"rounds"`
	Rank      int     `json:"rank"`
	U         int     `json:"u"`
	V         int     `json:"v"`
	Curious   []int   `json:"curious_nodes"`
	Own       float64 `json:"sigma_cdp"`
	Pair      float64 `json:"sigma_cor"`
}

// gossip is the row's computation: on regular graphs 1/(degree+1), 1/3 and 1/n are
// Metropolis weights.
func (p params) gossip(t testing.TB) network.Gossip {
	n, l := named(t, p.Graph)
	return network.Gossip{Agents: n, Rounds: repeat(metropolis(t, n, l), p.Rounds)}
}

func exactRow(t testing.TB, p params, r []string) float64 {
	v := view(t, p.gossip(t), network.Coalition(p.Observers...))
	if p.Rank > 0 && v.Rank != p.Rank {
		t.Errorf("%s: rank %d, want %d", r[0], v.Rank, p.Rank)
	}
	return v.Leak[p.U]
}

func printedRow(t testing.TB, p params, _ []string) float64 {
	g := p.gossip(t)
	f, err := g.MuffliatoPrinted(p.Observers[0])
	if err != nil {
		t.Fatal(err)
	}
	return f[p.U]
}

func decorRow(t testing.TB, p params, _ []string) float64 {
	n, l := named(t, p.Graph)
	return coefficient(worst(t, network.Decor{Agents: n, Links: l, Own: p.Own, Pair: p.Pair}, p.Curious), 2)
}

// worst is the least multiplier of those who are not curious.
func worst(t testing.TB, d network.Decor, curious []int) float64 {
	all, err := d.Multipliers(curious)
	if err != nil {
		t.Fatal(err)
	}
	least := math.Inf(1)
	for i, s := range all {
		if !slices.Contains(curious, i) {
			least = math.Min(least, s)
		}
	}
	return least
}

// coefficient is c of RDP(a) = a c for one round at a multiplier.
func coefficient(multiplier, shift float64) float64 {
	return shift * shift / (2 * multiplier * multiplier)
}

func walkRow(t testing.TB, p params, _ []string) float64 {
	n, l := named(t, p.Graph)
	c, ok, err := network.WalkPrintedObserver(metropolis(t, n, l), n, p.V, 10, 1600)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return 2 * c[p.U]
}

// fixtures are the tables of exact leaks beside the printed formula: the worst pair at a
// distance, from observer 0.
func TestPublishedTables(t *testing.T) {
	for _, tc := range []struct {
		graph          string
		rounds, u, v   int
		formula, exact float64
		tolerance      float64
	}{
		{"path(3)", 2, 0, 2, .333, 1, 5e-4},
		{"ring(8)", 2, 2, 0, .3333, 1, 5e-5},
		{"ring(8)", 4, 4, 0, .01418, 1, 5e-6},
		{"ring(8)", 5, 4, 0, .0430, 1, 5e-5},
		{"ring(16)", 6, 5, 0, .003696, 1, 5e-7},
		{"path(6)", 6, 5, 0, .0032, 1, 5e-5},
		{"hypercube(4)", 5, 15, 0, .2066, 1, 5e-5},
		{"hypercube(6)", 5, 31, 0, .0213, 1, 5e-5},
		{"hypercube(6)", 12, 3, 0, 1.474, .400, 5e-4},
		{"complete(8)", 20, 1, 0, 17.625, 1, 5e-4},
	} {
		g := params{Graph: tc.graph, Rounds: tc.rounds}.gossip(t)
		f, err := g.MuffliatoPrinted(tc.v)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(f[tc.u]-tc.formula) > tc.tolerance {
			t.Errorf("%s, %d rounds: formula %v, want %v", tc.graph, tc.rounds, f[tc.u], tc.formula)
		}
		leak := view(t, g, network.Observer(tc.v)).Leak[tc.u]
		if math.Abs(leak-tc.exact) > 5e-4 || tc.exact == 1 && leak < 1-1e-9 {
			t.Errorf("%s, %d rounds: leak %v, want %v", tc.graph, tc.rounds, leak, tc.exact)
		}
	}
}

// The means of the tables, exact and of the formula capped at 1, and the ranks of large
// graphs.
func TestPublishedMeans(t *testing.T) {
	for _, tc := range []struct {
		graph          string
		rounds         int
		exact, formula float64
		rank           int // of the view without the observer; 0: not stated
	}{
		{"ring(16)", 2, .2667, .1778, 4}, {"ring(16)", 4, .5333, .2573, 8}, {"ring(16)", 8, 1, .3596, 15},
		{"hypercube(6)", 3, .2857, .2062, 0}, {"hypercube(6)", 6, .4921, .4193, 0},
		{"hypercube(6)", 12, .4921, .7891, 0},
		{"hypercube(8)", 10, .2235, math.NaN(), 57},
	} {
		g := params{Graph: tc.graph, Rounds: tc.rounds}.gossip(t)
		v := view(t, g, network.Observer(0))
		if math.Abs(v.Mean()-tc.exact) > 5e-5 {
			t.Errorf("%s, %d rounds: mean %v, want %v", tc.graph, tc.rounds, v.Mean(), tc.exact)
		}
		if tc.rank > 0 && v.Rank != tc.rank {
			t.Errorf("%s, %d rounds: rank %d, want %d", tc.graph, tc.rounds, v.Rank, tc.rank)
		}
		f, err := g.MuffliatoPrinted(0)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.
		for _, x := range f[1:] {
			sum += math.Min(1, x)
		}
		if mean := sum / float64(len(f)-1); math.Abs(mean-tc.formula) > 5e-5 {
			t.Errorf("%s, %d rounds: mean of the formula %v, want %v", tc.graph, tc.rounds, mean, tc.formula)
		}
	}
}

// Stated to four digits: the antipode and neighbors on a ring, and the range on a cube.
func TestWalkPrinted(t *testing.T) {
	for _, tc := range []struct {
		graph string
		v     int
		want  float64
	}{{"ring(16)", 1, 2.0929}, {"ring(16)", 8, .4383}, {"complete(16)", 1, .9222},
		{"hypercube(4)", 15, .6638}, {"hypercube(4)", 1, 1.2556}} {
		if got := walkRow(t, params{Graph: tc.graph, V: tc.v}, nil); math.Abs(got-tc.want) > 5e-5 {
			t.Errorf("%s to %d: %v, want %v", tc.graph, tc.v, got, tc.want)
		}
	}
}
