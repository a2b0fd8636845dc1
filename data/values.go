package data

import (
	"math"
	"math/rand/v2"

	"sotto/config"
	"sotto/tensor"
)

// ValuesParams are the parameters of "values".
type ValuesParams struct {
	Agents  int `toml:"agents"`  // groups, 1 to 1,000,000; default 10
	Dim     int `toml:"dim"`     // 1 to 10,000; default 10
	Records int `toml:"records"` // records of each agent, 1 to 100,000; default 1
	// standard deviation of a record's elements around its agent's centre, 0 to 100;
	// default 0
	Within float64 `toml:"within"`
}

func (p *ValuesParams) validate() error {
	switch {
	case p.Agents < 1 || p.Agents > 1_000_000:
		return config.Bad("agents", p.Agents, "1 to 1,000,000")
	case p.Dim < 1 || p.Dim > 10_000:
		return config.Bad("dim", p.Dim, "1 to 10,000")
	case p.Records < 1 || p.Records > 100_000:
		return config.Bad("records", p.Records, "1 to 100,000")
	case !(p.Within >= 0 && p.Within <= 100):
		return config.Bad("within", p.Within, "0 to 100")
	}
	return affordable("dim", p.Dim, p.Agents*p.Records, p.Dim, maxCells)
}

// values makes vectors to average: agent i has a centre, uniform in the cube of side
// 2/sqrt(dim) around 0 and hence of norm at most 1, and records around it.
// Split.GroundTruth is the mean of all records, which is that of the agents' means, and
// the one test record.
func values(decode func(any) error, src Source) (*Split, error) {
	p := ValuesParams{Agents: 10, Dim: 10, Records: 1}
	if err := decode(&p); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(src.Seed, 0x76616c756573))
	n := p.Agents * p.Records
	train := flat("values", tensor.NewMat(n, p.Dim))
	train.Targets, train.Groups = make([]float32, n), make([]int32, n)
	train.GroupNames = numberedNames("agent ", p.Agents)
	centre, mean := make([]float64, p.Dim), make([]float64, p.Dim)
	side := 1 / math.Sqrt(float64(p.Dim))
	for k := range n {
		if k%p.Records == 0 {
			for c := range centre {
				centre[c] = side * (2*r.Float64() - 1)
			}
		}
		train.Groups[k] = int32(k / p.Records)
		row := train.X.Row(k)
		for c := range row {
			row[c] = float32(centre[c])
			if p.Within > 0 {
				row[c] = float32(centre[c] + float64(p.Within*r.NormFloat64()))
			}
			mean[c] += float64(row[c]) / float64(n)
		}
	}
	test := flat("values", tensor.NewMat(1, p.Dim))
	test.Targets = make([]float32, 1)
	split := &Split{Train: train, Test: test, GroundTruth: tensor.NewMat(1, p.Dim)}
	for c, x := range mean {
		split.GroundTruth.Data[c], test.X.Data[c] = float32(x), float32(x)
	}
	return split.seal(p, src.Seed, nil), nil
}
