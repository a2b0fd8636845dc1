package scattering

import (
	"math"
	"slices"
	"testing"

	"sotto/tensor"
)

func features(t *testing.T, image []float32, height, width int) []float32 {
	t.Helper()
	tr, err := New(height, width)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, tr.Size(1))
	tr.Image(out, image, 1, new(Scratch))
	return out
}

func TestSizes(t *testing.T) {
	for _, c := range []struct{ side, channels, want int }{{28, 1, 81 * 7 * 7}, {32, 3, 243 * 8 * 8}} {
		tr, err := New(c.side, c.side)
		if err != nil {
			t.Fatal(err)
		}
		if got := tr.Size(c.channels); got != c.want {
			t.Errorf("%d pixels, %d channels: %d features, want %d", c.side, c.channels, got, c.want)
		}
	}
	for _, side := range []int{0, 4, 30, 260} {
		if _, err := New(32, side); err == nil {
			t.Errorf("side %d is accepted", side)
		}
	}
}

// The low pass keeps a constant, which no wavelet sees.
func TestConstantImage(t *testing.T) {
	image := slices.Repeat([]float32{3}, 28*28)
	for i, v := range features(t, image, 28, 28) {
		want := float32(0)
		if i%Paths == 0 {
			want = 3
		}
		if math.Abs(float64(v-want)) > 2e-5 {
			t.Fatalf("path %d at point %d: %v, want %v", i%Paths, i/Paths, v, want)
		}
	}
}

// inside returns an image that is 0 but for a patch around pixel (16, 16).
func inside(shiftY, shiftX int, turned bool) []float32 {
	const around = 5
	patch, image := noise((2*around+1)*(2*around+1), 7), make([]float32, 32*32)
	for dy := -around; dy <= around; dy++ {
		for dx := -around; dx <= around; dx++ {
			y, x := dy, dx
			if turned {
				y, x = -dx, dy
			}
			image[(16+y+shiftY)*32+16+x+shiftX] = patch[(dy+around)*(2*around+1)+dx+around]
		}
	}
	return image
}

// Moving what is inside the image by 4 pixels moves its features by a point.
func TestTranslation(t *testing.T) {
	still, moved := features(t, inside(0, 0, false), 32, 32), features(t, inside(4, -4, false), 32, 32)
	for y := range 7 {
		for x := 1; x < 8; x++ {
			for p := range Paths {
				a, b := still[(y*8+x)*Paths+p], moved[((y+1)*8+x-1)*Paths+p]
				if math.Abs(float64(a-b)) > 5e-6 {
					t.Fatalf("point (%d, %d), path %d: %v, moved %v", y, x, p, a, b)
				}
			}
		}
	}
}

// A quarter of a turn adds a quarter of a turn, 4 of 8 angles, to every angle: real
// images do not tell an angle from its opposite.
func TestQuarterTurn(t *testing.T) {
	still, turned := features(t, inside(0, 0, false), 32, 32), features(t, inside(0, 0, true), 32, 32)
	rotated := func(p int) int {
		switch {
		case p == 0:
			return 0
		case p < 1+2*angles:
			j, a := (p-1)/angles, (p-1)%angles
			return 1 + j*angles + (a+4)%angles
		default:
			a, b := (p-17)/angles, (p-17)%angles
			return 17 + (a+4)%angles*angles + (b+4)%angles
		}
	}
	largest := 0.
	for y := -3; y <= 3; y++ {
		for x := -3; x <= 3; x++ {
			for p := range Paths {
				a := still[((4+y)*8+4+x)*Paths+p]
				b := turned[((4-x)*8+4+y)*Paths+rotated(p)]
				if math.Abs(float64(a-b)) > 5e-6 {
					t.Fatalf("point (%d, %d), path %d: %v, turned %v", y, x, p, a, b)
				}
				largest = max(largest, math.Abs(float64(a)))
			}
		}
	}
	if largest < .1 {
		t.Errorf("the largest feature is %v", largest)
	}
}

// folded is the largest sum of squares over the bands that keeping every step-th point in
// both directions folds into one, over step^4: what the filters with that sum of squares
// and the points kept can make of a signal's energy.
func folded(squares []float64, n, step int) float64 {
	m, largest := n/step, 0.
	for k := range m {
		for l := range m {
			sum := 0.
			for i := range step * step {
				sum += squares[(k+i/step*m)*n+l+i%step*m]
			}
			largest = max(largest, sum/float64(step*step))
		}
	}
	return largest
}

// No pair of images is further apart in features than the Littlewood-Paley sums of the
// filters, computed here from their formula in space, allow on the padded grid.
func TestNonexpansive(t *testing.T) {
	const side, n = 8, 16
	squares := func(f grid) []float64 {
		var out []float64
		for _, v := range f.fourier(-1).v {
			out = append(out, real(v)*real(v)+imag(v)*imag(v))
		}
		return out
	}
	scale := func(j int) []float64 {
		sum := make([]float64, n*n)
		for a := range angles {
			for i, v := range squares(spatialMorlet(n, n, j, a)) {
				sum[i] += v
			}
		}
		return sum
	}
	phi := spatialGabor(n, n, 1.6, 1, 0, 0)
	fine, coarse := scale(0), scale(1)
	low, lower := folded(squares(phi), n, 4), folded(squares(phi.coarser()), n/2, 2)
	all, band := make([]float64, n*n), folded(coarse, n, 2)
	for k := range n { // of real images: both directions of each wavelet
		for l := range n {
			i, j := k*n+l, (n-k)%n*n+(n-l)%n
			all[i] = squares(phi)[i] + (fine[i]+fine[j]+coarse[i]+coarse[j])/2
		}
	}
	if top := slices.Max(all); top > 2 || slices.Min(all) < .001 {
		t.Errorf("Littlewood-Paley sum from %.3g to %.3g", slices.Min(all), top)
	}
	bound := low + slices.Max(fine)*(low+band*lower) + band*lower
	tr, err := New(side, side)
	if err != nil {
		t.Fatal(err)
	}
	a, b, s := make([]float32, tr.Size(1)), make([]float32, tr.Size(1)), new(Scratch)
	largest := 0.
	for seed := range uint64(200) {
		x, y := noise(side*side, 2*seed), noise(side*side, 2*seed+1)
		if seed%2 == 0 { // near each other
			for i := range y {
				y[i] = x[i] + y[i]/100
			}
		}
		tr.Image(a, x, 1, s)
		padded := 0.
		for i := range x {
			x[i] -= y[i]
		}
		tr.pad(s, x, 1)
		for _, phase := range s.plane {
			padded += tensor.SumSquares(phase.Data)
		}
		tr.Image(b, y, 1, s)
		tensor.Vec(a).AddScaled(-1, b)
		largest = max(largest, tensor.SumSquares(a)/padded)
	}
	if largest > bound || bound > 1 {
		t.Errorf("the largest ratio of squares is %v, bound %v", largest, bound)
	}
	t.Logf("largest ratio %.4f of squares, bound %.4f", largest, bound)
}

// Every group of channels has mean 0 and variance 1, and a row the norm that is stated.
func TestNormalize(t *testing.T) {
	const channels, points, groups, size = 3, 4, 27, 9
	row := noise(points*channels*Paths, 3)
	for i := range row {
		row[i] = 100*row[i] + float32(i%7)
	}
	was := slices.Clone(row)
	Normalize(row, channels, groups)
	for g := range groups {
		var mean, variance, wasMean float64
		for p := range points {
			for c := range size {
				mean += float64(row[p*channels*Paths+g*size+c]) / (points * size)
				wasMean += float64(was[p*channels*Paths+g*size+c]) / (points * size)
			}
		}
		for p := range points {
			for c := range size {
				variance += math.Pow(float64(row[p*channels*Paths+g*size+c])-mean, 2) / (points * size)
			}
		}
		if math.Abs(mean) > 1e-6 || math.Abs(variance-1) > 1e-5 {
			t.Fatalf("group %d: mean %v, variance %v", g, mean, variance)
		}
		at := 2*channels*Paths + g*size + 1
		if above := float64(was[at]) > wasMean; above != (row[at] > 0) {
			t.Errorf("group %d: %v of mean %v became %v", g, was[at], wasMean, row[at])
		}
	}
	if norm := tensor.Vec(row).Norm(); norm > math.Sqrt(float64(len(row))) {
		t.Errorf("norm %v", norm)
	}
	ScaleTo(row, 2)
	if norm := tensor.Vec(row).Norm(); norm > 2 || norm < 1.99999 {
		t.Errorf("norm %v, want 2", norm)
	}
	zero := make([]float32, points*channels*Paths)
	Normalize(zero, channels, groups)
	ScaleTo(zero, 1)
	if tensor.SumSquares(zero) != 0 {
		t.Error("a constant does not become 0")
	}
}
