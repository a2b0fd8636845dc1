package query

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"sotto/data"
	"sotto/data/schema"
)

// moments are the products of the columns of (1, x_1, ..., x_k), those of two different
// ones times √2: the norm of all is that of the vector squared. A number is one column,
// scaled to [-1, 1]; a category one of 0 and 1 for each value but the first.
type moments struct {
	kind string
	vars []*schema.Variable
	cols []column
}

// column is a number, or one value of a category.
type column struct {
	v     *schema.Variable
	value int // of a category; -1: a number
}

func (c column) name() string {
	if c.value < 0 {
		return c.v.Name
	}
	return c.v.Name + " = " + c.v.Categories[c.value]
}

// scale is how a column's value x of a record is made of its own unit: (x - mid) / half.
func (c column) scale() (mid, half float64) {
	if c.value >= 0 {
		return 0, 1
	}
	return (c.v.Low + c.v.High) / 2, (c.v.High - c.v.Low) / 2
}

func newMoments(q *Question, vars []schema.Variable) (shape, error) {
	m := &moments{kind: q.Kind}
	for k, name := range q.Vars {
		v, err := find(q, vars, name)
		if err == nil && (v.Categories == nil || q.Kind != "regression" || k == 0) {
			v, err = bounded(q, vars, name)
		}
		if err != nil {
			return nil, err
		}
		for _, other := range m.vars {
			if other.Name == name {
				return nil, q.bad(name+" twice", "different variables")
			}
		}
		m.vars = append(m.vars, v)
		if v.Categories == nil {
			m.cols = append(m.cols, column{v, -1})
		}
		for c := 1; c < len(v.Categories); c++ {
			m.cols = append(m.cols, column{v, c})
		}
	}
	if len(m.cols) > maxColumns {
		return nil, q.bad(fmt.Sprintf("%d columns", len(m.cols)), fmt.Sprintf("at most %d", maxColumns))
	}
	return m, nil
}

// maxColumns is how many columns one question may multiply.
const maxColumns = 256

func (m *moments) dim() int      { n := len(m.cols) + 1; return n * (n + 1) / 2 }
func (m *moments) norm() float64 { return float64(len(m.vars) + 1) } // of a category one column at most is 1

// broken counts products of the columns that are not 0, without the one of ones.
func (m *moments) broken() int { n := len(m.vars) + 1; return n*(n+1)/2 - 1 }

func (m *moments) add(dst []float64, d *data.Dataset, i int) {
	z := make([]float64, len(m.cols)+1)
	z[0] = 1
	for k, c := range m.cols {
		if c.value >= 0 {
			switch c.v.Category(labelled(d, i)) {
			case c.value:
				z[k+1] = 1
			case -1:
				return
			}
			continue
		}
		x, ok := c.v.Number(aimed(d, i))
		if !ok {
			return
		}
		z[k+1] = centered(c.v, x)
	}
	at := 0
	for a := range z {
		for b := range a + 1 {
			f := math.Sqrt2
			if a == b {
				f = 1
			}
			dst[at] = f * z[a] * z[b]
			at++
		}
	}
}

// at is the sum of products of columns a and b; 0 is the one of ones.
func (m *moments) at(sums []float64, a, b int) float64 {
	if a < b {
		a, b = b, a
	}
	s := sums[a*(a+1)/2+b]
	if a != b {
		s /= math.Sqrt2
	}
	return s
}

// covariance of columns a and b, from 1, divided by the count.
func (m *moments) covariance(s []float64, a, b int) float64 {
	n := m.at(s, 0, 0)
	return m.at(s, a, b)/n - m.at(s, a, 0)/n*m.at(s, b, 0)/n
}

func (m *moments) correlation(s []float64, a, b int) float64 {
	xx, yy := m.covariance(s, a, a), m.covariance(s, b, b)
	if !(m.at(s, 0, 0) > 0 && xx > 0 && yy > 0) {
		return math.NaN()
	}
	return min(max(m.covariance(s, a, b)/math.Sqrt(xx*yy), -1), 1)
}

func (m *moments) answer(sums []float64, sigma float64, a *Answerer) []Row {
	var rows []Row
	switch m.kind {
	case "correlation":
		rows = m.correlations(sums, sigma, a)
	case "covariance":
		rows = m.covariances(sums, sigma, a)
	case "pca":
		rows = m.components(sums, sigma, a)
	default:
		rows = m.regression(sums, sigma, a)
	}
	return append(rows, a.count("count", m.at(sums, 0, 0), sigma))
}

func (m *moments) correlations(sums []float64, sigma float64, a *Answerer) []Row {
	var all []Row
	for i := range m.cols {
		for j := range i {
			r := a.resampled("correlation", sums, sigma, func(s []float64) float64 {
				return m.correlation(s, i+1, j+1)
			}, -1, 1)
			r.Drowned = r.Drowned || r.Low < 0 && r.High > 0
			// of two normal numbers
			a.sample(&r, (1-r.Value*r.Value)/math.Sqrt(m.at(sums, 0, 0)-1), -1, 1)
			r.Labels = []string{m.cols[j].name() + ", " + m.cols[i].name()}
			all = append(all, r)
		}
	}
	return all
}

func (m *moments) covariances(sums []float64, sigma float64, a *Answerer) []Row {
	var all []Row
	for i := range m.cols {
		for j := range i + 1 {
			_, hi := m.cols[i].scale()
			_, hj := m.cols[j].scale()
			lo := -hi * hj
			if i == j {
				lo = 0
			}
			r := a.resampled("covariance", sums, sigma, func(s []float64) float64 {
				if !(m.at(s, 0, 0) > 0) {
					return math.NaN()
				}
				return hi * hj * m.covariance(s, i+1, j+1)
			}, lo, hi*hj)
			// of two normal numbers
			ii, jj := m.covariance(sums, i+1, i+1)*hi*hi, m.covariance(sums, j+1, j+1)*hj*hj
			a.sample(&r, math.Sqrt((max(0, ii*jj)+r.Value*r.Value)/m.at(sums, 0, 0)), lo, hi*hj)
			r.Labels = []string{m.cols[j].name() + ", " + m.cols[i].name()}
			all = append(all, r)
		}
	}
	return all
}

// decompose returns the eigenvalues of the correlation matrix, the largest first, and its
// eigenvectors in rows, each with its largest element above 0; nil if there are none.
func (m *moments) decompose(s []float64) (values []float64, vectors [][]float64) {
	n := len(m.cols)
	c := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			r := m.correlation(s, i+1, j+1)
			if math.IsNaN(r) {
				return nil, nil
			}
			c.SetSym(i, j, r)
		}
	}
	var e mat.EigenSym
	if !e.Factorize(c, true) {
		return nil, nil
	}
	var v mat.Dense
	e.VectorsTo(&v)
	ascending := e.Values(nil)
	for k := n - 1; k >= 0; k-- {
		values = append(values, ascending[k])
		one := mat.Col(nil, k, &v)
		most := 0.
		for _, x := range one {
			if math.Abs(x) > math.Abs(most)*(1+1e-9) {
				most = x
			}
		}
		for i := range one {
			one[i] *= math.Copysign(1, most)
		}
		vectors = append(vectors, one)
	}
	return values, vectors
}

// components are the shares of the principal components of the correlation matrix in the
// variance, and their loadings. Where noise explains that two shares differ, what two
// components each load is anything that both do together: it is drowned.
func (m *moments) components(sums []float64, sigma float64, a *Answerer) []Row {
	n := len(m.cols)
	_, first := m.decompose(sums)
	gaps := n + n*n // to the next share
	many := a.resampledAll(sums, sigma, gaps+n-1, func(s []float64, dst []float64) bool {
		values, vectors := m.decompose(s)
		if values == nil || first == nil {
			return false
		}
		for k := range n {
			if dst[k] = values[k] / float64(n); k > 0 {
				dst[gaps+k-1] = dst[k-1] - dst[k]
			}
			dot := 0.
			for i, x := range vectors[k] {
				dot += x * first[k][i]
			}
			for i, x := range vectors[k] {
				dst[n+k*n+i] = x * math.Copysign(1, dot)
			}
		}
		return true
	})
	apart := func(k int) bool { // of components k and k+1
		return k < 0 || k == n-1 || many.row("", gaps+k, -1, 1).Low > 0
	}
	var all []Row
	for k := range n {
		share := many.row("share of variance", k, 0, 1)
		// of normal numbers the variance of an eigenvalue l is 2 l²/n
		a.sample(&share, share.Value*math.Sqrt(2/m.at(sums, 0, 0)), 0, 1)
		share.Labels = []string{fmt.Sprintf("component %d", k+1)}
		all = append(all, share)
		for i, c := range m.cols {
			r := many.row("loading", n+k*n+i, -1, 1)
			if !apart(k-1) || !apart(k) {
				r.Low, r.High, r.Drowned = -1, 1, true
			}
			r.Labels = []string{fmt.Sprintf("component %d", k+1), c.name()}
			all = append(all, r)
		}
	}
	return all
}

// fit solves least squares of the first column on the others. slopes are those of the
// scaled columns, the constant first; spread is the variance of what is left; inverse is
// that of the matrix of products. false: the columns, as noise shows them, do not
// determine it.
func (m *moments) fit(s []float64) (slopes []float64, spread float64, inverse *mat.SymDense, ok bool) {
	n := len(m.cols) // with the constant: the first is what is explained
	x, y := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	place := func(k int) int { // of the k-th explaining column
		if k == 0 {
			return 0
		}
		return k + 1
	}
	for i := range n {
		y.SetVec(i, m.at(s, 1, place(i)))
		for j := range i + 1 {
			x.SetSym(i, j, m.at(s, place(i), place(j)))
		}
	}
	var c mat.Cholesky
	if !c.Factorize(x) || c.Cond() > 1e12 {
		return nil, 0, nil, false
	}
	b := mat.NewVecDense(n, nil)
	if c.SolveVecTo(b, y) != nil {
		return nil, 0, nil, false
	}
	inverse = mat.NewSymDense(n, nil)
	if c.InverseTo(inverse) != nil {
		return nil, 0, nil, false
	}
	spread = (m.at(s, 1, 1) - mat.Dot(b, y)) / m.at(s, 0, 0)
	return b.RawVector().Data, max(0, spread), inverse, true
}

// regression is ordinary least squares: the constant and slopes in the variables' own
// units, R2 and the standard deviation of what is left.
func (m *moments) regression(sums []float64, sigma float64, a *Answerer) []Row {
	n := len(m.cols)
	mid, half := m.cols[0].scale()
	many := a.resampledAll(sums, sigma, n+2, func(s []float64, dst []float64) bool {
		b, spread, _, ok := m.fit(s)
		all := m.covariance(s, 1, 1)
		if !ok || !(all > 0) {
			return false
		}
		dst[0] = mid + half*b[0]
		for k := 1; k < n; k++ {
			km, kh := m.cols[k].scale()
			dst[k] = half * b[k] / kh
			dst[0] -= dst[k] * km
		}
		dst[n], dst[n+1] = max(0, 1-spread/all), half*math.Sqrt(spread)
		return true
	})
	_, spread, inverse, ok := m.fit(sums)
	var rows []Row
	for k := range n {
		name := "constant"
		if k > 0 {
			name = "slope"
		}
		r := many.row(name, k, -math.MaxFloat64, math.MaxFloat64)
		if ok {
			a.sample(&r, m.error(k, spread, inverse), -math.MaxFloat64, math.MaxFloat64)
		}
		if k > 0 {
			r.Labels = []string{m.cols[k].name()}
		}
		rows = append(rows, r)
	}
	return append(rows, many.row("R2", n, 0, 1), many.row("residual standard deviation", n+1, 0, 2*half))
}

// error is the standard error of coefficient k in its own unit, for errors of one
// variance.
func (m *moments) error(k int, spread float64, inverse *mat.SymDense) float64 {
	n := len(m.cols)
	w := make([]float64, n) // the coefficient as a sum of the scaled ones
	_, half := m.cols[0].scale()
	if k > 0 {
		_, kh := m.cols[k].scale()
		w[k] = half / kh
	} else {
		w[0] = half
		for j := 1; j < n; j++ {
			km, kh := m.cols[j].scale()
			w[j] = -half / kh * km
		}
	}
	v := mat.NewVecDense(n, w)
	return math.Sqrt(max(0, spread*mat.Inner(v, inverse, v)))
}
