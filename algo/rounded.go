package algo

import (
	"math"

	"sotto/agent"
	"sotto/tensor"
)

// Rounded lets inner send messages whose values are bfloat16: rounded to nearest, ties to
// even, and cut to the largest finite one. What an agent keeps stays float32. It is
// public post-processing, the same in every runtime, and such bodies travel in two bytes
// a value without further loss (agent.AppendMessageBF16). A relative error of up to 2^-8
// a value is mixed into the receivers' models, so that the mean of all models is kept
// only up to that: algorithms that rely on exact sums may not use it.
func Rounded(inner agent.Algorithm) agent.Algorithm {
	r := &rounded{Algorithm: inner}
	if c, ok := inner.(*clipped); ok {
		return roundedClips{r, c}
	}
	return r
}

// rounded is an algorithm whose messages are rounded.
type rounded struct {
	agent.Algorithm
	bits []uint16
	body []tensor.Vec // by message of the outbox
}

// roundedClips shows the clip of the algorithm within, as clipped does.
type roundedClips struct {
	*rounded
	c *clipped
}

// Clip returns the clip of the last query.
func (r roundedClips) Clip() float64 { return r.c.Clip() }

// Step is the algorithm's, with other bodies in its messages.
func (r *rounded) Step(in *agent.Input, out *agent.Output) error {
	if err := r.Algorithm.Step(in, out); err != nil || out.Query != nil {
		return err
	}
	for k := range out.Outbox {
		if k == len(r.body) {
			r.body = append(r.body, nil)
		}
		r.body[k] = r.round(r.body[k], out.Outbox[k].Body)
		out.Outbox[k].Body = r.body[k]
	}
	return nil
}

// round returns x rounded, in the memory of dst where that is large enough.
func (r *rounded) round(dst, x tensor.Vec) tensor.Vec {
	if cap(dst) < len(x) {
		dst = make(tensor.Vec, len(x))
	}
	if cap(r.bits) < len(x) {
		r.bits = make([]uint16, len(x))
	}
	dst = dst[:len(x)]
	bits := r.bits[:len(x)]
	tensor.RoundBF16(bits, x)
	for i, b := range bits {
		if b&^signBF16 == infBF16 && !math.IsInf(float64(x[i]), 0) {
			bits[i] = b - 1 // the largest finite value of that sign
		}
	}
	tensor.WidenBF16(dst, bits)
	return dst
}

const (
	signBF16 = 1 << 15
	infBF16  = 0x7f80
)
