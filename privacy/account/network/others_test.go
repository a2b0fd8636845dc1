package network_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"sotto/privacy/account"
	"sotto/privacy/account/gdp"
	"sotto/privacy/account/network"
)

// Ring of 16, clip 1, own noise .25: coefficients 32 without link noise, 4.1188 with
// noise 1 a link, 7.0714 if a neighbor is curious, 2.0265 with noise 10, near the 2 of a
// central sum. With both neighbors curious the own noise is all that is left.
func TestDecor(t *testing.T) {
	d := func(pair float64) network.Decor {
		return network.Decor{Agents: 16, Links: ring(16), Own: .25, Pair: pair}
	}
	for _, tc := range []struct {
		pair    float64
		curious []int
		want    float64
	}{{0, nil, 32}, {1, nil, 4.1188}, {1, []int{1}, 7.0714}, {10, nil, 2.0265}, {1, []int{1, 15}, 32}} {
		if c := coefficient(worst(t, d(tc.pair), tc.curious), 2); math.Abs(c-tc.want) > 5e-5 {
			t.Errorf("link noise %v, curious %v: %v, want %v", tc.pair, tc.curious, c, tc.want)
		}
	}
	// A ring cut at 0 and 8 is two paths of seven, and each counts alone.
	cut, err := d(1).Multipliers([]int{0, 8})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := network.Decor{Agents: 7, Links: path(7), Own: .25, Pair: 1}.Multipliers(nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, s := range alone {
		if math.Abs(cut[1+k]-s) > 1e-12 || math.Abs(cut[9+k]-s) > 1e-12 {
			t.Errorf("agent %d: %v and %v, alone %v", k, cut[1+k], cut[9+k], s)
		}
	}
	if cut[0] != 0 || cut[8] != 0 {
		t.Errorf("curious agents have noise %v and %v", cut[0], cut[8])
	}
	if s := worst(t, network.Decor{Agents: 3, Links: ring(3), Pair: 1}, nil); s != 0 {
		t.Errorf("without own noise: %v", s)
	}
	for _, bad := range []network.Decor{{}, {Agents: 2, Own: math.NaN()}, {Agents: 2, Own: 1, Pair: -1},
		{Agents: 2, Own: 1, Links: links{{0, 2}}}, {Agents: 2, Own: 1, Links: links{{0, 1}, {1, 0}}}} {
		if _, err := bad.Multipliers(nil); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// More curious agents never leave more noise, link noise never takes any away, and the
// sum over a component of n agents keeps at least Own/sqrt(n). Three agents on a ring
// have eigenvalues Own^2 and twice Own^2 + 3 Pair^2: the multiplier has its digits also
// where Own drowns in Pair.
func TestDecorOfLittleOwnNoise(t *testing.T) {
	for own := 1.; own > 1e-12; own /= 10 {
		all, err := network.Decor{Agents: 3, Links: ring(3), Own: own, Pair: 1}.Multipliers(nil)
		if err != nil {
			t.Fatal(err)
		}
		want := 1 / math.Sqrt((1/(own*own)+2/(own*own+3))/3)
		for _, got := range all {
			if math.Abs(got/want-1) > 1e-9 {
				t.Errorf("own noise %g: %v, want %v", own, got, want)
			}
		}
	}
}

func TestDecorLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, l := drawGraph(rt)
		d := network.Decor{
			Agents: n,
			Links:  l,
			Own:    rapid.Float64Range(.1, 3).Draw(rt, "own"),
			Pair:   rapid.Float64Range(0, 10).Draw(rt, "pair"),
		}
		curious := drawMembers(rt, n)
		more, err := d.Multipliers(curious)
		if err != nil {
			rt.Fatal(err)
		}
		less, err := d.Multipliers(curious[1:])
		if err != nil {
			rt.Fatal(err)
		}
		for i := range n {
			if more[i] > less[i]*(1+1e-9) || less[i] > d.Own*math.Sqrt(float64(n))*(1+1e-9) ||
				more[i] != 0 && more[i] < d.Own*(1-1e-9) {
				rt.Fatalf("agent %d: %v with more curious agents, %v with less, own noise %v", i, more[i],
					less[i], d.Own)
			}
		}
	})
}

func walk(t *testing.T, n int, l links, uniform bool) *network.WalkMixture {
	m := metropolis(t, n, l)
	if uniform { // complete graph: the next agent is any, the holder included
		m = weighted(t, n, l, func(_, _ int) (int64, int64) { return 1, int64(n) })
	}
	return &network.WalkMixture{
		Agents: n,
		Hops:   m,
		Steps:  400,
		Visits: 5,
		Mu:     .5,
		Conditions: network.Conditions{
			Convex:     true,
			Smoothness: 1,
			StepSize:   1,
			SecretHops: true,
		},
		Contraction: 1,
		LocalSteps:  1,
	}
}

// On the complete graph the first hit is geometric, and the rest is what is left.
func TestFirstHits(t *testing.T) {
	const n = 10
	once := walk(t, n, complete(n), true)
	once.Visits = 1
	hits, rest := once.FirstHits(2, 7)
	if len(hits) != 263 { // .9^263 < 1e-12
		t.Errorf("%d hits", len(hits))
	}
	for k, p := range hits {
		if want := math.Pow(.9, float64(k)) / n; math.Abs(p-want) > 1e-15 {
			t.Fatalf("hop %d: %v, want %v", k+1, p, want)
		}
	}
	if rest > 1e-12 {
		t.Errorf("rest %v", rest)
	}
	again, _ := walk(t, n, complete(n), true).FirstHits(2, 7) // or back at the agent, which contributes again
	for k, p := range again[:20] {
		if want := math.Pow(.8, float64(k)) * 2 / n; math.Abs(p-want) > 1e-15 {
			t.Fatalf("hop %d: %v, want %v", k+1, p, want)
		}
	}
	w := walk(t, 6, path(6), false)
	w.Steps, w.Visits = 4, 1
	if hits, rest := w.FirstHits(0, 5); floatsSum(hits) != 0 || math.Abs(rest-1) > 1e-15 {
		t.Errorf("the far end is hit with %v within four hops", floatsSum(hits))
	}
}

func floatsSum(x []float64) float64 {
	s := 0.
	for _, v := range x {
		s += v
	}
	return s
}

// One contribution on the complete graph is the mixture of Gaussian profiles; the figure
// never exceeds the one against everyone, falls with distance and with contraction
// unchanged at c -> 1, and is refused without its conditions.
func TestWalkMixture(t *testing.T) {
	const n, delta = 10, 1e-5
	epsilon := func(w *network.WalkMixture, u, v int) float64 {
		e, err := w.Pairs([][2]int{{u, v}}, delta)
		if err != nil {
			t.Fatal(err)
		}
		return e[0]
	}
	w := walk(t, n, complete(n), true)
	w.Visits, w.Mu = 1, 2
	got, sum := epsilon(w, 0, 1), 0.
	for k := range 400 {
		sum += math.Pow(.9, float64(k)) / n * gdp.Delta(w.Mu/math.Sqrt(float64(k+1)), got)
	}
	if sum > delta || sum < .9*delta { // losses are grouped upwards
		t.Errorf("delta %v at epsilon %v, want a little less than %v", sum, got, delta)
	}
	w = walk(t, 8, ring(8), false)
	local := gdp.Epsilon(w.Mu*math.Sqrt(5), delta)
	near, far := epsilon(w, 0, 1), epsilon(w, 0, 4)
	if !(far < near && near <= local*(1+1e-9)) {
		t.Errorf("epsilon %v far, %v near, %v local", far, near, local)
	}
	if far > .9*local {
		t.Errorf("no amplification: %v far, %v local", far, local)
	}
	w.Contraction = 1 - 1e-9
	if limit := epsilon(w, 0, 4); math.Abs(limit-far) > 1e-3*far {
		t.Errorf("contraction %v: %v, without %v", w.Contraction, limit, far)
	}
	for what, spoil := range map[string]func(*network.WalkMixture){
		"not convex": func(w *network.WalkMixture) {
			w.Convex = false
		}, "long steps": func(w *network.WalkMixture) { w.StepSize = 2.1 },
		"public hops": func(w *network.WalkMixture) {
			w.SecretHops = false
		}, "unknown smoothness": func(w *network.WalkMixture) { w.Smoothness = 0 },
	} {
		w := walk(t, 8, ring(8), false)
		spoil(w)
		if _, err := w.Pairs([][2]int{{0, 4}}, delta); !errors.Is(err, account.ErrUnsupported) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
}

// Two contributions that the observer sees at once share their noise. Where losses are
// linear, with no gradient but the observed agent's, the view is known exactly: two
// contributions with T steps of noise in all tell mu^2 = 4/T, where separate ones would
// tell 1/T + 1/(T-1).
func TestWalkMixtureReturns(t *testing.T) {
	const delta, stay = 1e-5, .75
	m, err := network.NewMatrix([]network.Row{{Agent: 0, Self: network.Inexact(stay),
		In: []network.Link{{From: 1, Weight: network.Inexact(1 - stay)}}},
		{Agent: 1, Self: network.Inexact(0), In: []network.Link{{From: 0, Weight: network.Inexact(1)}}}})
	if err != nil {
		t.Fatal(err)
	}
	w := &network.WalkMixture{
		Agents: 2,
		Hops:   m,
		Steps:  400,
		Visits: 2,
		Mu:     .5,
		Conditions: network.Conditions{
			Convex:     true,
			Smoothness: 1,
			StepSize:   1,
			SecretHops: true,
		},
		Contraction: 1,
		LocalSteps:  1,
	}
	both, err := w.Pairs([][2]int{{0, 1}}, delta)
	if err != nil {
		t.Fatal(err)
	}
	stated := both[0]
	true0 := 0.
	for k := 1; k < 200; k++ { // hops until the observer sees the token, from the first contribution on
		p := math.Pow(stay, float64(k-1)) * (1 - stay)
		if k > 1 {
			true0 += p * gdp.Delta(w.Mu*2/math.Sqrt(float64(k)), stated)
			continue
		}
		for j := 1; j < 200; j++ { // the second one is seen on its own
			true0 += p * math.Pow(stay, float64(j-1)) * (1 - stay) *
				gdp.Delta(w.Mu*math.Sqrt(1+1/float64(j)), stated)
		}
	}
	if true0 > delta {
		t.Errorf("delta is %g at the stated epsilon %v", true0, stated)
	}
	w.Visits = 1
	var weights, mus []float64 // as if each contribution were seen on its own
	hits, _ := w.FirstHits(0, 1)
	for k, p := range hits {
		weights, mus = append(weights, p), append(mus, w.Mu/math.Sqrt(float64(k+1)))
	}
	apart, err := account.RevealedMixture(weights, mus, 2, delta)
	if err != nil || !(apart.Upper < stated) {
		t.Errorf("separate contributions cost %v, stated %v; %v", apart, stated, err)
	}
	below := 0.
	for k := 2; k < 200; k++ {
		below += math.Pow(stay, float64(k-1)) * (1 - stay) *
			gdp.Delta(w.Mu*2/math.Sqrt(float64(k)), apart.Upper)
	}
	if !(below > delta) {
		t.Errorf("separate contributions would do: delta %g at epsilon %v", below, apart.Upper)
	}
}

// Agents that are alike share classes, and pairs that are alike a figure. What comes of
// classes is what the walk itself gives.
func TestWalkClasses(t *testing.T) {
	w := walk(t, 16, hypercube(4), false)
	all, err := w.Pairs([][2]int{{0, 1}, {1, 0}, {0, 15}, {4, 5}}, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	if all[0] != all[1] || all[0] != all[3] || !(all[2] < all[0]) {
		t.Errorf("epsilon of pairs %v", all)
	}
	hits, _ := w.FirstHits(3, 9)
	p, next := make([]float64, 16), make([]float64, 16)
	p[3] = 1
	for k, want := range hits[:30] { // the walk itself, both ends absorbing
		clear(next)
		for i, x := range p {
			next[i] += x / 5
			for bit := 1; bit < 16; bit *= 2 {
				next[i^bit] += x / 5
			}
		}
		if got := next[3] + next[9]; math.Abs(got-want) > 1e-14 {
			t.Fatalf("hop %d: %v, want %v", k+1, want, got)
		}
		next[3], next[9] = 0, 0
		p, next = next, p
	}
}

// The figure of a view: at leak 1 that of the release against everyone, at leak 0
// nothing, for members infinite.
func TestViewEpsilon(t *testing.T) {
	v := view(t, params{Graph: "hypercube(4)", Rounds: 2}.gossip(t), network.Observer(3))
	const mu, delta = 1, 1e-5
	local := gdp.Epsilon(mu, delta)
	if i := v.Epsilon(2, mu, delta); math.Abs(i.Upper/local-1) > 1e-11 {
		t.Errorf("neighbor: %v, want %v", i, local)
	}
	want := gdp.Epsilon(math.Sqrt(2./3), delta)
	if i := v.Epsilon(0, mu, delta); !(i.Lower <= want && want <= i.Upper) || i.Upper-i.Lower > 1e-7 {
		t.Errorf("leak 2/3: %v, want %v", i, want)
	}
	if i := v.Epsilon(12, mu, delta); i.Upper != 0 {
		t.Errorf("antipode of the observer: %v, want 0", i)
	}
	if i := v.Epsilon(3, mu, delta); !math.IsInf(i.Upper, 1) {
		t.Errorf("the observer itself: %v", i)
	}
}

func TestAdversaries(t *testing.T) {
	for in, out := range map[string]string{"3": "3", "{7,3}": "{3,7}", "{ 3 , 3 }": "3",
		"all-messages": "all-messages", "eavesdropper": "eavesdropper"} {
		a, err := network.ParseAdversary(in)
		if err != nil || a.String() != out {
			t.Errorf("%q is %v, %v", in, a, err)
		}
	}
	for _, in := range []string{"", "-1", "{3,7", "{}", "x", "1.5", "99999999999"} {
		if a, err := network.ParseAdversary(in); err == nil {
			t.Errorf("%q is accepted as %v", in, a)
		}
	}
	g := params{Graph: "ring(8)", Rounds: 1}.gossip(t)
	if _, err := g.View(network.Observer(8)); err == nil {
		t.Error("an observer that does not exist is accepted")
	}
	g.Noise = make([]float64, 8)
	if _, err := g.View(network.Observer(1)); err == nil {
		t.Error("noise 0 is accepted")
	}
}

func FuzzParseAdversary(f *testing.F) {
	for _, s := range []string{"3", "{3,7}", "all-messages", "{", "}", "{,}", "eavesdropper "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := network.ParseAdversary(s)
		if err != nil {
			return
		}
		if b, err := network.ParseAdversary(a.String()); err != nil || b.String() != a.String() {
			t.Errorf("%q reads as %v, which reads as %v, %v", s, a, b, err)
		}
	})
}
