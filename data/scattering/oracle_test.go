package scattering

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// grid is a complex plane on a torus; the oracle below follows the definition in space,
// with sums over all pixels.
type grid struct {
	h, w int
	v    []complex128
}

func newGrid(h, w int) grid { return grid{h, w, make([]complex128, h*w)} }

// convolved is the circular convolution, at every step-th pixel.
func (g grid) convolved(f grid, step int) grid {
	out := newGrid(g.h/step, g.w/step)
	for y := range out.h {
		for x := range out.w {
			var sum complex128
			for i := range g.h {
				for j := range g.w {
					sum += g.v[i*g.w+j] * f.v[(y*step-i+g.h)%g.h*g.w+(x*step-j+g.w)%g.w]
				}
			}
			out.v[y*out.w+x] = sum
		}
	}
	return out
}

func (g grid) modulus() grid {
	out := newGrid(g.h, g.w)
	for i, v := range g.v {
		out.v[i] = complex(cmplx.Abs(v), 0)
	}
	return out
}

// spatialGabor samples the Gaussian with a wave in space, made periodic.
func spatialGabor(h, w int, sigma, slant, theta, wave float64) grid {
	g := newGrid(h, w)
	c, s := math.Cos(theta), math.Sin(theta)
	for y := range h {
		for x := range w {
			for p := -4; p <= 4; p++ {
				for q := -4; q <= 4; q++ {
					u, v := float64(y+p*h), float64(x+q*w)
					along, across := u*c+v*s, v*c-u*s
					size := math.Exp(-(along*along + slant*slant*across*across) / (2 * sigma * sigma))
					size *= slant / (2 * math.Pi * sigma * sigma)
					g.v[y*w+x] += cmplx.Rect(size, wave*along)
				}
			}
		}
	}
	return g
}

func (g grid) sum() (s complex128) {
	for _, v := range g.v {
		s += v
	}
	return s
}

func spatialMorlet(h, w, j, t int) grid {
	theta := float64(3-t) * math.Pi / 8
	sigma, xi := .8*math.Pow(2, float64(j)), .75*math.Pi/math.Pow(2, float64(j))
	g, still := spatialGabor(h, w, sigma, .5, theta, xi), spatialGabor(h, w, sigma, .5, theta, 0)
	k := g.sum() / still.sum()
	for i := range g.v {
		g.v[i] -= k * still.v[i]
	}
	return g
}

// fourier is the transform by its definition; sign -1 forward, 1 inverse without 1/n.
func (g grid) fourier(sign float64) grid {
	out := newGrid(g.h, g.w)
	for k := range g.h {
		for l := range g.w {
			for y := range g.h {
				for x := range g.w {
					angle := float64(k*y)/float64(g.h) + float64(l*x)/float64(g.w)
					out.v[k*g.w+l] += g.v[y*g.w+x] * cmplx.Rect(1, sign*2*math.Pi*angle)
				}
			}
		}
	}
	return out
}

// coarser is a filter on the grid of every second pixel: its band of low frequencies.
func (g grid) coarser() grid {
	hat, band := g.fourier(-1), newGrid(g.h/2, g.w/2)
	for k := -band.h / 2; k < band.h/2; k++ {
		for l := -band.w / 2; l < band.w/2; l++ {
			band.v[(k+band.h)%band.h*band.w+(l+band.w)%band.w] = hat.v[(k+g.h)%g.h*g.w+(l+g.w)%g.w]
		}
	}
	out := band.fourier(1)
	for i := range out.v {
		out.v[i] /= complex(float64(len(out.v)), 0)
	}
	return out
}

// direct are the features of a gray image, by path, row, column.
func direct(image []float32, height, width int) [][]float64 {
	h, w := height+8, width+8
	plane := newGrid(h, w)
	for y := range h {
		for x := range w {
			at := func(i, n int) int { // reflected
				if i < 0 {
					return -i
				}
				return min(i, 2*n-2-i)
			}
			plane.v[y*w+x] = complex(float64(image[at(y-4, height)*width+at(x-4, width)]), 0)
		}
	}
	phi := spatialGabor(h, w, 1.6, 1, 0, 0)
	coarse := phi.coarser()
	var paths [][]float64
	add := func(g grid) {
		var kept []float64
		for y := 1; y <= height/4; y++ {
			for x := 1; x <= width/4; x++ {
				kept = append(kept, real(g.v[y*g.w+x]))
			}
		}
		paths = append(paths, kept)
	}
	add(plane.convolved(phi, 4))
	var fine [8]grid
	for t := range fine {
		fine[t] = plane.convolved(spatialMorlet(h, w, 0, t), 1).modulus()
		add(fine[t].convolved(phi, 4))
	}
	for t := range 8 {
		add(plane.convolved(spatialMorlet(h, w, 1, t), 2).modulus().convolved(coarse, 2))
	}
	for _, u := range fine {
		for t := range 8 {
			add(u.convolved(spatialMorlet(h, w, 1, t), 2).modulus().convolved(coarse, 2))
		}
	}
	return paths
}

func noise(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// The features are those of the definition in space, for each channel.
func TestImageIsTheDefinition(t *testing.T) {
	for _, size := range [][2]int{{8, 12}, {16, 8}} {
		h, w := size[0], size[1]
		tr, err := New(h, w)
		if err != nil {
			t.Fatal(err)
		}
		const channels = 2
		image := noise(h*w*channels, 1)
		got := make([]float32, tr.Size(channels))
		tr.Image(got, image, channels, new(Scratch))
		for c := range channels {
			plane := make([]float32, h*w)
			for i := range plane {
				plane[i] = image[i*channels+c]
			}
			want := direct(plane, h, w)
			if len(want) != Paths {
				t.Fatalf("%d paths", len(want))
			}
			for p, values := range want {
				for i, v := range values {
					if g := float64(got[(i*channels+c)*Paths+p]); math.Abs(g-v) > 3e-6 {
						t.Fatalf("%v, channel %d, path %d, point %d: %v, want %v", size, c, p, i, g, v)
					}
				}
			}
		}
	}
}
