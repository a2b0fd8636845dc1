package loss

import "math"

// Delta reads off the upper profile at eps, its round-off included.
func (c *Sum) Delta(eps float64) float64 {
	d, above := c.profile(eps)
	d += c.tau
	return math.Min(1, d*(1+c.round)+c.cancelled(d, above)+c.allowance(eps)+c.missing())
}

// profile is the profile on the grid without any error, and the mass of larger losses.
func (c *Sum) profile(eps float64) (d, above float64) {
	d = c.Inf
	for i := len(c.y) - 1; i >= 0; i-- {
		l := c.h * float64(c.start+i)
		if l <= eps {
			break
		}
		p := c.y[i] * math.Exp(c.k-c.Lam*l)
		above += p
		d += p * -math.Expm1(eps-l)
	}
	return d, above
}

// cancelled is what the round-off of a profile is more than round of it, where it is the
// small difference of a mass above and what that has in the other world: cells of tiny
// losses are differences, too, and each event moves the sum by up to 2^-49 nats.
func (c *Sum) cancelled(d, above float64) float64 {
	return c.round * math.Max(0, above*0x1p-8-d)
}

// LowerDelta is a delta that the sum has at least at eps: the profile where rounding has
// moved it with probability 1-eta, less every error.
func (c *Sum) LowerDelta(eps, eta float64) float64 {
	at := eps + c.Slack(eta)
	d, above := c.profile(at)
	return (c.Delta(at)-c.tau)*(1-2*c.round) - 2*c.cancelled(d, above) -
		(2*c.Err+c.wrap)*math.Exp(c.k-c.Lam*at) - eta
}

// allowance is the transform's round-off at eps.
func (c *Sum) allowance(eps float64) float64 { return c.Err * math.Exp(c.k-c.Lam*eps) }

// Finite says that the sum is one of numbers: exponents of losses in the hundreds may
// exceed what a float64 holds. What is read off another one bounds nothing.
func (c *Sum) Finite() bool {
	sum := c.k + c.Inf + c.beyondP + c.beyondQ + c.tau + c.wrap + c.below + c.Err + c.Drift + c.vari
	for _, v := range c.y {
		sum += v
	}
	return finite(sum)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// UpperEpsilon returns the least eps >= 0 at which the profile with all error terms is at
// most target; +Inf where they are no numbers. ok is false where round-off exceeds a
// tenth of target or mass that wrapped around a hundredth.
func (c *Sum) UpperEpsilon(target float64) (eps float64, ok bool) {
	if !c.Finite() {
		return math.Inf(1), false
	}
	eps, ok = c.crossing(target, func(plain, above, weight float64) float64 {
		d := plain + c.tau
		return d*(1+c.round) + c.cancelled(d, above) + c.Err*weight + c.missing()
	})
	if math.IsNaN(eps) || c.beyondP > 0 && eps >= c.h*float64(c.start+len(c.y)-1) {
		return math.Inf(1), false // the outcome above the window is too probable
	}
	return eps, ok
}

// missing bounds the mass below an untilted window, 0 for a tilted one, whose readings
// stay inside.
func (c *Sum) missing() float64 {
	if c.Lam == 0 {
		return c.wrap
	}
	return 0
}

// LowerEpsilon is the same for the profile with the error terms taken away.
func (c *Sum) LowerEpsilon(target float64) float64 {
	if !c.Finite() {
		return 0
	}
	eps, _ := c.crossing(target, func(plain, above, weight float64) float64 {
		return plain*(1-c.round) - c.cancelled(plain, above) - (c.Err+c.wrap)*weight - c.below
	})
	if math.IsNaN(eps) {
		return 0
	}
	return eps
}

// crossing walks down the grid to where adjust(profile, untilting weight) first exceeds
// target, and solves inside that cell. Where the profile is no number on the way eps is
// none.
func (c *Sum) crossing(target float64, adjust func(plain, above, weight float64) float64) (
	eps float64, ok bool) {
	if adjust(c.Inf, 0, 0) > target {
		return math.Inf(1), c.tau <= target/100
	}
	var s1, s2 float64 // sums over the cells above l of u and of u e^(l - their loss)
	decay, grow := math.Exp(-c.h), math.Exp(c.Lam*c.h)
	if top := len(c.y) - 1; c.beyondP > 0 {
		s1, s2 = c.beyondP, c.beyondQ*math.Exp(c.h*float64(c.start+top))
	}
	weight := 0.0
	for i := len(c.y) - 1; i >= 0; i-- {
		l := c.h * float64(c.start+i)
		if weight *= grow; i%64 == 0 || i == len(c.y)-1 {
			weight = math.Exp(c.k - c.Lam*l)
		}
		v := adjust(c.Inf+s1-s2, s1, weight)
		if math.IsNaN(v) {
			return v, false
		}
		if v > target {
			extra := v - (c.Inf + s1 - s2) // error terms, frozen inside the cell
			eps = l
			if rest := s1 - (target - extra - c.Inf); s2 > 0 && rest > 0 {
				eps = math.Min(l+c.h, math.Max(l, l+math.Log(rest/s2)))
			}
			return math.Max(0, eps), (c.Err+10*c.wrap)*weight <= target/10
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
	if c.Lam != 0 {
		return 0, false
	}
	l := c.h * float64(c.start)
	return math.Max(0, l+math.Log((s1-(target-(adjust(c.Inf, 0, weight)-c.Inf)-c.Inf))/s2)), true
}

// Reader returns Delta with suffix sums, for an untilted composition. Below the window
// it is the bound 1.
func (c *Sum) Reader() func(eps float64) float64 {
	n := len(c.y)
	s1, s2 := make([]float64, n+1), make([]float64, n+1) // sums over i.. of y and of y e^(l_(i-1) - l)
	decay := math.Exp(-c.h)
	for i := n - 1; i >= 0; i-- {
		s1[i] = s1[i+1] + c.y[i]
		s2[i] = (s2[i+1] + c.y[i]) * decay
	}
	base := c.Inf + c.tau + c.Err
	return func(eps float64) float64 {
		i := int(math.Floor(eps/c.h)) - c.start + 1 // first cell above eps
		if i >= n {
			return math.Min(1, base)
		}
		if i < 0 {
			return 1
		}
		below := c.h * float64(c.start+i-1)
		d := math.Max(0, s1[i]-math.Exp(eps-below)*s2[i])
		return math.Min(1, base+d*(1+c.round)+c.cancelled(d, s1[i]))
	}
}
