package topology_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	"sotto/agent"
	"sotto/config"
	"sotto/topology"
	"sotto/topology/topologytest"
)

// params decodes TOML strictly, as run files do.
func params(text string) func(any) error {
	return func(p any) error {
		d := toml.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		return d.Decode(p)
	}
}

func build(t testing.TB, graph, weights string, agents int, text string) *topology.Graph {
	t.Helper()
	s, err := topology.New(graph, weights, agents, 1, params(text))
	if err != nil {
		t.Fatalf("%s of %d: %v", graph, agents, err)
	}
	g, err := s.At(0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// families holds one valid instance of each; a new family without a line here fails
// TestConformance.
var families = map[string]struct {
	agents int
	params string
}{
	"complete": {10, ""}, "ring": {10, ""}, "path": {10, ""}, "star": {10, ""}, "wheel": {10, ""},
	"grid": {12, "rows = 3"}, "torus": {12, ""}, "hypercube": {16, ""}, "er": {20, "p = 0.3"},
	"er-fiedler": {10, "target = 0.39"},
	"regular":    {20, "degree = 3"}, "small-world": {20, "k = 4\nbeta = 0.2"},
	"geometric": {30, "radius = 0.4"},
	"file":      {4, "path = 'testdata/square.txt'"},
}

func TestConformance(t *testing.T) {
	for name := range topology.Graphs {
		f, ok := families[name]
		if !ok {
			t.Errorf("graph %q has no test instance", name)
			continue
		}
		for weights := range topology.Weights {
			text := f.params
			if weights == "file" {
				if name != "file" {
					continue
				}
				text = "path = 'testdata/weighted.txt'"
			}
			t.Run(name+"/"+weights, func(t *testing.T) {
				topologytest.Run(t, func() topology.Schedule {
					spec := topology.Spec{
						Graph:           name,
						Weights:         weights,
						Agents:          f.agents,
						Seed:            7,
						AllowUnbalanced: weights == "uniform",
					}
					s, err := topology.Build(spec, params(text))
					if err != nil {
						t.Fatal(err)
					}
					return s
				})
			})
		}
	}
}

func TestStaticScheduleReturnsOnePointer(t *testing.T) {
	s, err := topology.New("ring", "", 5, 0, params(""))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := s.At(0)
	b, _ := s.At(1 << 40)
	if a != b {
		t.Error("a static schedule builds its graph again")
	}
}

// Hand-drawn neighborhoods of every deterministic family.
func TestFamilies(t *testing.T) {
	for _, c := range []struct {
		graph  string
		agents int
		params string
		links  string
	}{
		{"complete", 4, "", "01 02 03 12 13 23"},
		{"complete", 1, "", ""},
		{"ring", 4, "", "01 03 12 23"},
		{"path", 4, "", "01 12 23"},
		{"star", 4, "", "01 02 03"},
		{"wheel", 5, "", "01 02 03 04 12 14 23 34"},
		{"grid", 6, "", "01 03 12 14 25 34 45"}, // 2 x 3
		{"grid", 6, "cols = 2", "01 02 13 23 24 35 45"},
		{"grid", 5, "", "01 12 23 34"}, // a prime number is one row
		{"torus", 9, "", "01 02 03 06 12 14 17 25 28 34 35 36 45 47 58 67 68 78"},
		{"hypercube", 8, "", "01 02 04 13 15 23 26 37 45 46 57 67"},
		{"er", 4, "p = 1.0", "01 02 03 12 13 23"},
		{"regular", 4, "degree = 3", "01 02 03 12 13 23"},
		{"small-world", 5, "k = 2\nbeta = 0.0", "01 04 12 23 34"},
		{"geometric", 4, "radius = 1.414213", "01 02 03 12 13 23"},
		{"file", 4, "path = 'testdata/square.txt'", "01 03 12 23"},
	} {
		g := build(t, c.graph, "", c.agents, c.params)
		var got []string
		for e := range g.Edges() {
			got = append(got, fmt.Sprintf("%d%d", e.I, e.J))
		}
		if s := strings.Join(got, " "); s != c.links {
			t.Errorf("%s of %d (%s): links %s, want %s", c.graph, c.agents, c.params, s, c.links)
		}
	}
}

func TestRandomFamilies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		n := rapid.IntRange(6, 60).Draw(t, "agents")
		degree := rapid.IntRange(3, n-1).Draw(t, "degree")
		if n*degree%2 != 0 {
			degree--
		}
		k := 2 * rapid.IntRange(2, (n-1)/2).Draw(t, "half k")
		for graph, p := range map[string]string{
			"regular":     fmt.Sprintf("degree = %d", degree),
			"small-world": fmt.Sprintf("k = %d\nbeta = 0.5", k),
			"er":          "p = 0.6",
			"geometric":   "radius = 0.9",
		} {
			s, err := topology.New(graph, "", n, seed, params(p))
			if err != nil {
				t.Fatalf("%s, %s: %v", graph, p, err)
			}
			g, _ := s.At(0)
			twin, err := topology.New(graph, "", n, seed, params(p))
			if err != nil {
				t.Fatal(err)
			}
			if h, _ := twin.At(0); !reflect.DeepEqual(g, h) {
				t.Fatalf("%s differs between two builds of seed %d", graph, seed)
			}
			switch graph {
			case "regular":
				for i := range n {
					if g.Degree(agent.ID(i)) != degree {
						t.Fatalf("degree of agent %d is %d, want %d", i, g.Degree(agent.ID(i)), degree)
					}
				}
			case "small-world":
				if g.Links() != n*k/2 {
					t.Fatalf("%d links, want %d", g.Links(), n*k/2)
				}
			}
		}
	})
}

// At n = 10 and p = .3 about .65 of all draws are connected, so the mean number of draws
// is 1/.65; over 2,000 seeds its standard deviation is √.35/.65/√2000 = .02. The bound of
// .1 is five of them.
func TestDrawsAreCounted(t *testing.T) {
	total := 0
	for seed := range uint64(2000) {
		s, err := topology.New("er", "", 10, seed, params("p = 0.3"))
		if err != nil {
			t.Fatal(err)
		}
		g, _ := s.At(0)
		total += g.Draws()
	}
	if mean := float64(total) / 2000; math.Abs(mean-1/.65) > .1 {
		t.Errorf("%v draws on average, want %v", mean, 1/.65)
	}
}

// The number of links is Binomial(n(n-1)/2, p), each pair alike: bounds at 5 standard
// deviations are left with probability below 1e-6 each, 1,000 bounds in all: false reject
// 6e-4 of a fresh seed (the seed is fixed).
func TestErdosRenyiFrequencies(t *testing.T) {
	const draws, n, p = 2000, 10, .7
	count := map[[2]agent.ID]int{}
	total := 0
	for seed := range uint64(draws) {
		s, err := topology.New("er", "", n, seed, params("p = 0.7"))
		if err != nil {
			t.Fatal(err)
		}
		g, _ := s.At(0)
		for e := range g.Edges() {
			count[[2]agent.ID{e.I, e.J}]++
			total++
		}
	}
	// At n = 10 and p = 0.7 all but about 2e-4 of the draws are connected: conditioning
	// moves p by less than 1e-4.
	sd := math.Sqrt(draws * p * (1 - p))
	for pair, c := range count {
		if math.Abs(float64(c)-draws*p) > 5*sd {
			t.Errorf("link %v in %d of %d draws", pair, c, draws)
		}
	}
	if math.Abs(float64(total)-45*draws*p) > 5*sd*math.Sqrt(45) {
		t.Errorf("%d links in all, want about %v", total, 45*draws*p)
	}
}

// Geometric links by brute force: the cells must not lose a pair. Points are not
// exported, so the check is that the rate of links fits the area: for r = .3 the expected
// share of pairs is πr² - 8r³/3 + r⁴/2. 200 draws of 60 points; the bound of 6 % is about
// 5 standard deviations (measured over draws below).
func TestGeometricDensity(t *testing.T) {
	const r = .3
	want := math.Pi*r*r - 8*r*r*r/3 + r*r*r*r/2
	var sum, sum2 float64
	const draws = 200
	for seed := range uint64(draws) {
		s, err := topology.New("geometric", "", 60, seed, params("radius = 0.3"))
		if err != nil {
			t.Fatal(err)
		}
		g, _ := s.At(0)
		x := float64(g.Links()) / (60 * 59 / 2)
		sum += x
		sum2 += x * x
	}
	mean := sum / draws
	sd := math.Sqrt((sum2/draws - mean*mean) / draws)
	if math.Abs(mean-want) > .06*want || .06*want < 4*sd {
		t.Errorf("share of pairs linked %v (sd %v), want %v", mean, sd, want)
	}
}

func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		graph, weights string
		agents         int
		params         string
		key            string
	}{
		{"ring", "", 0, "", "agents"},
		{"ring", "", -3, "", "agents"},
		{"ring", "", 1 << 30, "", "agents"},
		{"ring", "", 2, "", "agents"},
		{"star", "", 1, "", "agents"},
		{"wheel", "", 3, "", "agents"},
		{"hypercube", "", 12, "", "agents"},
		{"complete", "column", 100_000, "", "agents"},
		{"lattice", "", 4, "", "graph"},
		{"ring", "hamilton", 4, "", "weights"},
		{"ring", "file", 4, "", "weights"},
		{"star", "uniform", 10, "", "weights"},
		{"grid", "", 10, "rows = 3", "rows"},
		{"grid", "", 10, "rows = 3\ncols = 4", "rows"},
		{"grid", "", 10, "rows = -1", "rows"},
		{"grid", "", 10, "rows = 4611686018427387904\ncols = 4", "rows"},
		{"torus", "", 10, "", "rows"},
		{"er", "", 10, "", "p"},
		{"er", "", 10, "p = 1.5", "p"},
		{"er", "", 10, "p = nan", "p"},
		{"er", "", 50, "p = 0.001", "p"}, // never connected
		{"er", "", 1 << 24, "p = 0.5", "p"},
		{"er-fiedler", "", 10, "", "target"},
		{"er-fiedler", "", 10, "target = 1.2", "target"},
		// one link short of complete is .8
		{"er-fiedler", "", 10, "target = 0.9\ntolerance = 0.01", "target"},
		{"er-fiedler", "", 10, "target = 0.4\ntolerance = -1.0", "tolerance"},
		{"er-fiedler", "", 10, "target = 0.4\np = 2.0", "p"},
		{"er-fiedler", "", 5000, "target = 0.4", "agents"},
		{"er-fiedler", "", 1, "target = 0.4", "agents"},
		{"regular", "", 10, "degree = 0", "degree"},
		{"regular", "", 10, "degree = 10", "degree"},
		{"regular", "", 9, "degree = 3", "degree"},
		{"regular", "", 10, "degree = 1", "degree"}, // perfect matchings are never connected
		{"small-world", "", 10, "k = 3\nbeta = 0.1", "k"},
		{"small-world", "", 10, "k = 10\nbeta = 0.1", "k"},
		{"small-world", "", 10, "k = 4\nbeta = 1.1", "beta"},
		{"geometric", "", 10, "radius = -0.1", "radius"},
		{"geometric", "", 100, "radius = 0.01", "radius"},
		{"file", "", 4, "", "path"},
		{"file", "", 5, "path = 'testdata/square.txt'", "graph"}, // agent 4 has no link
	} {
		_, err := topology.New(c.graph, c.weights, c.agents, 1, params(c.params))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != c.key {
			t.Errorf("%s %s of %d (%s): error %v, want a config.Error for %s", c.graph, c.weights, c.agents,
				c.params, err, c.key)
		}
	}
	// Nobody who gives no parameters has the defaults refused, or crashes.
	for _, name := range []string{"ring", "exp-directed", "grid", "er", "file"} {
		_, err := topology.New(name, "", 4, 1, nil)
		_, want := topology.New(name, "", 4, 1, params(""))
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("%s without decode: %v, want %v", name, err, want)
		}
	}
	if _, err := topology.New("ring", "", 4, 1, params("p = 0.5")); err == nil {
		t.Error("a parameter that ring does not have is accepted")
	}
	for _, graph := range []string{"file", "directed-file"} {
		_, err := topology.New(graph, "", 4, 1, params("path = 'testdata/absent.txt'"))
		var bad *config.Error
		if !errors.As(err, &bad) || bad.Key != "path" ||
			!strings.Contains(bad.Found, "no file testdata/absent.txt") ||
			!strings.Contains(bad.Allowed, "a path from where the command runs") {
			t.Errorf("%s that is missing: %v", graph, err)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	n := func(id agent.ID, w float64) agent.Neighbor { return agent.Neighbor{ID: id, Weight: w} }
	for name, c := range map[string]struct {
		self   []float64
		rows   [][]agent.Neighbor
		claims topology.Claims
	}{
		"row sum": {[]float64{.5, .6}, [][]agent.Neighbor{{n(1, .5)}, {n(0, .5)}}, topology.Claims{}},
		"row sum 2e-12": {[]float64{.5, .5 + 2e-12}, [][]agent.Neighbor{{n(1, .5)}, {n(0, .5)}},
			topology.Claims{}},
		"negative self": {[]float64{-.5, -.5}, [][]agent.Neighbor{{n(1, 1.5)}, {n(0, 1.5)}},
			topology.Claims{}},
		"negative link": {[]float64{1.5, 1.5}, [][]agent.Neighbor{{n(1, -.5)}, {n(0, -.5)}},
			topology.Claims{}},
		"zero link": {[]float64{1, 1}, [][]agent.Neighbor{{n(1, 0)}, {n(0, 0)}}, topology.Claims{}},
		"asymmetric": {[]float64{.5, .6}, [][]agent.Neighbor{{n(1, .5)}, {n(0, .4)}},
			topology.Claims{Symmetric: true}},
		"columns": {[]float64{.5, .6}, [][]agent.Neighbor{{n(1, .5)}, {n(0, .4)}},
			topology.Claims{DoublyStochastic: true}},
		"disconnected": {[]float64{1, 1}, [][]agent.Neighbor{{}, {}}, topology.Claims{Connected: true}},
		"one way": {[]float64{1, .5}, [][]agent.Neighbor{{}, {n(0, .5)}},
			topology.Claims{Connected: true}},
	} {
		g, err := topology.FromRows(name, c.self, c.rows)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var bad *config.Error
		if err := topology.Validate(g, c.claims); !errors.As(err, &bad) {
			t.Errorf("%s: error %v, want a config.Error", name, err)
		}
	}
	// A directed cycle is doubly stochastic and strongly connected: nothing to refuse.
	g, err := topology.FromRows("cycle", []float64{.5, .5, .5},
		[][]agent.Neighbor{{n(2, .5)}, {n(0, .5)}, {n(1, .5)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := topology.Validate(g, topology.Claims{DoublyStochastic: true, Connected: true}); err != nil ||
		!g.Directed() || g.Symmetric() || g.Links() != 3 {
		t.Errorf("directed cycle: %v, directed %v, symmetric %v, %d links", err, g.Directed(), g.Symmetric(),
			g.Links())
	}
	if out := g.Out(0); len(out) != 1 || out[0] != n(1, .5) {
		t.Errorf("Out(0) = %v, want agent 1 with .5", out)
	}
}

func TestFromRowsRefuses(t *testing.T) {
	n := func(id agent.ID, w float64) agent.Neighbor { return agent.Neighbor{ID: id, Weight: w} }
	for name, c := range map[string]struct {
		self []float64
		rows [][]agent.Neighbor
	}{
		"empty":    {nil, nil},
		"rows":     {[]float64{1, 1}, [][]agent.Neighbor{{}}},
		"range":    {[]float64{1, 1}, [][]agent.Neighbor{{n(2, .1)}, {}}},
		"itself":   {[]float64{1, 1}, [][]agent.Neighbor{{n(0, .1)}, {}}},
		"twice":    {[]float64{1, 1}, [][]agent.Neighbor{{n(1, .1), n(1, .1)}, {}}},
		"nan":      {[]float64{1, 1}, [][]agent.Neighbor{{n(1, math.NaN())}, {}}},
		"inf self": {[]float64{math.Inf(1), 1}, [][]agent.Neighbor{{}, {}}},
	} {
		if _, err := topology.FromRows(name, c.self, c.rows); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestJSONOfAsymmetricGraph(t *testing.T) {
	s, err := topology.Build(topology.Spec{Graph: "star", Weights: "uniform", Agents: 4,
		AllowUnbalanced: true}, params(""))
	if err != nil {
		t.Fatal(err)
	}
	g, _ := s.At(0)
	b, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	want :=
		`{"agents":4,"graph":"star","symmetric":false,"edges":[[0,1,0.25],[0,2,0.25],[0,3,0.25],[1,0,` +
			`0.5],[2,0,0.5],[3,0,0.5]],"self":[0.25,0.5,0.5,0.5]}`
	if string(b) != want {
		t.Errorf("got %s\nwant %s", b, want)
	}
}

func FuzzGraphJSON(f *testing.F) {
	f.Add([]byte(`{"agents":2,"graph":"path","symmetric":true,"edges":[[0,1,0.5]],"self":[0.5,0.5]}`))
	f.Add([]byte(`{"agents":2,"graph":"x","symmetric":false,"edges":[[0,1,0.5]],"self":[0.5,1]}`))
	f.Add([]byte(`{"agents":1e9}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var g topology.Graph
		if json.Unmarshal(b, &g) != nil {
			return
		}
		_ = topology.Validate(&g, topology.Claims{Symmetric: true, DoublyStochastic: true, Connected: true})
		if g.Agents() > 64 {
			return
		}
		if _, err := topology.Analyze(&g); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkRegularMillion(b *testing.B) {
	for b.Loop() {
		if _, err := topology.New("regular", "", 1_000_000, 1, params("degree = 4")); err != nil {
			b.Fatal(err)
		}
	}
}
