package audit

import (
	"fmt"
	"math"
)

// again looks for noise that comes twice, in one charge or in two: runs of so many values
// one after the other that were there before, up to sign. What is equal to within
// rounding counts as equal.
//
// Values on a coarse grid are equal by chance. One value repeats a given one with
// probability at most q, whatever those before it are; a run of m values does with
// probability at most q^m, so that one of N runs comes again with probability at most
// N^2/2 q^m. m is chosen such that this is below the level, and then none may come again.
// Where answers are shorter, m is their length, and the number of answers that came
// before is at most binomial with N draws of probability N q^m.
func (p *part) again(level float64) Check {
	width := max(4*p.slack, 1e-12)
	q := min(1, p.mass(width+p.slack))
	dim := min(p.Dim, max(1, maxValues/p.n)) // of longer answers the first values
	m := 1
	for m < dim && expectedRepeats(p.n*(dim-m+1), q, m) > level {
		m++
	}
	runs := p.n * (dim - m + 1)
	c := Check{Name: "fresh noise"}
	seen := make(map[uint64]bool, runs)
	for k := range p.n {
		x := p.x[k*p.Dim : k*p.Dim+dim]
		for i := 0; i+m <= dim; i++ {
			key := fingerprint(x[i:i+m], width)
			if seen[key] {
				c.Statistic++
			}
			seen[key] = true
		}
	}
	if expectedRepeats(runs, q, m) > level {
		hit := min(1, float64(runs)*math.Pow(q, float64(m)))
		for int(c.Limit) < runs && binomialTail(int(c.Limit)+1, runs, hit) > level {
			c.Limit++
		}
	}
	c.Text = fmt.Sprintf("runs of %d values of noise that came before, of %d runs of %d charges, %s", m,
		runs, p.n, p.where)
	return c
}

func expectedRepeats(runs int, q float64, m int) float64 {
	return float64(runs) * float64(runs) / 2 * math.Pow(q, float64(m))
}

// fingerprint mixes the cells of a run's sizes into 64 bits.
func fingerprint(x []float64, width float64) uint64 {
	h := uint64(len(x))
	for _, v := range x {
		h ^= uint64(int64(math.Floor(math.Abs(v)/width + .5)))
		h *= 0x9e3779b97f4a7c15
		h ^= h >> 29
		h *= 0xbf58476d1ce4e5b9
		h ^= h >> 32
	}
	return h
}
