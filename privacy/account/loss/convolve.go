package loss

import (
	"fmt"
	"math"
)

// MaxCells bounds every transform; a wider window makes the mesh coarser (still a bound).
// The memory of a query stays below 512 MiB with it.
const MaxCells = 1 << 22

// TooWide says by which factor a window exceeds MaxCells.
type TooWide struct{ Factor float64 }

func (e TooWide) Error() string {
	return fmt.Sprintf("loss: window is %.3g times larger than the %d cells allowed", e.Factor, MaxCells)
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
	// P- and Q-probability of one more outcome, whose loss is above the window
	beyondP, beyondQ float64
	errors
}

// errors bound what a sum lacks or has too much.
type errors struct {
	tau   float64 // the mass above the window
	wrap  float64 // the tilted mass that wrapped around, which only raises the profile
	below float64 // raise of the profile by mass that wrapped around from below the window
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
	if !(cells <= MaxCells) {
		return Sum{}, TooWide{cells / MaxCells}
	}
	c := circular(ds, lam, start, fftSize(int(cells)), false)
	c.wrap = 2 * math.Exp(-nats)
	c.tau = math.Exp(c.k - lam*b - nats)
	c.Inf = Infinite(ds)
	return c, nil
}

// circular convolves ds with tilt lam on n cells from start on. Err is as Convolve says,
// or with norm the 2-norm of round-off over all cells; see roundOff.
func circular(ds []Law, lam float64, start, n int, norm bool) (c Sum) {
	h := ds[0].H
	origin := 0 // grid point of index 0 of the circular arrays
	c = Sum{h: h, start: start, Lam: lam}
	w := transformOf(n)
	defer w.release()
	x := w.x
	clear(w.size)
	clear(w.phase)
	counts, noise := 0.0, 1.0
	var norms [][2]float64
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
		one, two := norms12(x)
		noise += d.Count * two
		norms = append(norms, [2]float64{one, two})
		w.fft.Forward(w.re, w.im, x)
		w.addLogs(d.Count, less)
	}
	for j, ln := range w.size {
		w.re[j], w.im[j] = 0, 0
		if ln > vanished {
			s, co := math.Sincos(w.phase[j])
			e := math.Exp(ln) / float64(n)
			w.re[j], w.im[j] = e*co, e*s
		}
	}
	c.Err = 8 * 0x1p-53 * math.Log2(float64(n)) * noise
	if norm {
		c.Err = roundOff(ds, norms, w.size, n)
	}
	w.fft.Inverse(x, w.re, w.im)
	c.y = rotate(x, start-origin)
	c.worst = math.Min(c.worst, h*counts)
	// Tails have relative errors below 2^-49, mixtures of them below 2^-47, and masses of
	// cells are differences of them that cancel again in sums.
	c.round = counts * 0x1p-41
	return c
}

// roundOff estimates the 2-norm of a composition's round-off, by Parseval that of its
// spectrum over the square root of n: an error of 8 u log2(n) times the 2-norm in every
// transform, and in the logarithm of a spectrum one of 8 u, or of that times the 1-norm
// of what was transformed if it is below 1. The power of a law multiplies both by its
// count, and by the modulus of the spectrum without one copy.
func roundOff(ds []Law, norms [][2]float64, sizes []float64, n int) float64 {
	rms := func(f float64) float64 {
		var sum float64
		for _, ln := range sizes {
			sum += math.Exp(2 * f * math.Max(ln, vanished))
		}
		return math.Sqrt(sum / float64(len(sizes)))
	}
	all, depth := rms(1), math.Log2(float64(n))
	err := depth * all
	for i := range ds {
		m := ds[i].Count
		err += m * (depth*norms[i][1]*rms(1-1/m) + math.Min(1, norms[i][0])*all)
	}
	return 8 * 0x1p-53 * err
}

// reach is the 2-norm over the cells above 0, up to span, of what a profile at 0 takes of
// them: exp(-lam l) (1 - exp(-l)), of which the latter is at most l.
func reach(lam, span, h float64) float64 {
	a := 2 * lam * span
	if a < .01 {
		return span * math.Sqrt(span/3/h)
	}
	return math.Sqrt((1 - math.Exp(-a)*(1+a+a*a/2)) / (4 * lam * lam * lam * h))
}

// convolveOn convolves ds as planned. What p leaves out or adds beside is not charged.
func convolveOn(ds []Law, p *plan) Sum {
	h := ds[0].H
	start := int(math.Floor(p.start/h)) - 1
	n := fftSize(int(math.Ceil(p.end/h)) - start + 1)
	c := circular(ds, p.lam, start, n, true)
	low, end := h*float64(start), h*float64(start+n)
	up, _, _ := Total(ds, p.lam+p.up)
	down, _, _ := Total(ds, -p.down)
	c.wrap = math.Exp(up - c.k - p.up*end)
	c.tau = math.Exp(up-(p.lam+p.up)*end) + p.high
	// what wraps around m times from below is read with exp(-m lam h n) of its mass
	c.below = math.Exp(math.Min(0, down+p.down*low) - p.lam*h*float64(n))
	c.below /= -math.Expm1(-p.lam * h * float64(n))
	c.beyondP, c.beyondQ = Infinite(ds), infiniteQ(ds)
	c.Err *= reach(p.lam, end, h)
	return c
}

// Cells is the length of the window.
func (c *Sum) Cells() float64 { return float64(len(c.y)) }

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
	copy(y, x[shift:])
	copy(y[n-shift:], x[:shift])
	for i, v := range y {
		y[i] = max(0, v)
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

func norms12(x []float64) (one, two float64) {
	for _, v := range x {
		one += math.Abs(v)
		two += v * v
	}
	return one, math.Sqrt(two)
}

// addLogs adds count times the logarithm of the spectrum less + z to size and phase. The
// phase is kept within +-pi.
func (w *transform) addLogs(count, less float64) {
	for j, re := range w.re {
		im := w.im[j]
		ln := math.Log(re*re + im*im)
		if less == 1 {
			ln = math.Log1p(re*(2+re) + im*im)
		}
		w.size[j] += count * 0.5 * ln
		if !(w.size[j] > vanished) {
			w.size[j] = math.Inf(-1)
			continue
		}
		turn := count * math.Atan2(im, less+re)
		w.phase[j] += turn - 2*math.Pi*math.Round(turn/(2*math.Pi))
	}
}

// fftSize is the least 2^i {1, 3, 9} that is at least n.
func fftSize(n int) int {
	best := math.MaxInt
	for _, f := range []int{1, 3, 9} {
		m := 2 * f
		for m < n {
			m *= 2
		}
		best = min(best, m)
	}
	return best
}
