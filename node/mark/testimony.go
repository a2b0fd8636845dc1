package mark

import (
	"encoding/binary"
	"errors"
	"fmt"

	"sotto/agent"
)

// Testimony is what a member says of others: the marks of theirs that it holds.
type Testimony struct {
	Terms uint64 // those that the member runs under
	Wants bool   // an answer
	Marks []Testified
}

// Testified is a signed mark of a member.
type Testified struct {
	Member agent.ID
	Signed []byte
}

// A testimony has 8 bytes of terms, 8 that say whether an answer is wanted, and at most
// MostMarks marks, each with its member in 8 bytes.
const (
	MostMarks    = 4
	MaxTestimony = 16 + MostMarks*(8+Size)
)

// ErrTestimony says that bytes are no testimony.
var ErrTestimony = errors.New("node: malformed testimony")

// Append writes the testimony.
func (t *Testimony) Append(b []byte) []byte {
	wants := uint64(0)
	if t.Wants {
		wants = 1
	}
	b = u64(b, t.Terms, wants)
	for _, m := range t.Marks {
		b = append(u64(b, uint64(m.Member)), m.Signed...)
	}
	return b
}

// ReadTestimony reads what Append has written, of a run with so many members. The marks
// share the memory of b. Errors wrap ErrTestimony.
func ReadTestimony(b []byte, members int) (t Testimony, err error) {
	if len(b) < 16 || (len(b)-16)%(8+Size) != 0 || len(b) > MaxTestimony {
		return t, fmt.Errorf("%w: %d bytes, allowed: 16 and at most %d marks of %d", ErrTestimony, len(b),
			MostMarks, 8+Size)
	}
	t.Terms, t.Wants = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]) != 0
	for b = b[16:]; len(b) > 0; b = b[8+Size:] {
		member := binary.LittleEndian.Uint64(b)
		if member >= uint64(members) {
			return t, fmt.Errorf("%w: a mark of member %d, allowed: 0 to %d", ErrTestimony, member, members-1)
		}
		t.Marks = append(t.Marks, Testified{agent.ID(member), b[8 : 8+Size]})
	}
	return t, nil
}
