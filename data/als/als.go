// Package als makes vectors of items from the ratings of users, by alternating least
// squares.
package als

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"sotto/tensor"
)

// Rating is what a user gives an item.
type Rating struct {
	User, Item int32   // ids, from 1; of Factorise and Means users are rows, from 0
	Value      float64 // 1 to 5
}

// Factorise returns a vector for each item (row id-1) that minimises, by alternating
// least squares (Zhou, Wilkinson, Schreiber, Pan 2008, here with a regularisation that
// does not count ratings),
//
//	Σ_(u,j) (r_uj - m_u - U_u·V_j)² + λ (Σ_u |U_u|² + Σ_j |V_j|²),
//	m_u the mean of u's ratings,
//
// in float64 from seeded normal numbers, items solved last. Items without ratings get
// zeros. Whose ratings are in, has released them.
func Factorise(ratings []Rating, users, items, dim int, lambda float64, sweeps int, seed uint64) tensor.Mat {
	f := newFactors(ratings, users, items, dim, lambda, seed)
	for range sweeps {
		f.solve(f.u, f.v, f.byUser)
		f.solve(f.v, f.u, f.byItem)
	}
	out := tensor.NewMat(items, dim)
	for i, x := range f.v {
		out.Data[i] = float32(x)
	}
	return out
}

// factors are the two sides of a factorisation, by row.
type factors struct {
	dim            int
	lambda         float64
	u, v           []float64
	byUser, byItem [][]entry
}

// entry is a rating less its user's mean, seen from one side.
type entry struct {
	other int32 // row of the other side
	value float64
}

func newFactors(ratings []Rating, users, items, dim int, lambda float64, seed uint64) *factors {
	f := &factors{dim: dim, lambda: lambda, u: make([]float64, users*dim), v: make([]float64, items*dim),
		byUser: make([][]entry, users), byItem: make([][]entry, items)}
	mean := Means(ratings, users)
	for _, r := range ratings {
		value := r.Value - mean[r.User]
		f.byUser[r.User] = append(f.byUser[r.User], entry{r.Item - 1, value})
		f.byItem[r.Item-1] = append(f.byItem[r.Item-1], entry{r.User, value})
	}
	draw := rand.New(rand.NewPCG(seed, 0x616c73))
	for i := range f.v {
		f.v[i] = draw.NormFloat64() / math.Sqrt(float64(dim))
	}
	return f
}

// solve sets every row of side to the minimiser given the other side: (λ I + Σ o oᵀ)⁻¹ Σ
// value o.
func (f *factors) solve(side, other []float64, ratings [][]entry) {
	d := f.dim
	a, b := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	var chol mat.Cholesky
	for i, list := range ratings {
		row := side[i*d : (i+1)*d]
		clear(row)
		if len(list) == 0 {
			continue
		}
		a.Zero()
		for k := range d {
			a.SetSym(k, k, f.lambda)
		}
		b.Zero()
		for _, e := range list {
			o := mat.NewVecDense(d, other[int(e.other)*d:(int(e.other)+1)*d])
			a.SymRankOne(a, 1, o)
			b.AddScaledVec(b, e.value, o)
		}
		if chol.Factorize(a) { // λ > 0 makes it positive definite; what overflows stays zero
			_ = chol.SolveVecTo(mat.NewVecDense(d, row), b)
		}
	}
}

// Means are the means of every user's ratings; 0 without any.
func Means(ratings []Rating, users int) []float64 {
	mean, count := make([]float64, users), make([]float64, users)
	for _, r := range ratings {
		mean[r.User] += r.Value
		count[r.User]++
	}
	for u := range mean {
		mean[u] /= max(1, count[u])
	}
	return mean
}
