package algo

import (
	"encoding/binary"
	"fmt"
	"math"

	"sotto/agent"
	"sotto/tensor"
)

// state writes or reads a checkpoint. An algorithm lists the parts of its state once, and
// both ways go through that list.
type state struct {
	b  []byte       // what is written
	in *agent.State // what is read; nil: parts are written
}

// appendState appends the parts that list names, after the tag and the dimension.
func appendState(b []byte, tag string, dim int, list func(s *state)) []byte {
	s := &state{b: binary.LittleEndian.AppendUint64(agent.AppendTag(b, tag), uint64(dim))}
	list(s)
	return s.b
}

// loadState sets the parts that list names to what appendState wrote. After an error some
// are set and others not.
func loadState(b []byte, tag string, dim int, list func(s *state)) error {
	s := &state{in: agent.ReadState(b, tag)}
	if err := checkDim(s.in, dim); err != nil {
		return err
	}
	list(s)
	return s.in.Close()
}

// checkDim reads the dimension of a state and compares it with this run's.
func checkDim(s *agent.State, dim int) error {
	if d := s.Uint64(); d != uint64(dim) {
		return fmt.Errorf("%w: dimension %d, this run has %d", agent.ErrState, d, dim)
	}
	return nil
}

func (s *state) uint(x *uint64) {
	if s.in == nil {
		s.b = binary.LittleEndian.AppendUint64(s.b, *x)
	} else {
		*x = s.in.Uint64()
	}
}

func (s *state) float(x *float64) {
	bits := math.Float64bits(*x)
	if s.uint(&bits); s.in != nil {
		*x = math.Float64frombits(bits)
	}
}

func (s *state) bool(x *bool) {
	bit := uint64(0)
	if *x {
		bit = 1
	}
	if s.uint(&bit); s.in != nil {
		*x = bit == 1
	}
}

func (s *state) vecs(vs ...tensor.Vec) {
	for _, v := range vs {
		if s.in == nil {
			s.b = agent.AppendVec(s.b, v)
		} else {
			s.in.Vec(v)
		}
	}
}
