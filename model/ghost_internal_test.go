package model

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"sotto/tensor"
)

// gramCase is a convolution whose norms come from Gram matrices, with a chunk of inputs
// and output gradients.
type gramCase struct {
	c *conv2d
	p *pass
}

func newGramCase(t *rapid.T, w *Workspace) gramCase {
	channels, filters := rapid.IntRange(3, 400).Draw(t, "channels"), rapid.IntRange(8, 40).Draw(t, "filters")
	c := &conv2d{name: "conv2d", geometry: geometry{
		window: tensor.Window{
			Height:   3,
			Width:    2,
			Channels: channels,
			Kernel:   2,
			Stride:   1,
			Rows:     2,
			Cols:     1,
		},
		filters: filters, bias: rapid.Bool().Draw(t, "bias"),
	}}
	n := compose(softmaxCrossEntropy, false, c)
	n.bind(w, make(tensor.Vec, n.dim), 1, true)
	p := &w.passes[0]
	p.x, p.y.Rows, p.dy.Rows, p.scratch.Rows = tensor.NewMat(2, c.size().in), 2, 2, 2
	return gramCase{c, p}
}

// exact returns the squared norm of row 0's gradient in float64, and S of ghost.go
// squared.
func (g gramCase) exact() (norm, bound float64) {
	c, t := g.c, g.c.positions()
	patches := tensor.NewMat(t, c.taps())
	c.window.Patches(patches, g.p.x.Row(0), 0, 0)
	ones := 0
	if c.bias {
		ones = 1
	}
	var s float64
	for i := range t {
		a, b := float64(ones), 0.0
		for _, v := range patches.Row(i) {
			a += float64(v) * float64(v)
		}
		for f := range c.filters {
			v := float64(g.p.dy.Data[i*c.filters+f])
			b += v * v
		}
		s += math.Sqrt(a) * math.Sqrt(b)
	}
	for k := range c.taps() + ones {
		for f := range c.filters {
			var sum float64
			for i := range t {
				a := 1.0
				if k < c.taps() {
					a = float64(patches.Row(i)[k])
				}
				sum += a * float64(g.p.dy.Data[i*c.filters+f])
			}
			norm += sum * sum
		}
	}
	return norm, s * s
}

// TestGramNormIsABound: it is never below the true norm, whatever cancels, overflows or
// underflows, and not far above.
func TestGramNormIsABound(t *testing.T) {
	var w Workspace
	apart := 0
	rapid.Check(t, func(t *rapid.T) {
		g := newGramCase(t, &w)
		if !g.c.gram(1) {
			return
		}
		seed := rapid.Uint64().Draw(t, "seed")
		random := func() float32 {
			seed = seed*6364136223846793005 + 1442695040888963407
			return float32(int32(seed>>32)) / (1 << 31)
		}
		scales := []float32{1, 1, 1e-3, 1e3, 1e-10, 1e10, 1e-18, 1e18, 1e-30, 1e30, 1e-44}
		scaleX, scaleY := rapid.SampledFrom(scales).Draw(t, "x"), rapid.SampledFrom(scales).Draw(t, "dy")
		same := rapid.Bool().Draw(t, "same pixels")
		for i := range g.p.x.Data {
			if g.p.x.Data[i] = scaleX * random(); same {
				g.p.x.Data[i] = scaleX * float32(1+i%g.c.window.Channels%3)
			}
		}
		alternate := rapid.Bool().Draw(t, "alternating")
		for f := range g.c.filters {
			v := scaleY * random()
			for i := range g.c.positions() {
				g.p.dy.Data[i*g.c.filters+f] = scaleY * random()
				if alternate { // gradients that cancel, all but 1e-6 of them
					g.p.dy.Data[i*g.c.filters+f] = v * float32(1-2*(i%2)) * (1 + 1e-6*random())
				}
			}
		}
		got := g.c.gramNorm(g.p, 0)
		norm, s := g.exact()
		if g.p.scratch.Row(0)[0] != 0 {
			apart++
			// Subnormal elements err by 2^-149 each.
			if !(math.Abs(math.Sqrt(got)-math.Sqrt(norm)) <= 1e-4*math.Sqrt(s)+1e-42 || math.IsInf(got, 1) ||
				got != got) {
				t.Fatalf("instantiated: %v, exact %v", got, norm)
			}
			return
		}
		if !(got >= norm*(1-1e-9)-1e-14*s) {
			t.Fatalf("bound %v is below the norm %v (S^2 = %v)", got, norm, s)
		}
		most := math.Sqrt(norm+1e-4*s) + 1e-6*math.Sqrt(s)
		if least := math.Sqrt(s) / mostCancellation; got < least*least {
			t.Fatalf("bound %v lets the sum of lengths be %v, %d times as long at most", got, math.Sqrt(s),
				mostCancellation)
		} else if most = max(most, least*(1+1e-6)); got > most*most+1e-80 {
			t.Fatalf("bound %v is far above the norm %v (S^2 = %v)", got, norm, s)
		}
	})
	if apart == 0 {
		t.Error("no case had its gradient formed apart")
	}
}

// TestGramNormNotFinite: NaN and Inf in inputs or output gradients must show.
func TestGramNormNotFinite(t *testing.T) {
	var w Workspace
	rapid.Check(t, func(t *rapid.T) {
		g := newGramCase(t, &w)
		for i := range g.p.x.Data {
			g.p.x.Data[i] = 1
		}
		for i := range g.p.dy.Data {
			g.p.dy.Data[i] = rapid.SampledFrom([]float32{0, 1}).Draw(t, "dy")
			if i > 5 {
				g.p.dy.Data[i] = g.p.dy.Data[0]
			}
		}
		bad := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(t, "bad")
		if rapid.Bool().Draw(t, "in x") {
			g.p.x.Data[rapid.IntRange(0, g.c.size().in-1).Draw(t, "place")] = float32(bad)
		} else {
			g.p.dy.Data[rapid.IntRange(0, g.c.size().out-1).Draw(t, "place")] = float32(bad)
		}
		if got := g.c.gramNorm(g.p, 0); got-got == 0 {
			t.Fatalf("%v gives the norm %v", bad, got)
		}
	})
}

// TestChunkMemory: what a step of the largest network here needs does not grow with the
// batch, and the gradients that are kept stay below 64 MB.
func TestChunkMemory(t *testing.T) {
	m, err := New("dpresnet9", Shape{Height: 32, Width: 32, Channels: 3, Classes: 100}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := m.(*network)
	for _, views := range []int{1, 2, 16, 32} {
		if kept := 4 * n.kept(views) * (n.chunk(views) / views); kept > 64<<20 {
			t.Errorf("%d views: %d bytes of gradients are kept", views, kept)
		}
	}
	floats := n.rows*(n.perRow+n.tempRow) + n.perCall + n.temp
	t.Logf("chunks of %d rows, %d MB", n.rows, floats>>18)
	if floats > 1<<26 {
		t.Errorf("a chunk of %d rows needs %d floats", n.rows, floats)
	}
}
