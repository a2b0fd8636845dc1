package network

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"sotto/config"
)

// Weight is one entry of a mixing matrix. Exact is its value where it is known as a
// fraction; nil marks a weight that is only known to rounding, and then ranks cannot be
// checked in exact arithmetic.
type Weight struct {
	Value float64
	Exact *big.Rat
}

// Fraction returns the weight num/den, den above 0.
func Fraction(num, den int64) Weight {
	r := big.NewRat(num, den)
	v, _ := r.Float64()
	return Weight{v, r}
}

// Inexact returns a weight that is known to rounding only.
func Inexact(value float64) Weight { return Weight{Value: value} }

// largestDenominator bounds the fractions that Recognise finds. There are about 2^31 of
// them in [0, 1] and 2^62 doubles, so that a double that is none is taken for one with
// probability below 1e-6.
const largestDenominator = 1 << 16

// Recognise returns the fraction of the least denominator, at most 65,536, that rounds to
// value: 1/(1+degree) for Metropolis weights. Where there is none the weight is inexact.
func Recognise(value float64) Weight {
	if math.IsNaN(value) || math.Abs(value) > 1<<30 {
		return Inexact(value)
	}
	// Convergents p/q of the continued fraction.
	p0, q0, p1, q1 := 0.0, 1.0, 1.0, 0.0
	for x := value; ; {
		a := math.Floor(x)
		p0, q0, p1, q1 = p1, q1, a*p1+p0, a*q1+q0
		if q1 > largestDenominator {
			return Inexact(value)
		}
		if p1/q1 == value {
			return Fraction(int64(p1), int64(q1))
		}
		if x == a {
			return Inexact(value)
		}
		x = 1 / (x - a)
	}
}

// Link is a sender that an agent hears. A message with weight 0 is received all the same.
type Link struct {
	From   int
	Weight Weight
}

// Row says how one agent makes its next value: Self times its own plus the sum over In.
type Row struct {
	Agent int
	Self  Weight
	In    []Link
}

// Matrix is the mixing matrix W of one round. Agents without a row keep their value and
// hear nobody.
type Matrix struct {
	rows  []Row // by ascending agent
	exact bool
}

// NewMatrix returns the matrix of the rows, which it keeps. It refuses agents below 0, a
// second row of an agent, an agent among its own senders or a sender twice, and weights
// that are not finite.
func NewMatrix(rows []Row) (*Matrix, error) {
	slices.SortFunc(rows, func(a, b Row) int { return a.Agent - b.Agent })
	m := &Matrix{rows: rows, exact: true}
	for k, r := range rows {
		key := fmt.Sprintf("row[%d]", r.Agent)
		if r.Agent < 0 || k > 0 && rows[k-1].Agent == r.Agent {
			return nil, config.Bad(key, r.Agent, "agents from 0 on, each once")
		}
		if err := m.weigh(key, r.Self); err != nil {
			return nil, err
		}
		seen := map[int]bool{r.Agent: true}
		for _, l := range r.In {
			if l.From < 0 || seen[l.From] {
				return nil, config.Bad(key, l.From, "other agents, each once")
			}
			seen[l.From] = true
			if err := m.weigh(key, l.Weight); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

func (m *Matrix) weigh(key string, w Weight) error {
	if math.IsNaN(w.Value) || math.IsInf(w.Value, 0) {
		return config.Bad(key, w.Value, "finite weights")
	}
	m.exact = m.exact && w.Exact != nil
	return nil
}

// Exact reports whether all weights are known as fractions.
func (m *Matrix) Exact() bool { return m.exact }

// row returns the row of an agent, and whether it has one.
func (m *Matrix) row(agent int) (Row, bool) {
	k, ok := slices.BinarySearchFunc(m.rows, agent, func(r Row, a int) int { return r.Agent - a })
	if !ok {
		return Row{}, false
	}
	return m.rows[k], true
}

// largest returns the largest agent that m names, -1 if none.
func (m *Matrix) largest() int {
	most := -1
	for _, r := range m.rows {
		most = max(most, r.Agent)
		for _, l := range r.In {
			most = max(most, l.From)
		}
	}
	return most
}
