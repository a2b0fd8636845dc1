package plot

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/spatial/barneshut"
	"gonum.org/v1/gonum/spatial/r2"

	"sotto/topology"
)

// circleNodes is up to how many agents any graph is drawn on a circle.
const circleNodes = 40

// layout places agents in the unit square.
func layout(g *topology.Graph, edges []Edge) []r2.Vec {
	n := g.Agents()
	switch name := g.Name(); {
	case name == "grid":
		return lattice(n, columns(g), 0)
	case name == "torus":
		return lattice(n, columns(g), .08)
	case name == "hypercube":
		return hypercube(n)
	case (name == "star" || name == "wheel") && n > 2:
		return append([]r2.Vec{{X: .5, Y: .5}}, circle(n-1)...)
	case n <= circleNodes || name == "ring" || name == "complete" || name == "path":
		return circle(n)
	}
	return force(n, edges)
}

// circle places agent 0 at the top and the others clockwise.
func circle(n int) []r2.Vec {
	at := make([]r2.Vec, n)
	for i := range at {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		at[i] = r2.Vec{X: .5 + .5*sin, Y: .5 + .5*cos}
	}
	if n == 1 {
		at[0] = r2.Vec{X: .5, Y: .5}
	}
	return at
}

// columns finds the number of columns of a lattice from the neighbors of agent 0: in a
// grid the next row's first agent is the second of them, in a torus the third, after the
// agents 1 and columns-1.
func columns(g *topology.Graph) int {
	first := g.In(0)
	at := 1
	if g.Name() == "torus" {
		at = 2
	}
	if at < len(first) && g.Agents()%int(first[at].ID) == 0 {
		return int(first[at].ID)
	}
	return g.Agents()
}

// lattice places agent r*cols + c in column c of row r, from the top. bend curves rows
// and columns, so that the links around a torus do not lie on those within.
func lattice(n, cols int, bend float64) []r2.Vec {
	rows := n / cols
	at := make([]r2.Vec, n)
	for i := range at {
		x, y := share(i%cols, cols), share(i/cols, rows)
		at[i] = r2.Vec{X: x + bend*4*y*(1-y), Y: 1 - (y + bend*4*x*(1-x))}
	}
	return fit(at)
}

// share places i of n on [0, 1].
func share(i, n int) float64 {
	if n == 1 {
		return .5
	}
	return float64(i) / float64(n-1)
}

// hypercube gives each bit a direction of its own, spread over half a turn, and higher
// bits longer ways, so that no two agents meet.
func hypercube(n int) []r2.Vec {
	dims := max(1, bits.TrailingZeros(uint(n)))
	at := make([]r2.Vec, n)
	for i := range at {
		for b := range dims {
			if i>>b&1 == 1 {
				sin, cos := math.Sincos(math.Pi * (float64(b) + .5) / float64(dims))
				at[i] = r2.Add(at[i], r2.Scale(math.Pow(1.4, float64(b)), r2.Vec{X: cos, Y: sin}))
			}
		}
	}
	return fit(at)
}

// particle is a node under the forces of a layout.
type particle struct{ at r2.Vec }

func (p *particle) Coord2() r2.Vec { return p.at }
func (p *particle) Mass() float64  { return 1 }

// force is the layout of Fruchterman and Reingold 1991, "Graph drawing by force-directed
// placement": links pull by d²/k, all pairs push by k²/d (approximately, by Barnes and
// Hut's tree), and steps shrink as the layout cools. It starts on a spiral and visits
// nodes and links in their order, so that a graph always looks the same.
func force(n int, edges []Edge) []r2.Vec {
	const steps = 300
	nodes, all := make([]particle, n), make([]barneshut.Particle2, n)
	for i := range nodes {
		sin, cos := math.Sincos(float64(i) * math.Pi * (3 - math.Sqrt(5))) // the golden angle
		nodes[i].at = r2.Scale(.5*math.Sqrt((float64(i)+.5)/float64(n)), r2.Vec{X: cos, Y: sin})
		all[i] = &nodes[i]
	}
	k := math.Sqrt(1 / float64(n))
	push := func(_, _ barneshut.Particle2, _, mass float64, v r2.Vec) r2.Vec {
		return r2.Scale(-mass*k*k/max(r2.Norm2(v), 1e-12), v)
	}
	move := make([]r2.Vec, n)
	for step := range steps {
		plane, err := barneshut.NewPlane(all)
		if err != nil { // two nodes at one point: the links part them
			plane = &barneshut.Plane{Particles: all}
		}
		for i := range move {
			move[i] = plane.ForceOn(all[i], .8, push)
		}
		for _, e := range edges {
			d := r2.Sub(nodes[e.J].at, nodes[e.I].at)
			pull := r2.Scale(r2.Norm(d)/k, d)
			move[e.I], move[e.J] = r2.Add(move[e.I], pull), r2.Sub(move[e.J], pull)
		}
		heat := .1 * math.Pow(1-float64(step)/steps, 1.5)
		for i := range nodes {
			if far := r2.Norm(move[i]); far > 0 {
				nodes[i].at = r2.Add(nodes[i].at, r2.Scale(min(far, heat)/far, move[i]))
			}
		}
	}
	at := make([]r2.Vec, n)
	for i := range at {
		at[i] = nodes[i].at
	}
	return fit(at)
}

// fit moves and scales a layout into the unit square, its proportions kept.
func fit(at []r2.Vec) []r2.Vec {
	low, high := at[0], at[0]
	for _, p := range at {
		low = r2.Vec{X: min(low.X, p.X), Y: min(low.Y, p.Y)}
		high = r2.Vec{X: max(high.X, p.X), Y: max(high.Y, p.Y)}
	}
	side := max(high.X-low.X, high.Y-low.Y)
	if side == 0 {
		side = 1
	}
	middle := r2.Scale(.5, r2.Add(low, high))
	for i, p := range at {
		at[i] = r2.Add(r2.Scale(1/side, r2.Sub(p, middle)), r2.Vec{X: .5, Y: .5})
	}
	return at
}
