package oracle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/agent"
	"sotto/config"
	"sotto/data"
	"sotto/model"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/rng"
	"sotto/tensor"
)

// images is n images of 5 x 6 x 2 in three classes, of values in (-1, 1), none of which
// is 0.
func images(n int) *data.Dataset {
	d := &data.Dataset{X: tensor.NewMat(n, 60), Shape: [3]int{5, 6, 2}, Classes: 3, Labels: make([]int32, n)}
	for i := range d.X.Data {
		d.X.Data[i] = float32(math.Sin(float64(i + 1)))
	}
	for i := range d.Labels {
		d.Labels[i] = int32(i % 3)
	}
	return d
}

func imageOracle(t *testing.T, d *data.Dataset, a Augmentation, clip float64) *Gradient {
	t.Helper()
	m, err := model.New("mlp", model.Shape{Height: 5, Width: 6, Channels: 2, Classes: 3}, func(p any) error {
		p.(*model.MLPParams).Hidden = []int{7}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	g := &Gradient{
		Model:             m,
		Records:           Records{Data: d},
		SampleRate:        1,
		ExpectedBatchSize: 4,
		ClipNorm:          clip,
		Adjacency:         account.AddRemove,
		Unit:              account.Record(),
		Pool:              NewPool(),
		Augment:           a,
	}
	for i := range d.Len() {
		g.Records.Index = append(g.Records.Index, int32(i))
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	return g
}

// sum evaluates g at fixed parameters with charge seq's sample stream, which it returns
// too.
func sum(g *Gradient, seq uint64) (tensor.Vec, *rng.Stream) {
	theta := make(tensor.Vec, g.Model.Dim())
	g.Model.Init(theta, rng.Public(1, "augment test"))
	k := rng.Simulated(1, 0, seq)
	s := rng.NewStream(&k, rng.Sample)
	v := privacy.Value{Float: make(tensor.Vec, len(theta))}
	g.Evaluate(&v, &agent.Query{Oracle: "grad", At: theta}, s)
	v.Narrow()
	return v.Float, s
}

// padded is img with p pixels around it, by explicit lists of the rows and columns that
// each position shows: -1 is empty.
func padded(img []float32, shape [3]int, p int, mirror bool) (out []float32, height, width int) {
	list := func(n int) (at []int) {
		for i := p; i >= 1; i-- {
			at = append(at, i)
		}
		for i := range n {
			at = append(at, i)
		}
		for i := 1; i <= p; i++ {
			at = append(at, n-1-i)
		}
		for i := range at {
			if !mirror && (i < p || i >= p+n) {
				at[i] = -1
			}
		}
		return at
	}
	rows, cols := list(shape[0]), list(shape[1])
	for _, r := range rows {
		for _, c := range cols {
			for k := range shape[2] {
				if r < 0 || c < 0 {
					out = append(out, 0)
				} else {
					out = append(out, img[(r*shape[1]+c)*shape[2]+k])
				}
			}
		}
	}
	return out, len(rows), len(cols)
}

// A view is a window of the padded image, then perhaps turned left to right; the draws
// are, in order, down, right, flip.
func TestViewsAreWindows(t *testing.T) {
	d := images(1)
	shape, img := d.Shape, d.X.Row(0)
	columns := make([]int, shape[1])
	for _, a := range []Augmentation{{Shift: 2}, {Shift: 4, Flip: true}, {Crop: 1}, {Crop: 4, Flip: true},
		{Flip: true}} {
		k := rng.Simulated(5, 0, 0)
		s, draws := rng.NewStream(&k, rng.Sample), rng.NewStream(&k, rng.Sample)
		p := max(a.Shift, a.Crop)
		big, _, width := padded(img, shape, p, a.Crop > 0)
		for range 200 {
			got := make([]float32, len(img))
			a.view(got, img, shape, s, columns)
			top, left, flip := 0, 0, false
			if p > 0 { // moving down by s shows the window that starts s higher
				top = 2*p - int(draws.Below(uint64(2*p+1)))
				left = 2*p - int(draws.Below(uint64(2*p+1)))
			}
			if a.Flip {
				flip = draws.Uint64() >= 1<<63
			}
			for y := range shape[0] {
				for x := range shape[1] {
					for c := range shape[2] {
						from := x
						if flip {
							from = shape[1] - 1 - x
						}
						want := big[((top+y)*width+left+from)*shape[2]+c]
						if v := got[(y*shape[1]+x)*shape[2]+c]; v != want {
							t.Fatalf("%+v: pixel %d,%d,%d is %g, want %g", a, y, x, c, v, want)
						}
					}
				}
			}
		}
	}
}

// Shifts are uniform over (2s+1)^2 places, and half of the views are turned: chi-square
// and frequency at a false-reject rate of 1e-6 each.
func TestShiftsAreUniform(t *testing.T) {
	a := Augmentation{Shift: 2, Flip: true}
	k := rng.Simulated(6, 0, 0)
	s := rng.NewStream(&k, rng.Sample)
	shape := [3]int{9, 11, 1}
	img, got, columns := make([]float32, 99), make([]float32, 99), make([]int, 11)
	img[4*11+2] = 1 // columns 0 to 4, or 10 to 6 when it was turned
	const n = 20_000
	var counts [25]float64
	turned := 0.
	for range n {
		a.view(got, img, shape, s, columns)
		at := slices.Index(got, 1)
		y, x := at/11, at%11
		if x > 5 {
			turned++
			x = 10 - x
		}
		counts[(y-2)*5+x]++
	}
	chi := 0.
	for _, c := range counts {
		chi += (c - n/25.) * (c - n/25.) / (n / 25.)
	}
	if q := (distuv.ChiSquared{K: 24}).Survival(chi); q < 1e-6 {
		t.Errorf("chi-square %g over the shifts, p-value %g", chi, q)
	}
	if math.Abs(turned-n/2) > 4.9*math.Sqrt(n/4.) {
		t.Errorf("%g of %d views are turned", turned, n)
	}
}

// One record moves the clipped sum by at most the clip, however many views it has and
// whatever they hold. With rate 1 the last record's views are drawn last, so that the
// sums differ by its contribution alone.
func TestViewsKeepTheSensitivity(t *testing.T) {
	for _, views := range []int{1, 2, 3, 32} {
		a := Augmentation{Views: views, Shift: 2, Flip: true}
		base, _ := sum(imageOracle(t, images(9), a, .5), 1)
		for _, scale := range []float32{1, 1e-20, 1e4, 1e30, float32(math.Inf(1)), float32(math.NaN())} {
			d := images(10)
			d.X.Row(9).Scale(float64(scale), d.X.Row(9))
			with, _ := sum(imageOracle(t, d, a, .5), 1)
			var change float64
			for i := range with {
				x := float64(with[i]) - float64(base[i])
				change += x * x
			}
			if change = math.Sqrt(change); !(change <= .5*(1+1e-5)) {
				t.Errorf("%d views of a record times %g move the sum by %g, the clip is 0.5", views, scale,
					change)
			}
			if scale == 1 && change < .1 {
				t.Errorf("%d views of an ordinary record move the sum by %g only", views, change)
			}
		}
	}
}

// On the integer grid a record adds at most 2^20 steps.
func TestViewsOnTheGrid(t *testing.T) {
	d := images(1)
	d.X.Row(0).Scale(50, d.X.Row(0))
	g := imageOracle(t, d, Augmentation{Views: 4, Crop: 1, Flip: true}, .5)
	theta := make(tensor.Vec, g.Model.Dim())
	g.Model.Init(theta, rng.Public(1, "augment test"))
	k := rng.Simulated(1, 0, 0)
	grid := make([]int64, len(theta))
	g.EvaluateGrid(grid, &agent.Query{Oracle: "grad", At: theta}, rng.NewStream(&k, rng.Sample))
	square := 0.
	for _, x := range grid {
		square += float64(x) * float64(x)
	}
	if n := math.Sqrt(square); n > 1<<20 || n < .99*(1<<20) {
		t.Errorf("a record adds %g grid steps, want just below 2^20", n)
	}
}

// Without clipping the sum is that of the mean gradients of views which are made here.
func TestGradientsOfViewsAreAveraged(t *testing.T) {
	const views = 3
	a := Augmentation{Views: views, Shift: 1, Flip: true}
	d := images(100) // more than one gathering
	g := imageOracle(t, d, a, math.Inf(1))
	got, _ := sum(g, 2)
	k := rng.Simulated(1, 0, 2)
	s := rng.NewStream(&k, rng.Sample) // rate 1 draws nothing
	theta, columns := make(tensor.Vec, len(got)), make([]int, 6)
	g.Model.Init(theta, rng.Public(1, "augment test"))
	want := make([]float64, len(got))
	var w model.Workspace
	for r := range d.Len() {
		for range views {
			b := model.Batch{X: tensor.NewMat(1, 60), Labels: d.Labels[r : r+1]}
			a.view(b.X.Row(0), d.X.Row(r), d.Shape, s, columns)
			one := make(tensor.Vec, len(got))
			g.Model.ClippedGradientSum(one, theta, &b, math.Inf(1), &w)
			for i, x := range one {
				want[i] += float64(x) / views
			}
		}
	}
	for i := range want {
		if math.Abs(float64(got[i])-want[i]) > 1e-4 {
			t.Fatalf("coordinate %d: %g, the mean over views is %g", i, got[i], want[i])
		}
	}
}

// What is drawn does not depend on the records' values, and one view without changes is
// no augmentation.
func TestViewsDrawTheSame(t *testing.T) {
	a := Augmentation{Views: 2, Shift: 2, Flip: true}
	other := images(20)
	for i := range other.X.Data {
		other.X.Data[i] = float32(math.NaN())
	}
	_, s := sum(imageOracle(t, images(20), a, 1), 3)
	_, o := sum(imageOracle(t, other, a, 1), 3)
	if s.Uint64() != o.Uint64() {
		t.Error("other values leave the stream elsewhere")
	}
	plain, s := sum(imageOracle(t, images(20), Augmentation{}, 1), 3)
	one, o := sum(imageOracle(t, images(20), Augmentation{Views: 1}, 1), 3)
	if !slices.Equal(plain, one) || s.Uint64() != o.Uint64() {
		t.Error("one view is not the record itself")
	}
}

// foreign is a model from elsewhere.
type foreign struct{ model.Model }

func TestAugmentationRefuses(t *testing.T) {
	m := imageOracle(t, images(1), Augmentation{}, 1).Model
	shape, table := [3]int{5, 6, 2}, [3]int{1, 1, 60}
	for _, c := range []struct {
		a     Augmentation
		shape [3]int
		m     model.Model
		key   string
	}{
		{Augmentation{Views: 33, Flip: true}, shape, m, "augmentations"},
		{Augmentation{Views: -1}, shape, m, "augmentations"},
		{Augmentation{Views: 2}, shape, m, "augmentations"},
		{Augmentation{Views: 2, Flip: true}, table, m, "augmentations"},
		{Augmentation{Shift: 1}, table, m, "augmentations"},
		{Augmentation{Views: 2, Flip: true}, shape, foreign{m}, "augmentations"},
		{Augmentation{Shift: 5}, shape, m, "augment_shift"},
		{Augmentation{Crop: 5}, shape, m, "augment_crop"},
		{Augmentation{Crop: 1, Shift: 1}, shape, m, "augment_crop"},
		{Augmentation{Views: 32, Shift: 4, Flip: true}, shape, m, ""},
		{Augmentation{Views: 1}, table, foreign{m}, ""},
		{Augmentation{Crop: 1}, shape, foreign{m}, ""},
	} {
		err := c.a.Validate(c.shape, c.m)
		var bad *config.Error
		if c.key == "" && err != nil || c.key != "" && (!errors.As(err, &bad) || bad.Key != c.key) {
			t.Errorf("%+v on %v: %v, want %q", c.a, c.shape, err, c.key)
		}
	}
}

// BenchmarkView draws views of 32 x 32 pixels.
func BenchmarkView(b *testing.B) {
	for name, a := range map[string]Augmentation{"shift": {Shift: 4},
		"crop and flip": {Crop: 4, Flip: true}} {
		for _, channels := range []int{1, 3} {
			b.Run(fmt.Sprintf("%s/%d", name, channels), func(b *testing.B) {
				k := rng.Simulated(1, 0, 0)
				s := rng.NewStream(&k, rng.Sample)
				src, dst, columns := make([]float32, 1024*channels), make([]float32, 1024*channels),
					make([]int, 32)
				for b.Loop() {
					a.view(dst, src, [3]int{32, 32, channels}, s, columns)
				}
			})
		}
	}
}
