package reproduce

import "sotto/report/plot"

// At is a point without a band.
func At(x, y float64) plot.Point { return plot.Point{X: x, Y: y, Low: y, High: y} }

// Band is the mean at x, with one standard deviation on either side.
func (s Sample) Band(x float64) plot.Point { return band(x, s.Mean(), s.spread()) }

// Percent is Band of figures in percent, as plots of percentages take it.
func (s Sample) Percent(x float64) plot.Point { return band(x, s.Mean()/100, s.spread()/100) }

// LogBand is Band for a logarithmic axis: it ends above zero.
func (s Sample) LogBand(x float64) plot.Point {
	p := s.Band(x)
	p.Low = max(p.Low, p.Y/10)
	return p
}

// spread is the standard deviation, 0 of one figure.
func (s Sample) spread() float64 {
	if len(s) < 2 {
		return 0
	}
	return s.SD()
}

func band(x, y, sd float64) plot.Point { return plot.Point{X: x, Y: y, Low: y - sd, High: y + sd} }
