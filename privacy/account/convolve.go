package account

import (
	"fmt"
	"math"
)

// maxCells bounds every transform; a wider window makes the mesh coarser (still a bound).
// The memory of a query stays below 512 MiB with it.
const maxCells = 1 << 22

// total is the cumulant function of a composition: the sum of those of its parts.
func total(ds []losses, lam float64) (k, k1, k2 float64) {
	for i := range ds {
		a, b, c := ds[i].cumulants(lam)
		k, k1, k2 = k+ds[i].count*a, k1+ds[i].count*b, k2+ds[i].count*c
	}
	return k, k1, k2
}

// maxTilt/h bounds tilts so that twice that, times the 64 cells of a block, stays in the
// range of exp.
const maxTilt = 5

// chernoff finds lam > 0 with lam K'(lam) - K(lam) = nats, where the Chernoff bound exp(K
// - lam x) on the tail above x = K'(lam) is exp(-nats). The left side grows with lam;
// where a bounded loss cannot reach nats, half of what it can reach is taken instead. It
// returns lam and x.
func chernoff(ds []losses, nats float64) (lam, x float64) {
	_, mean, variance := total(ds, 0)
	if variance == 0 {
		return 0, mean
	}
	lo, hi := 0.0, maxTilt/ds[0].h
	f := func(l float64) (v, k1, k2 float64) {
		k, k1, k2 := total(ds, l)
		return l*k1 - k, k1, k2
	}
	if top, _, _ := f(hi); top < 1.05*nats {
		nats = top / 2
	}
	l := math.Min(hi/2, math.Sqrt(2*nats/variance))
	for range 100 {
		v, k1, k2 := f(l)
		x = k1
		if math.Abs(v-nats) <= 1e-3*nats || hi-lo <= 1e-6*hi {
			break
		}
		if v > nats {
			hi = l
		} else {
			lo = l
		}
		next := l + (nats-v)/(l*k2) // d/dl (l K' - K) = l K''
		if !(next > lo && next < hi) {
			next = math.Max((lo+hi)/2/8, math.Sqrt(lo*hi))
		}
		l = next
	}
	return l, x
}

// tiltAt finds lam >= 0 with K'(lam) = x, 0 where x is below the mean.
func tiltAt(ds []losses, x float64) float64 {
	lo, hi := 0.0, maxTilt/ds[0].h
	_, mean, variance := total(ds, 0)
	if x <= mean || variance == 0 {
		return 0
	}
	l := math.Min(hi/2, (x-mean)/variance)
	for range 60 {
		_, k1, k2 := total(ds, l)
		if math.Abs(k1-x) <= 1e-3*(x-mean) || hi-lo <= 1e-6*hi {
			break
		}
		if k1 > x {
			hi = l
		} else {
			lo = l
		}
		next := l + (x-k1)/k2
		if !(next > lo && next < hi) {
			next = (lo + hi) / 2
		}
		l = next
	}
	return l
}

// window returns [a, b] such that the tilted sum lies outside on either side with
// probability at most exp(-nats), by the best of a few Chernoff bounds.
func window(ds []losses, lam, nats float64) (a, b float64) {
	k, mean, variance := total(ds, lam)
	if variance == 0 {
		return mean - ds[0].h, mean + ds[0].h
	}
	a, b = math.Inf(-1), math.Inf(1)
	for _, f := range []float64{0.25, 0.5, 0.7, 0.85, 1, 1.25, 1.75, 3} {
		nu := math.Min(f*math.Sqrt(2*nats/variance), maxTilt/ds[0].h)
		up, _, _ := total(ds, lam+nu)
		down, _, _ := total(ds, lam-nu)
		b = math.Min(b, (up-k+nats)/nu)
		a = math.Max(a, (down-k+nats)/-nu)
	}
	return a, b
}

// composed is the law of the summed loss on a window, tilted by exp(lam l - k): y[i] at
// grid point start+i.
type composed struct {
	h     float64
	start int
	y     []float64
	lam   float64
	k     float64
	inf   float64 // probability of +Inf
	tau   float64 // bound of the mass above the window
	wrap  float64 // bound of the tilted mass that wrapped around, which only raises the profile
	err   float64 // bound of round-off in delta, relative to exp(k - lam eps)
	drift float64 // upward drift of rounding, in nats
	vari  float64 // sum of count h^2/2: the exponent of the rounding bound
	// where some loss exceeds steepLoss: sum of count h, how far rounding can move the
	// sum at most; else 0
	worst float64
	round float64 // relative round-off of the profiles
	tight bool
}

// vanished is the logarithm below which a spectral value is dropped: 1e-26.
const vanished = -60

// compose convolves ds with tilt lam over a window that holds all but exp(-nats) of the
// tilted mass on either side. Each output of a double-precision transform has an error of
// order u log2(N) times the 2-norm of its input, and the T-th power of a spectrum of
// modulus at most 1 multiplies it by at most T; the constant 8 is an estimate, checked in
// tests against exact convolution.
func compose(ds []losses, lam, nats float64) (composed, error) {
	h := ds[0].h
	a, b := window(ds, lam, nats)
	start := int(math.Floor(a / h))
	cells := math.Ceil(b/h) - float64(start) + 2
	if !(cells <= maxCells) {
		return composed{}, errTooWide{cells / maxCells}
	}
	n := fftSize(int(cells))
	origin := 0 // grid point of index 0 of the circular arrays
	c := composed{h: h, start: start, lam: lam, wrap: 2 * math.Exp(-nats), tight: true}
	w := transformOf(n)
	defer transforms.Put(w)
	x, z, logs := w.x, w.z, w.logs
	clear(logs)
	counts, noise := 0.0, 1.0
	for i := range ds {
		d := &ds[i]
		k, _, _ := d.cumulants(lam)
		c.k += d.count * k
		counts += d.count
		c.drift += d.count * h * h / 8 * math.Exp(h)
		c.vari += d.count * h * h / 2
		if h*float64(d.off+len(d.p)) > steepLoss {
			c.worst = math.Inf(1)
		}
		centre, less := d.place(x, lam, k)
		origin = (origin + int(d.count)%n*(centre%n)) % n
		noise += d.count * norm2(x)
		w.fft.Coefficients(z, x)
		addLogs(logs, z, d.count, less)
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
	c.inf = infinite(ds)
	c.worst = math.Min(c.worst, h*counts)
	c.err = 8 * 0x1p-53 * math.Log2(float64(n)) * noise
	c.round = counts * 0x1p-41
	return c, nil
}

// steepLoss is where Q-probabilities of cells begin to underflow, so that losses are
// rounded up instead of at random.
const steepLoss = 600

// slack is a t such that rounding raised the sum by more than t with probability at most
// eta (Hoeffding).
func (c *composed) slack(eta float64) float64 {
	if c.worst > 0 {
		return c.worst
	}
	return c.drift + math.Sqrt(c.vari*-math.Log(eta))
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
func (d *losses) place(x []float64, lam, k float64) (centre int, less float64) {
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
	return d.off + heavy, less
}

// tilted calls f for the masses p_i exp(lam t_i - k) that are not 0, in order.
func (d *losses) tilted(lam, k float64, f func(i int, p float64)) {
	const block = 64
	ratio := math.Exp(lam * d.h)
	for lo := 0; lo < len(d.p); lo += block {
		e := math.Exp(lam*d.h*float64(d.off+lo) - k)
		for j, p := range d.p[lo:min(lo+block, len(d.p))] {
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

// errTooWide says by which factor a window exceeds maxCells.
type errTooWide struct{ factor float64 }

func (e errTooWide) Error() string {
	return fmt.Sprintf("account: window is %.3g times larger than the %d cells allowed", e.factor, maxCells)
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

// deltaAt reads off the upper profile at eps, without round-off allowance.
func (c *composed) deltaAt(eps float64) float64 {
	d := c.inf + c.tau
	for i := len(c.y) - 1; i >= 0; i-- {
		l := c.h * float64(c.start+i)
		if l <= eps {
			break
		}
		d += c.y[i] * math.Exp(c.k-c.lam*l) * -math.Expm1(eps-l)
	}
	return math.Min(1, d*(1+c.round)+c.allowance(eps)+c.missing())
}

// allowance is the transform's round-off at eps.
func (c *composed) allowance(eps float64) float64 { return c.err * math.Exp(c.k-c.lam*eps) }

// upperEpsilon returns the least eps >= 0 at which the profile with all error terms is at
// most target. ok is false where round-off exceeds a tenth of target or mass that wrapped
// around a hundredth.
func (c *composed) upperEpsilon(target float64) (eps float64, ok bool) {
	return c.crossing(target, func(plain, weight float64) float64 {
		return (plain+c.tau)*(1+c.round) + c.err*weight + c.missing()
	})
}

// missing bounds the mass below an untilted window, 0 for a tilted one, whose readings
// stay inside.
func (c *composed) missing() float64 {
	if c.lam == 0 {
		return c.wrap
	}
	return 0
}

// lowerEpsilon is the same for the profile with the error terms taken away.
func (c *composed) lowerEpsilon(target float64) float64 {
	eps, _ := c.crossing(target, func(plain, weight float64) float64 {
		return plain*(1-c.round) - (c.err+c.wrap)*weight
	})
	return eps
}

// crossing walks down the grid to where adjust(profile, untilting weight) first exceeds
// target, and solves inside that cell.
func (c *composed) crossing(target float64, adjust func(plain, weight float64) float64) (eps float64,
	ok bool) {
	if adjust(c.inf, 0) > target {
		return math.Inf(1), c.tau <= target/100
	}
	var s1, s2 float64 // sums over the cells above l of u and of u e^(l - their loss)
	decay, grow := math.Exp(-c.h), math.Exp(c.lam*c.h)
	weight := 0.0
	for i := len(c.y) - 1; i >= 0; i-- {
		l := c.h * float64(c.start+i)
		if weight *= grow; i%64 == 0 || i == len(c.y)-1 {
			weight = math.Exp(c.k - c.lam*l)
		}
		if v := adjust(c.inf+s1-s2, weight); v > target {
			extra := v - (c.inf + s1 - s2) // error terms, frozen inside the cell
			eps = l
			if rest := s1 - (target - extra - c.inf); s2 > 0 && rest > 0 {
				eps = math.Min(l+c.h, math.Max(l, l+math.Log(rest/s2)))
			}
			return math.Max(0, eps), (c.err+10*c.wrap)*weight <= target/10
		}
		if l <= 0 {
			return 0, true
		}
		u := c.y[i] * weight
		s1 += u
		s2 = (s2 + u) * decay
	}
	if c.start <= 0 {
		return 0, true
	}
	// The crossing lies below the window, where only an untilted window has no mass to
	// speak of.
	if c.lam != 0 {
		return 0, false
	}
	l := c.h * float64(c.start)
	return math.Max(0, l+math.Log((s1-(target-(adjust(c.inf, weight)-c.inf)-c.inf))/s2)), true
}
