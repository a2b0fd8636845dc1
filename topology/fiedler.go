package topology

import (
	"fmt"
	"math"
	"math/rand/v2"

	"sotto/config"
)

const (
	fiedlerTries  = 10_000
	fiedlerAgents = 512 // each draw costs a dense eigenvalue problem
)

// FiedlerParams are the parameters of Erdős-Rényi graphs of a given connectivity, of 2 to
// 512 agents.
type FiedlerParams struct {
	Target    float64 `toml:"target"`    // value of λ2(Laplacian)/n, in (0, 1]; 1 is the complete graph
	Tolerance float64 `toml:"tolerance"` // largest distance from the target, 0 to 1; default .05
	// probability of each link; 0 (default) draws it anew for every graph, uniform in
	// (target, 1)
	P float64 `toml:"p"`
}

// erdosRenyiFiedler redraws an Erdős-Rényi graph until its normalised Fiedler value
// λ2(Laplacian)/n is within the tolerance of the target. Bayrooti, Gao, Prorok 2023
// (arXiv 2306.13892) describe their graphs by targets of 1, .7, .39 and .06 at n = 10 and
// publish neither graphs nor link probabilities that give them.
func erdosRenyiFiedler(decode func(any) error, agents int, seed uint64) (*Adjacency, error) {
	p := FiedlerParams{Tolerance: .05}
	if err := decode(&p); err != nil {
		return nil, err
	}
	switch {
	case !(p.Target > 0 && p.Target <= 1):
		return nil, config.Bad("target", p.Target,
			"(0, 1]: the Fiedler value of the graph over that of the complete graph")
	case !(p.Tolerance >= 0 && p.Tolerance <= 1):
		return nil, config.Bad("tolerance", p.Tolerance, "0 to 1")
	case !(p.P >= 0 && p.P <= 1):
		return nil, config.Bad("p", p.P, "0 to 1")
	case agents < 2 || agents > fiedlerAgents:
		return nil, config.Bad("agents", agents, fmt.Sprintf("2 to %d with graph er-fiedler", fiedlerAgents))
	}
	if p.Target == 1 {
		return complete(func(any) error { return nil }, agents, seed)
	}
	r := rand.New(rand.NewPCG(seed, 0x666965646c6572))
	closest := math.Inf(1)
	for try := 1; try <= fiedlerTries; try++ {
		link := p.P
		if link == 0 {
			link = p.Target + (1-p.Target)*r.Float64()
		}
		e := drawLinks(agents, link, r)
		if !joined(agents, e) {
			continue
		}
		a := e.adjacency(agents)
		value, err := normalizedFiedler(a)
		if err != nil {
			return nil, err
		}
		if math.Abs(value-p.Target) <= p.Tolerance {
			a.Tries = try
			return a, nil
		}
		if math.Abs(value-p.Target) < math.Abs(closest-p.Target) {
			closest = value
		}
	}
	reached := "no draw was connected"
	if !math.IsInf(closest, 1) {
		reached = fmt.Sprintf("the closest value reached is %.4f", closest)
	}
	return nil, config.Bad("target", p.Target,
		fmt.Sprintf("values that graphs of %d agents reach within tolerance %g: in %d draws %s", agents,
			p.Tolerance, fiedlerTries, reached))
}

// normalizedFiedler returns λ2(Laplacian)/n of a connected graph.
func normalizedFiedler(a *Adjacency) (float64, error) {
	g, err := a.weighted("er-fiedler", Weights["metropolis"])
	if err != nil {
		return 0, err
	}
	info, err := Analyze(g)
	return info.NormalizedFiedler, err
}
