package audit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"sotto/tensor"
)

// decoder finds which of some known vectors a sum holds.
type decoder struct {
	members []tensor.Vec
	gram    mat.Cholesky
}

// newDecoder refuses vectors that are not clearly independent.
func newDecoder(members []tensor.Vec) (*decoder, error) {
	d := &decoder{members: members}
	g := mat.NewSymDense(len(members), nil)
	for i, a := range members {
		for j := range i + 1 {
			g.SetSym(i, j, a.Dot(members[j]))
		}
	}
	if len(members) == 0 || !d.gram.Factorize(g) || d.gram.Cond() > 1e8 {
		return nil, fmt.Errorf("%w: the records' contributions cannot be told apart", errNotApplicable)
	}
	return d, nil
}

// decode returns how often sum holds each member, and the largest distance of such a
// number from a whole one.
func (d *decoder) decode(sum tensor.Vec) (times []int, off float64) {
	b, x := mat.NewVecDense(len(d.members), nil), mat.NewVecDense(len(d.members), nil)
	for i, m := range d.members {
		b.SetVec(i, m.Dot(sum))
	}
	if d.gram.SolveVecTo(x, b) != nil {
		return nil, math.Inf(1)
	}
	times = make([]int, len(d.members))
	for i := range times {
		n := math.Round(x.AtVec(i))
		off = max(off, math.Abs(x.AtVec(i)-n))
		times[i] = int(n)
	}
	return times, off
}
