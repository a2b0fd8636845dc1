package audit

import (
	"fmt"
	"math"
	"math/bits"

	"sotto/rng"
)

// bitRows are rows of bits.
type bitRows struct {
	words int
	bits  []uint64
}

func newBitRows(rows, each int) bitRows {
	words := (each + 63) / 64
	return bitRows{words, make([]uint64, rows*words)}
}

func (b *bitRows) set(row, k int) { b.bits[row*b.words+k/64] |= 1 << (k % 64) }

func (b *bitRows) row(i int) []uint64 { return b.bits[i*b.words : (i+1)*b.words] }

// differing is in how many bits two rows differ.
func differing(a, b []uint64) int {
	n := 0
	for w, x := range a {
		n += bits.OnesCount64(x ^ b[w])
	}
	return n
}

// coins is a test of many numbers of agreements of fair and independent bits, which are
// binomial, exactly; each is looked at from both sides, and paid for.
type coins struct {
	worst float64
	tests int
	text  string
}

func newCoins() *coins { return &coins{worst: 1} }

// see notes that of n pairs of bits so many differ. bias is how far a bit's probability
// may be from 1/2, whatever the others are.
func (c *coins) see(differ, n int, bias float64, format string, args ...any) {
	c.tests += 2
	c.note(differ, n, bias, format, args...)
}

// note is see for the least likely of several that are counted elsewhere.
func (c *coins) note(differ, n int, bias float64, format string, args ...any) {
	p := min(1, .5+bias)
	tail := min(binomialTail(differ, n, p), binomialTail(n-differ, n, p))
	if tail < c.worst {
		c.worst = tail
		c.text = fmt.Sprintf(format, args...) + fmt.Sprintf(" agree in %d of %d", n-differ, n)
	}
}

func (c *coins) check(name, what, where string, level float64) Check {
	k := Check{
		Name:      name,
		Statistic: Figure(0 - math.Log10(max(c.worst, 1e-300))),
		Limit:     Figure(-math.Log10(level / float64(max(1, c.tests)))),
		Text: fmt.Sprintf("-log10 of the probability of the least likely agreement of %s, of %d, %s", what,
			c.tests/2, where),
	}
	if c.text != "" {
		k.Text += ": " + c.text
	}
	return k
}

var bitNames = [2]string{"signs", "sizes"}

// pairsOfCoordinates compares every two coordinates over all charges: one that repeats
// another, as it is, with the other sign or in its size alone, agrees in all.
func (s *standard) pairsOfCoordinates(where string, level float64) Check {
	c := newCoins()
	for b := range s.byCoordinate {
		c.pairs(&s.byCoordinate[b], s.d, s.n, s.bias, bitNames[b]+" of coordinates")
	}
	return c.check("pairs of coordinates", "signs or sizes of two coordinates", where, level)
}

// pairsOfCharges compares every two charges over all coordinates.
func (s *standard) pairsOfCharges(where string, level float64) Check {
	c := newCoins()
	for b := range s.byCharge {
		c.pairs(&s.byCharge[b], s.n, s.d, s.bias, bitNames[b]+" of charges")
	}
	return c.check("pairs of charges", "signs or sizes of two charges", where, level)
}

// mostWords is how many words of bits all pairs of one kind may take.
const mostWords = 1 << 26

// pairs looks at all pairs of rows, or of so many rows, chosen beforehand, as time
// allows.
func (c *coins) pairs(rows *bitRows, count, each int, bias float64, what string) {
	all := make([]int, count)
	for i := range all {
		all[i] = i
	}
	if most := int(math.Sqrt(2 * mostWords / float64(rows.words))); count > most {
		draw := rng.Public(1, "audit pairs")
		for i := range most {
			k := i + int(draw.Below(uint64(count-i)))
			all[i], all[k] = all[k], all[i]
		}
		all = all[:most]
	}
	least, most := each+1, -1
	var near, far [2]int
	for x, i := range all {
		for _, j := range all[:x] {
			d := differing(rows.row(i), rows.row(j))
			if d < least {
				least, near = d, [2]int{j, i}
			}
			if d > most {
				most, far = d, [2]int{j, i}
			}
		}
	}
	if most < 0 {
		return
	}
	c.tests += len(all) * (len(all) - 1)
	c.note(least, each, bias, what+" %d and %d", near[0], near[1])
	c.note(most, each, bias, what+" %d and %d", far[0], far[1])
}

// mostLags is how far neighbors are that are compared over everything.
const mostLags = 8

// lags compares values with those a few places before, over all charges and coordinates
// together: within a charge, and in one coordinate over charges. Pairs at one distance
// form no circle, so that agreements are independent.
func (s *standard) lags(where string, level float64) Check {
	c := newCoins()
	for b := range s.byCharge {
		for lag := 1; lag <= min(mostLags, s.d-1); lag++ {
			differ := 0
			for i := lag; i < s.d; i++ {
				differ += differing(s.byCoordinate[b].row(i), s.byCoordinate[b].row(i-lag))
			}
			c.see(differ, s.n*(s.d-lag), s.bias, "%s of coordinates %d apart", bitNames[b], lag)
		}
		for lag := 1; lag <= min(mostLags, s.n-1); lag++ {
			differ := 0
			for k := lag; k < s.n; k++ {
				differ += differing(s.byCharge[b].row(k), s.byCharge[b].row(k-lag))
			}
			c.see(differ, s.d*(s.n-lag), s.bias, "%s of charges %d apart", bitNames[b], lag)
		}
	}
	return c.check("lags", "signs or sizes at a distance", where, level)
}
