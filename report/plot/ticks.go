package plot

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
)

// mostTicks bounds the ticks of every axis, whatever its range.
const mostTicks = 41

// decades are powers of ten, or of each three or more where there are many, and with 2
// and 5 times them where there are few. A range that no logarithm has gets none.
type decades struct{}

func (decades) Ticks(low, high float64) []plot.Tick {
	if !finite(low, high) || low <= 0 || high < low {
		return nil
	}
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	factors, every := []float64{1}, 1+(last-first)/9
	if last-first <= 2 {
		factors = []float64{1, 2, 5}
	}
	var out []plot.Tick
	for e := first; e <= last; e += every {
		for _, k := range factors {
			if v := k * math.Pow(10, float64(e)); v >= low && v <= high {
				out = append(out, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 3, 64)})
			}
		}
	}
	return out
}

// ticks are 4 to 9 round numbers, labelled with the value times scale.
type ticks struct{ scale float64 }

// Ticks marks the lower end alone where the range has no round numbers that a label of
// 10 digits, or a float64, could tell apart. A range that is reversed or not finite has
// none.
func (t ticks) Ticks(low, high float64) []plot.Tick {
	from, to := low*t.scale, high*t.scale
	span, size := (high-low)*t.scale, max(math.Abs(from), math.Abs(to))
	if !finite(low, high, from, to) || high < low {
		return nil
	}
	decade := math.Pow(10, math.Floor(math.Log10(span))-1)
	if !(span > 1e-7*size) || !finite(span) || decade == 0 {
		return []plot.Tick{{Value: low, Label: tickLabel(from)}}
	}
	step := decade
	for _, k := range []float64{1, 2, 5, 10, 20} {
		if step = k * decade; span/step <= 9 {
			break
		}
	}
	var out []plot.Tick
	first := math.Ceil(from/step) + 0 // + 0: no -0
	for n := range mostTicks {        // k++ would not change a k above 2^53
		k := first + float64(n)
		if k*step > to+1e-12*math.Abs(to) || !finite(k*step) {
			break
		}
		out = append(out, plot.Tick{Value: k * step / t.scale, Label: tickLabel(k * step)})
	}
	return out
}

// tickLabel has 10 digits: 0.3, not 0.30000000000000004.
func tickLabel(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }

// measuredTicks are at the X values of the points, without those that would be printed
// over others. X values at or below 0 have no place on a logarithmic axis.
func (f Figure) measuredTicks() plot.ConstantTicks {
	var xs []float64
	for _, c := range f.Curves {
		for _, q := range c.Points {
			if finite(q.X, q.Y) && q.X > 0 {
				xs = append(xs, q.X)
			}
		}
	}
	slices.Sort(xs)
	if len(xs) == 0 {
		return nil
	}
	if ticks := spaced(xs, 1.12); len(ticks) <= mostTicks {
		return ticks
	}
	return spaced(xs, math.Exp((math.Log(xs[len(xs)-1])-math.Log(xs[0]))/(mostTicks-1)))
}

// spaced are ticks at those of the ascending xs that are apart by the given factor.
func spaced(xs []float64, apart float64) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, x := range xs {
		if len(ticks) == 0 || x > ticks[len(ticks)-1].Value*apart {
			ticks = append(ticks, plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'g', 3, 64)})
		}
	}
	return ticks
}
