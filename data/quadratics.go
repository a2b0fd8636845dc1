package data

import (
	"math"
	"math/rand/v2"

	"sotto/config"
	"sotto/tensor"
)

// QuadraticsParams are the parameters of "quadratics".
type QuadraticsParams struct {
	Agents       int     `toml:"agents"`        // groups, 1 to 1,000; default 10
	Dim          int     `toml:"dim"`           // d, 1 to 4,096; default 10
	CurvatureMin float64 `toml:"curvature_min"` // curvature in the first coordinate, 1e-3 to 1e3; default 1
	CurvatureMax float64 `toml:"curvature_max"` // that of the last coordinate, geometric between; default 1
	// standard deviation of the agents' minimisers around a common one, 0 to 100; default
	// 0
	Spread float64 `toml:"spread"`
}

func (p *QuadraticsParams) validate() error {
	curvature := func(h float64) bool { return h >= 1e-3 && h <= 1e3 }
	switch {
	case p.Agents < 1 || p.Agents > 1000:
		return config.Bad("agents", p.Agents, "1 to 1,000")
	case p.Dim < 1 || p.Dim > 4096:
		return config.Bad("dim", p.Dim, "1 to 4,096")
	case !curvature(p.CurvatureMin):
		return config.Bad("curvature_min", p.CurvatureMin, "1e-3 to 1e3")
	case !curvature(p.CurvatureMax) || p.CurvatureMax < p.CurvatureMin:
		return config.Bad("curvature_max", p.CurvatureMax, "curvature_min to 1e3")
	case !(p.Spread >= 0 && p.Spread <= 100):
		return config.Bad("spread", p.Spread, "0 to 100")
	}
	return affordable("dim", p.Dim, p.Agents*p.Dim, p.Dim, maxCells)
}

// Curvature returns h_r for r from 0.
func (p *QuadraticsParams) Curvature(r int) float64 {
	if p.Dim == 1 {
		return p.CurvatureMin
	}
	return p.CurvatureMin * math.Pow(p.CurvatureMax/p.CurvatureMin, float64(r)/float64(p.Dim-1))
}

// quadratics makes least-squares problems whose every constant is known. Agent i has one
// record for each coordinate r, with the one feature sqrt(d h_r/2) there and the target
// sqrt(d h_r/2) b_ir, so that its mean loss under model "least-squares" is
//
//	f_i(θ) = Σ_r h_r/2 (θ_r - b_ir)²
//
// with b_ir = c_r + spread·N(0, 1) and c_r uniform in [-1, 1]. All agents have the
// Hessian diag(h): the mean of the f_i is strongly convex with curvature_min, smooth with
// curvature_max and minimal at the mean of the b_i, which is Split.GroundTruth. The test
// records are such that the loss on them is its value above the minimum.
func quadratics(decode func(any) error, src Source) (*Split, error) {
	p := QuadraticsParams{Agents: 10, Dim: 10, CurvatureMin: 1, CurvatureMax: 1}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(src.Seed, 0x7175616472617469))
	centre, optimum := make([]float64, p.Dim), make([]float64, p.Dim)
	for c := range centre {
		centre[c] = 2*r.Float64() - 1
	}
	train := flat("quadratics", tensor.NewMat(p.Agents*p.Dim, p.Dim))
	train.Targets, train.Groups = make([]float32, p.Agents*p.Dim), make([]int32, p.Agents*p.Dim)
	train.GroupNames = numberedNames("agent ", p.Agents)
	for i := range p.Agents {
		for c := range p.Dim {
			b := centre[c] + float64(p.Spread*r.NormFloat64())
			optimum[c] += b / float64(p.Agents)
			train.Groups[i*p.Dim+c] = int32(i)
			p.record(train, i*p.Dim+c, c, b)
		}
	}
	test := flat("quadratics", tensor.NewMat(p.Dim, p.Dim))
	test.Targets = make([]float32, p.Dim)
	split := &Split{Train: train, Test: test, GroundTruth: tensor.NewMat(1, p.Dim)}
	for c, b := range optimum {
		p.record(test, c, c, b)
		split.GroundTruth.Data[c] = float32(b)
	}
	return split.seal(p, src.Seed, nil), nil
}

// record writes the record that is minimal where coordinate c is b.
func (p *QuadraticsParams) record(d *Dataset, row, c int, b float64) {
	feature := math.Sqrt(float64(p.Dim) * p.Curvature(c) / 2)
	d.X.Row(row)[c], d.Targets[row] = float32(feature), float32(feature*b)
}
