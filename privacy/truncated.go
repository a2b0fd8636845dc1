package privacy

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"sotto/config"
	"sotto/privacy/account"
)

var _ Mechanism = Truncated{}

// Truncated adds bounded noise to one scalar: Laplace or normal noise conditioned on
// [-Truncation clip, Truncation clip] (Geng, Ding, Guo, Kumar 2020, for Laplace).
// Outcomes that only one of two neighbors can produce make delta positive whatever
// epsilon is, and every release adds to it. Scale and truncation for a given epsilon and
// delta are the caller's to choose, in units of the sensitivity; the closed form
// published for truncated normal noise is wrong by far (its loss on the overlap exceeds
// epsilon).
//
// The noise is sampled by one 64-bit draw against a table of integer weights, on a grid
// that gives the table at most 2^15 cells; the value is rounded to the same grid. The law
// of a cell is that of continuous truncated noise rounded to the grid, which is
// post-processing; the truncation is rounded up to half a cell. What the integers miss is
// charged as a delta of its own, see Event.
type Truncated struct {
	Gridding
	family string
	scale  float64
	bits   int // the cell is clip x 2^-bits
	last   int // cells run from -last to last
	// draws below cumulative[i] fall into cell i-last or an earlier one, the others into
	// last
	cumulative []uint64
}

// TruncatedParams are the parameters of "truncated-laplace" and "truncated-gaussian",
// over the clip.
type TruncatedParams struct {
	// b of the Laplace law, standard deviation of the normal law before truncation; > 0
	// and finite
	Scale      float64 `toml:"scale"`
	Truncation float64 `toml:"truncation"` // 2^-4 to 2^13, at most 60 scales (Laplace) or 12 (normal)
	Gridding
}

func (p *TruncatedParams) setScale(b float64) { p.Scale = b }

func newTruncatedLaplace(decode func(any) error) (Mechanism, error) {
	return newTruncated(account.BoundedLaplace, 60, decode, func(x float64) float64 { return math.Exp(-x) })
}

func newTruncatedGaussian(decode func(any) error) (Mechanism, error) {
	return newTruncated(account.BoundedGaussian, 12, decode, func(x float64) float64 {
		return math.Exp(-x * x / 2)
	})
}

const (
	maxCells    = 1 << 14 // on each side of 0
	weightError = 1e-13   // of a cell's weight in double precision, relative
)

func newTruncated(family string, most float64, decode func(any) error,
	density func(float64) float64) (Mechanism, error) {
	var p TruncatedParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	if !positive(p.Scale) {
		return nil, config.Bad("scale", p.Scale, "above 0 and finite")
	}
	if !(p.Truncation >= 1./16 && p.Truncation <= 1<<13) {
		return nil, config.Bad("truncation", p.Truncation,
			"0.0625 to 8192, the bound of the noise over the clip")
	}
	if p.Truncation > most*p.Scale*(1+1e-9) {
		return nil, config.Bad("truncation", p.Truncation,
			fmt.Sprintf("at most %g scales, here %g: what lies beyond is lost in rounding", most,
				most*p.Scale))
	}
	m := Truncated{Gridding: p.Gridding, family: family, scale: p.Scale, bits: gridBits}
	for math.Ldexp(p.Truncation, m.bits)-.5 > maxCells {
		m.bits--
	}
	m.last = max(1, int(math.Ceil(math.Ldexp(p.Truncation, m.bits)-.5)))
	m.cumulative = tabulate(m.last, math.Ldexp(m.scale, m.bits), density)
	return m, nil
}

// tabulate returns the cumulative integer weights of cells -last..last but for the total,
// which is 2^64. The density is given in scales; scale is in cells. Cells are a small
// part of a scale, so that 5-point Gauss-Legendre integration leaves double-precision
// rounding only; the cell around 0 is twice its right half, since the Laplace density has
// an edge there. It also takes what the other weights lose when they are cut to 64 bits.
func tabulate(last int, scale float64, density func(float64) float64) []uint64 {
	node := [5]float64{-.9061798459386639928, -.5384693101056830910, 0, .5384693101056830910,
		.9061798459386639928}
	weight := [5]float64{.2369268850561890875, .4786286704993664680, .5688888888888888889,
		.4786286704993664680, .2369268850561890875}
	w := make([]float64, last+1)
	sum := 0.
	for j := last; j >= 0; j-- {
		mid, half := float64(j), .5
		if j == 0 {
			mid, half = .25, .25
		}
		for i, x := range node {
			w[j] += weight[i] * density((mid+half*x)/scale)
		}
		sum += 2 * half * w[j]
	}
	c := make([]uint64, 2*last)
	tail := uint64(0)
	for i := range last { // cells -last..-1
		tail += uint64(math.Ldexp(w[last-i]/sum/2, 64))
		c[i] = tail
	}
	for i := range last { // cells 0..last-1: what lies above is the mirror image
		if c[last+i] = -c[last-1-i]; c[last+i] == 0 {
			c[last+i] = 1<<64 - 1 // 2^64, but for one draw
		}
	}
	return c
}

// Event is bounded noise on the sensitivity in whole cells, in sequence with a black box
// of epsilon 0 whose delta covers the distance of the table from the law.
//
// That delta: a cell's integer weight differs from the law's weight w by at most 2^-64 +
// 1e-13 w. Below the largest finite loss E of the law, plus 0.05, the hockey-stick
// divergence of two tables exceeds that of the laws by at most 1 + e^(E+0.05) times the
// summed differences. Above, cells of weight over 50 x 2^-64 add nothing, as their ratio
// stays below e^(E+0.05), and the others at most 52 x 2^-64 (1 + e^E) each. A black box
// in sequence adds its delta times what the law leaves, at least 1 - delta(0).
func (m Truncated) Event(r account.Release) (account.Event, error) {
	if m.cumulative == nil {
		return account.Event{}, config.Bad("mechanism", "a zero Truncated", "one made by New")
	}
	name := "truncated-" + m.family
	if len(r.Parts) != 1 || r.Parts[0].Dim != 1 {
		return account.Event{}, config.Bad("dim", len(r.Parts),
			"one part of one value with mechanism "+name+
				": vectors of bounded noise have no known worst case")
	}
	if err := cmp.Or(checkParts(r, r.Parts[0].Norm, name), m.checkSums(r), checkGrid(r, name)); err != nil {
		return account.Event{}, err
	}
	shift := math.Ceil(math.Ldexp(m.movement(r.Parts[0]), m.bits))
	if m.Quantise {
		shift++
	}
	scale, bound := math.Ldexp(m.scale, m.bits)/shift, (float64(m.last)+.5)/shift
	law, err := account.BoundedNoise(m.family, scale, bound, 0)
	if err != nil {
		return account.Event{}, err
	}
	delta := m.tableError(shift, scale, bound)
	if !(delta <= 1e-9) {
		return account.Event{}, config.Bad("scale", m.scale,
			"a larger one: for this sensitivity, neighbors' outcomes differ by more than a 64-bit table "+
				"resolves")
	}
	table, err := account.EpsDelta(0, delta)
	if err != nil {
		return account.Event{}, err
	}
	inner, err := account.Compose(law, table)
	if err != nil {
		return account.Event{}, err
	}
	return r.Sampled(inner)
}

func (m Truncated) tableError(shift, scale, bound float64) float64 {
	cells := float64(2*m.last + 1)
	return (1 + math.Exp(m.largestLoss(scale, bound)+.05)) * (54*cells*0x1p-64 + 2*weightError) /
		(1 - m.distance(shift))
}

// largestLoss is the largest privacy loss where both neighbors' outcomes are possible, in
// units of the sensitivity.
func (m Truncated) largestLoss(scale, bound float64) float64 {
	if m.family == account.BoundedGaussian {
		return max(0, 2*bound-1) / (2 * scale * scale)
	}
	return 1 / scale
}

// distance is delta(0): the total variation between the noise and itself shifted by a
// whole number of cells.
func (m Truncated) distance(shift float64) float64 {
	d := int(min(shift, float64(2*m.last+2)))
	return m.probability(d/2) - m.probability(-(d+1)/2)
}

// probability of the cells up to j.
func (m Truncated) probability(j int) float64 {
	switch i := j + m.last; {
	case i < 0:
		return 0
	case i >= len(m.cumulative):
		return 1
	default:
		return math.Ldexp(float64(m.cumulative[i]), -64)
	}
}

// Perturb adds the noise to a value rounded to whole cells. Rounding moves two values at
// an integer distance apart by no more than that distance.
func (m Truncated) Perturb(v *Value, r account.Release, c Charge) {
	value := m.whole(v, r)
	releaseIntegers(v.Float, []int64{value}, []int64{m.cell(c.Noise.Uint64())},
		math.Ldexp(r.Parts[0].Clip, -m.bits))
}

// whole is the value in cells.
func (m Truncated) whole(v *Value, r account.Release) int64 {
	p := r.Parts[0]
	cell := math.Ldexp(p.Clip, -m.bits)
	switch drop := gridBits - m.bits; {
	case v.Step > 0 && v.Step == GridStep(p.Clip):
		return (v.Grid[0] + 1<<drop>>1) >> drop
	case len(v.Wide) > 0: // as it was summed: in single precision it would move further
		x := v.Wide[0]
		v.Narrow()
		return toInteger(x / cell)
	}
	v.Exact(r)
	return toInteger(float64(v.Float[0]) / cell)
}

// cell is where a uniform draw falls.
func (m Truncated) cell(u uint64) int64 {
	return int64(sort.Search(len(m.cumulative), func(i int) bool { return u < m.cumulative[i] }) - m.last)
}

// Provenance is Proved: the event is the exact profile of the truncated law, not the
// published closed forms.
func (Truncated) Provenance() Provenance { return Proved }

// Assumptions is empty for oracles that give integers.
func (m Truncated) Assumptions() []string { return m.assumptions() }

func (Truncated) sealed() {}
