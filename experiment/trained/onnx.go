package trained

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/data/schema"
	"sotto/experiment"
	"sotto/model"
	"sotto/model/onnx"
)

// ONNX is an ONNX graph (operator set 21) that takes records as they stand in an owner's
// table, where the model has a schema; without one it is FeaturesONNX.
//
// It has an input [N, 1] for each column with features, by its name: float32 in the
// column's own unit for a number, where NaN is a missing cell; strings for categories,
// without space at their ends, where the missing cells are those of the schema. Bounds,
// scales, what a missing cell becomes, and the intercept are in the graph.
//
// Outputs of a classifier are "probabilities" [N, classes], or "margins" where it has
// none, and "label" [N], the name of the class; of a regression "value" [N, 1], in the
// unit of the target. A row that the schema drops or refuses has NaN and the label "". A
// "_" is appended to the name of an output that a column has too. The metadata have the
// schema.
func (m *Model) ONNX() ([]byte, error) {
	if m.schema == nil || m.Kind() == Sample {
		return m.FeaturesONNX()
	}
	a := &assembler{m: m, g: &onnx.Graph{Name: producer, Prefix: "."}}
	for a.taken(a.g.Prefix) {
		a.g.Prefix += "."
	}
	for i := range m.schema.Columns {
		switch c := &m.schema.Columns[i]; c.Kind {
		case schema.Number:
			a.number(c)
		case schema.Category:
			a.category(c)
		}
	}
	if m.schema.Intercept {
		zero := a.g.Add("Mul", a.finite, []string{a.constant(0)})
		a.features = append(a.features, a.g.Add("Add", zero, []string{a.constant(1)}))
	}
	x := a.g.Add("Concat", a.features[0], a.features[1:], onnx.Attribute{Name: "axis", Value: 1})
	y, err := model.AppendONNX(a.g, m.net, m.theta, x)
	if err != nil {
		return nil, err
	}
	a.outputs(y)
	a.g.Metadata = [][2]string{{"schema", string(m.schema.Encode())}}
	return a.g.Encode(producer, experiment.EngineVersion), nil
}

// assembler builds the graph around the network.
type assembler struct {
	m        *Model
	g        *onnx.Graph
	features []string // [N, width] each
	valid    []string // [N, 1], bool: rows that the schema keeps
	finite   string   // [N, 1], float32: any finite number of each row
}

// taken says whether a column's name begins with prefix.
func (a *assembler) taken(prefix string) bool {
	return slices.ContainsFunc(a.m.schema.Columns, func(c schema.Column) bool {
		return strings.HasPrefix(c.Name, prefix)
	})
}

func (a *assembler) constant(v float64) string {
	return a.g.Floats("constant", []float32{float32(v)}, 1, 1)
}

func (a *assembler) scalar(v float64) string { return a.g.Floats("constant", []float32{float32(v)}) }

func (a *assembler) cast(x string, to onnx.Kind) string {
	return a.g.Add("Cast", x, nil, onnx.Attribute{Name: "to", Value: int(to)})
}

// largest is the largest of each row.
func (a *assembler) largest(x string) string {
	return a.g.Add("ReduceMax", x, []string{a.g.Shape(1)})
}

// number appends the features of a number's column.
func (a *assembler) number(c *schema.Column) {
	g, lo, hi := a.g, c.Bounds[0], c.Bounds[1]
	doc := fmt.Sprintf("number, %v to %v %s; NaN: a missing cell", lo, hi, c.Unit)
	g.Inputs = append(g.Inputs, onnx.Value{Name: c.Name, Dims: []int{1}, Kind: onnx.Float, Doc: doc})
	x, missing := c.Name, g.Add("IsNaN", c.Name, nil)
	a.finite = a.cast(missing, onnx.Float)
	indicator := a.finite
	if fill, ok := c.Fill(); ok {
		x = g.Add("Where", missing, []string{a.constant(fill), x})
	} else {
		a.valid = append(a.valid, g.Add("Not", missing, nil))
	}
	x = g.Add("Clip", x, []string{a.scalar(lo), a.scalar(hi)})
	x = g.Add("Sub", x, []string{a.constant(lo)})
	x = g.Add("Div", x, []string{a.constant((hi - lo) / (c.Scale[1] - c.Scale[0]))})
	a.features = append(a.features, g.Add("Add", x, []string{a.constant(c.Scale[0])}))
	if c.Indicator {
		a.features = append(a.features, indicator)
	}
}

// category appends the features of a column of categories.
func (a *assembler) category(c *schema.Column) {
	g, n := a.g, len(c.Categories)
	doc := "one of " + strings.Join(c.Categories, ", ")
	if c.Other {
		doc += "; others count as other"
	}
	g.Inputs = append(g.Inputs, onnx.Value{Name: c.Name, Dims: []int{1}, Kind: onnx.Text, Doc: doc})
	slots := a.cast(g.Add("Equal", c.Name, []string{g.Strings("categories", c.Categories, 1, n)}), onnx.Float)
	known := a.largest(slots)
	a.finite = known
	if c.Other {
		rest := g.Add("Sub", a.constant(1), []string{known})
		slots = g.Add("Concat", slots, []string{rest}, onnx.Attribute{Name: "axis", Value: 1})
		n++
	}
	indicator := ""
	if texts := a.m.schema.MissingCells; len(texts) > 0 {
		same := g.Add("Equal", c.Name, []string{g.Strings("missing", texts, 1, len(texts))})
		indicator = a.largest(a.cast(same, onnx.Float))
		missing := a.cast(indicator, onnx.Bool)
		if slot, ok := c.FillSlot(); ok {
			row := make([]float32, n)
			row[slot] = 1
			slots = g.Add("Where", missing, []string{g.Floats("fill", row, 1, n), slots})
			known = g.Add("Max", known, []string{indicator})
		} else if c.Other {
			a.valid = append(a.valid, g.Add("Not", missing, nil))
		}
	}
	if !c.Other { // a missing cell that nothing stands for is none of the categories
		a.valid = append(a.valid, a.cast(known, onnx.Bool))
	}
	a.features = append(a.features, slots)
	if c.Indicator {
		if indicator == "" {
			indicator = g.Add("Mul", known, []string{a.constant(0)})
		}
		a.features = append(a.features, indicator)
	}
}

// kept are the values of rows that the schema keeps, and other ones else.
func (a *assembler) kept(x, other string) string {
	if len(a.valid) == 0 {
		return a.g.Add("Identity", x, nil)
	}
	valid := a.valid[0]
	for _, v := range a.valid[1:] {
		valid = a.g.Add("And", valid, []string{v})
	}
	a.valid = []string{valid}
	return a.g.Add("Where", valid, []string{x, other})
}

// outputs makes what users read of the network's outputs.
func (a *assembler) outputs(y string) {
	g, nan := a.g, a.constant(math.NaN())
	if a.m.Kind() == Value {
		slope, offset := unscale(a.m.schema)
		y = g.Add("Mul", y, []string{a.constant(slope)})
		a.kept(g.Add("Add", y, []string{a.constant(offset)}), nan)
		g.Yield(onnx.Value{Name: a.free("value"), Dims: []int{1}, Doc: a.m.schema.Target.Unit})
		return
	}
	classes, z := a.m.Classes(), y
	if a.m.net.Outputs() == 1 { // the logit of the second class: those of both are 0 and it
		zero := g.Add("Mul", y, []string{a.constant(0)})
		z = g.Add("Concat", zero, []string{y}, onnx.Attribute{Name: "axis", Value: 1})
	}
	doc := "of " + strings.Join(classes, ", ")
	if a.m.Kind() == Margins {
		a.kept(y, nan)
		g.Yield(onnx.Value{Name: a.free("margins"), Dims: []int{a.m.net.Outputs()}, Doc: doc})
	} else {
		a.kept(g.Add("Softmax", z, nil, onnx.Attribute{Name: "axis", Value: 1}), nan)
		g.Yield(onnx.Value{Name: a.free("probabilities"), Dims: []int{len(classes)}, Doc: doc})
	}
	best := g.Add("ArgMax", z, nil, onnx.Attribute{Name: "axis", Value: 1},
		onnx.Attribute{Name: "keepdims", Value: 1})
	label := g.Add("Gather", g.Strings("classes", classes, len(classes)), []string{best})
	label = a.kept(label, g.Strings("none", []string{""}, 1, 1))
	g.Add("Reshape", label, []string{g.Shape(-1)})
	g.Yield(onnx.Value{Name: a.free("label"), Kind: onnx.Text})
}

// free is a name that no column has.
func (a *assembler) free(name string) string {
	for slices.ContainsFunc(a.m.schema.Columns, func(c schema.Column) bool { return c.Name == name }) {
		name += "_"
	}
	return name
}
