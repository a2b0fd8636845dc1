package network_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"sotto/privacy/account/network"
)

// randomCase is averaging on directed graphs with weights of no symmetry, as rows for the
// package and as dense matrices.
type randomCase struct {
	gossip network.Gossip
	w      []*mat.Dense // of each round
	hears  [][][]int    // senders of each receiver, of each round
	terms  [][3]float64 // a, b and c of each round
	noise  []float64    // of each agent
	who    network.Adversary
	member []int
}

// drawCase draws one: static graphs, changing ones, and one whose messages get lost;
// one observer, coalitions of up to three, all messages and listeners; secure sums,
// unequal noise and two-term recursions, each in some.
func drawCase(t *testing.T, r *rand.Rand, trial int) randomCase {
	n, rounds := 3+r.IntN(10), 1+r.IntN(4)
	c := randomCase{gossip: network.Gossip{Agents: n, SecureSum: r.IntN(3) == 0}}
	links := func() [][]int {
		in := make([][]int, n)
		for i := range in {
			for j := range n {
				if j != i && r.IntN(n) < 2 {
					in[i] = append(in[i], j)
				}
			}
		}
		return in
	}
	weight := func(in [][]int) *mat.Dense {
		w := mat.NewDense(n, n, nil)
		for i := range n {
			for _, j := range in[i] {
				w.Set(i, j, float64(1+r.IntN(8))/16) // sums need not be 1
			}
			w.Set(i, i, float64(r.IntN(12))/16)
		}
		return w
	}
	in := links()
	base := weight(in)
	same := rowsOf(t, base, in)
	for range rounds {
		switch trial % 3 {
		case 0:
			c.gossip.Rounds = append(c.gossip.Rounds, same)
			c.w, c.hears = append(c.w, base), append(c.hears, in)
		case 1:
			in := links()
			w := weight(in)
			c.gossip.Rounds = append(c.gossip.Rounds, rowsOf(t, w, in))
			c.w, c.hears = append(c.w, w), append(c.hears, in)
		case 2: // a weight that is missing is the receiver's own
			kept, w := make([][]int, n), mat.DenseCopyOf(base)
			for i := range n {
				for _, j := range in[i] {
					if r.IntN(10) < 3 {
						w.Set(i, i, w.At(i, i)+w.At(i, j))
						w.Set(i, j, 0)
					} else {
						kept[i] = append(kept[i], j)
					}
				}
			}
			c.gossip.Rounds = append(c.gossip.Rounds, rowsOf(t, w, kept))
			c.w, c.hears = append(c.w, w), append(c.hears, kept)
		}
		c.terms = append(c.terms, [3]float64{1, 0, 0})
	}
	if r.IntN(3) == 0 {
		for k := range c.terms {
			c.terms[k] = [3]float64{.5 + r.Float64(), r.Float64() - .5, 0}
			if k > 0 {
				c.terms[k][2] = r.Float64() - .5
			}
		}
		c.gossip.Method = network.Averaging("random", c.terms)
	}
	c.drawWho(r, trial)
	return c
}

// drawWho draws noise and an adversary.
func (c *randomCase) drawWho(r *rand.Rand, trial int) {
	n := c.gossip.Agents
	c.noise = make([]float64, n)
	for i := range c.noise {
		if c.noise[i] = 1; trial%2 == 0 {
			c.noise[i] = .25 + 4*r.Float64()
		}
	}
	if trial%2 == 0 {
		c.gossip.Noise = c.noise
	}
	switch r.IntN(5) {
	case 0:
		c.who = network.AllMessages()
	case 1:
		c.who = network.Eavesdropper()
	default:
		c.member = r.Perm(n)[:1+r.IntN(3)]
		c.who = network.Coalition(c.member...)
	}
}

func rowsOf(t *testing.T, w *mat.Dense, in [][]int) *network.Matrix {
	t.Helper()
	rows := make([]network.Row, len(in))
	for i := range rows {
		rows[i] = network.Row{Agent: i, Self: network.Recognise(w.At(i, i))}
		for _, j := range in[i] {
			rows[i].In = append(rows[i].In, network.Link{From: j, Weight: network.Recognise(w.At(i, j))})
		}
	}
	m, err := network.NewMatrix(rows)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// seen lists, step by step, the rows that the adversary receives and the rows that agents
// release, as functions of all noises, one column an agent and step, in the agent's unit.
func (c *randomCase) seen(steps int) (rows, released [][][]float64) {
	n := c.gossip.Agents
	now := mat.NewDense(n, n*steps, nil)
	rows, released = make([][][]float64, steps), make([][][]float64, steps)
	for s := range steps {
		for i := range n {
			now.Set(i, i*steps+s, now.At(i, i*steps+s)+c.noise[i])
		}
		for i := range n {
			released[s] = append(released[s], slices.Clone(now.RawRowView(i)))
		}
		before := mat.NewDense(n, n*steps, nil)
		for k, w := range c.w {
			for i, senders := range c.hears[k] {
				if c.member != nil && !slices.Contains(c.member, i) || len(senders) == 0 {
					continue
				}
				sum := make([]float64, n*steps)
				for _, j := range senders {
					if !c.gossip.SecureSum {
						rows[s] = append(rows[s], slices.Clone(now.RawRowView(j)))
					}
					floats.AddScaled(sum, w.At(i, j), now.RawRowView(j))
				}
				if c.gossip.SecureSum {
					rows[s] = append(rows[s], sum)
				}
			}
			var next, rest mat.Dense
			next.Mul(w, now)
			next.Scale(c.terms[k][0], &next)
			rest.Scale(c.terms[k][1], now)
			next.Add(&next, &rest)
			rest.Scale(c.terms[k][2], before)
			next.Sub(&next, &rest)
			now, before = &next, now
		}
	}
	return rows, released
}

// projector returns the projector on the space of rows without the columns that the
// members know, its rank, and whether the rank is beyond doubt: no singular value of the
// rows, each of length 1, between 1e-11 and 1e-5.
func (c *randomCase) projector(rows [][]float64, steps int) (p *mat.Dense, rank int, sure bool) {
	n := c.gossip.Agents * steps
	all, m := make([]float64, 0, n*(len(rows)+1)), 1
	all = append(all, make([]float64, n)...)
	for _, row := range rows {
		x := slices.Clone(row)
		for _, a := range c.member {
			clear(x[a*steps : (a+1)*steps])
		}
		if l := floats.Norm(x, 2); l > 1e-12*floats.Norm(row, 2) {
			floats.Scale(1/l, x)
			all, m = append(all, x...), m+1
		}
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(m, n, all), mat.SVDThin) {
		return nil, 0, false
	}
	var v mat.Dense
	svd.VTo(&v)
	p, sure = mat.NewDense(n, n, nil), true
	for k, s := range svd.Values(nil) {
		if sure = sure && (s < 1e-11 || s > 1e-5); s > 1e-5 {
			x := v.ColView(k)
			p.RankOne(p, 1, x, x)
			rank++
		}
	}
	return p, rank, sure
}

// TestLeaksOfRandomDigraphs: leaks and ranks are those of a singular value decomposition
// of all rows; of an averaging after each of two steps, who sees all messages learns the
// blocks of the projector where each release of the first step is a function of what is
// seen in it, and else is charged both updates.
func TestLeaksOfRandomDigraphs(t *testing.T) {
	t.Parallel()
	const graphs = 400
	r := rand.New(rand.NewPCG(26, 11))
	leaks, told, untold := 0, 0, 0
	for trial := 0; trial < graphs; {
		c := drawCase(t, r, trial)
		rows, _ := c.seen(1)
		p, rank, sure := c.projector(rows[0], 1)
		if !sure {
			continue
		}
		trial++
		v, err := c.gossip.View(c.who)
		if err != nil {
			t.Fatal(err)
		}
		if v.Rank != rank {
			t.Errorf("graph %d, %v: rank %d, want %d (%s)", trial, c.who, v.Rank, rank, v.Decided)
		}
		for u, leak := range v.Leak {
			want := p.At(u, u)
			if slices.Contains(c.member, u) {
				want = 1
			}
			if leaks++; math.Abs(leak-want) > 1e-9 {
				t.Errorf("graph %d, %v: leak of %d is %v, want %v", trial, c.who, u, leak, want)
			}
		}
		switch c.training(t, trial) {
		case 1:
			told++
		case -1:
			untold++
		}
	}
	t.Logf("%d leaks; two steps: %d told, %d not", leaks, told, untold)
	if leaks < 2600 || told < 50 || untold < 50 {
		t.Error("too few cases of a kind")
	}
}

// training checks two steps: 1 where each release is told, -1 where it is not, 0 for who
// sees part or where ranks are in doubt.
func (c *randomCase) training(t *testing.T, trial int) int {
	t.Helper()
	const steps = 2
	v, err := (&network.Training{Gossip: c.gossip, Steps: steps}).View(c.who)
	if err != nil {
		t.Fatal(err)
	}
	rows, released := c.seen(steps)
	all, _, sure := c.projector(slices.Concat(rows...), steps)
	first, rank, sureFirst := c.projector(rows[0], steps)
	_, with, sureWith := c.projector(slices.Concat(rows[0], released[0]), steps)
	if !sure || !sureFirst || !sureWith || first == nil {
		return 0
	}
	partial, toldAll := c.member != nil, with == rank
	if (v.Provenance == network.Proved) == partial || (v.Label == "") == partial {
		t.Errorf("graph %d, %v: %s, label %q", trial, c.who, v.Provenance, v.Label)
	}
	for u, share := range v.Share {
		block := 0.0
		for s := range steps {
			for x := range steps {
				block += math.Abs(all.At(u*steps+s, u*steps+x))
			}
		}
		want := math.Min(steps, block)
		if slices.Contains(c.member, u) || !partial && !toldAll && block > 1e-9 {
			want = steps
		}
		if math.Abs(share-want) > 1e-7 {
			t.Errorf("graph %d, %v: share of %d is %v, want %v", trial, c.who, u, share, want)
		}
	}
	switch {
	case partial:
		return 0
	case toldAll:
		return 1
	}
	return -1
}

// TestDecorOfRandomGraphs: multipliers are 1/sqrt of the diagonal of the inverse of the
// covariance of what honest agents send, links to curious ones left out, by a singular
// value decomposition of the noise itself: one column a source.
func TestDecorOfRandomGraphs(t *testing.T) {
	t.Parallel()
	const graphs = 150
	r := rand.New(rand.NewPCG(29, 5))
	agents := 0
	for trial := range graphs {
		n := 2 + r.IntN(10)
		own, pair := math.Exp(3*(r.Float64()-.5)), math.Exp(5*(r.Float64()-.5))
		d := network.Decor{Agents: n, Own: own, Pair: pair}
		for i := range n {
			for j := range i {
				if r.IntN(3) > 0 {
					d.Links = append(d.Links, [2]int{i, j})
				}
			}
		}
		curious := r.Perm(n)[:r.IntN(n)]
		got, err := d.Multipliers(curious)
		if err != nil {
			t.Fatal(err)
		}
		var honest []int
		for i := range n {
			if !slices.Contains(curious, i) {
				honest = append(honest, i)
			} else if got[i] != 0 {
				t.Errorf("graph %d: curious agent %d has %v", trial, i, got[i])
			}
		}
		sources := mat.NewDense(len(honest), len(honest)+len(d.Links), nil)
		for k := range honest {
			sources.Set(k, k, d.Own)
		}
		for e, l := range d.Links {
			a, b := slices.Index(honest, l[0]), slices.Index(honest, l[1])
			if a >= 0 && b >= 0 {
				sources.Set(a, len(honest)+e, d.Pair)
				sources.Set(b, len(honest)+e, -d.Pair)
			}
		}
		var svd mat.SVD
		if !svd.Factorize(sources, mat.SVDThin) {
			t.Fatal("no singular values")
		}
		var u mat.Dense
		svd.UTo(&u)
		for k, i := range honest {
			inverse := 0.0
			for m, s := range svd.Values(nil) {
				inverse += u.At(k, m) * u.At(k, m) / (s * s)
			}
			want := 1 / math.Sqrt(inverse)
			if agents++; math.Abs(got[i]/want-1) > 1e-11 {
				t.Errorf("graph %d, curious %v: agent %d has %v, want %v", trial, curious, i, got[i], want)
			}
		}
	}
	if agents < 580 {
		t.Errorf("%d agents, want at least 580", agents)
	}
}
