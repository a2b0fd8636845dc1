package model_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"gonum.org/v1/gonum/stat"
)

// This file reads and executes ONNX files, independently of the code that writes them:
// nested loops in float64 over the definitions of the operators in the ONNX
// specification.

// array is a tensor in row-major order.
type array struct {
	dims []int
	v    []float64
}

func newArray(dims ...int) array {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return array{dims, make([]float64, n)}
}

// fields calls f for every field of a protocol-buffer message; b holds bytes, u numbers.
func fields(m []byte, f func(field protowire.Number, b []byte, u uint64)) {
	for len(m) > 0 {
		field, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			panic(protowire.ParseError(n))
		}
		m = m[n:]
		switch kind {
		case protowire.VarintType:
			u, n := protowire.ConsumeVarint(m)
			f(field, nil, u)
			m = m[n:]
		case protowire.Fixed32Type:
			u, n := protowire.ConsumeFixed32(m)
			f(field, nil, uint64(u))
			m = m[n:]
		case protowire.BytesType:
			b, n := protowire.ConsumeBytes(m)
			f(field, b, 0)
			m = m[n:]
		default:
			panic(fmt.Sprintf("wire type %d", kind))
		}
	}
}

type node struct {
	op      string
	in      []string
	out     string
	ints    map[string][]int
	floats  map[string]float64
	strings map[string]string
}

func (n *node) int(name string, absent int) int {
	if v, ok := n.ints[name]; ok {
		return v[0]
	}
	return absent
}

// program is a decoded ONNX graph.
type program struct {
	opset         uint64
	nodes         []node
	values        map[string]array
	input, output string
}

func readProgram(file []byte) *program {
	p := &program{values: map[string]array{}}
	fields(file, func(field protowire.Number, b []byte, _ uint64) {
		switch field {
		case 7:
			p.readGraph(b)
		case 8:
			fields(b, func(field protowire.Number, _ []byte, u uint64) {
				if field == 2 {
					p.opset = u
				}
			})
		}
	})
	return p
}

func (p *program) readGraph(m []byte) {
	name := func(b []byte) (s string) {
		fields(b, func(field protowire.Number, b []byte, _ uint64) {
			if field == 1 {
				s = string(b)
			}
		})
		return s
	}
	fields(m, func(field protowire.Number, b []byte, _ uint64) {
		switch field {
		case 1:
			p.nodes = append(p.nodes, readNode(b))
		case 5:
			name, a := readTensor(b)
			p.values[name] = a
		case 11:
			p.input = name(b)
		case 12:
			p.output = name(b)
		}
	})
}

func readNode(m []byte) node {
	n := node{ints: map[string][]int{}, floats: map[string]float64{}, strings: map[string]string{}}
	fields(m, func(field protowire.Number, b []byte, _ uint64) {
		switch field {
		case 1:
			n.in = append(n.in, string(b))
		case 2:
			n.out = string(b)
		case 4:
			n.op = string(b)
		case 5:
			var name string
			fields(b, func(field protowire.Number, b []byte, u uint64) {
				switch field {
				case 1:
					name = string(b)
				case 2:
					n.floats[name] = float64(math.Float32frombits(uint32(u)))
				case 3, 8:
					n.ints[name] = append(n.ints[name], int(int64(u)))
				case 4:
					n.strings[name] = string(b)
				}
			})
		}
	})
	return n
}

func readTensor(m []byte) (name string, a array) {
	var kind uint64
	var raw []byte
	fields(m, func(field protowire.Number, b []byte, u uint64) {
		switch field {
		case 1:
			a.dims = append(a.dims, int(u))
		case 2:
			kind = u
		case 8:
			name = string(b)
		case 9:
			raw = b
		}
	})
	for len(raw) > 0 {
		if kind == 7 {
			a.v = append(a.v, float64(int64(binary.LittleEndian.Uint64(raw))))
			raw = raw[8:]
		} else {
			a.v = append(a.v, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
			raw = raw[4:]
		}
	}
	return name, a
}

// run executes the graph on x, one row a sample.
func (p *program) run(x array) array {
	p.values[p.input] = x
	for i := range p.nodes {
		n := &p.nodes[i]
		in := make([]array, len(n.in))
		for k, name := range n.in {
			v, ok := p.values[name]
			if !ok {
				panic(fmt.Sprintf("node %d (%s) reads %s, which nothing has written", i, n.op, name))
			}
			in[k] = v
		}
		p.values[n.out] = n.execute(in)
	}
	return p.values[p.output]
}

func (n *node) execute(in []array) array {
	x := in[0]
	switch n.op {
	case "Relu":
		return x.each(func(v float64) float64 { return max(v, 0) })
	case "LeakyRelu":
		slope := n.floats["alpha"]
		return x.each(func(v float64) float64 {
			if v < 0 {
				return slope * v
			}
			return v
		})
	case "Clip":
		return x.each(func(v float64) float64 { return min(max(v, in[1].v[0]), in[2].v[0]) })
	case "Exp":
		return x.each(math.Exp)
	case "Tanh":
		return x.each(math.Tanh)
	case "Sigmoid":
		return x.each(func(v float64) float64 { return 1 / (1 + math.Exp(-v)) })
	case "Softplus":
		return x.each(func(v float64) float64 { return max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) })
	case "Gelu":
		if n.strings["approximate"] == "tanh" {
			return x.each(func(v float64) float64 {
				return .5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+.044715*v*v*v)))
			})
		}
		return x.each(func(v float64) float64 { return .5 * v * (1 + math.Erf(v/math.Sqrt2)) })
	case "Mul":
		return combine(x, in[1], func(a, b float64) float64 { return a * b })
	case "Add":
		return combine(x, in[1], func(a, b float64) float64 { return a + b })
	case "Sub":
		return combine(x, in[1], func(a, b float64) float64 { return a - b })
	case "Max":
		return combine(x, in[1], func(a, b float64) float64 { return max(a, b) })
	case "Min":
		return combine(x, in[1], func(a, b float64) float64 { return min(a, b) })
	case "Abs":
		return x.each(math.Abs)
	case "Gemm":
		return gemm(in)
	case "Reshape":
		return reshape(x, in[1].v)
	case "Transpose":
		return transpose(x, n.ints["perm"])
	case "Conv":
		return n.conv(in)
	case "MaxPool", "AveragePool":
		return n.pool(x)
	case "GlobalMaxPool":
		y := newArray(x.dims[0], x.dims[1], 1, 1)
		area := x.dims[2] * x.dims[3]
		for i := range y.v {
			y.v[i] = math.Inf(-1)
			for _, v := range x.v[i*area : (i+1)*area] {
				y.v[i] = max(y.v[i], v)
			}
		}
		return y
	case "GroupNormalization":
		return normalize(x, n.int("num_groups", 0), n.floats["epsilon"], in[1], in[2])
	case "LayerNormalization":
		return n.layerNorm(in)
	}
	panic("no operator " + n.op)
}

func (a array) each(f func(float64) float64) array {
	y := newArray(a.dims...)
	for i, v := range a.v {
		y.v[i] = f(v)
	}
	return y
}

// combine is a binary operation of equal shapes.
func combine(a, b array, f func(a, b float64) float64) array {
	y := newArray(a.dims...)
	for i := range y.v {
		y.v[i] = f(a.v[i], b.v[i%len(b.v)])
	}
	return y
}

// gemm is x*W + b.
func gemm(in []array) array {
	x, w := in[0], in[1]
	rows, inner, cols := x.dims[0], w.dims[0], w.dims[1]
	y := newArray(rows, cols)
	for i := range rows {
		for j := range cols {
			var s float64
			if len(in) > 2 {
				s = in[2].v[j]
			}
			for k := range inner {
				s += x.v[i*inner+k] * w.v[k*cols+j]
			}
			y.v[i*cols+j] = s
		}
	}
	return y
}

func reshape(x array, to []float64) array {
	dims, known, open := make([]int, len(to)), 1, -1
	for i, d := range to {
		switch d {
		case 0:
			dims[i] = x.dims[i]
		case -1:
			open = i
			continue
		default:
			dims[i] = int(d)
		}
		known *= dims[i]
	}
	if open >= 0 {
		dims[open] = len(x.v) / known
	}
	return array{dims, x.v}
}

func transpose(x array, perm []int) array {
	dims := make([]int, len(perm))
	for i, p := range perm {
		dims[i] = x.dims[p]
	}
	y := newArray(dims...)
	at := make([]int, len(perm))
	for i := range y.v {
		rest := i
		for d := len(dims) - 1; d >= 0; d-- {
			at[perm[d]] = rest % dims[d]
			rest /= dims[d]
		}
		from := 0
		for d, a := range at {
			from = from*x.dims[d] + a
		}
		y.v[i] = x.v[from]
	}
	return y
}

// window is the geometry of a two-dimensional sliding window.
type window struct{ kh, kw, sh, sw, top, left, rows, cols int }

func (n *node) window(h, w int, kernel []int) window {
	s, p := n.ints["strides"], n.ints["pads"]
	if s == nil {
		s = []int{1, 1}
	}
	if p == nil {
		p = []int{0, 0, 0, 0}
	}
	return window{kernel[0], kernel[1], s[0], s[1], p[0], p[1],
		(h+p[0]+p[2]-kernel[0])/s[0] + 1, (w+p[1]+p[3]-kernel[1])/s[1] + 1}
}

func (n *node) conv(in []array) array {
	x, w := in[0], in[1] // N x C x H x W, M x C x kH x kW
	h, wd, c := x.dims[2], x.dims[3], x.dims[1]
	g := n.window(h, wd, w.dims[2:])
	y := newArray(x.dims[0], w.dims[0], g.rows, g.cols)
	for s := range x.dims[0] {
		for m := range w.dims[0] {
			out := y.v[(s*w.dims[0]+m)*g.rows*g.cols:][:g.rows*g.cols]
			if len(in) > 2 {
				for i := range out {
					out[i] = in[2].v[m]
				}
			}
			for ch := range c {
				plane, filter := x.v[(s*c+ch)*h*wd:][:h*wd], w.v[(m*c+ch)*g.kh*g.kw:]
				for tap, u := range filter[:g.kh*g.kw] {
					g.add(out, plane, u, tap/g.kw-g.top, tap%g.kw-g.left, wd)
				}
			}
		}
	}
	return y
}

// add adds u times the plane, of rows of wd, moved by a tap's place in the window.
func (g *window) add(out, plane []float64, u float64, down, right, wd int) {
	h := len(plane) / wd
	for r := range g.rows {
		row := r*g.sh + down
		if row < 0 || row >= h {
			continue
		}
		for q := range g.cols {
			if col := q*g.sw + right; col >= 0 && col < wd {
				out[r*g.cols+q] += plane[row*wd+col] * u
			}
		}
	}
}

func (n *node) pool(x array) array {
	h, w := x.dims[2], x.dims[3]
	g := n.window(h, w, n.ints["kernel_shape"])
	y := newArray(x.dims[0], x.dims[1], g.rows, g.cols)
	i := 0
	for plane := range x.dims[0] * x.dims[1] {
		for r := range g.rows {
			for q := range g.cols {
				top, sum, count := math.Inf(-1), 0., 0
				for a := range g.kh {
					for b := range g.kw {
						row, col := r*g.sh+a-g.top, q*g.sw+b-g.left
						if row >= 0 && row < h && col >= 0 && col < w {
							v := x.v[(plane*h+row)*w+col]
							top, sum, count = max(top, v), sum+v, count+1
						}
					}
				}
				if y.v[i] = top; n.op == "AveragePool" {
					if n.int("count_include_pad", 0) == 1 {
						count = g.kh * g.kw
					}
					y.v[i] = sum / float64(count)
				}
				i++
			}
		}
	}
	return y
}

// normalize is GroupNormalization of operator set 21: scale and bias for each channel.
func normalize(x array, groups int, epsilon float64, scale, bias array) array {
	y := newArray(x.dims...)
	c := x.dims[1]
	area := len(x.v) / (x.dims[0] * c)
	size := c / groups * area
	for g := range x.dims[0] * groups {
		part := x.v[g*size : (g+1)*size]
		mean, variance := stat.PopMeanVariance(part, nil)
		for k, v := range part {
			ch := (g*size + k) / area % c
			y.v[g*size+k] = (v-mean)/math.Sqrt(variance+epsilon)*scale.v[ch] + bias.v[ch]
		}
	}
	return y
}

// layerNorm normalizes over the axes from axis on.
func (n *node) layerNorm(in []array) array {
	x := in[0]
	size := 1
	for _, d := range x.dims[(n.int("axis", -1)+len(x.dims))%len(x.dims):] {
		size *= d
	}
	y := newArray(x.dims...)
	for lo := 0; lo < len(x.v); lo += size {
		mean, variance := stat.PopMeanVariance(x.v[lo:lo+size], nil)
		for k := range size {
			y.v[lo+k] = (x.v[lo+k]-mean)/math.Sqrt(variance+n.floats["epsilon"])*in[1].v[k] + in[2].v[k]
		}
	}
	return y
}
