package model

import (
	"fmt"
	"math"
	"slices"

	"sotto/config"
	"sotto/tensor"
)

// LayersLayout is what the metadata of a safetensors file say under "layout" where its
// tensors are those of Layers.
const LayersLayout = "layers"

// Layers returns the parameters theta of m as PyTorch names and lays them out: those of
// layer i of the network are "i.weight" and "i.bias", where layers without parameters
// count too, so that the layers of an MLP are 0, 2, 4 as in torch.nn.Sequential. All are
// row-major.
//
//	linear        weight [out, in]: y = weight x + bias
//	convolutions  weight [out, in, row, column]; of ws-conv2d before it is standardised
//	norms         weight and bias [channel]
//	mean          weight [feature], the mean itself
//
// Images are flattened in the order height, width, channel, where PyTorch has channel,
// height, width: it matters to a linear layer behind images. Models that were not built
// here are refused. It panics when theta has not Dim elements.
func Layers(m Model, theta tensor.Vec) ([]NamedVec, error) {
	n, ok := m.(*network)
	if !ok {
		return nil, fmt.Errorf("model: a model of type %T has no layers", m)
	}
	checkLen("parameters", len(theta), n.dim)
	var all []NamedVec
	for i, l := range n.layers {
		if k, ok := l.(learned); ok {
			all = append(all, numbered(i, k.tensors(n.part(theta, i)))...)
		}
	}
	return all, nil
}

func numbered(layer int, tensors []NamedVec) []NamedVec {
	for k := range tensors {
		tensors[k].Name = fmt.Sprintf("%d.%s", layer, tensors[k].Name)
	}
	return tensors
}

// FromLayers returns the parameters of m of which Layers has made the tensors. Other
// names or shapes are a config.Error.
func FromLayers(m Model, tensors []NamedVec) (tensor.Vec, error) {
	n, ok := m.(*network)
	if !ok {
		return nil, fmt.Errorf("model: a model of type %T has no layers", m)
	}
	theta := make(tensor.Vec, n.dim)
	for i, l := range n.layers {
		k, ok := l.(learned)
		if !ok {
			continue
		}
		part := n.part(theta, i)
		if len(part) > maxFeatures {
			return nil, config.Bad("layers", len(part), "layers of at most 16777216 parameters")
		}
		places := make(tensor.Vec, len(part)) // exact numbers
		for j := range places {
			places[j] = float32(j)
		}
		for _, want := range numbered(i, k.tensors(places)) {
			at := slices.IndexFunc(tensors, func(t NamedVec) bool { return t.Name == want.Name })
			if at < 0 || !slices.Equal(tensors[at].shape(), want.shape()) {
				return nil, config.Bad("layers", found(tensors, at),
					fmt.Sprintf("tensor %s of shape %v", want.Name, want.shape()))
			}
			for j, place := range want.Vec {
				part[int(place)] = tensors[at].Vec[j]
			}
			tensors = slices.Delete(slices.Clone(tensors), at, at+1)
		}
	}
	if len(tensors) > 0 {
		return nil, config.Bad("layers", tensors[0].Name, "the tensors of the model's layers alone")
	}
	return theta, nil
}

func found(tensors []NamedVec, at int) string {
	if at < 0 {
		return "no such tensor"
	}
	return fmt.Sprintf("shape %v", tensors[at].shape())
}

// shape is a tensor's dimensions.
func (t *NamedVec) shape() []int {
	if t.Dims == nil {
		return []int{len(t.Vec)}
	}
	return t.Dims
}

// check refuses dimensions of another number of values.
func (t *NamedVec) check() error {
	size := 1
	for _, d := range t.shape() {
		if d < 0 || d > 0 && size > math.MaxInt/d {
			size = -1
			break
		}
		size *= d
	}
	if size != len(t.Vec) {
		return fmt.Errorf("model: tensor %q has %d values and shape %v", t.Name, len(t.Vec), t.Dims)
	}
	return nil
}

// laid is a tensor that lies in memory as it is written.
func laid(name string, v tensor.Vec, dims ...int) NamedVec { return NamedVec{name, v, dims} }

func (l linear) tensors(theta tensor.Vec) []NamedVec {
	w := make(tensor.Vec, 0, l.in*l.out)
	for j := range l.out {
		for i := range l.in {
			w = append(w, theta[i*l.out+j])
		}
	}
	all := []NamedVec{laid("weight", w, l.out, l.in)}
	if l.bias {
		all = append(all, laid("bias", theta[l.in*l.out:], l.out))
	}
	return all
}

func (c *conv2d) tensors(theta tensor.Vec) []NamedVec {
	k, channels := c.window.Kernel, c.window.Channels
	all := []NamedVec{laid("weight", filterBank(theta, k, channels, c.filters, c.place),
		c.filters, channels, k, k)}
	if c.bias {
		all = append(all, laid("bias", theta[c.weights():], c.filters))
	}
	return all
}

func (c convPool) tensors(theta tensor.Vec) []NamedVec {
	return []NamedVec{laid("weight", filterBank(theta, filterSide, c.channels, filters, c.place), filters,
		c.channels, filterSide, filterSide), laid("bias", theta[c.taps()*filters:], filters)}
}

func (l groupNorm) tensors(theta tensor.Vec) []NamedVec {
	return []NamedVec{laid("weight", theta[:l.channels], l.channels),
		laid("bias", theta[l.channels:], l.channels)}
}

func (l location) tensors(theta tensor.Vec) []NamedVec {
	return []NamedVec{laid("weight", theta, l.width)}
}

// place is where in a filter the weight of a tap lies.
func (c *geometry) place(row, col, ch int) int {
	return (row*c.window.Kernel+col)*c.window.Channels + ch
}

func (c convPool) place(row, col, ch int) int { return (ch*filterSide+row)*filterSide + col }

// filterBank returns filters, element (row, column, channel, filter) at index(row,
// column, channel)*count + filter of w, in the order filter, channel, row, column.
func filterBank(w []float32, side, channels, count int, index func(r, c, ch int) int) []float32 {
	v := make([]float32, 0, side*side*channels*count)
	for f := range count {
		for ch := range channels {
			for r := range side {
				for c := range side {
					v = append(v, w[index(r, c, ch)*count+f])
				}
			}
		}
	}
	return v
}
