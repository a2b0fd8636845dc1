package model

import "sotto/tensor"

// Patches of convolutions in bfloat16.

// bordered are images with padding around them: in bfloat16 where products are, else in
// float32.
type bordered struct {
	full   []float32
	half   []uint16
	stride int
}

// from returns the images from number i on.
func (f bordered) from(i int) bordered {
	if f.half != nil {
		f.half = f.half[i*f.stride:]
	} else {
		f.full = f.full[i*f.stride:]
	}
	return f
}

// images is the function of that name for operands.
func (p *pass) images(temp []float32, m operand, lo, count int, w *tensor.Window, padding int) bordered {
	if p.half == nil {
		data, stride := images(temp, m.full, lo, count, w, padding)
		return bordered{full: data, stride: stride}
	}
	if padding == 0 {
		return bordered{half: m.half.Data[lo*m.half.Stride:], stride: m.half.Stride}
	}
	stride := w.Height * w.Width * w.Channels
	line := (w.Width - 2*padding) * w.Channels
	to := grow(&p.half.images, count*stride)
	clear(to)
	for i := range count {
		inner := to[i*stride+(padding*w.Width+padding)*w.Channels:]
		tensor.CopyRuns16(inner, w.Width*w.Channels, m.half.Row(lo+i), line, w.Height-2*padding, line)
	}
	return bordered{half: to, stride: stride}
}

// gather16 is gather in bfloat16.
func (s span) gather16(dst tensor.MatBF16, data []uint16, stride int, w *tensor.Window, lo, n int) {
	each := s.positions / s.images
	for i := range s.images {
		part := dst
		part.Rows, part.Cols, part.Data = each, n, dst.Data[i*each*dst.Stride:]
		w.Patches16(part, data[(s.image+i)*stride:], s.first, lo)
	}
}

// block16 returns a matrix whose rows begin at even places, as pairs of bfloat16 are
// copied.
func (p *pass) block16(rows, cols int) tensor.MatBF16 {
	stride := cols + cols%2
	return tensor.MatBF16{Rows: rows, Cols: cols, Stride: stride, Data: grow(&p.half.a, rows*stride)}
}
