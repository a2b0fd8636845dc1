package loss

import (
	"fmt"
	"math"
)

// maxCells bounds every transform; a wider window makes the mesh coarser (still a bound).
// The memory of a query stays below 512 MiB with it.
const maxCells = 1 << 22

// TooWide says by which factor a window exceeds maxCells.
type TooWide struct{ Factor float64 }

func (e TooWide) Error() string {
	return fmt.Sprintf("loss: window is %.3g times larger than the %d cells allowed", e.Factor, maxCells)
}

// Sum is the law of the summed loss on a window, tilted by exp(Lam l - k): y[i] at grid
// point start+i.
type Sum struct {
	h     float64
	start int
	y     []float64
	Lam   float64
	k     float64
	Inf   float64 // probability of +Inf
	errors
}

// errors bound what a sum lacks or has too much.
type errors struct {
	tau   float64 // the mass above the window
	wrap  float64 // the tilted mass that wrapped around, which only raises the profile
	Err   float64 // round-off in delta, relative to exp(k - Lam eps)
	round float64 // relative round-off of the profiles
	Drift float64 // upward drift of rounding, in nats
	vari  float64 // sum of count h^2/2: the exponent of the rounding bound
	// where some loss exceeds Steep: sum of count h, how far rounding can move the
	// sum at most; else 0
	worst float64
}

// vanished is the logarithm below which a spectral value is dropped: 1e-26.
const vanished = -60

// Convolve convolves ds with tilt lam over a window that holds all but exp(-nats) of the
// tilted mass on either side. Each output of a double-precision transform has an error of
// order u log2(N) times the 2-norm of its input, and the T-th power of a spectrum of
// modulus at most 1 multiplies it by at most T; the constant 8 is an estimate, checked in
// tests against exact convolution.
func Convolve(ds []Law, lam, nats float64) (Sum, error) {
	h := ds[0].H
	a, b := window(ds, lam, nats)
	start := int(math.Floor(a / h))
	cells := math.Ceil(b/h) - float64(start) + 2
	if !(cells <= maxCells) {
		return Sum{}, TooWide{cells / maxCells}
	}
	n := fftSize(int(cells))
	origin := 0 // grid point of index 0 of the circular arrays
	c := Sum{h: h, start: start, Lam: lam, errors: errors{wrap: 2 * math.Exp(-nats)}}
	w := transformOf(n)
	defer transforms.Put(w)
	x, z, logs := w.x, w.z, w.logs
	clear(logs)
	counts, noise := 0.0, 1.0
	for i := range ds {
		d := &ds[i]
		k, _, _ := d.cumulants(lam)
		c.k += d.Count * k
		counts += d.Count
		c.Drift += d.Count * h * h / 8 * math.Exp(h)
		c.vari += d.Count * h * h / 2
		if h*float64(d.Off+len(d.P)) > Steep {
			c.worst = math.Inf(1)
		}
		centre, less := d.place(x, lam, k)
		origin = (origin + int(d.Count)%n*(centre%n)) % n
		noise += d.Count * norm2(x)
		w.fft.Coefficients(z, x)
		addLogs(logs, z, d.Count, less)
	}
	for j, v := range logs {
		z[j] = 0
		if real(v) > vanished {
			s, co := math.Sincos(imag(v))
			e := math.Exp(real(v)) / float64(n)
			z[j] = complex(e*co, e*s)
		}
	}
	w.fft.Sequence(x, z)
	c.y = rotate(x, start-origin)
	c.tau = math.Exp(c.k - lam*b - nats)
	c.Inf = Infinite(ds)
	c.worst = math.Min(c.worst, h*counts)
	c.Err = 8 * 0x1p-53 * math.Log2(float64(n)) * noise
	c.round = counts * 0x1p-41
	return c, nil
}

// Steep is where Q-probabilities of cells begin to underflow, so that losses are
// rounded up instead of at random.
const Steep = 600

// Slack is a t such that rounding raised the sum by more than t with probability at most
// eta (Hoeffding).
func (c *Sum) Slack(eta float64) float64 {
	if c.worst > 0 {
		return c.worst
	}
	return c.Drift + math.Sqrt(c.vari*-math.Log(eta))
}

// rotate moves the circular array to the window that starts at grid point start, dropping
// negative round-off.
func rotate(x []float64, start int) []float64 {
	n := len(x)
	y := make([]float64, n)
	shift := ((start % n) + n) % n
	for i := range y {
		y[i] = math.Max(0, x[(i+shift)%n])
	}
	return y
}

// place writes the tilted masses to circular positions relative to their heaviest cell,
// which is centre. Where that cell holds most of the mass, its own is left out (less =
// 1): the spectrum is then 1 + that of x, whose round-off is small with x.
func (d *Law) place(x []float64, lam, k float64) (centre int, less float64) {
	clear(x)
	heavy, most := 0, 0.0
	d.tilted(lam, k, func(i int, p float64) {
		if p > most {
			heavy, most = i, p
		}
	})
	if most > 0.5 {
		less = 1
	}
	n := len(x)
	at := ((-heavy % n) + n) % n
	last, sum := 0, 0.0
	d.tilted(lam, k, func(i int, p float64) {
		at += i - last
		for last = i; at >= n; {
			at -= n
		}
		if less == 0 || i != heavy {
			x[at] += p
			sum += p
		}
	})
	if less == 1 {
		x[0] -= sum // the masses sum to 1
	}
	return d.Off + heavy, less
}

// tilted calls f for the masses p_i exp(lam t_i - k) that are not 0, in order.
func (d *Law) tilted(lam, k float64, f func(i int, p float64)) {
	const block = 64
	ratio := math.Exp(lam * d.H)
	for lo := 0; lo < len(d.P); lo += block {
		e := math.Exp(lam*d.H*float64(d.Off+lo) - k)
		for j, p := range d.P[lo:min(lo+block, len(d.P))] {
			if p != 0 {
				f(lo+j, p*e)
			}
			e *= ratio
		}
	}
}

func norm2(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// addLogs adds count times the logarithm of the spectrum less + z. The phase is kept
// within +-pi.
func addLogs(logs, z []complex128, count, less float64) {
	for j, v := range z {
		re, im := real(v), imag(v)
		ln := math.Log(re*re + im*im)
		if less == 1 {
			ln = math.Log1p(re*(2+re) + im*im)
		}
		ln = real(logs[j]) + count*0.5*ln
		if !(ln > vanished) {
			logs[j] = complex(math.Inf(-1), 0)
			continue
		}
		turn := count * math.Atan2(im, less+re)
		logs[j] = complex(ln, imag(logs[j])+turn-2*math.Pi*math.Round(turn/(2*math.Pi)))
	}
}

// fftSize is the least 2^i {1, 3, 5, 9, 15} that is at least n.
func fftSize(n int) int {
	best := math.MaxInt
	for _, f := range []int{1, 3, 5, 9, 15} {
		m := 2 * f
		for m < n {
			m *= 2
		}
		best = min(best, m)
	}
	return best
}
