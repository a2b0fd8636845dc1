package live

import (
	"encoding/json"
	"math"
	"strconv"
)

// mostPoints is how many points of a curve a page gets. Above, neighbors are merged: the
// newest mean, the least and the largest value.
const mostPoints = 2000

// series is a curve with a band.
type series struct {
	points []point
	stride int // events in a point
	in     int // of the last point
	epoch  int // how often the points were merged, or some are void
}

// point is a value over what is counted, with the range around it.
type point struct{ x, mean, low, high float64 }

func (s *series) add(p point) {
	s.stride = max(s.stride, 1)
	if n := len(s.points); n > 0 && (s.in < s.stride || s.points[n-1].x >= p.x) {
		last := &s.points[n-1]
		if last.x < p.x {
			s.in++
		}
		p.low, p.high = min(p.low, last.low), max(p.high, last.high)
		*last = p
		return
	}
	s.points, s.in = append(s.points, p), 1
	if len(s.points) > mostPoints {
		s.merge()
	}
}

// merge makes one point of two.
func (s *series) merge() {
	var half []point
	for i := 0; i < len(s.points); i += 2 {
		p := s.points[min(i+1, len(s.points)-1)]
		p.low, p.high = min(p.low, s.points[i].low), max(p.high, s.points[i].high)
		half = append(half, p)
	}
	if len(s.points)%2 == 1 { // its last one has half of what the others have
		s.in = s.stride
	} else {
		s.in = 2 * s.stride
	}
	s.points, s.stride = half, 2*s.stride
	s.epoch++
}

// cut drops what is later than x.
func (s *series) cut(x float64) {
	n := len(s.points)
	for n > 0 && s.points[n-1].x > x {
		n--
	}
	if n < len(s.points) {
		s.points, s.in = s.points[:n], s.stride
		s.epoch++
	}
}

// tail is the JSON of the points from a number on: four lists.
func (s *series) tail(from int) json.RawMessage {
	b := append([]byte(`{"epoch":`), strconv.Itoa(s.epoch)...)
	b = append(append(b, `,"from":`...), strconv.Itoa(from)...)
	for _, column := range []struct {
		name string
		of   func(p *point) float64
	}{
		{"x", func(p *point) float64 { return p.x }},
		{"mean", func(p *point) float64 { return p.mean }},
		{"low", func(p *point) float64 { return p.low }},
		{"high", func(p *point) float64 { return p.high }},
	} {
		b = append(append(append(b, `,"`...), column.name...), `":[`...)
		for i := from; i < len(s.points); i++ {
			if i > from {
				b = append(b, ',')
			}
			b = number(b, column.of(&s.points[i]))
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// number is a number to six digits, null where it is none or infinite.
func number(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(b, "null"...)
	}
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.AppendInt(b, int64(x), 10)
	}
	return strconv.AppendFloat(b, x, 'g', 6, 64)
}
