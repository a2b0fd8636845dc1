package audit

import "math"

// sight is what one observation shows, coordinate by coordinate.
type sight struct {
	apart  []float64 // of the real message from the one without record and noise
	record []float64 // what the record changes in it
	ends   []int     // where each message ends
}

// contrast learns from a part of the observations where noise is weak, for scores of the
// others: their weights do not depend on the observations that they score, so that bounds
// by these are proofs.
//
// "whitened" is the likelihood ratio of independent coordinates under the observed
// variances. "contrast" is that of the two coordinates, close to each other, that tell
// the most under their observed covariance; the projections of the single messages on
// what the record changes in them count as coordinates, so that where nothing is wrong
// the contrast is the projection. It finds a coordinate without noise, two that share
// theirs, and a message to one neighbor that has less than the others. Both are 0 on
// average without the record and 1 with it, as "along" is.
type contrast struct {
	n      int
	record []float64   // sums over what was learned from
	square []float64   // of the noise
	cross  [][]float64 // of the noise at i times that at i + lag + 1

	first, second int // coordinates of the contrast
	weights       [2]float64
	white         []float64 // weights of the others; not of projections
	coordinates   int
}

// allPairs is up to how many coordinates every two are compared; of more, those at most
// mostLags apart.
const allPairs = 128

// features are the coordinates and, behind them, the projections of the messages, with
// noise of the size that single coordinates have.
func (s *sight) features(of []float64) []float64 {
	all := append([]float64(nil), of...)
	from := 0
	for _, to := range s.ends {
		sum, unit := 0., 0.
		for i := from; i < to; i++ {
			sum += float64(of[i] * s.record[i])
			unit += float64(s.record[i] * s.record[i])
		}
		if unit > 0 {
			sum /= math.Sqrt(unit)
		}
		all, from = append(all, sum), to
	}
	return all
}

// learn takes an observation, less so many times the record.
func (c *contrast) learn(s *sight, times float64) {
	noise, record := s.features(s.apart), s.features(s.record)
	if c.n == 0 {
		lags := mostLags
		if len(noise) <= allPairs {
			lags = len(noise) - 1
		}
		c.record, c.square = make([]float64, len(noise)), make([]float64, len(noise))
		c.cross = make([][]float64, lags)
		for k := range c.cross {
			c.cross[k] = make([]float64, max(0, len(noise)-k-1))
		}
		c.coordinates = len(s.apart)
	}
	if len(noise) != len(c.record) {
		return
	}
	c.n++
	for i, d := range record {
		noise[i] -= float64(times * d)
		c.record[i] += d
		c.square[i] += float64(noise[i] * noise[i])
	}
	for k, sums := range c.cross {
		for i := range sums {
			sums[i] += float64(noise[i] * noise[i+k+1])
		}
	}
}

// choose fixes the weights.
func (c *contrast) choose() {
	if c.n == 0 {
		return
	}
	largest := 1e-300 // what is without noise has the variance of rounding, not 0
	for i, q := range c.square {
		d := c.record[i] / float64(c.n)
		largest = max(largest, q/float64(c.n), float64(d*d)*1e-10)
	}
	ridge := 1e-10 * largest
	c.white = make([]float64, c.coordinates)
	for i := range c.white {
		c.white[i] = c.record[i] / (c.square[i]/float64(c.n) + ridge)
	}
	best := -1.
	for k, sums := range c.cross {
		for i := range sums {
			j := i + k + 1
			n := float64(c.n)
			a, b, cross := c.square[i]/n+ridge, c.square[j]/n+ridge, sums[i]/n
			di, dj := c.record[i]/n, c.record[j]/n
			det := float64(a*b) - float64(cross*cross)
			if !(det > 0) {
				continue
			}
			wi, wj := (float64(b*di)-float64(cross*dj))/det, (float64(a*dj)-float64(cross*di))/det
			if told := float64(wi*di) + float64(wj*dj); told > best {
				best, c.first, c.second, c.weights = told, i, j, [2]float64{wi, wj}
			}
		}
	}
}

// scores are the two of one observation. They are 0 where an observation has other
// coordinates than those learned from.
func (c *contrast) scores(s *sight) (whitened, contrast float64) {
	if c.n == 0 || len(s.apart) != c.coordinates || len(s.apart)+len(s.ends) != len(c.record) {
		return 0, 0
	}
	x, d := 0., 0.
	for i, w := range c.white {
		x += float64(w * s.apart[i])
		d += float64(w * s.record[i])
	}
	apart, record := s.features(s.apart), s.features(s.record)
	y := float64(c.weights[0]*apart[c.first]) + float64(c.weights[1]*apart[c.second])
	e := float64(c.weights[0]*record[c.first]) + float64(c.weights[1]*record[c.second])
	return ratio(x, d), ratio(y, e)
}

func ratio(x, d float64) float64 {
	if d == 0 || math.IsNaN(x/d) {
		return 0
	}
	return x / d
}
