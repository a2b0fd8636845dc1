package scattering

import (
	"math"

	"sotto/rng"
)

// leaf draws one dead-leaves image, height x width with the channel last and pixels in
// [0, 1]: disks that hide each other, with centres uniform over the image and radii of
// density r^-3 from 1 pixel to nearly its side (Ruderman 1997; Lee, Mumford and Huang
// 2001, "Occlusion models for natural images"). Such images have the edges and the
// spectrum of photographs, and nobody's. Disks of an image have grays of their own and
// share a tint.
func leaf(dst []float32, height, width, channels int, s *rng.Stream) {
	const disks, least = 400, 1.
	most := .94 * float64(max(height, width))
	base := make([]float64, channels)
	for c := range base {
		base[c] = s.Float64()
	}
	clear(dst)
	shade := make([]float64, channels)
	for range disks {
		u := s.Float64()
		r := 1 / math.Sqrt(1/(most*most)+float64(u*(1/(least*least)-1/(most*most))))
		x, y := s.Float64()*float64(width), s.Float64()*float64(height)
		gray := s.Float64()
		s.Normals(shade)
		for c := range shade {
			shade[c] = max(0, min(1, float64(.6*gray)+float64(.2*base[c])+float64(.15*shade[c])))
		}
		for i := max(0, int(y-r)); i < min(height, int(y+r)+1); i++ {
			for j := max(0, int(x-r)); j < min(width, int(x+r)+1); j++ {
				dx, dy := float64(j)-x, float64(i)-y
				if float64(dx*dx)+float64(dy*dy) >= r*r {
					continue
				}
				for c, v := range shade {
					dst[(i*width+j)*channels+c] = float32(v)
				}
			}
		}
	}
}
