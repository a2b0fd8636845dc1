package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"sotto/tensor"
)

// Wire form of a Message, little-endian:
//
//	version u8 | from u32 | to u32 | round u64 | mass f64 | dim u32 | dim x f32
//
// Version 1. In version 2 the values are bfloat16, the upper halves of float32.
const (
	messageVersion = 1
	messageBF16    = 2
	messageHeader  = 1 + 4 + 4 + 8 + 8 + 4
)

// ErrMessage says that bytes are not a message that may enter an algorithm.
var ErrMessage = errors.New("agent: malformed message")

// MessageSize returns the encoded length of a message whose body holds dim values.
func MessageSize(dim int) int { return messageHeader + 4*dim }

// MessageSizeBF16 is MessageSize of a body of bfloat16 values.
func MessageSizeBF16(dim int) int { return messageHeader + 2*dim }

// IsBF16 reports whether the encoded message at the front of b has bfloat16 values.
func IsBF16(b []byte) bool { return len(b) > 0 && b[0] == messageBF16 }

// width is the number of bytes of a value, 0 for a version that is not known.
func width(version byte) int {
	switch version {
	case messageVersion:
		return 4
	case messageBF16:
		return 2
	}
	return 0
}

// AppendMessage appends the wire form of m to b. It checks nothing: DecodeMessage refuses
// what is not finite.
func AppendMessage(b []byte, m *Message) []byte {
	return AppendVec(appendHead(b, messageVersion, m), m.Body)
}

// AppendMessageBF16 is AppendMessage with two bytes a value, for bodies that have been
// rounded to bfloat16: a value that bfloat16 does not hold panics.
func AppendMessageBF16(b []byte, m *Message) []byte {
	b = appendHead(b, messageBF16, m)
	for i, x := range m.Body {
		bits := math.Float32bits(x)
		if bits&0xffff != 0 {
			panic(fmt.Sprintf("agent: value %d of a message, %v, is no bfloat16", i, x))
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(bits>>16))
	}
	return b
}

func appendHead(b []byte, version byte, m *Message) []byte {
	b = append(b, version)
	b = binary.LittleEndian.AppendUint32(b, uint32(m.From))
	b = binary.LittleEndian.AppendUint32(b, uint32(m.To))
	b = binary.LittleEndian.AppendUint64(b, m.Round)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(m.Mass))
	return binary.LittleEndian.AppendUint32(b, uint32(len(m.Body)))
}

// DecodeMessage reads one message from the front of b into m and returns the bytes used.
// It checks every size before it allocates, reuses m.Body where that is large enough,
// refuses bodies longer than maxDim and values that are not finite. Errors wrap
// ErrMessage and name value found and range allowed; m then keeps its fields, but what
// its Body holds may be overwritten.
func DecodeMessage(b []byte, maxDim int, m *Message) (int, error) {
	if len(b) < messageHeader {
		return 0, fmt.Errorf("%w: %d bytes, a header has %d", ErrMessage, len(b), messageHeader)
	}
	wide := width(b[0])
	if wide == 0 {
		return 0, fmt.Errorf("%w: version %d, allowed: %d, %d", ErrMessage, b[0], messageVersion, messageBF16)
	}
	dim := binary.LittleEndian.Uint32(b[25:])
	if uint64(dim) > uint64(max(maxDim, 0)) {
		return 0, fmt.Errorf("%w: body of %d values, allowed: at most %d", ErrMessage, dim, maxDim)
	}
	size := messageHeader + wide*int(dim)
	if len(b) < size {
		return 0, fmt.Errorf("%w: %d bytes, a body of %d values needs %d", ErrMessage, len(b), dim, size)
	}
	mass := math.Float64frombits(binary.LittleEndian.Uint64(b[17:]))
	if mass-mass != 0 {
		return 0, fmt.Errorf("%w: mass %v, allowed: finite values", ErrMessage, mass)
	}
	body := m.Body
	if cap(body) < int(dim) {
		body = make(tensor.Vec, dim)
	}
	body = body[:dim]
	if wide == 4 {
		body.SetBytes(b[messageHeader:size])
	} else {
		for i := range body {
			body[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[messageHeader+2*i:])) << 16)
		}
	}
	if !body.Finite() {
		return 0, fmt.Errorf("%w: body from agent %d holds a value that is not finite",
			ErrMessage, binary.LittleEndian.Uint32(b[1:]))
	}
	*m = Message{
		From:  ID(binary.LittleEndian.Uint32(b[1:])),
		To:    ID(binary.LittleEndian.Uint32(b[5:])),
		Round: binary.LittleEndian.Uint64(b[9:]),
		Mass:  mass,
		Body:  body,
	}
	return size, nil
}

// MessageHead returns receiver and encoded length of the message at the front of b
// without looking at its values or its mass, so that a runtime can sort encoded messages
// by receiver. It refuses an unknown version and what is too short, with ErrMessage.
func MessageHead(b []byte) (to ID, size int, err error) {
	if len(b) < messageHeader || width(b[0]) == 0 {
		return 0, 0, fmt.Errorf("%w: no header of version %d or %d", ErrMessage, messageVersion, messageBF16)
	}
	size = messageHeader + width(b[0])*int(binary.LittleEndian.Uint32(b[25:]))
	if len(b) < size {
		return 0, 0, fmt.Errorf("%w: %d bytes, the header says %d", ErrMessage, len(b), size)
	}
	return ID(binary.LittleEndian.Uint32(b[5:])), size, nil
}

// MessageValues is the number of values of the message at the front of b; 0 without one.
func MessageValues(b []byte) int {
	if _, size, err := MessageHead(b); err == nil {
		return (size - messageHeader) / width(b[0])
	}
	return 0
}

// AppendVec appends the elements of v, little-endian; checkpoints use it too.
func AppendVec(b []byte, v tensor.Vec) []byte { return v.AppendBytes(b) }

// State reads a checkpoint that was written by AppendState. The first field that does not
// fit makes all later reads return zero values and Err non-nil, so that a LoadState needs
// one check at its end.
type State struct {
	b   []byte
	err error
}

// ReadState starts reading b, which must open with the given tag (algorithm name and
// version).
func ReadState(b []byte, tag string) *State {
	s := &State{b: b}
	if got := s.take(4 + len(tag)); s.err != nil || int(binary.LittleEndian.Uint32(got)) != len(tag) ||
		string(got[4:]) != tag {
		s.err = fmt.Errorf("%w: it does not open with %q", ErrState, tag)
	}
	return s
}

// AppendTag opens a checkpoint.
func AppendTag(b []byte, tag string) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(tag)))
	return append(b, tag...)
}

func (s *State) take(n int) []byte {
	if s.err == nil && len(s.b) < n {
		s.err = fmt.Errorf("%w: %d bytes left, %d needed", ErrState, len(s.b), n)
	}
	if s.err != nil {
		return nil
	}
	b := s.b[:n]
	s.b = s.b[n:]
	return b
}

// Vec fills v.
func (s *State) Vec(v tensor.Vec) {
	if b := s.take(4 * len(v)); b != nil {
		v.SetBytes(b)
	}
}

// Uint64 reads one number.
func (s *State) Uint64() uint64 {
	if b := s.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Block reads a length and that many bytes, which stay part of the checkpoint's memory.
func (s *State) Block() []byte {
	n := s.Uint64()
	if s.err == nil && n > uint64(len(s.b)) {
		s.err = fmt.Errorf("%w: a block of %d bytes, %d are left", ErrState, n, len(s.b))
	}
	return s.take(int(n))
}

// Err returns the first error so far.
func (s *State) Err() error { return s.err }

// Close reports the first error; bytes left over are one.
func (s *State) Close() error {
	if s.err == nil && len(s.b) > 0 {
		s.err = fmt.Errorf("%w: %d bytes too many", ErrState, len(s.b))
	}
	return s.err
}
