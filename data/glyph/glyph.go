// Package glyph draws handwritten digits: strokes of one of several shapes for each
// digit, bent by a smooth random field, rotated, sheared, scaled and shifted, drawn with
// a pen of random width and pressure, with stray pen marks and pixel noise.
package glyph

import (
	"math"
	"math/rand/v2"
)

// Side of a glyph in pixels.
const Side = 28

// A Canvas is for drawing one glyph after another. Its zero value is ready.
type Canvas struct {
	ink [Side * Side]float64
}

// Draw draws a digit, 0 to 9, into dst, of Side*Side pixels by rows, 0 white to 255
// black. Equal states of r give equal pixels on machines of one architecture.
func (c *Canvas) Draw(dst []byte, digit int, r *rand.Rand) {
	c.glyph(digit, r)
	c.bytes(dst, r)
}

type point struct{ x, y float64 }

// stroke is a polyline in the unit square, y downwards.
type stroke []point

// line runs through the given points x0, y0, x1, y1, ... with steps fine enough to bend.
func line(xy ...float64) stroke {
	var s stroke
	for k := 0; k+3 < len(xy); k += 2 {
		for t := range 6 {
			f := float64(t) / 6
			s = append(s, point{xy[k] + f*(xy[k+2]-xy[k]), xy[k+1] + f*(xy[k+3]-xy[k+1])})
		}
	}
	return append(s, point{xy[len(xy)-2], xy[len(xy)-1]})
}

// arc runs along an ellipse around (cx, cy) from angle a to b in turns; 0 is right, .25
// down.
func arc(cx, cy, rx, ry, a, b float64) stroke {
	steps := int(math.Ceil(20 * math.Abs(b-a)))
	s := make(stroke, steps+1)
	for k := range s {
		sin, cos := math.Sincos(2 * math.Pi * (a + (b-a)*float64(k)/float64(steps)))
		s[k] = point{cx + rx*cos, cy + ry*sin}
	}
	return s
}

// shapes holds the ways to write each digit.
var shapes = [10][][]stroke{
	{{arc(.5, .5, .3, .42, 0, 1)}, {arc(.5, .5, .22, .42, 0, 1)}, {arc(.5, .5, .34, .36, -.2, .75)}},
	{{line(.5, .08, .5, .92)}, {line(.32, .28, .52, .08, .52, .92)},
		{line(.32, .26, .5, .08, .5, .92), line(.28, .92, .72, .92)}},
	{{arc(.48, .32, .28, .24, .5, 1.08), line(.75, .42, .2, .9, .82, .9)},
		{arc(.48, .3, .26, .22, .5, 1.2), line(.58, .52, .24, .9), arc(.3, .82, .1, .08, .3, 1.1),
			line(.4, .86, .8, .9)}},
	{{arc(.45, .29, .26, .21, .55, 1.25), arc(.45, .71, .3, .21, -.25, .45)},
		{line(.22, .1, .72, .1, .44, .42), arc(.44, .67, .3, .25, -.25, .42)}},
	{{line(.62, .92, .62, .08, .18, .64, .84, .64)},
		{line(.26, .1, .22, .52, .76, .52), line(.7, .12, .66, .92)}},
	{{line(.76, .1, .3, .1, .26, .46), arc(.46, .67, .29, .24, -.3, .42)},
		{line(.72, .1, .32, .12, .3, .42, .5, .42), arc(.5, .66, .24, .24, -.25, .38)}},
	{{arc(.66, .6, .42, .52, .72, .5), arc(.5, .68, .25, .22, 0, 1)},
		{line(.6, .08, .3, .52), arc(.5, .67, .26, .23, .42, 1.42)}},
	{{line(.2, .1, .8, .1, .4, .92)}, {line(.2, .1, .78, .1, .42, .92), line(.34, .5, .74, .5)},
		{line(.22, .22, .22, .1, .78, .1, .54, .5, .5, .92)}},
	{{arc(.5, .29, .22, .2, 0, 1), arc(.5, .7, .28, .22, 0, 1)},
		{line(.72, .16, .3, .3, .68, .66), arc(.48, .74, .22, .17, -.1, .5),
			line(.26, .74, .3, .6, .72, .16)}},
	{{arc(.5, .32, .25, .22, 0, 1), line(.75, .32, .7, .92)},
		{arc(.48, .31, .25, .22, 0, 1), arc(.34, .4, .4, .52, -.02, .3)}},
}

// warp maps the unit square to pixels: a smooth random field, then an affine map.
type warp struct {
	wave       [3][4]float64 // frequency in x and y, phase of the shift in x and in y
	bend       float64
	a, b, c, d float64
	x, y       float64
}

func newWarp(r *rand.Rand) *warp {
	uniform := func(lo, hi float64) float64 { return lo + (hi-lo)*r.Float64() }
	w := &warp{bend: uniform(.01, .05)}
	for k := range w.wave {
		w.wave[k] = [4]float64{uniform(-1.2, 1.2), uniform(-1.2, 1.2), uniform(0, 1), uniform(0, 1)}
	}
	sin, cos := math.Sincos(uniform(-.25, .25))
	shear := uniform(-.3, .3)
	sx, sy := uniform(15, 23), uniform(17, 24)
	w.a, w.b = sx*cos, sy*(shear*cos-sin)
	w.c, w.d = sx*sin, sy*(shear*sin+cos)
	w.x, w.y = Side/2+uniform(-2, 2), Side/2+uniform(-1.5, 1.5)
	return w
}

func (w *warp) apply(p point) point {
	x, y := p.x-.5, p.y-.5
	dx, dy := 0., 0.
	for _, f := range w.wave {
		turn := f[0]*x + f[1]*y
		dx += math.Sin(2 * math.Pi * (turn + f[2]))
		dy += math.Sin(2 * math.Pi * (turn + f[3]))
	}
	x, y = x+w.bend*dx, y+w.bend*dy
	return point{w.x + w.a*x + w.b*y, w.y + w.c*x + w.d*y}
}

// glyph draws a digit and perhaps a stray mark.
func (c *Canvas) glyph(class int, r *rand.Rand) {
	clear(c.ink[:])
	w := newWarp(r)
	radius := .6 + 1.1*r.Float64()
	pressure := .65 + .35*r.Float64()
	forms := shapes[class]
	for _, s := range forms[r.IntN(len(forms))] {
		last := w.apply(s[0])
		for _, p := range s[1:] {
			next := w.apply(p)
			c.segment(last, next, radius, pressure)
			last = next
		}
	}
	for range r.IntN(2) {
		x, y := Side*r.Float64(), Side*r.Float64()
		turn, length := 2*math.Pi*r.Float64(), 2+6*r.Float64()
		c.segment(point{x, y}, point{x + length*math.Cos(turn), y + length*math.Sin(turn)}, radius*.8,
			pressure)
	}
}

// segment inks pixels by their distance to the segment, soft over one pixel at the edge
// of the pen.
func (c *Canvas) segment(p, q point, radius, pressure float64) {
	reach := radius + .5
	bound := func(v float64) int { return int(min(max(v, 0), Side-1)) }
	dx, dy := q.x-p.x, q.y-p.y
	length2 := dx*dx + dy*dy
	for y := bound(min(p.y, q.y) - reach); y <= bound(max(p.y, q.y)+reach); y++ {
		for x := bound(min(p.x, q.x) - reach); x <= bound(max(p.x, q.x)+reach); x++ {
			k := y*Side + x
			if c.ink[k] >= pressure {
				continue // there can be no more of it
			}
			ex, ey := float64(x)+.5-p.x, float64(y)+.5-p.y
			t := 0.
			if length2 > 0 {
				t = min(max((ex*dx+ey*dy)/length2, 0), 1)
			}
			ex, ey = ex-t*dx, ey-t*dy
			d2 := ex*ex + ey*ey
			if d2 >= reach*reach {
				continue
			}
			ink := pressure * min(1, reach-math.Sqrt(d2))
			c.ink[k] = max(c.ink[k], ink)
		}
	}
}

// bytes adds pixel noise and rounds to 0 .. 255.
func (c *Canvas) bytes(dst []byte, r *rand.Rand) {
	noise := .02 + .08*r.Float64()
	for k, v := range c.ink {
		v += noise * r.NormFloat64()
		v = 255 * min(max(v, 0), 1)
		dst[k] = byte(v)
		if v-float64(dst[k]) >= .5 {
			dst[k]++
		}
	}
}
