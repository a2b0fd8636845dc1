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
)

// SumError bounds, in units of clip, the L2 distance between what ClippedGradientSum adds
// to a zero vector and the real sum of the records' clipped gradients, for any number of
// records up to records that come in calls of each records with views rows. A record's
// clipped gradient is the real matrix product of its own numbers, which do not depend on
// its company, and no longer than clip. +Inf where no bound is proven: for bfloat16
// products, models from elsewhere, a clip outside [1e-30, 1e20], and sums of more than
// 2^40 records.
//
// A chunk of c records is summed in chains of at most m roundings and then added to the
// vector, so that for n records in K chunks, with u = 2^-24 and gamma = mu/(1 - mu),
//
//	gamma g n + exp(Ku) u (1 + gamma g) sum_{j=2..K} min(cj, n) + underflow
//
// (Higham 2002, "Accuracy and Stability of Numerical Algorithms", sections 3.1 and 4.2).
// g is 1 where the gradient of a record is one product or is kept, and more where it is a
// sum over positions that may cancel: gramNorm keeps the sum of their lengths within g
// times the clip.
func SumError(m Model, records, each, views int, clip float64) float64 {
	n, ok := m.(*network)
	if !ok || n.half || !(clip >= 1e-30 && clip <= 1e20) || records > 1<<40 {
		return math.Inf(1)
	}
	if records <= 0 {
		return 0
	}
	c := n.chunk(views) / views
	chain, growth, ops := n.chains(c, views)
	gamma := float64(chain) * unit / (1 - float64(chain)*unit)
	total := float64(records)
	chunks := math.Floor(total/float64(each))*math.Ceil(float64(each)/float64(c)) +
		math.Ceil(float64(records%each)/float64(c))
	between := math.Exp(chunks*unit) * unit * (1 + gamma*growth) * partialSums(chunks, float64(c), total)
	underflow := math.Sqrt(float64(n.dim)) * total * float64(ops) * tiny / clip
	return (gamma*growth*total + between + underflow) * (1 + 1e-9)
}

// partialSums is sum_{j=2..chunks} min(c j, n).
func partialSums(chunks, c, n float64) float64 {
	growing := math.Min(chunks, math.Floor(n/c))
	return math.Max(0, c*(growing*(growing+1)/2-1)) + n*math.Max(0, chunks-math.Max(growing, 1))
}

// chains returns the most roundings of a chunk of c records, the most by which the parts
// of a record's gradient are longer than the clip, and the most products of one element
// and record.
func (n *network) chains(c, views int) (chain int, growth float64, ops int) {
	// A factor rounded to float32, its product rounded by kernels that do not fuse, and
	// one addition a record.
	chain, growth, ops = c+3, 1, views+2
	for _, l := range n.layers {
		p, ok := l.(positional)
		if !ok {
			continue
		}
		if conv, ok := p.positionSums(views); ok {
			// A chain of a block of positions, one addition a block, and records apart.
			chain = max(chain, blockPositions+2*c*views+c+4)
			growth = max(growth, conv.cancellation())
			ops = max(ops, views*conv.positions()+2)
		}
	}
	return chain, growth, ops
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

// cancellation bounds S, the sum of the lengths of a record's outer products, over the
// norm that gramNorm takes: norm >= sqrt(x + y + xy) S + 2^-23 S there, and x, y are
// least for the fewest blocks.
func (c *conv2d) cancellation() float64 {
	x, y := gamma(blockPositions), gamma(c.filters)
	return 1 / (math.Sqrt(x+y+x*y) + 0x1p-23)
}
