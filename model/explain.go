package model

// LayerInfo says what one layer of a network is, what it costs and how its gradient norms
// are computed. It depends on the network alone, never on data.
type LayerInfo struct {
	Name      string
	In, Out   int // elements of one sample's input and output
	Params    int
	Positions int // places of one sample that share the parameters; 1 for a dense layer

	// Norm is how a sample's gradient norm is found: "closed form" from input and output
	// gradient, "ghost" from their Gram matrices over the positions, "instantiated" from
	// the gradient itself; "" for a layer without parameters.
	Norm string

	// MACs are the multiply-adds of one sample's forward pass; GradientMACs those of its
	// weight and input gradients, the latter none for the first layer. Elementwise work
	// does not count.
	MACs, GradientMACs float64
}

// Explain describes the layers of a network that was built here, in order; nil for other
// models.
func Explain(m Model) []LayerInfo {
	n, ok := m.(*network)
	if !ok {
		return nil
	}
	infos := make([]LayerInfo, len(n.layers))
	for i, l := range n.layers {
		s := l.size()
		infos[i] = l.describe()
		infos[i].In, infos[i].Out, infos[i].Params = s.in, s.out, s.params
		if i > 0 {
			infos[i].GradientMACs += infos[i].MACs
		}
	}
	return infos
}

func (l linear) describe() LayerInfo {
	work := float64(l.in) * float64(l.out)
	return LayerInfo{Name: "linear", Positions: 1, Norm: "closed form", MACs: work, GradientMACs: work}
}

// describe counts the weight gradient at the one position of each cell that takes it.
func (c convPool) describe() LayerInfo {
	taps := float64(c.taps())
	return LayerInfo{
		Name: "conv-mish-pool", Positions: 4 * c.poolRows * c.poolCols, Norm: "instantiated",
		MACs: 4 * float64(c.cells()) * taps, GradientMACs: float64(c.cells()) * taps,
	}
}
