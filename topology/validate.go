package topology

import (
	"fmt"
	"math"

	"sotto/agent"
	"sotto/config"
)

const rowTolerance = 1e-12

// Claims says what a graph's matrix must be, beyond rows that sum to 1 and weights that
// are not negative.
type Claims struct {
	// ColumnStochastic asks for columns that sum to 1 in place of rows, and for weights
	// above 0 on every agent itself: what push-sum needs.
	ColumnStochastic bool

	// Objective asks for the weights of an objective in place of rows that sum to 1:
	// symmetric, nothing on the diagonal.
	Objective bool

	Symmetric        bool
	DoublyStochastic bool
	Connected        bool
}

// Validate checks a graph against claims: every w_ij is at least 0 and positive on links,
// every row sums to 1 within 1e-12, and as claimed the matrix is symmetric, its columns
// sum to 1 within 1e-12, and every agent reaches every other. Weights off the graph are 0
// by construction. It returns a *config.Error that names the first agent at fault.
func Validate(g *Graph, claims Claims) error {
	for i := range g.self {
		id := agent.ID(i)
		if g.self[i] < 0 {
			return config.Bad("weights", fmt.Sprintf("weight %v of agent %d on itself", g.self[i], i),
				"weights of at least 0")
		}
		for _, nb := range distinct(g, id) {
			if nb.Weight <= 0 {
				return config.Bad("weights", fmt.Sprintf("weight %v of agent %d on agent %d", nb.Weight, i,
					nb.ID), "weights above 0 on links")
			}
		}
		if claims.ColumnStochastic {
			if !(g.self[i] > 0) {
				return config.Bad("weights", fmt.Sprintf("weight %v of agent %d on itself", g.self[i], i),
					"weights above 0, so that no agent gives all of its mass away")
			}
			continue
		}
		if claims.Objective {
			if g.self[i] != 0 {
				return config.Bad("weights", fmt.Sprintf("weight %v of agent %d on itself", g.self[i], i),
					"0 with weights of an objective")
			}
			continue
		}
		if s := sumIn(g, id) + g.self[i]; math.Abs(s-1) > rowTolerance {
			return config.Bad("weights", fmt.Sprintf("a sum of %v in the row of agent %d", s, i),
				"rows that sum to 1 within 1e-12")
		}
	}
	if (claims.Symmetric || claims.Objective) && !g.symmetric {
		return config.Bad("weights", "a matrix that is not symmetric", "w_ij = w_ji")
	}
	if claims.ColumnStochastic {
		if i, s := g.unbalanced(); i >= 0 {
			return config.Bad("weights", fmt.Sprintf("a sum of %v in the column of agent %d", s, i),
				"columns that sum to 1 within 1e-12")
		}
	}
	if claims.DoublyStochastic {
		if i, s := g.unbalanced(); i >= 0 {
			return config.Bad("weights", fmt.Sprintf("a sum of %v in the column of agent %d", s, i),
				"a doubly stochastic matrix (columns that sum to 1 within 1e-12), as metropolis weights "+
					"give on every graph; otherwise averaging converges to a weighted mean")
		}
	}
	if claims.Connected && !g.Connected() {
		return config.Bad("graph", fmt.Sprintf("a disconnected %s of %d agents", g.name, g.Agents()),
			"connected graphs")
	}
	return nil
}

// unbalanced returns the first agent whose column does not sum to 1, and the sum; -1 if
// there is none.
func (g *Graph) unbalanced() (int, float64) {
	for i := range g.self {
		if s := sumOut(g, agent.ID(i)) + g.self[i]; math.Abs(s-1) > rowTolerance {
			return i, s
		}
	}
	return -1, 1
}

// DoublyStochastic reports whether all rows and columns of W sum to 1 within 1e-12, as
// [Validate] asks.
func (g *Graph) DoublyStochastic() bool {
	if i, _ := g.unbalanced(); i >= 0 {
		return false
	}
	for i := range g.self {
		if s := sumIn(g, agent.ID(i)) + g.self[i]; math.Abs(s-1) > rowTolerance {
			return false
		}
	}
	return true
}
