package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sotto/config"
	"sotto/topology"
)

const (
	mostNodes = 2000
	mostEdges = 100_000
)

// Graph is a drawing of agents and their links. Directions are not drawn.
type Graph struct {
	Name, Title, Caption string
	Nodes                []Node
	Edges                []Edge
	ValueLabel           string // what the nodes' values are; empty: they are not shown
	// Limit > 0 makes values signed amounts from -Limit (vermilion) over 0 (white) to
	// Limit (blue), with a scale below the graph and the amounts, in place of the links,
	// as the drawing's table. Unit follows the numbers of the scale.
	Limit float64
	Unit  string
}

// Node is one agent. X and Y are in [0, 1].
type Node struct {
	X, Y  float64
	Label string
	// its colour, where the graph has a ValueLabel: in [0, 1], or an amount where there
	// is a Limit; NaN is grey
	Value float64
}

// Edge links the nodes I and J with the mixing weight between them.
type Edge struct {
	I, J   int
	Weight float64
}

// NewGraph lays out a communication graph: lattices and hypercubes by their coordinates,
// small graphs on a circle, the others by a force layout. A link whose two directions
// differ in weight has their mean. Above 2,000 agents or 100,000 links it returns a
// *config.Error.
func NewGraph(name string, g *topology.Graph) (Graph, error) {
	if err := Drawable(g); err != nil {
		return Graph{}, err
	}
	d := Graph{Name: name, Title: fmt.Sprintf("%s, %s, %s", g.Name(),
		config.Count(g.Agents(), "agent"), config.Count(g.Links(), "link"))}
	at := map[[2]int]int{}
	for e := range g.Edges() {
		i, j := min(int(e.I), int(e.J)), max(int(e.I), int(e.J))
		if k, ok := at[[2]int{i, j}]; ok {
			d.Edges[k].Weight = (d.Edges[k].Weight + e.Weight) / 2
			continue
		}
		at[[2]int{i, j}] = len(d.Edges)
		d.Edges = append(d.Edges, Edge{i, j, e.Weight})
	}
	for i, p := range layout(g, d.Edges) {
		d.Nodes = append(d.Nodes, Node{X: p.X, Y: p.Y, Label: fmt.Sprint(i)})
	}
	low, high := d.weights()
	d.Caption = fmt.Sprintf("Every link has the weight %.4g.", high)
	if high-low > 1e-6 {
		d.Caption = fmt.Sprintf("Width and darkness of a link are its mixing weight, %.4g to %.4g.", low,
			high)
	}
	return d, nil
}

// Drawable returns a *config.Error for a graph that is too large for [NewGraph].
func Drawable(g *topology.Graph) error {
	if n := g.Agents(); n > mostNodes {
		return config.Bad("agents", n, fmt.Sprintf("at most %d in a drawing", mostNodes))
	}
	if n := g.Links(); n > mostEdges {
		return config.Bad("links", n, fmt.Sprintf("at most %d in a drawing", mostEdges))
	}
	return nil
}

// WriteGraph writes g in the format of the file name's ending, .svg or .png.
func WriteGraph(w io.Writer, g Graph, file string) error {
	switch ending := strings.ToLower(filepath.Ext(file)); ending {
	case ".svg":
		return WriteSVG(w, g)
	case ".png":
		return WritePNG(w, g)
	default:
		return config.Bad("out", file, "a file name that ends in .svg or .png")
	}
}

// FileName implements [Drawing].
func (g Graph) FileName() string { return g.Name }

// About implements [Drawing].
func (g Graph) About() string { return g.Caption }

func (g Graph) heading() string { return g.Title }

func (g Graph) weights() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, e := range g.Edges {
		low, high = min(low, e.Weight), max(high, e.Weight)
	}
	return low, high
}

const graphTitle = 1.1 * vg.Centimeter

func (g Graph) size() (width, height vg.Length) {
	side := 11 * vg.Centimeter
	if len(g.Nodes) > 150 {
		side = 18 * vg.Centimeter
	}
	return side, side + graphTitle + g.foot()
}

// foot is the height of the scale.
func (g Graph) foot() vg.Length {
	if g.Limit > 0 {
		return 1.3 * vg.Centimeter
	}
	return 0
}

func (g Graph) paint(dc draw.Canvas) error {
	dc.FillText(textStyle(12, ink, text.XCenter, text.YTop),
		vg.Point{X: (dc.Min.X + dc.Max.X) / 2, Y: dc.Max.Y - .3*vg.Centimeter}, g.Title)
	const margin = .6 * vg.Centimeter
	side := dc.Max.X - dc.Min.X - 2*margin
	place := func(i int) vg.Point {
		return vg.Point{X: dc.Min.X + margin + side*vg.Length(g.Nodes[i].X),
			Y: dc.Min.Y + g.foot() + margin + side*vg.Length(g.Nodes[i].Y)}
	}
	_, high := g.weights()
	crowd := min(1, 30/math.Sqrt(float64(max(1, len(g.Edges))))) // many links are drawn thinner
	for _, e := range g.Edges {
		share := min(1, max(0, e.Weight/high))
		shade := uint8(205 - 150*share)
		a, b := place(e.I), place(e.J)
		dc.StrokeLine2(draw.LineStyle{Color: color.Gray{Y: shade},
			Width: vg.Points((.3 + 2*share) * max(.2, crowd))}, a.X, a.Y, b.X, b.Y)
	}
	radius, points := nodeSize(len(g.Nodes))
	for i, n := range g.Nodes {
		fill := palette[0]
		switch {
		case g.Limit > 0:
			fill = ramp(signed, .5-n.Value/g.Limit/2)
			// white ones show too
			dc.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: radius + vg.Points(.7),
				Shape: draw.CircleGlyph{}}, place(i))
		case g.ValueLabel != "":
			fill = ramp(viridis, n.Value)
		}
		dc.DrawGlyph(draw.GlyphStyle{Color: fill, Radius: radius, Shape: draw.CircleGlyph{}}, place(i))
		if points > 0 {
			dc.FillText(textStyle(points, legible(fill), text.XCenter, text.YCenter), place(i), n.Label)
		}
	}
	if g.Limit > 0 {
		g.paintScale(dc)
	}
	return nil
}

// paintScale draws the colours and what they stand for along the lower edge.
func (g Graph) paintScale(dc draw.Canvas) {
	const steps, width = 50, 5 * vg.Centimeter
	x, y, w := (dc.Min.X+dc.Max.X-width)/2, dc.Min.Y+.65*vg.Centimeter, width/steps
	for k := range steps {
		at := x + w*vg.Length(k)
		dc.FillPolygon(ramp(signed, 1-(float64(k)+.5)/steps), rectangle(at, y, at+w, y+.3*vg.Centimeter))
	}
	for _, end := range []struct{ at, value float64 }{{0, -g.Limit}, {.5, 0}, {1, g.Limit}} {
		label := strconv.FormatFloat(end.value, 'g', 3, 64)
		if end.at == 1 && g.Unit != "" {
			label += " " + g.Unit
		}
		dc.FillText(textStyle(9, ink, text.XCenter, text.YTop),
			vg.Point{X: x + width*vg.Length(end.at), Y: y - .08*vg.Centimeter}, label)
	}
}

// nodeSize is the radius of a node and the size of its number, which is left out where it
// would not be legible.
func nodeSize(nodes int) (radius vg.Length, points float64) {
	switch {
	case nodes <= 24:
		return vg.Points(10), 10
	case nodes <= 48:
		return vg.Points(8), 8
	case nodes <= 150:
		return vg.Points(6), 6
	case nodes <= 500:
		return vg.Points(5), 4.5
	default:
		return vg.Points(2), 0
	}
}

func (g Graph) table() Table {
	if g.Limit > 0 {
		t := Table{Header: []string{"agent", g.ValueLabel}}
		for _, n := range g.Nodes {
			t.Rows = append(t.Rows, []string{n.Label, number(n.Value)})
		}
		return t
	}
	t := Table{Header: []string{"i", "j", "weight"}}
	for _, e := range g.Edges {
		t.Rows = append(t.Rows, []string{fmt.Sprint(e.I), fmt.Sprint(e.J), number(e.Weight)})
	}
	return t
}
