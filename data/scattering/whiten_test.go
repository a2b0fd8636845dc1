package scattering

import (
	"math"
	"slices"
	"testing"

	"sotto/internal/long"
	"sotto/rng"
)

// On the images that a whitening is made from, components of different eigenvectors of
// the channels are uncorrelated, averaged over points, as those of different eigenvectors
// of the points are, averaged over channels; eigenvectors come in falling order.
func TestWhitening(t *testing.T) {
	const side, groups = 8, 27
	tr, err := New(side, side)
	if err != nil {
		t.Fatal(err)
	}
	pixels := Pixels{Channels: 1}
	w, err := NewWhitening(tr, pixels, groups, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, points := w.channels, w.points
	if w.Size() != n*points || points != 4 {
		t.Fatalf("%d components at %d points", w.Size(), points)
	}
	x := drawLeaves(tr, pixels, groups)
	channels := make([][]float64, n)
	for c := range channels {
		channels[c] = make([]float64, n)
	}
	var at [4][4]float64
	var s WhiteningScratch
	z, by := make([]float32, w.Size()), make([]float32, w.Size())
	for i := range x.Rows {
		w.Apply(z, x.Row(i), &s)
		for k, v := range z {
			by[w.keep[k]] = v // points times channels
		}
		for p := range points {
			for a := range n {
				for b := range n {
					channels[a][b] += float64(by[p*n+a]) * float64(by[p*n+b])
				}
			}
			for q := range points {
				for c := range n {
					at[p][q] += float64(by[p*n+c]) * float64(by[q*n+c])
				}
			}
		}
	}
	small := func(what string, a, b int, product, one, other float64) {
		if a != b && math.Abs(product) > 2e-3*math.Sqrt(one*other) {
			t.Errorf("%s %d and %d correlate: %g of %g, %g", what, a, b, product, one, other)
		}
	}
	for a := range n {
		for b := range n {
			if channels[a][a] > 1e-3*channels[0][0] && channels[b][b] > 1e-3*channels[0][0] {
				small("channels", a, b, channels[a][b], channels[a][a], channels[b][b])
			}
		}
		if a > 0 && channels[a][a] > 1.001*channels[a-1][a-1]+1e-6*channels[0][0] {
			t.Errorf("channel %d varies more than the one before: %g, %g", a, channels[a][a],
				channels[a-1][a-1])
		}
	}
	for p := range at {
		for q := range at {
			small("points", p, q, at[p][q], at[p][p], at[q][q])
		}
	}
}

// Power 1 divides each component by its standard deviation in product form, so that those
// of images that no whitening has seen have variances about 1, as far as the product form
// goes, and power .5 by the root of that. Fewer components are the first of all. Images
// have one channel, three with the tag long.
func TestWhiteningPower(t *testing.T) {
	tr, err := New(8, 8)
	if err != nil {
		t.Fatal(err)
	}
	pixels := Pixels{Channels: 1, Mean: []float64{.5}, Std: []float64{.2}}
	if long.Tests {
		pixels = Pixels{Channels: 3, Mean: []float64{.5, .4, .3}, Std: []float64{.2, .3, .25}}
	}
	channels := pixels.Channels
	of := func(power float64, size int) *Whitening {
		w, err := NewWhitening(tr, pixels, 27, power, size)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	all, whole, half, few := of(0, 0), of(1, 0), of(.5, 0), of(1, 50)
	const images = 500
	var s Scratch
	var ws WhiteningScratch
	image, row := make([]float32, 8*8*channels), make([]float32, tr.Size(channels))
	z := [4][]float32{}
	squares := make([]float64, 20)
	for i := range images {
		leaf(image, 8, 8, channels, rng.Public(1, "other dead leaves", uint64(i)))
		for j := range image {
			image[j] = (image[j] - float32(pixels.Mean[j%channels])) /
				float32(pixels.Std[j%channels])
		}
		for k, w := range []*Whitening{all, whole, half, few} {
			tr.Image(row, image, channels, &s)
			Normalize(row, channels, 27)
			z[k] = make([]float32, w.Size())
			w.Apply(z[k], row, &ws)
		}
		if !slices.Equal(z[3], z[1][:50]) {
			t.Fatal("the first 50 components are others than those of all")
		}
		for k := range squares {
			squares[k] += float64(z[1][k]) * float64(z[1][k]) / images
			if want := float64(z[0][k]) * float64(z[1][k]); math.Abs(want-float64(z[2][k])*float64(z[2][k])) >
				1e-4*math.Abs(want) {
				t.Fatalf("component %d: %g, %g, %g with powers 0, .5, 1", k, z[0][k], z[2][k], z[1][k])
			}
		}
	}
	logs := 0.
	for k, v := range squares {
		logs += math.Log(v) / float64(len(squares))
		if v < .05 || v > 10 {
			t.Errorf("component %d has mean square %g on other images, want about 1", k, v)
		}
	}
	if mean := math.Exp(logs); mean < .4 || mean > 1.5 {
		t.Errorf("mean squares on other images are %g in the geometric mean, want about 1", mean)
	}
	for _, size := range []int{-1, tr.Size(channels) + 1} {
		if _, err := NewWhitening(tr, pixels, 27, 1, size); err == nil {
			t.Errorf("%d components are accepted", size)
		}
	}
}

// Drawn images are the same each time and hold pixels in [0, 1] with the spectrum of
// photographs: neighboring pixels are alike, distant ones less so.
func TestLeaf(t *testing.T) {
	const side = 32
	a, b := make([]float32, side*side*3), make([]float32, side*side*3)
	near, far, n := 0., 0., 0
	for i := range 50 {
		leaf(a, side, side, 3, rng.Public(0, "dead leaves", uint64(i)))
		leaf(b, side, side, 3, rng.Public(0, "dead leaves", uint64(i)))
		if !slices.Equal(a, b) {
			t.Fatal("an image is drawn twice and differs")
		}
		for j, v := range a {
			if v < 0 || v > 1 {
				t.Fatalf("pixel %g", v)
			}
			if x := j / 3 % side; x+16 < side {
				near += math.Abs(float64(v - a[j+3]))
				far += math.Abs(float64(v - a[j+48]))
				n++
			}
		}
	}
	if near > .7*far || far < .05*float64(n) {
		t.Errorf("neighbors differ by %g, pixels 16 apart by %g in the mean", near/float64(n), far/float64(n))
	}
}
