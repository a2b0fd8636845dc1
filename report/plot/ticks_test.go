package plot

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/plot"
)

// corners are ends of ranges that computations meet: one apart in the last bit, huge,
// denormal, reversed, and no numbers at all.
func corners() []float64 {
	out := []float64{0, 1, math.Nextafter(1, 0), math.Nextafter(1, 2), 3, 1e-9, 1e15, 1e16, 1<<53 + 2, 1e300,
		math.MaxFloat64, math.SmallestNonzeroFloat64, 3e-323, 2.3e-308, math.Inf(1), math.NaN()}
	for _, x := range out {
		out = append(out, -x)
	}
	return out
}

// checkTicks fails where an axis has too many ticks, or one that cannot be drawn.
func checkTicks(t *testing.T, name string, marks []plot.Tick, low, high float64) {
	t.Helper()
	if len(marks) > mostTicks {
		t.Errorf("%s(%g, %g): %d ticks", name, low, high, len(marks))
	}
	slack := 1e-6 * (high - low)
	for i, m := range marks {
		if math.IsNaN(m.Value) || m.Value < low-slack || m.Value > high+slack {
			t.Errorf("%s(%g, %g): tick %d at %g", name, low, high, i, m.Value)
		}
		if i > 0 && (m.Value <= marks[i-1].Value || m.Label == marks[i-1].Label) {
			t.Errorf("%s(%g, %g): ticks %s and %s", name, low, high, marks[i-1].Label, m.Label)
		}
	}
}

// Every range has few ticks, within it and with labels of their own. A range of one bit
// made a report run until memory was gone.
func TestTicksEnd(t *testing.T) {
	check := func(low, high float64) {
		checkTicks(t, "ticks", ticks{1}.Ticks(low, high), low, high)
		checkTicks(t, "percent", ticks{100}.Ticks(low, high), low, high)
		checkTicks(t, "decades", decades{}.Ticks(low, high), low, high)
		f := Figure{LogX: true, Curves: []Curve{{Points: []Point{{X: low, Y: 1}, {X: high, Y: 1}}}}}
		for range 200 {
			f.Curves[0].Points = append(f.Curves[0].Points, Point{X: low + rand.Float64()*(high-low), Y: 1},
				Point{X: math.Exp(rand.Float64()*1400 - 700), Y: 1})
		}
		if n := len(f.measuredTicks()); n > mostTicks {
			t.Errorf("measured ticks from %g to %g: %d", low, high, n)
		}
	}
	for _, low := range corners() {
		for _, high := range corners() {
			check(low, high)
		}
	}
	random := func() float64 { return math.Float64frombits(rand.Uint64()) }
	for range 2000 {
		low := random()
		check(low, random())
		check(low, low+math.Abs(low)*math.Exp(-40*rand.Float64()))
	}
}

// Ranges with room for them have 3 round numbers or more.
func TestTicksOfUsualRanges(t *testing.T) {
	for range 2000 {
		low := (rand.Float64() - .5) * 100
		high := low + math.Exp(10*rand.Float64()-5)
		if n := len(ticks{1}.Ticks(low, high)); n < 3 || n > 10 {
			t.Errorf("%d ticks from %g to %g", n, low, high)
		}
	}
}

// A whole figure is drawn whose measurements differ in the last bit, or by all of
// float64.
func TestFiguresOfExtremeRanges(t *testing.T) {
	for _, x := range [][2]float64{{math.Nextafter(1, 0), 1}, {5e-324, 1e-323}, {-1e308, 1e308}, {1, 1}} {
		for _, percent := range []bool{false, true} {
			f := Figure{Name: "f", Percent: percent, Curves: []Curve{{Name: "a", Points: []Point{
				{X: x[0], Y: x[0], Low: x[0], High: x[0]}, {X: x[1], Y: x[1], Low: x[1], High: x[1]}}}}}
			var b bytes.Buffer
			if err := WriteSVG(&b, f); err != nil || b.Len() == 0 {
				t.Errorf("%v: %d bytes, %v", x, b.Len(), err)
			}
		}
	}
}
