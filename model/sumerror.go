package model

import "math"

// What float32 does to a sum of clipped gradients. A bound of the sum's rounding has to
// be charged, or stated: the sum moves by that much more than one record does
// (Casacuberta, Shoemate, Vadhan, Wagaman 2022).

// unit is the unit round-off of float32, and tiny the largest error of a product that
// underflows.
const (
	unit = 0x1p-24
	tiny = 0x1p-150

	leastClip = 1e-30 // of which underflow is a share
	mostViews = 1 << 20
)

// SumError bounds, in units of clip, the L2 distance between what ClippedGradientSum adds
// to a zero vector and the real sum of the records' clipped gradients, for any number of
// records up to records that come in calls of each records with views rows. It is the
// same for all clips that have one. A record's clipped gradient is the real matrix
// product of its own numbers, which do not depend on its company, or the vector that is
// formed of them where a layer keeps it, and no longer than clip. +Inf where no bound is
// proven: for bfloat16 products, models from elsewhere, a clip outside [1e-30, 1e20],
// sums of more than 2^40 records, each below 1, and views outside 1 to 2^20.
//
// Rounding an addition is off by at most u = 2^-24 of the partial sum that it gives. In a
// chunk of c records, of which each is at most 1 long after clipping, the partial sum at
// the i-th record is at most i long, and where a record is a sum over positions at most i
// and what of that record is not yet cancelled: S, the sum of the lengths of its outer
// products. Chunks are then added to the vector. With at most a + b roundings a record
// relative to 1, N additions in a chunk and K chunks, n records are off by
//
//	r n + exp(Ku) u (1 + r) sum_{j=2..K} min(cj, n) + underflow, r = u(a + b)/(1 - Nu)
//
// where the division and the last but one factor are because partial sums are rounded
// themselves (Higham 2002, "Accuracy and Stability of Numerical Algorithms", section
// 4.2).
func SumError(m Model, records, each, views int, clip float64) float64 {
	n, ok := m.(*network)
	if !ok || n.half || !(clip >= leastClip && clip <= 1e20) || records > 1<<40 ||
		min(each, views) < 1 || views > mostViews {
		return math.Inf(1)
	}
	if records <= 0 {
		return 0
	}
	c := n.chunk(views) / views
	r := n.roundings(min(c, records), views)
	total := float64(records)
	chunks := math.Floor(total/float64(each))*math.Ceil(float64(each)/float64(c)) +
		math.Ceil(float64(records%each)/float64(c))
	record := unit * (r.sums + r.own) / (1 - unit*r.additions)
	between := math.Exp(chunks*unit) * unit * (1 + record) * partialSums(chunks, float64(c), total)
	underflow := math.Sqrt(float64(n.dim)) * total * float64(r.products) * tiny / leastClip
	return (record*total + between + underflow) * (1 + 1e-9)
}

// partialSums is sum_{j=2..chunks} min(c j, n).
func partialSums(chunks, c, n float64) float64 {
	growing := math.Min(chunks, math.Floor(n/c))
	return math.Max(0, c*(growing*(growing+1)/2-1)) + n*math.Max(0, chunks-math.Max(growing, 1))
}

// roundings are those of a chunk, the most of any layer.
type roundings struct {
	sums, own float64 // a record: of partial sums of whole records, and of its own; a and b above
	additions float64 // of a chunk to one element, N above
	products  int     // of one element and record
}

// roundings are those of a chunk of c records. Layers' errors add in squares, as the
// lengths do that they are relative to.
func (n *network) roundings(c, views int) roundings {
	// One addition a record; and a record's factor is rounded to float32, its product by
	// kernels that do not fuse, and its sum over views.
	r := roundings{sums: float64(c+1) / 2, own: float64(2 + views), additions: float64(c + views),
		products: views + 2}
	for _, l := range n.layers {
		p, ok := l.(positional)
		if !ok {
			continue
		}
		if conv, ok := p.positionSums(views); ok {
			r.add(conv, c, views)
		}
	}
	return r
}

// add takes a layer that sums positions of records together: an addition a position, one
// a block, and one for each record that is summed apart. A record of several rows may lie
// in two blocks; what of it is in the second is then not cancelled for a whole block.
func (r *roundings) add(conv *conv2d, c, views int) {
	t := float64(conv.positions() * views)
	blocks := math.Ceil(float64(c*views) / float64(blockPositions/conv.positions())) // of whole images
	own := t + blocks/float64(c) + 2
	if views > 1 {
		own += blockPositions
	}
	r.sums = max(r.sums, t*float64(c-1)/2+blocks+float64(c))
	r.own = max(r.own, mostCancellation*own)
	r.additions = max(r.additions, t*float64(c)+blocks+float64(c))
	r.products = max(r.products, views*conv.positions()+2)
}

// positional is a layer that shares its weights among positions.
type positional interface {
	// positionSums is the layer as a convolution, and reports whether gradients of
	// records with so many rows are summed over positions and records together.
	positionSums(views int) (*conv2d, bool)
}

func (c *conv2d) positionSums(views int) (*conv2d, bool) { return c, c.gram(views) }

func (l linear) positionSums(views int) (*conv2d, bool) {
	c := l.sum()
	return &c, views > 1 && c.gram(views)
}
