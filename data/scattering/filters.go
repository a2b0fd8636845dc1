package scattering

import "math"

// A Morlet wavelet of scale j and angle theta is g(u) (e^(i xi u.n) - K) with
// n = (cos theta, sin theta), first coordinate rows; g a Gaussian of standard deviation
// sigma along n and sigma/slant across it, and K so that the wavelet sums to 0.
const (
	angles = 8
	slant  = 4.0 / angles
)

func sigma(j int) float64 { return .8 * float64(int(1)<<j) }
func xi(j int) float64    { return .75 * math.Pi / float64(int(1)<<j) }

// angle returns the direction of angle t, 0 to 7.
func angle(t int) float64 { return float64(angles/2-1-t) * math.Pi / angles }

// turns is how many turns to either side of 0 a Gaussian's spectrum is summed over: it is
// below 1e-30 beyond them.
const turns = 4

// gabor returns the Fourier coefficients of the periodic, sampled Gaussian with the
// wave of frequency wave along theta: by Poisson's formula sums of the Gaussian
//
//	exp(-(a^2 sigma^2 + b^2 (sigma/slant)^2)/2)
//
// a and b being the frequency's distance from the wave's, along theta and across. They
// are real: conjugation mirrors the wave.
func gabor(height, width int, sigma, theta, wave float64) []float64 {
	c, s := math.Cos(theta), math.Sin(theta)
	out := make([]float64, height*width)
	for k := range height {
		for l := range width {
			sum := 0.
			for p := -turns; p <= turns; p++ {
				for q := -turns; q <= turns; q++ {
					y := 2*math.Pi*(float64(k)/float64(height)+float64(p)) - wave*c
					x := 2*math.Pi*(float64(l)/float64(width)+float64(q)) - wave*s
					a, b := y*c+x*s, x*c-y*s
					if d := sigma * sigma * (a*a + b*b/(slant*slant)) / 2; d < 80 {
						sum += math.Exp(-d)
					}
				}
			}
			out[k*width+l] = sum
		}
	}
	return out
}

// morlet returns the Fourier coefficients of a wavelet on a periodic height x width grid.
func morlet(height, width, j, t int) []float64 {
	wave := gabor(height, width, sigma(j), angle(t), xi(j))
	still := gabor(height, width, sigma(j), angle(t), 0)
	k := wave[0] / still[0]
	for i, v := range still {
		wave[i] -= k * v
	}
	return wave
}

// lowPass returns the Fourier coefficients of one dimension of the low pass on n points:
// a Gaussian of standard deviation sigma(1).
func lowPass(n int) []float64 {
	out := make([]float64, n)
	for k := range out {
		for p := -turns; p <= turns; p++ {
			w := sigma(scales-1) * 2 * math.Pi * (float64(k)/float64(n) + float64(p))
			out[k] += math.Exp(-w * w / 2)
		}
	}
	return out
}

// smoothing returns the rows of the low pass that give its value at each kept point. The
// n points of the signal lie step apart on the padded grid of n*step points, 1 or 2.
// Above the band of the coarser grid the low pass is cut off.
func smoothing(n, step int) [][]float64 {
	hat := lowPass(n * step)
	rows := make([][]float64, n*step/reduce-2)
	for o := range rows {
		rows[o] = make([]float64, n)
		at := reduce * (o + 1) / step
		for x := range n {
			sum := 0.
			for k := -n / 2; k < n-n/2; k++ {
				angle := 2 * math.Pi * float64(k*(at-x)%n) / float64(n)
				sum += hat[(k+n*step)%(n*step)] * math.Cos(angle)
			}
			rows[o][x] = sum / float64(n)
		}
	}
	return rows
}
