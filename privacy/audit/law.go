package audit

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"sotto/tensor"
)

// Noise is the declared law of Dim values of an answer, one after the other and
// independent: Scale times a variable with distribution function CDF, which is symmetric
// with its largest density at 0. Grid > 0 says that answers are whole multiples of it.
//
// Two laws are no such products. With Norm the Dim values are Scale times a direction
// that is uniform on the sphere, times a length with distribution function Norm. With
// Keep > 0 values take few values, and with that probability come as they are.
type Noise struct {
	Dim   int
	Scale float64
	CDF   func(x float64) float64
	Norm  func(length float64) float64
	Keep  float64
	Grid  float64
}

// part is what is left of one part of many answers when the known value is taken off.
type part struct {
	*Noise
	where string // for texts
	n     int    // charges
	// charge after charge, Dim values each, in units of Scale; of a Norm those that are
	// normal under the declared law
	x []float64
	// at most so far is a value from the continuous one that the law speaks of: by the
	// grid and by float32
	slack float64
	cdf   func(float64) float64
}

// kinds is how many kinds of check share a level.
const kinds = 8

// laws makes all checks of declared laws. Each kind has an equal part of the level, which
// the parts of an answer share where it looks at them one by one.
func (t *Target) laws(r *Report, w Hypothesis, answers []tensor.Vec, value tensor.Vec, reopened int,
	level float64) {
	at := 0
	share := level / kinds
	var parts []*part
	for k := range t.Claim.Noise {
		n := &t.Claim.Noise[k]
		p := &part{Noise: n, where: fmt.Sprintf("part %d, world %v", k, w), n: len(answers)}
		own := share / float64(len(t.Claim.Noise))
		if n.Grid > 0 {
			r.check(gridCheck(p, answers, at))
		}
		switch {
		case n.Keep > 0:
			r.check(keptCheck(p, answers, value, at, own))
		case n.Scale > 0 && (n.CDF != nil || n.Norm != nil):
			p.take(answers, value, at, t.Claim.Draws)
			r.check(p.distance(own))
			c := p.again(own)
			c.Text += crashed(reopened, len(answers))
			r.check(c)
			parts = append(parts, p)
		}
		at += n.Dim
	}
	if len(parts) == 0 || len(answers) == 0 {
		return
	}
	s := standardise(parts)
	where := fmt.Sprintf("world %v", w)
	r.check(s.tails(where, share))
	r.check(s.coordinates.check("coordinates", "coordinates", where, share))
	r.check(s.charges.check("charges", "charges", where, share))
	r.check(s.pairsOfCoordinates(where, share))
	r.check(s.pairsOfCharges(where, share))
	r.check(s.lags(where, share))
}

// take fills x and slack.
func (p *part) take(answers []tensor.Vec, value tensor.Vec, at, draws int) {
	p.cdf, p.x = p.CDF, make([]float64, 0, p.n*p.Dim)
	largest := 0.
	for _, a := range answers {
		for i := at; i < at+p.Dim; i++ {
			p.x = append(p.x, (float64(a[i])-float64(value[i]))/p.Scale)
			largest = max(largest, math.Abs(float64(a[i])), math.Abs(float64(value[i])))
		}
	}
	// A step each for rounding the sum and for the difference of a discrete law from the
	// continuous one, and one for each record's truncation; four roundings to float32.
	p.slack = (float64(2+max(1, draws))*p.Grid + largest*0x1p-22) / p.Scale
	if p.Norm != nil {
		p.uncurl()
	}
}

// uncurl gives every charge's vector the length that a vector of independent normal
// values has with the same probability: what is uniform on the sphere is normal then.
func (p *part) uncurl() {
	p.cdf = normal
	chi := distuv.Gamma{Alpha: float64(p.Dim) / 2, Beta: .5}
	most := 0.
	for k := range p.n {
		x := p.x[k*p.Dim : (k+1)*p.Dim]
		square := 0.
		for _, v := range x {
			square += float64(v * v)
		}
		length := math.Sqrt(square)
		factor := 0.
		if length > 0 {
			u := min(max(p.Norm(length), 1e-300), 1-0x1p-53)
			factor = math.Sqrt(chi.Quantile(u)) / length
		}
		for i := range x {
			x[i] *= factor
		}
		most = max(most, factor)
	}
	p.slack *= most * (2 + math.Sqrt(float64(p.Dim)))
}

// distance tests the law of all values by the inequality of Dvoretzky, Kiefer, Wolfowitz
// and Massart, which holds for any number of values and any law.
func (p *part) distance(level float64) Check {
	x := slices.Clone(p.x)
	slices.Sort(x)
	return Check{
		Name:      "law",
		Statistic: Figure(distance(x, p.cdf)),
		Limit:     Figure(math.Sqrt(math.Log(2/level)/(2*float64(len(x)))) + p.mass(p.slack)),
		Text: fmt.Sprintf("distance of %d values of noise from the declared distribution, %s",
			len(x), p.where),
	}
}

// mass bounds the probability of any interval of length 2 x.
func (p *part) mass(x float64) float64 { return min(1, p.cdf(x)-p.cdf(-x)) }

// distance is the largest difference between the empirical distribution function of the
// sorted x and cdf. NaN where a value is none.
func distance(x []float64, cdf func(float64) float64) float64 {
	d, n := 0., float64(len(x))
	for i, v := range x {
		if v != v {
			return v
		}
		c := cdf(v)
		d = max(d, c-float64(i)/n, float64(i+1)/n-c)
	}
	return d
}

// gridCheck counts values off the grid, among those that float32 resolves.
func gridCheck(p *part, answers []tensor.Vec, at int) Check {
	off, small := 0, 0
	for _, a := range answers {
		for i := at; i < at+p.Dim; i++ {
			if g := float64(a[i]) / p.Grid; math.Abs(g) < 1<<18 {
				small++
				if math.Abs(g-math.Round(g)) > .1 {
					off++
				}
			}
		}
	}
	return Check{
		Name:      "grid",
		Statistic: Figure(off),
		Text: fmt.Sprintf("values off the declared grid, of %d that are small enough to tell, %s", small,
			p.where),
	}
}

// keptCheck compares how many values came as they are with exact binomial limits.
func keptCheck(p *part, answers []tensor.Vec, value tensor.Vec, at int, level float64) Check {
	c := count{name: "law", text: "values that came as they are, " + p.where, p: p.Keep}
	for _, a := range answers {
		for i := at; i < at+p.Dim; i++ {
			c.add(a[i] == value[i])
		}
	}
	return c.check(level)
}

// score is the value that a normal variable has with the same probability as x >= 0 has
// under cdf; at least 0.
func score(cdf func(float64) float64, x float64) float64 { return max(0, -quantile(cdf(-x))) }
