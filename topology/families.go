package topology

import (
	"fmt"
	"math/bits"
	"slices"

	"sotto/agent"
	"sotto/config"
)

// edges collects links and sorts them into the form of an Adjacency.
type edges []Edge

func (e *edges) add(i, j int) {
	*e = append(*e, Edge{I: agent.ID(min(i, j)), J: agent.ID(max(i, j))})
}

func (e edges) adjacency(agents int) *Adjacency {
	slices.SortFunc(e, compareEdges)
	return &Adjacency{Agents: agents, Edges: e, Tries: 1}
}

func compareEdges(a, b Edge) int {
	if a.I != b.I {
		return int(a.I) - int(b.I)
	}
	return int(a.J) - int(b.J)
}

// bounded refuses graphs whose links would not fit in memory.
func bounded(key string, found any, links float64) error {
	if links > maxEdges {
		return config.Bad(key, found, fmt.Sprintf("values that give at most %d links (this gives about %.3g)",
			maxEdges, links))
	}
	return nil
}

// none decodes the empty parameter struct of families without parameters, so that unknown
// keys are refused.
func none(decode func(any) error) error { return decode(&struct{}{}) }

func atLeast(agents, least int) error {
	if agents < least {
		return config.Bad("agents", agents, fmt.Sprintf("at least %d for this graph", least))
	}
	return nil
}

// complete links every pair.
func complete(decode func(any) error, agents int, _ uint64) (*Adjacency, error) {
	if err := none(decode); err != nil {
		return nil, err
	}
	if agents >= fewestImplicit {
		return &Adjacency{Agents: agents, Complete: true, Tries: 1}, nil
	}
	a := &Adjacency{Agents: agents, Complete: true, Tries: 1}
	return a, a.expand()
}

// expand writes out the links of a complete graph that has none.
func (a *Adjacency) expand() error {
	if !a.Complete {
		return nil
	}
	agents := a.Agents
	if err := bounded("agents", agents, float64(agents)*float64(agents-1)/2); err != nil {
		return err
	}
	e := make(edges, 0, agents*(agents-1)/2)
	for i := range agents {
		for j := i + 1; j < agents; j++ {
			e.add(i, j)
		}
	}
	a.Edges, a.Complete = e, false
	return nil
}

// ring links i and i+1 mod n.
func ring(decode func(any) error, agents int, _ uint64) (*Adjacency, error) {
	if err := none(decode); err != nil {
		return nil, err
	}
	if err := atLeast(agents, 3); err != nil {
		return nil, err
	}
	var e edges
	for i := range agents {
		e.add(i, (i+1)%agents)
	}
	return e.adjacency(agents), nil
}

// path links i and i+1.
func path(decode func(any) error, agents int, _ uint64) (*Adjacency, error) {
	if err := none(decode); err != nil {
		return nil, err
	}
	var e edges
	for i := 1; i < agents; i++ {
		e.add(i-1, i)
	}
	return e.adjacency(agents), nil
}

// star links agent 0 to all others.
func star(decode func(any) error, agents int, _ uint64) (*Adjacency, error) {
	if err := none(decode); err != nil {
		return nil, err
	}
	if err := atLeast(agents, 2); err != nil {
		return nil, err
	}
	var e edges
	for i := 1; i < agents; i++ {
		e.add(0, i)
	}
	return e.adjacency(agents), nil
}

// wheel links agent 0 to all others, and the others in a cycle.
func wheel(decode func(any) error, agents int, _ uint64) (*Adjacency, error) {
	if err := none(decode); err != nil {
		return nil, err
	}
	if err := atLeast(agents, 4); err != nil {
		return nil, err
	}
	var e edges
	for i := 1; i < agents; i++ {
		e.add(0, i)
		e.add(i, i%(agents-1)+1)
	}
	return e.adjacency(agents), nil
}

// LatticeParams shapes grid and torus; agent (r, c) is r*Cols + c.
type LatticeParams struct {
	Rows int `toml:"rows"` // number of rows; 0 for both: the most square grid, Rows <= Cols
	Cols int `toml:"cols"` // number of columns; 0 for one: agents divided by the other, without remainder
}

// shape resolves the lattice to rows and columns of at least least each, and rows*cols =
// agents.
func (p LatticeParams) shape(agents, least int) (rows, cols int, err error) {
	rows, cols = p.Rows, p.Cols
	switch {
	case rows < 0 || cols < 0:
		return 0, 0, config.Bad("rows", fmt.Sprintf("%d x %d", rows, cols), "positive rows and cols")
	case rows == 0 && cols == 0:
		for rows = 1; (rows+1)*(rows+1) <= agents; rows++ {
		}
		for agents%rows != 0 {
			rows--
		}
		cols = agents / rows
	case rows == 0:
		rows = agents / cols
	case cols == 0:
		cols = agents / rows
	}
	if rows > agents || cols > agents || rows*cols != agents {
		return 0, 0, config.Bad("rows", fmt.Sprintf("%d x %d", rows, cols),
			fmt.Sprintf("rows x cols = %d agents", agents))
	}
	if min(rows, cols) < least {
		return 0, 0, config.Bad("rows", fmt.Sprintf("%d x %d", rows, cols),
			fmt.Sprintf("at least %d rows and cols", least))
	}
	return rows, cols, nil
}

// grid links horizontal and vertical neighbors of a rows x cols lattice, without wrap.
func grid(decode func(any) error, agents int, _ uint64) (*Adjacency, error) {
	var p LatticeParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	rows, cols, err := p.shape(agents, 1)
	if err != nil {
		return nil, err
	}
	var e edges
	for i := range agents {
		if i%cols+1 < cols {
			e.add(i, i+1)
		}
		if i/cols+1 < rows {
			e.add(i, i+cols)
		}
	}
	return e.adjacency(agents), nil
}

// torus is grid with wrap in both directions; rows and cols are at least 3.
func torus(decode func(any) error, agents int, _ uint64) (*Adjacency, error) {
	var p LatticeParams
	if err := decode(&p); err != nil {
		return nil, err
	}
	_, cols, err := p.shape(agents, 3)
	if err != nil {
		return nil, err
	}
	var e edges
	for i := range agents {
		e.add(i, i-i%cols+(i%cols+1)%cols)
		e.add(i, (i+cols)%agents)
	}
	return e.adjacency(agents), nil
}

// hypercube links agents whose IDs differ in one bit; the number of agents is a power of
// two.
func hypercube(decode func(any) error, agents int, _ uint64) (*Adjacency, error) {
	if err := none(decode); err != nil {
		return nil, err
	}
	if bits.OnesCount(uint(agents)) != 1 {
		return nil, config.Bad("agents", agents, "a power of two for a hypercube")
	}
	links := bits.TrailingZeros(uint(agents)) * agents / 2
	if err := bounded("agents", agents, float64(links)); err != nil {
		return nil, err
	}
	e := make(edges, 0, links)
	for i := range agents {
		for b := 1; b < agents; b <<= 1 {
			if i&b == 0 {
				e.add(i, i|b)
			}
		}
	}
	return e.adjacency(agents), nil
}
