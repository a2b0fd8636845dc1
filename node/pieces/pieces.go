// Package pieces encodes bytes without what is written beside them anyway: a node stores
// the vector that it sends and keeps once.
package pieces

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"sotto/agent"
)

// leastPiece is the length from which on bytes that are elsewhere are not written again.
const leastPiece = 48

// ErrPieces says that bytes are not what Append writes.
var ErrPieces = errors.New("node: malformed pieces")

func u64(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// Append appends b to dst without what state holds as well: the vector that an
// algorithm sends is most often one of those that it keeps. Little-endian, eight bytes a
// number: the length of b, and pieces until all of it is there, each
//
//	length of what is written, the bytes, place and length of what follows in state
func Append(dst, b, state []byte) []byte {
	dst = u64(dst, uint64(len(b)))
	for len(b) > 0 {
		written, at, length := piece(b, state)
		dst = append(u64(dst, uint64(written)), b[:written]...)
		dst = u64(dst, uint64(at), uint64(length))
		b = b[written+length:]
	}
	return dst
}

// piece finds the next bytes of b that state holds as well: at its front, where a message
// holds several vectors, or behind the header of a message. Without any all is written.
func piece(b, state []byte) (written, at, length int) {
	for _, written := range []int{0, agent.MessageSize(0)} {
		if len(b) < written+leastPiece {
			break
		}
		rest := b[written:]
		if at := bytes.Index(state, rest[:leastPiece]); at >= 0 {
			return written, at, common(rest, state[at:])
		}
	}
	return len(b), 0, 0
}

// common is the length of the longest prefix of both.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i+8 <= n && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]) {
		i += 8
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// Read returns what Append was given. At most so many bytes are taken. An error wraps
// ErrPieces.
func Read(packed *agent.State, state []byte, most uint64) ([]byte, error) {
	length := packed.Uint64()
	if length > most {
		return nil, fmt.Errorf("%w: a block of %d bytes, allowed: %d", ErrPieces, length, most)
	}
	b := []byte{}
	for uint64(len(b)) < length && packed.Err() == nil {
		b = append(b, packed.Block()...)
		at, n := packed.Uint64(), packed.Uint64()
		if at > uint64(len(state)) || n > uint64(len(state))-at || n > length {
			return nil, fmt.Errorf("%w: %d bytes at %d of a state of %d", ErrPieces, n, at, len(state))
		}
		b = append(b, state[at:at+n]...)
	}
	if err := packed.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPieces, err)
	}
	if uint64(len(b)) != length {
		return nil, fmt.Errorf("%w: pieces of %d bytes, the block has %d", ErrPieces, len(b), length)
	}
	return b, nil
}
