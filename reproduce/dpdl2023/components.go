package dpdl2023

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"sotto/tensor"
)

// components are the mean and the first principal components of rows.
type components struct {
	mean    []float64
	vectors [][]float64 // orthonormal, of the largest variance first
}

// newComponents finds k components. Few elements of a row differ from the row's least:
// sums go over those alone.
func newComponents(x tensor.Mat, k int) (*components, error) {
	n := x.Cols
	black := float64(slices.Min(x.Data))
	sum, square := make([]float64, n), make([]float64, n*n)
	var at []int
	var values []float64
	for i := range x.Rows {
		at, values = at[:0], values[:0]
		for j, v := range x.Row(i) {
			if d := float64(v) - black; d > 0 {
				at, values = append(at, j), append(values, d)
			}
		}
		for a, j := range at {
			sum[j] += values[a]
			for b := a; b < len(at); b++ {
				square[j*n+at[b]] += float64(values[a] * values[b])
			}
		}
	}
	rows := float64(x.Rows)
	covariance := mat.NewSymDense(n, nil)
	for j := range n {
		for l := j; l < n; l++ {
			covariance.SetSym(j, l, square[j*n+l]/rows-float64(sum[j]/rows)*(sum[l]/rows))
		}
	}
	c := &components{mean: make([]float64, n)}
	for j := range n {
		c.mean[j] = black + sum[j]/rows
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return nil, fmt.Errorf("the covariance of %d rows has no eigenvectors", x.Rows)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for a := range min(k, n) { // eigenvalues rise
		c.vectors = append(c.vectors, mat.Col(nil, n-1-a, &vectors))
	}
	return c, nil
}

// code is the components of each row.
func (c *components) code(x tensor.Mat) tensor.Mat {
	out := tensor.NewMat(x.Rows, len(c.vectors))
	for i := range x.Rows {
		for a, v := range c.vectors {
			out.Row(i)[a] = float32(c.along(x.Row(i), v))
		}
	}
	return out
}

// along is a row's component along a vector.
func (c *components) along(row []float32, v []float64) (sum float64) {
	for j, x := range row {
		sum += float64((float64(x) - c.mean[j]) * v[j])
	}
	return sum
}

// loss is the mean squared error of an element when rows are made again from their first
// k components.
func (c *components) loss(x tensor.Mat, k int) float64 {
	total := 0.
	for i := range x.Rows {
		row, sum := x.Row(i), 0.
		for j, v := range row {
			d := float64(v) - c.mean[j]
			sum += float64(d * d)
		}
		for _, v := range c.vectors[:min(k, len(c.vectors))] {
			along := c.along(row, v)
			sum -= float64(along * along)
		}
		total += sum / float64(len(row))
	}
	return total / float64(x.Rows)
}

// probe fits labels 0 to 9 by least squares with an intercept on a code, with a ridge of
// 1e-6 of its mean square, and returns the accuracy on another in percent.
func probe(fit tensor.Mat, labels []int32, test tensor.Mat, want []int32) (float64, error) {
	const classes = 10
	n := fit.Cols + 1
	gram, right := mat.NewSymDense(n, nil), mat.NewDense(n, classes, nil)
	row := make([]float64, n)
	at := func(x tensor.Mat, i int) []float64 {
		for j, v := range x.Row(i) {
			row[j] = float64(v)
		}
		row[n-1] = 1
		return row
	}
	for i := range fit.Rows {
		r := at(fit, i)
		for j := range n {
			for l := j; l < n; l++ {
				gram.SetSym(j, l, gram.At(j, l)+float64(r[j]*r[l]))
			}
			c := int(labels[i])
			right.Set(j, c, right.At(j, c)+r[j])
		}
	}
	ridge := 1e-6 * mat.Trace(gram) / float64(n)
	for j := range n {
		gram.SetSym(j, j, gram.At(j, j)+ridge)
	}
	var factor mat.Cholesky
	if !factor.Factorize(gram) {
		return 0, fmt.Errorf("the code of %d rows is not finite or all zero", fit.Rows)
	}
	var weights mat.Dense
	if err := factor.SolveTo(&weights, right); err != nil {
		return 0, fmt.Errorf("the code of %d rows: %w", fit.Rows, err)
	}
	hits := 0
	for i := range test.Rows {
		r, best, most := at(test, i), 0, 0.
		for c := range classes {
			score := 0.
			for j, x := range r {
				score += float64(x * weights.At(j, c))
			}
			if c == 0 || score > most {
				best, most = c, score
			}
		}
		if int32(best) == want[i] {
			hits++
		}
	}
	return 100 * float64(hits) / float64(test.Rows), nil
}
