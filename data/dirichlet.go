package data

import (
	"fmt"
	"math"
	"math/rand/v2"

	"sotto/config"
)

// DirichletParams are the parameters of partition "dirichlet".
type DirichletParams struct {
	Beta       float64 `toml:"beta"`        // concentration, 1e-6 to 1e6: small values keep classes apart
	MinRecords int     `toml:"min_records"` // redraw until every agent has so many, 0 or more; default 10
	AllowEmpty bool    `toml:"allow_empty"`
}

const dirichletTries = 1000

// dirichlet draws for every class the agents' shares from Dirichlet(beta, ..., beta)
// (Hsu, Qi, Brown 2019): agent i gets floor(share·count) of the class's shuffled records
// and the largest share the remainder. The whole draw is repeated, at most 1,000 times,
// until every agent has min_records.
func dirichlet(decode func(any) error, ds *Dataset, agents int, seed uint64) ([][]int32, error) {
	p := DirichletParams{MinRecords: 10}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if !(p.Beta >= 1e-6 && p.Beta <= 1e6) {
		return nil, config.Bad("beta", p.Beta, "1e-6 to 1e6")
	}
	if p.MinRecords < 0 || p.MinRecords > ds.Len()/agents {
		return nil, config.Bad("min_records", p.MinRecords,
			fmt.Sprintf("0 to %d (%d records for %d agents)", ds.Len()/agents, ds.Len(), agents))
	}
	classes, err := byLabel(ds)
	if err != nil {
		return nil, err
	}
	r := source(seed)
	for range dirichletTries {
		take := make([][]int, len(classes))
		total := make([]int, agents)
		for c, rows := range classes {
			take[c] = allot(drawDirichlet(r, agents, p.Beta), len(rows))
			for i, n := range take[c] {
				total[i] += n
			}
		}
		enough := true
		for _, n := range total {
			enough = enough && n >= p.MinRecords
		}
		if !enough {
			continue
		}
		parts := make([][]int32, agents)
		for c, rows := range classes {
			r.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
			for i, n := range take[c] {
				parts[i] = append(parts[i], rows[:n]...)
				rows = rows[n:]
			}
		}
		return nonEmpty(parts, p.AllowEmpty)
	}
	return nil, config.Bad("min_records", p.MinRecords,
		fmt.Sprintf("fewer, or a larger beta: none of %d draws gave every agent that many", dirichletTries))
}

// allot returns floor(share·count) for each share, with the remainder on the largest.
func allot(shares []float64, count int) []int {
	take := make([]int, len(shares))
	left, largest := count, 0
	for i, s := range shares {
		take[i] = min(int(s*float64(count)), left)
		left -= take[i]
		if s > shares[largest] {
			largest = i
		}
	}
	take[largest] += left
	return take
}

// drawDirichlet draws from Dirichlet(beta·1_n): normalised gamma variables, kept as
// logarithms because for small beta most of them underflow.
func drawDirichlet(r *rand.Rand, n int, beta float64) []float64 {
	x := make([]float64, n)
	most := math.Inf(-1)
	for i := range x {
		// Gamma(beta) = Gamma(beta + 1)·U^(1/beta).
		x[i] = math.Log(drawGamma(r, beta+1)) + math.Log(1-r.Float64())/beta
		most = max(most, x[i])
	}
	var sum float64
	for i := range x {
		x[i] = math.Exp(x[i] - most)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
	return x
}

// drawGamma draws from Gamma(shape, 1) for shape >= 1 by rejection (Marsaglia, Tsang
// 2000).
func drawGamma(r *rand.Rand, shape float64) float64 {
	d := shape - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
