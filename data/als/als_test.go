package als

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"sotto/data/datatest"
)

// objective of the factorisation, straight from its definition.
func (f *factors) objective() float64 {
	sum := 0.
	for _, side := range [][]float64{f.u, f.v} {
		for _, x := range side {
			sum += f.lambda * x * x
		}
	}
	for u, list := range f.byUser {
		for _, e := range list {
			z := e.value
			for k := range f.dim {
				z -= f.u[u*f.dim+k] * f.v[int(e.other)*f.dim+k]
			}
			sum += z * z
		}
	}
	return sum
}

// No half sweep raises the objective, and after the items' half sweep its derivative
// along every item's coordinates is zero: a step of h to either side costs the same to
// second order.
func TestAlternatingLeastSquares(t *testing.T) {
	var ratings []Rating
	for line := range strings.Lines(string(datatest.Ratings(30, 25, 3, 2, 8, 16, 4))) {
		var r Rating
		var at int
		if _, err := fmt.Sscan(line, &r.User, &r.Item, &r.Value, &at); err != nil {
			t.Fatal(err)
		}
		r.User--
		ratings = append(ratings, r)
	}
	f := newFactors(ratings, 30, 26, 3, .5, 9) // nobody rates movie 26
	last := math.Inf(1)
	for range 10 {
		for half := range 2 {
			if half == 0 {
				f.solve(f.u, f.v, f.byUser)
			} else {
				f.solve(f.v, f.u, f.byItem)
			}
			now := f.objective()
			if now > last*(1+1e-12) {
				t.Fatalf("the objective rises from %g to %g", last, now)
			}
			last = now
		}
	}
	const h = 1e-4
	for i := range f.v {
		at := f.v[i]
		f.v[i] = at + h
		up := f.objective()
		f.v[i] = at - h
		down := f.objective()
		if f.v[i] = at; math.Abs(up-down)/(2*h) > 1e-6 {
			t.Fatalf("derivative %g along coordinate %d", (up-down)/(2*h), i)
		}
	}
	v := Factorise(ratings, 30, 26, 3, .5, 10, 9)
	for i, x := range v.Data {
		if x != float32(f.v[i]) {
			t.Fatalf("entry %d is %g, ten sweeps gave %g", i, x, f.v[i])
		}
	}
	if v.Row(25).Norm() != 0 || v.Row(0).Norm() == 0 {
		t.Error("a movie that nobody rates has features, or a rated one has none")
	}
}

// Ratings that are a rank-one table less its row means, all of them known, are found
// again with next to no regularisation.
func TestFactoriseFindsTheTable(t *testing.T) {
	var ratings []Rating
	a, b := []float64{1, -1, .5, 2}, []float64{1, -2, .5, .5} // b sums to zero, so that row means are
	for u, x := range a {
		for j, y := range b {
			ratings = append(ratings, Rating{int32(u), int32(j + 1), 3 + x*y})
		}
	}
	v := Factorise(ratings, 4, 4, 1, 1e-6, 50, 3)
	for j, y := range b {
		if got := float64(v.Row(j)[0]) / float64(v.Row(0)[0]); math.Abs(got-y/b[0]) > 1e-5 {
			t.Errorf("movie %d is %g times movie 1, want %g", j+1, got, y/b[0])
		}
	}
}
